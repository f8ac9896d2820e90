//! Answers that are wrong, whatever the recall: the engine promises that there are none.

use vectord_bench::report::{Bound, Cell, Verdict};

#[derive(Default)]
pub struct Faults {
    lengths: usize,
    strangers: usize,
    counts: usize,
}

impl Faults {
    /// An answer has another number of results than `expected`.
    pub fn length(&mut self, filter: &str, expected: usize, found: usize) {
        self.lengths += 1;
        Faults::tell(
            self.lengths,
            &format!("{found} results, expected {expected}: {filter}"),
        );
    }

    /// An answer has a point that does not match, or one twice.
    pub fn stranger(&mut self, filter: &str, row: usize) {
        self.strangers += 1;
        Faults::tell(
            self.strangers,
            &format!("point {row} is wrong or there twice: {filter}"),
        );
    }

    /// Another number of points was counted than `expected`.
    pub fn count(&mut self, filter: &str, expected: usize, found: u64) {
        self.counts += 1;
        Faults::tell(
            self.counts,
            &format!("{found} points counted, expected {expected}: {filter}"),
        );
    }

    /// The first of a kind is told at once.
    fn tell(number: usize, what: &str) {
        if number == 1 {
            eprintln!("FAULT: {what}");
        }
    }

    pub fn verdicts(&self, set: &str) -> [Verdict; 3] {
        [
            ("answers of another length", self.lengths),
            ("wrong points in answers", self.strangers),
            ("wrong counts", self.counts),
        ]
        .map(|(what, found)| Verdict {
            what: format!("{set}: {what}"),
            found: Cell::from(found),
            bound: Bound::AtMost(0.0),
        })
    }
}
