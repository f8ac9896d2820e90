//! The records of an answer, copied out of the log into one list for each of their parts.

use super::{Direction, Index, PointId, view::View};
use crate::{
    Result,
    store::{Location, ReadAhead, StoredPoint},
    vectors::points::Points,
};

/// The parts of records that an answer holds besides ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Include {
    /// The vectors.
    pub vector: bool,
    /// The numbers of the content types.
    pub content_type: bool,
    /// The contents.
    pub content: bool,
    /// The metadata.
    pub metadata: bool,
}

impl Include {
    /// Everything.
    pub const ALL: Include = Include {
        vector: true,
        content_type: true,
        content: true,
        metadata: true,
    };

    /// Whether an answer holds ids alone.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Include::default()
    }
}

/// Points, each of their parts in a list of its own, one point after the other. Lists of parts that
/// were not asked for are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// The ids.
    pub ids: Vec<PointId>,
    /// The values of all vectors, bit for bit.
    pub vectors: Vec<f32>,
    /// The numbers of the content types.
    pub content_types: Vec<u8>,
    /// The bytes of all contents.
    pub contents: Vec<u8>,
    /// Where each content ends in `contents`.
    pub content_ends: Vec<usize>,
    /// The bytes of the metadata of all points, as the service encoded them.
    pub metadata: Vec<u8>,
    /// Where the metadata of each point end in `metadata`.
    pub metadata_ends: Vec<usize>,
}

impl Records {
    /// Appends the points of `more`, which must hold the same parts.
    pub fn append(&mut self, more: Records) {
        let shift = |ends: &mut Vec<usize>, more: Vec<usize>, start: usize| {
            ends.extend(more.into_iter().map(|end| start + end));
        };
        shift(
            &mut self.content_ends,
            more.content_ends,
            self.contents.len(),
        );
        shift(
            &mut self.metadata_ends,
            more.metadata_ends,
            self.metadata.len(),
        );
        self.ids.extend(more.ids);
        self.vectors.extend(more.vectors);
        self.content_types.extend(more.content_types);
        self.contents.extend(more.contents);
        self.metadata.extend(more.metadata);
    }

    /// Adds the wanted parts of a point.
    fn push(&mut self, stored: &StoredPoint, include: Include) {
        self.ids.push(stored.id);
        if include.vector {
            self.vectors.extend_from_slice(stored.vector);
        }
        if include.content_type {
            self.content_types.push(stored.content_type);
        }
        if include.content {
            self.contents.extend_from_slice(stored.content);
            self.content_ends.push(self.contents.len());
        }
        if include.metadata {
            self.metadata.extend_from_slice(stored.metadata);
            self.metadata_ends.push(self.metadata.len());
        }
    }
}

/// Points that were live when the view was taken or later can be read until it is dropped, whether
/// the view contains them or not: a point counts as soon as the writer has entered it.
impl View<'_> {
    /// The slot of the live point with each of these ids; None where there is no such point.
    #[must_use]
    pub fn slots_of(&self, ids: &[PointId]) -> Vec<Option<u32>> {
        let slot = |id| self.index.ids.get(id, &self.index.arena, |slot| slot);
        ids.iter().map(slot).collect()
    }

    /// The vector of a live point, whose record is verified.
    ///
    /// # Errors
    /// The record is damaged.
    pub fn vector_of(&self, id: &PointId) -> Result<Option<&[f32]>> {
        let index = self.index;
        let Some(slot) = index.ids.get(id, &index.arena, |slot| slot) else {
            return Ok(None);
        };
        index.verify(slot)?;
        Ok(Some(index.arena.vector(slot)))
    }

    /// At most `limit` live points that come behind the sequence `after`, or from the first on: the
    /// sequence and the slot of each.
    #[must_use]
    pub fn page(&self, after: Option<u64>, limit: usize, direction: Direction) -> Vec<(u64, u32)> {
        let index = self.index;
        index
            .order
            .page(&index.ids, &index.arena, after, limit, direction)
    }

    /// Copies the wanted parts of the points in these slots, each verified.
    ///
    /// # Errors
    /// The record of a point is damaged.
    pub fn records(&self, slots: &[u32], include: Include) -> Result<Records> {
        let arena = &self.index.arena;
        let mut records = Records::default();
        if include.is_empty() {
            records.ids = slots.iter().map(|&slot| arena.id(slot)).collect();
            return Ok(records);
        }
        let mut ahead = ReadAhead::default();
        for &slot in slots {
            let take = |stored: StoredPoint| records.push(&stored, include);
            let location = self.location(slot);
            self.index
                .read_by(&arena.id(slot), location, &mut ahead, take)?;
        }
        Ok(records)
    }

    /// The bytes of the wanted parts of the point in a slot, its id included, for a reader of many.
    pub fn bytes_in_answer(&self, slot: u32, include: Include, ahead: &mut ReadAhead) -> usize {
        let mut bytes = size_of::<PointId>() + usize::from(include.content_type);
        if include.vector {
            bytes += self.index.dimension * size_of::<f32>();
        }
        if include.content || include.metadata {
            let segments = self.index.arena.segments();
            let (content, metadata) = segments.payload_lengths_by(self.location(slot), ahead);
            bytes += if include.content { content } else { 0 };
            bytes += if include.metadata { metadata } else { 0 };
        }
        bytes
    }

    /// The place of the record of a point.
    pub(super) fn location(&self, slot: u32) -> Location {
        let arena = &self.index.arena;
        let live = self.index.live_at(slot).map(|(_, location)| location);
        live.unwrap_or_else(|| arena.location(slot))
    }
}

impl Index {
    /// The id of the live point in `slot` and the place of its record, whether searches see it yet
    /// or not. None if there is none. The caller holds a pin: the slot gets no other point and the
    /// record stays readable there meanwhile.
    pub(super) fn live_at(&self, slot: u32) -> Option<(PointId, Location)> {
        let id = self.arena.id(slot);
        // Compaction moves live points, under the lock of their ids.
        let locate = |found| (found == slot).then(|| self.arena.location(slot));
        let location = self.ids.get(&id, &self.arena, locate).flatten()?;
        Some((id, location))
    }
}
