//! Sets of sequence numbers, as ranges.

use std::ops::RangeInclusive;

/// A set of sequence numbers, as ranges that are added in any order.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<RangeInclusive<u64>>);

impl Ranges {
    /// Adds the numbers from `first` to `last`; none if `last` is less.
    pub fn add(&mut self, first: u64, last: u64) {
        match self.0.last_mut() {
            _ if first > last => {}
            Some(range) if range.end().checked_add(1) == Some(first) => {
                *range = *range.start()..=last;
            }
            _ => self.0.push(first..=last),
        }
    }

    /// Adds the numbers of another set.
    pub fn add_all(&mut self, other: &Ranges) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Puts the ranges in order, so that they can be searched.
    pub fn sort(&mut self) {
        self.0.sort_unstable_by_key(|range| *range.start());
        let mut sorted = Ranges::default();
        for range in self.0.drain(..) {
            let next = sorted.last().map_or(0, |last| last.saturating_add(1));
            let is_behind = sorted.0.is_empty() || *range.end() >= next;
            if is_behind {
                sorted.add((*range.start()).max(next), *range.end());
            }
        }
        *self = sorted;
    }

    /// Whether a sorted set holds a number.
    pub fn contains(&self, number: u64) -> bool {
        let after = self.0.partition_point(|range| *range.start() <= number);
        after > 0 && *self.0[after - 1].end() >= number
    }

    /// The last number of a sorted set.
    pub fn last(&self) -> Option<u64> {
        self.0.last().map(|range| *range.end())
    }

    /// The ranges from 1 to `last` that a sorted set does not hold.
    pub fn missing(&self, last: u64) -> Vec<RangeInclusive<u64>> {
        let mut missing = Ranges::default();
        let mut next = 1;
        for range in &self.0 {
            let end = range.start().saturating_sub(1).min(last);
            missing.add(next, end);
            next = range.end().saturating_add(1).max(next);
        }
        missing.add(next, last);
        missing.0
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;

    #[test]
    fn what_is_missing_is_what_was_not_added() {
        let mut ranges = Ranges::default();
        for (first, last) in [(9, 9), (3, 4), (5, 5), (4, 6), (20, 30), (21, 25), (7, 6)] {
            ranges.add(first, last);
        }
        ranges.sort();
        assert_eq!(ranges.missing(32), [1..=2, 7..=8, 10..=19, 31..=32]);
        assert_eq!(ranges.missing(22), [1..=2, 7..=8, 10..=19]);
        assert_eq!(ranges.missing(12), [1..=2, 7..=8, 10..=12]);
        let held: Vec<u64> = (0..40).filter(|&number| ranges.contains(number)).collect();
        let expected: Vec<u64> = (3..=6).chain(9..=9).chain(20..=30).collect();
        assert_eq!((held, ranges.last()), (expected, Some(30)));
        assert_eq!(Ranges::default().missing(3), [1..=3]);
        assert_eq!(Ranges::default().missing(0), []);
    }
}
