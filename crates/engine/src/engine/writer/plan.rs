//! Plans a change: from the points that there are follow the records that it takes, and its answer.

use std::time::{Duration, Instant};

use vectord_filter::Filter;

use super::request::{Batch, Change, Existing, Outcome, Update, Upserted};
use crate::{
    Error, Result,
    index::{Index, Matches, PointId},
    store::{Segments, Write},
};

/// The greatest size of the records of one update, in bytes. What is not updated is copied from the
/// point that there is, so that the size of a request does not bound it.
const MAX_UPDATE_BYTES: usize = 256 << 20;

/// What a change takes.
pub struct Planned<'a> {
    /// The writes, in order.
    pub writes: Vec<Write<'a>>,
    /// The answer once they are durable and visible.
    pub outcome: Outcome,
}

/// Plans a change of the points that `index` has now. Only the writer calls this.
///
/// # Errors
/// The change cannot be made, and nothing else is wrong: the record of a point that an update keeps
/// a part of is damaged, an update is too large, it takes more than `longest` to ask a filter about the
/// points that were written since it was asked about others, or the number of points is another than
/// the one that a delete of all expects.
pub fn plan<'a>(
    change: &'a Change,
    index: &Index,
    segments: &'a Segments,
    longest: Duration,
) -> Result<Planned<'a>> {
    match change {
        Change::Store(batch, existing) => Ok(store(batch, *existing, index)),
        Change::Update(updates) => update(updates, index, segments),
        Change::Delete(ids) => Ok(delete(ids, index)),
        Change::DeleteMatching(filter, found) => delete_matching(filter, found, index, longest),
        Change::DeleteAll(expected) => delete_all(*expected, index),
    }
}

fn store<'a>(batch: &'a Batch, existing: Existing, index: &Index) -> Planned<'a> {
    let mut counts = Upserted::default();
    let mut writes = Vec::with_capacity(batch.ids.len());
    for mut write in batch.writes(index.dimension()) {
        if existing != Existing::Impossible
            && let Write::Insert { id, replaced, .. } = &mut write
        {
            *replaced = index.find(id);
            if replaced.is_some() && existing == Existing::Keep {
                counts.kept += 1;
                continue;
            }
            counts.replaced += usize::from(replaced.is_some());
        }
        writes.push(write);
    }
    counts.stored = writes.len() - counts.replaced;
    Planned {
        writes,
        outcome: Outcome {
            counts,
            ..Outcome::default()
        },
    }
}

fn update<'a>(updates: &'a [Update], index: &Index, segments: &'a Segments) -> Result<Planned<'a>> {
    let mut writes = Vec::with_capacity(updates.len());
    let mut found = Vec::with_capacity(updates.len());
    let mut bytes = 0;
    for update in updates {
        let replaced = index.find(&update.id);
        found.push(replaced.is_some());
        let Some(point) = replaced else { continue };
        // Only the writer, which runs this, unmaps segments.
        let stored = segments
            .read(point.location)
            .map_err(|error| index.name(update.id, point.location, error))?;
        let content = update.content.as_deref().unwrap_or(stored.content);
        let metadata = update.metadata.as_deref().unwrap_or(stored.metadata);
        bytes += size_of_val(stored.vector) + content.len() + metadata.len();
        if bytes > MAX_UPDATE_BYTES {
            return Err(Error::InvalidArgument(format!(
                "the points to be updated take more than {MAX_UPDATE_BYTES} bytes: update fewer at \
                 once"
            )));
        }
        writes.push(Write::Insert {
            id: update.id,
            vector: stored.vector,
            content_type: update.content_type.unwrap_or(stored.content_type),
            content,
            metadata,
            replaced,
        });
    }
    Ok(Planned {
        writes,
        outcome: found_or_not(found),
    })
}

fn delete(ids: &[PointId], index: &Index) -> Planned<'static> {
    let points: Vec<_> = ids.iter().map(|id| (*id, index.find(id))).collect();
    let delete = |&(id, point)| Some(Write::Delete { id, stored: point? });
    Planned {
        writes: points.iter().filter_map(delete).collect(),
        outcome: found_or_not(points.iter().map(|(_, point)| point.is_some()).collect()),
    }
}

/// Deletes the points in `found` that have not changed since the search, and the points written since
/// that pass the filter. The view shows all earlier writes, because such a delete begins a group.
fn delete_matching(
    filter: &Filter,
    found: &Matches,
    index: &Index,
    longest: Duration,
) -> Result<Planned<'static>> {
    let begun = Instant::now();
    let goes_on = || begun.elapsed() < longest;
    let later = found.later(&index.view(), filter, &goes_on);
    let later = later.map_err(|error| match error {
        Error::Abandoned => takes_long(longest),
        other => other,
    })?;
    let live = found.live(index).chain(later.live(index));
    let writes: Vec<_> = live
        .map(|(id, stored)| Write::Delete { id, stored })
        .collect();
    Ok(Planned {
        outcome: Outcome {
            deleted: writes.len() as u64,
            ..Outcome::default()
        },
        writes,
    })
}

fn takes_long(longest: Duration) -> Error {
    Error::InvalidArgument(format!(
        "it takes more than {longest:?} to ask this filter about the points that were written while \
         it was asked about the others, and nothing else can be written meanwhile: delete by the ids \
         that a scroll with the filter lists, or write less at the same time"
    ))
}

fn delete_all(expected: u64, index: &Index) -> Result<Planned<'static>> {
    let points = index.live();
    if points != expected {
        return Err(Error::OtherCount { points, expected });
    }
    let writes = if points == 0 {
        Vec::new()
    } else {
        vec![Write::DeleteAll]
    };
    Ok(Planned {
        writes,
        outcome: Outcome::default(),
    })
}

fn found_or_not(found: Vec<bool>) -> Outcome {
    Outcome {
        found,
        ..Outcome::default()
    }
}

impl Batch {
    /// An insert for each point, none of which replaces another. Vectors have `dimension` values.
    fn writes(&self, dimension: usize) -> impl Iterator<Item = Write<'_>> {
        let vectors = self.vectors.chunks_exact(dimension);
        (0..self.ids.len()).zip(vectors).map(|(at, vector)| {
            let metadata = if self.metadata_ends.is_empty() {
                &[]
            } else {
                part(&self.metadata, &self.metadata_ends, at)
            };
            Write::Insert {
                id: self.ids[at],
                vector,
                content_type: self.content_types[at],
                content: part(&self.contents, &self.content_ends, at),
                metadata,
                replaced: None,
            }
        })
    }
}

/// One of the parts that lie one after the other, with the offsets at which they end.
fn part<'a>(bytes: &'a [u8], ends: &[usize], at: usize) -> &'a [u8] {
    let start = at.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[at]]
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use vectord_filter::Expression;

    use super::*;
    use crate::index::tests::support::index_with_metadata;

    #[test]
    fn a_delete_whose_points_take_long_to_find_is_refused() {
        let index = index_with_metadata(100, 0, |_| "{}".into());
        let filter = Filter::new(Expression::All(Vec::new()));
        let none = Matches::default();
        let planned = delete_matching(&filter, &none, &index, Duration::from_mins(1)).unwrap();
        assert_eq!(planned.writes.len(), 100);
        let refused = delete_matching(&filter, &none, &index, Duration::ZERO).map(|_| ());
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("delete by the ids that a scroll"), "{text}");
    }
}
