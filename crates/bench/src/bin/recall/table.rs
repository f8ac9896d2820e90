//! The table that is printed.

use vectord_engine::Metric;

use crate::contest::Outcome;

/// The columns that the rows of one search share.
pub struct Row {
    pub set: &'static str,
    pub metric: Metric,
    pub points: u32,
    pub ef: usize,
}

pub fn heading() {
    println!(
        "{:8} {:10} {:>7} {:>4} {:8} {:>8} {:>9} {:>11} {:>9} {:>9}",
        "set",
        "metric",
        "points",
        "ef",
        "index",
        "build s",
        "recall@10",
        "ranks/query",
        "of points",
        "us/query",
    );
}

/// The ratios of the engine's graph to the reference: below 1 it builds faster and ranks fewer
/// points, above 1 it answers faster.
pub fn ratio(build: f64, ours: &Outcome, theirs: &Outcome) {
    println!(
        "{:33}vectord / hnsw_rs: build time {build:.2}, ranks {:.2}, queries per second {:.2}",
        "",
        ours.ranks / theirs.ranks,
        theirs.micros / ours.micros,
    );
}

impl Row {
    pub fn engine(&self, build_seconds: f64, outcome: &Outcome, hit: bool) {
        let verdict = if hit { "" } else { "  MISSED" };
        println!("{}{verdict}", self.of("vectord", build_seconds, outcome));
    }

    pub fn reference(&self, build_seconds: f64, outcome: &Outcome) {
        println!("{}", self.of("hnsw_rs", build_seconds, outcome));
    }

    fn of(&self, index: &str, build_seconds: f64, outcome: &Outcome) -> String {
        format!(
            "{:8} {:10} {:7} {:4} {index:8} {build_seconds:8.1} {:9.4} {:11.0} {:8.2}% {:9.0}",
            self.set,
            format!("{:?}", self.metric),
            self.points,
            self.ef,
            outcome.recall,
            outcome.ranks,
            100.0 * outcome.ranks / f64::from(self.points),
            outcome.micros,
        )
    }
}
