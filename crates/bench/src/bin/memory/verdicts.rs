//! The targets.

use crate::bytes::Memory;
use vectord_bench::report::{Bound, Cell, Verdict};

/// What each metric after the first may add, in bytes a point.
const FURTHER_METRIC: f64 = 160.0;

/// By dimension: the most memory that an engine with one metric may take, in multiples of the raw
/// vectors; and the most of it that may not be mapped from files.
const TARGETS: [(usize, f64, Option<f64>); 2] = [(128, 1.7, Some(0.7)), (384, 1.4, None)];

/// The verdicts on one set. A dimension without a target of its own is only held to the target for
/// a further metric.
pub fn of(memory: &Memory) -> Vec<Verdict> {
    let raw = memory.raw() as f64;
    let verdict = |what: &str, found, most| Verdict {
        what: format!("{}: {what}", memory.set),
        found: Cell::Number(found, 2),
        bound: Bound::AtMost(most),
    };
    let mut verdicts = Vec::new();
    for (dimension, all, anonymous) in TARGETS {
        if dimension != memory.set.dimension {
            continue;
        }
        let found = memory.with_one_metric() / raw;
        verdicts.push(verdict("one metric, all of it, x raw", found, all));
        verdicts.extend(anonymous.map(|most| {
            let found = memory.anonymous_with_one_metric() / raw;
            verdict("one metric, not mapped, x raw", found, most)
        }));
    }
    for (metric, bytes) in memory.further_metrics() {
        let what = format!("{metric:?} besides, bytes a point");
        verdicts.push(verdict(&what, bytes, FURTHER_METRIC));
    }
    verdicts
}
