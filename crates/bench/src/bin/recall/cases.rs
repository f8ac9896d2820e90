//! The cases that are measured, and their targets.

use vectord_engine::Metric;

/// A set, and the metric of the graph over it.
#[derive(Clone, Copy)]
pub struct Case {
    pub set: &'static str,
    /// The type of the values, as in the names of the files.
    pub values: &'static str,
    pub metric: Metric,
    /// The name of the metric in the name of the file with the exact answers.
    pub answers: &'static str,
    pub targets: [Target; 2],
}

/// A breadth of search, and the targets for an average query of that breadth.
#[derive(Clone, Copy)]
pub struct Target {
    pub ef: usize,
    pub least_recall: f64,
    /// The share of the points that it may rank.
    pub most_ranks: f64,
}

pub const CASES: [Case; 6] = [
    Case {
        set: "sift",
        values: "u8",
        metric: Metric::Euclidean,
        answers: "l2",
        targets: targets(0.95, 0.99),
    },
    Case {
        set: "sift",
        values: "u8",
        metric: Metric::Manhattan,
        answers: "l1",
        targets: targets(0.95, 0.99),
    },
    Case {
        set: "minilm",
        values: "f16",
        metric: Metric::Euclidean,
        answers: "l2",
        targets: targets(0.95, 0.99),
    },
    Case {
        set: "minilm",
        values: "f16",
        metric: Metric::Manhattan,
        answers: "l1",
        targets: targets(0.95, 0.99),
    },
    Case {
        set: "minilm",
        values: "f16",
        metric: Metric::Cosine,
        answers: "cosine",
        targets: targets(0.95, 0.99),
    },
    Case {
        set: "minhash",
        values: "u8",
        metric: Metric::Hamming,
        answers: "hamming",
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
