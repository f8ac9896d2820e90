//! What `ef` and `limit` promise.

use vectord_engine::{Metric, layers::hnsw::Scratch};

use crate::{
    engines::Modelled,
    graphs::Indexed,
    random::Random,
    sets::{self, Rows, Set},
};

/// Points in a grid: most distances are shared by many.
fn grid(count: usize, dimension: usize) -> Rows {
    let mut random = Random::new(20);
    sets::rows(count, |_| {
        (0..dimension).map(|_| random.below(3) as f64).collect()
    })
}

#[test]
fn a_breadth_of_all_points_is_exact_under_every_metric_and_where_ranks_tie() {
    for rows in [sets::clusters(1_200, 24, 30, 0.5), grid(1_200, 6)] {
        let modelled = Modelled::of(&rows);
        for metric in Metric::ALL {
            modelled.build_graph(metric);
            for query in rows.iter().step_by(149) {
                for (limit, ef) in [(1, 1_200), (10, 1_200), (100, 1_000_000), (1_200, 1)] {
                    let found = modelled.search(metric, query, limit, ef);
                    assert_eq!(
                        found,
                        modelled.truth(metric, query, limit),
                        "{metric:?} limit {limit} ef {ef}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_breadth_below_the_limit_is_raised_to_it() {
    let rows = sets::clusters(3_000, 24, 30, 0.5);
    let modelled = Modelled::of(&rows);
    for metric in Metric::ALL {
        modelled.build_graph(metric);
        let mut right = 0;
        for query in rows.iter().step_by(100) {
            let found = modelled.search(metric, query, 200, 1);
            modelled.check(metric, query, 200, &found);
            let farthest = modelled.truth(metric, query, 200)[199].rank;
            right += found.iter().filter(|hit| hit.rank <= farthest).count();
        }
        // A breadth of 1 would find a few at the most.
        assert!(right >= 30 * 200 * 95 / 100, "{metric:?}: {right} of 6,000");
    }
}

#[test]
fn a_larger_exact_answer_begins_with_the_smaller_one() {
    let rows = grid(900, 5);
    let modelled = Modelled::of(&rows);
    for metric in Metric::ALL {
        modelled.build_graph(metric);
        let largest = modelled.search(metric, &rows[7], 900, 900);
        for limit in [1, 2, 10, 99, 500] {
            let smaller = modelled.search(metric, &rows[7], limit, 900);
            assert_eq!(smaller, largest[..limit], "{metric:?} limit {limit}");
        }
    }
}

#[test]
fn a_graph_of_which_every_point_is_asked_for_gives_every_point_in_order() {
    for metric in Metric::ALL {
        let set = Set::split(sets::clusters(2_020, 16, 30, 0.5), 20);
        let indexed = Indexed::new(metric, set.base);
        let recall = indexed.recall(metric, &set.queries, &[2_000], |_| true);
        assert_eq!(recall, [1.0], "{metric:?}");
        indexed.assert_all_reachable(metric);
        let half = indexed.recall(metric, &set.queries, &[2_000], |slot| slot % 2 == 0);
        assert_eq!(half, [1.0], "{metric:?} over half of the points");
    }
}

#[test]
fn recall_rises_with_the_breadth() {
    const EFS: [usize; 6] = [10, 20, 40, 80, 160, 2_500];
    let by_length_and_angle = [Metric::Euclidean, Metric::Manhattan, Metric::Cosine];
    // Without structure, so that narrow searches are far from exact; then where codes say little.
    for (rows, metrics) in [
        (sets::lognormal(2_700, 32, 0.3), &by_length_and_angle[..]),
        (sets::common_pattern(2_700, 64, 500.0), &by_length_and_angle),
        (grid(2_700, 32), &[Metric::Hamming]),
    ] {
        let set = Set::split(rows, 200);
        for &metric in metrics {
            let indexed = Indexed::new(metric, set.base.clone());
            let recalls = indexed.recall(metric, &set.queries, &EFS, |_| true);
            println!("{metric:?}, ef {EFS:?}: {recalls:.3?}");
            assert!(recalls.is_sorted(), "{metric:?} {recalls:?}");
            assert!(
                recalls[0] < recalls[2] && recalls[2] < recalls[4],
                "{metric:?} {recalls:?}"
            );
            assert_eq!(recalls[5..], [1.0], "{metric:?}");
        }
    }
}

#[test]
fn a_search_of_a_graph_returns_as_many_as_its_limit() {
    let rows = sets::clusters(1_000, 8, 10, 0.5);
    let indexed = Indexed::new(Metric::Euclidean, rows.clone());
    let mut scratch = Scratch::new();
    for ef in [1, 7, 100, 999, 1_000, 5_000] {
        let found = indexed.found(
            Metric::Euclidean,
            &rows[3],
            (ef, ef),
            |_| true,
            &mut scratch,
        );
        assert_eq!(found.len(), ef.min(1_000));
    }
}
