//! The points that pass a filter, found while others are written, for a delete of them all at one
//! moment: what is written after the points were looked for is looked at by itself.

use vectord_filter::Filter;

use super::{Index, PointId, view::View};
use crate::{Error, Result, store::Stored};

/// With at most this many records behind, the writer does the rest.
const FEW: u64 = 128;

/// With more records behind than one for this many slots, the columns are asked about all points, where
/// they answer at once: that takes some nanoseconds for each slot, and a record some microseconds.
const SLOTS_PER_RECORD: u64 = 128;

/// The points that passed a filter in a view.
#[derive(Debug, Default)]
pub struct Matches {
    /// Their ids, each with the sequence of the insert: a point that has replaced one has another.
    points: Vec<(PointId, u64)>,
    /// The sequence of the view; 0 if nothing was looked at yet.
    sequence: u64,
    /// Whether points were written faster than they were looked at.
    falls_behind: bool,
}

impl Matches {
    /// Looks for the points that pass a filter until few records have come since, or as many as come
    /// while it looks.
    ///
    /// # Errors
    /// [`Error::Abandoned`] if `goes_on` has answered no meanwhile, as it
    /// does for good from then on; [`Error::Overloaded`] if the system has no memory.
    pub fn find(index: &Index, filter: &Filter, goes_on: &dyn Fn() -> bool) -> Result<Matches> {
        let mut matches = Matches::default();
        let mut behind = u64::MAX;
        loop {
            let later = matches.later(&index.view(), filter, goes_on)?;
            reserve(&mut matches.points, later.points.len())?;
            matches.points.extend(later.points);
            matches.sequence = later.sequence;
            let now = index.arena.visible() - matches.sequence;
            matches.falls_behind = now > FEW && now >= behind;
            if now <= FEW || matches.falls_behind {
                return Ok(matches);
            }
            behind = now;
        }
    }

    /// Those of the points of `view` that were written since these were looked for.
    ///
    /// # Errors
    /// As those of [`find`](Self::find).
    pub fn later(
        &self,
        view: &View,
        filter: &Filter,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Matches> {
        let name = |slot| (view.id(slot), view.index.arena.sequence(slot));
        let mut points = Vec::new();
        if self.sequence == 0 {
            let matching = view.matching(filter, goes_on)?;
            reserve(&mut points, matching.count())?;
            points.extend(matching.slots().map(name));
        } else if self.is_far_behind(view) && view.answers_at_once(filter) {
            let matching = view.matching(filter, goes_on)?;
            let named = matching.slots().map(name);
            let later: Vec<_> = named.filter(|point| point.1 > self.sequence).collect();
            reserve(&mut points, later.len())?;
            points.extend(later);
        } else {
            let later = view.matching_later(self.sequence, filter, goes_on)?;
            reserve(&mut points, later.len())?;
            points.extend(later.into_iter().map(name));
        }
        Ok(Matches {
            points,
            sequence: view.sequence,
            falls_behind: false,
        })
    }

    fn is_far_behind(&self, view: &View) -> bool {
        let records = view.sequence - self.sequence;
        records > FEW && records > u64::from(view.slots) / SLOTS_PER_RECORD
    }

    /// Whether points were written faster than they were looked at, so that more than a few are left.
    #[must_use]
    pub fn falls_behind(&self) -> bool {
        self.falls_behind
    }

    /// Those that are there still. Only the writer calls this.
    pub fn live(&self, index: &Index) -> impl Iterator<Item = (PointId, Stored)> {
        self.points.iter().filter_map(|&(id, inserted)| {
            let stored = index.find(&id)?;
            (stored.inserted == inserted).then_some((id, stored))
        })
    }

    /// Their number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// The bytes of memory that they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.points.capacity() * size_of::<(PointId, u64)>()
    }
}

/// Makes room for this number of further points, and no more.
fn reserve(points: &mut Vec<(PointId, u64)>, further: usize) -> Result<()> {
    let reserved = points.try_reserve_exact(further);
    reserved.map_err(|_| Error::Overloaded("no memory for the points to delete; try again".into()))
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use vectord_filter::{Condition, Expression, Test, Value};

    use super::*;
    use crate::index::tests::support::{id, index_with_metadata};

    #[test]
    fn what_was_written_since_is_the_same_by_the_columns_and_by_the_records() {
        let points = 40_000;
        let index = index_with_metadata(points, 1 << 30, |n| format!(r#"{{"k":{}}}"#, n % 3));
        let test = Test::In([Value::Number(1.0)].into_iter().collect());
        let filter = Filter::new(Expression::Condition(Condition::Metadata("k".into(), test)));
        let goes_on = || true;
        let later = |sequence, by_columns| {
            let found = Matches {
                sequence: sequence as u64,
                ..Matches::default()
            };
            let view = index.view();
            let asks_columns = found.is_far_behind(&view) && view.answers_at_once(&filter);
            assert_eq!(asks_columns, by_columns, "behind {sequence}");
            let mut points = found.later(&view, &filter, &goes_on).unwrap().points;
            points.sort_by_key(|point| point.1);
            points
        };
        for build in [false, true] {
            if build {
                index.view().matching(&filter, &goes_on).unwrap();
                index.build_columns();
            }
            // The sequence of a point is its number.
            for sequence in [1, 30_000, points - 313, points - 312, points - 1, points] {
                let numbers = (sequence + 1..=points).filter(|number| number % 3 == 1);
                let expected: Vec<_> = numbers.map(|n| (id(n), n as u64)).collect();
                let is_far = sequence < points - 312;
                let found = later(sequence, build && is_far);
                assert!(found == expected, "behind {sequence}: {}", found.len());
            }
        }
    }
}
