//! Dimensions at both ends, and points in an order or a place that a graph could stumble over.

use vectord_engine::Metric;

use crate::{
    engines::Modelled,
    graphs::{Indexed, assert_recall},
    random::Random,
    sets::{self, Rows, Set},
};

const BY_ANGLE_AND_LENGTH: [Metric; 3] = [Metric::Euclidean, Metric::Manhattan, Metric::Cosine];

#[test]
fn zero_vectors_among_others_are_found_and_hide_nothing() {
    let mut rows = sets::clusters(4_200, 16, 40, 0.5);
    for index in 0..500 {
        rows[index * 8 + 3].fill(if index % 2 == 0 { 0.0 } else { -0.0 });
    }
    let set = Set::split(rows, 200);
    assert_recall("zero vectors", &set, &BY_ANGLE_AND_LENGTH, 100, 0.95);
    for metric in BY_ANGLE_AND_LENGTH {
        let indexed = Indexed::new(metric, set.base.clone());
        indexed.assert_all_reachable(metric);
    }
    let indexed = Indexed::new(Metric::Euclidean, set.base);
    let at_zero = indexed.recall(Metric::Euclidean, &[vec![0.0; 16]], &[100], |_| true);
    assert_eq!(at_zero, [1.0]);
}

#[test]
fn vectors_of_one_dimension_are_searched_like_any() {
    let mut random = Random::new(50);
    let rows = sets::rows(6_200, |_| vec![random.normal()]);
    let set = Set::split(rows, 200);
    assert_recall("one dimension", &set, &Metric::ALL, 100, 0.95);
}

#[test]
fn an_engine_answers_one_dimension_exactly_where_it_must() {
    let mut random = Random::new(51);
    let rows = sets::rows(2_000, |_| vec![(random.normal() * 100.0).round()]);
    let modelled = Modelled::of(&rows);
    for metric in Metric::ALL {
        modelled.build_graph(metric);
        for query in [[-500.0], [0.0], [3.0], [3.5]] {
            modelled.check(metric, &query, 50, &modelled.search(metric, &query, 50, 60));
            let exact = modelled.search(metric, &query, 50, 2_000);
            assert_eq!(exact, modelled.truth(metric, &query, 50), "{metric:?}");
        }
    }
}

#[test]
fn vectors_of_4096_dimensions_are_searched_like_any() {
    let set = Set::split(sets::clusters(1_550, 4_096, 40, 0.5), 50);
    let metrics = [Metric::Euclidean, Metric::Cosine];
    assert_recall("4,096 dimensions", &set, &metrics, 100, 0.95);
}

#[test]
fn an_engine_answers_4096_dimensions_exactly_where_it_must() {
    let rows = sets::clusters(300, 4_096, 10, 0.5);
    let modelled = Modelled::of(&rows);
    for metric in Metric::ALL {
        for query in rows.iter().step_by(60) {
            modelled.check(metric, query, 10, &modelled.search(metric, query, 10, 20));
            let exact = modelled.search(metric, query, 10, 300);
            assert_eq!(exact, modelled.truth(metric, query, 10), "{metric:?}");
        }
    }
}

#[test]
fn points_that_come_sorted_by_a_coordinate_are_found_as_well_as_any() {
    let mut set = Set::split(sets::clusters(6_200, 16, 1, 1.0), 200);
    set.base.sort_by(|a, b| a[0].total_cmp(&b[0]));
    assert_recall("sorted", &set, &BY_ANGLE_AND_LENGTH, 100, 0.95);
    set.base.reverse();
    assert_recall("sorted downwards", &set, &BY_ANGLE_AND_LENGTH, 100, 0.95);
}

/// A line in both orders: sorted, and not.
fn lines() -> [(&'static str, Set); 2] {
    let mut random = Random::new(52);
    let direction = random.direction(24);
    let offset = random.vector(24);
    let sorted: Rows = sets::rows(5_200, |index| {
        sets::around(&offset, index as f64 / 10.0, &direction)
    });
    let mut shuffled = sorted.clone();
    for end in (1..shuffled.len()).rev() {
        shuffled.swap(end, random.below(end + 1));
    }
    [("a line, sorted", sorted), ("a line", shuffled)]
        .map(|(name, rows)| (name, Set::split(rows, 200)))
}

#[test]
fn points_on_a_line_are_found_in_whatever_order_they_come() {
    for (name, set) in lines() {
        let metrics = [Metric::Euclidean, Metric::Manhattan];
        assert_recall(name, &set, &metrics, 100, 0.95);
    }
}

/// Seen from zero, the far end of the line is one direction.
#[test]
fn points_on_a_line_are_told_apart_by_their_angles() {
    for (name, set) in lines() {
        assert_recall(name, &set, &[Metric::Cosine], 100, 0.95);
    }
}
