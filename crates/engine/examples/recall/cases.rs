//! What is measured, and what it must reach.

use vectord_engine::Metric;

/// A set, the graph to build over it, and the searches of that graph.
#[derive(Clone, Copy)]
pub struct Case {
    pub set: &'static str,
    /// The type of the values, as the names of the files say it.
    pub values: &'static str,
    pub graph: Metric,
    /// Each metric to search under, and its name in the file of the exact answers.
    pub searches: &'static [(Metric, &'static str)],
    pub targets: [Target; 2],
}

/// A breadth of search, and what an average query of that breadth must reach.
#[derive(Clone, Copy)]
pub struct Target {
    pub ef: usize,
    pub least_recall: f64,
    /// The share of the points that it may rank.
    pub most_ranks: f64,
}

pub const CASES: [Case; 4] = [
    Case {
        set: "sift",
        values: "u8",
        graph: Metric::Euclidean,
        searches: &[(Metric::Euclidean, "l2"), (Metric::Manhattan, "l1")],
        targets: targets(0.95, 0.99),
    },
    Case {
        set: "minilm",
        values: "f16",
        graph: Metric::Euclidean,
        searches: &[(Metric::Euclidean, "l2"), (Metric::Manhattan, "l1")],
        targets: targets(0.95, 0.99),
    },
    Case {
        set: "minilm",
        values: "f16",
        graph: Metric::Cosine,
        searches: &[(Metric::Cosine, "cosine")],
        targets: targets(0.95, 0.99),
    },
    Case {
        set: "minhash",
        values: "u8",
        graph: Metric::Hamming,
        searches: &[(Metric::Hamming, "hamming")],
        // Ranks of signatures are small integers, full of ties.
        targets: targets(0.95, 0.985),
    },
];

const fn targets(least_recall_at_100: f64, least_recall_at_400: f64) -> [Target; 2] {
    [
        Target {
            ef: 100,
            least_recall: least_recall_at_100,
            most_ranks: 0.05,
        },
        Target {
            ef: 400,
            least_recall: least_recall_at_400,
            most_ranks: 0.15,
        },
    ]
}
