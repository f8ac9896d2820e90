//! The targets, and whether they are met.

use crate::bytes::Memory;

/// What each metric after the first may add, in bytes a point.
const FURTHER_METRIC: f64 = 160.0;

/// By dimension, the most that one metric in use may take, everything included, in multiples of the
/// raw vectors; and of that, the most that is not mapped from files.
const TARGETS: [(usize, f64, Option<f64>); 2] = [(128, 1.7, Some(0.7)), (384, 1.4, None)];

pub struct Verdict {
    what: String,
    found: f64,
    most: f64,
}

impl Verdict {
    pub fn met(&self) -> bool {
        self.found <= self.most
    }

    pub fn json(&self) -> String {
        format!(
            "{{\"what\": \"{}\", \"found\": {:.3}, \"at_most\": {}, \"met\": {}}}",
            self.what,
            self.found,
            self.most,
            self.met()
        )
    }
}

/// The verdicts on one set. Dimensions without a target of their own are held to what a further
/// metric may take alone.
pub fn of(memory: &Memory) -> Vec<Verdict> {
    let raw = memory.raw() as f64;
    let mut verdicts = Vec::new();
    for (dimension, all, anonymous) in TARGETS {
        if dimension != memory.set.dimension {
            continue;
        }
        verdicts.push(Verdict {
            what: "one metric, all of it, x raw".into(),
            found: memory.with_one_metric() / raw,
            most: all,
        });
        verdicts.extend(anonymous.map(|most| Verdict {
            what: "one metric, not mapped from files, x raw".into(),
            found: memory.anonymous_with_one_metric() / raw,
            most,
        }));
    }
    for (metric, bytes) in memory.further_metrics() {
        verdicts.push(Verdict {
            what: format!("{metric:?} besides, bytes a point"),
            found: bytes,
            most: FURTHER_METRIC,
        });
    }
    verdicts
}

pub fn print(verdicts: &[Verdict]) {
    for verdict in verdicts {
        let met = if verdict.met() { "met" } else { "MISSED" };
        println!(
            "  {:44} {:8.2}, at most {}: {met}",
            verdict.what, verdict.found, verdict.most
        );
    }
}
