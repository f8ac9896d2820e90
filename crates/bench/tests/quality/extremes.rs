//! Values so small or so large that single precision cannot rank them, among ordinary ones.

use vectord_engine::Metric;

use crate::{
    engines::Modelled,
    random::Random,
    sets::{self, Rows},
};

/// A third of the rows each: tiny, huge, ordinary. Some rows mix sizes.
fn mixed(count: usize, dimension: usize) -> Rows {
    let mut random = Random::new(60);
    sets::rows(count, |index| {
        let scale = [1e-30, 1.0, 1e30, 1.0, 1e-15, 1e15][index % 6];
        let mut row: Vec<f64> = random.vector(dimension).iter().map(|x| x * scale).collect();
        if index % 7 == 0 {
            row[index % dimension] = 1e-30;
        }
        if index % 11 == 0 {
            row[index % dimension] = 1e30;
        }
        row
    })
}

#[test]
fn tiny_and_huge_values_among_ordinary_ones_are_ranked_right() {
    let rows = mixed(3_000, 8);
    let modelled = Modelled::of(&rows);
    for metric in Metric::ALL {
        modelled.build_graph(metric);
        for query in &rows[..24] {
            modelled.check(metric, query, 20, &modelled.search(metric, query, 20, 100));
            let exact = modelled.search(metric, query, 20, 3_000);
            assert_eq!(
                exact,
                modelled.truth(metric, query, 20),
                "{metric:?} {query:?}"
            );
        }
    }
}

/// A vector that single precision cannot rank is in no graph, and in every answer it belongs to.
#[test]
fn tiny_and_huge_vectors_are_found_whatever_the_breadth() {
    let rows = mixed(3_000, 8);
    let modelled = Modelled::of(&rows);
    for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine] {
        modelled.build_graph(metric);
        for index in [0, 2, 6, 8, 12, 14] {
            let found = modelled.search(metric, &rows[index], 1, 1);
            let truth = modelled.truth(metric, &rows[index], 1);
            assert_eq!(found, truth, "{metric:?} row {index}");
        }
    }
}
