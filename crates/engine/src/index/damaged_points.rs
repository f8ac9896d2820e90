//! The damage on disk that the index knows of, as its callers add and read it.

use std::{collections::HashSet, sync::PoisonError};

use super::{
    Index, PointId,
    damage::{DamageRegister, KnownDamage},
};
use crate::{Error, store::Location, sync::MutexGuard};

impl Index {
    /// The known damage, if there is any.
    #[must_use]
    pub fn damage(&self) -> Option<KnownDamage> {
        self.known_damage().report()
    }

    /// The number of entries of damage that were added or dropped so far. It tells a caller whether
    /// anything has changed since its last call.
    #[must_use]
    pub fn damage_changes(&self) -> u64 {
        self.known_damage().changes()
    }

    /// The numbers of the segments whose headers are damaged.
    #[must_use]
    pub fn segments_with_damaged_headers(&self) -> HashSet<u32> {
        self.known_damage().segments_with_damaged_headers()
    }

    /// Adds the damaged place that `error` names, unless it is known. `point` is the point whose
    /// record is damaged, and the place of the record. It is None for a header, and for a record
    /// that no live point has.
    pub fn note_damage(&self, error: &Error, point: Option<(PointId, Location)>) {
        self.known_damage().note(error, point);
    }

    /// Drops all entries of segments that are removed.
    pub fn forget_damage(&self, segments: &[u32]) {
        self.known_damage().forget_segments(segments);
    }

    /// The live point whose record is in a segment at this offset in bytes, and the place, to be
    /// [noted](Self::note_damage) with damage that was found while the segment was read as a file.
    /// Goes through all points of the index.
    #[must_use]
    pub fn point_at(&self, segment: u32, offset: u64) -> Option<(PointId, Location)> {
        let _pin = self.epochs.pin();
        let mut points = self.live_in(segment);
        points.find(|(_, location): &(_, Location)| location.offset() == offset)
    }

    /// Locks the register and drops the entries of points that were deleted or replaced, which no
    /// request returns. Looks up the points of all entries, which costs nothing unless the folder is
    /// damaged.
    fn known_damage(&self) -> MutexGuard<'_, DamageRegister> {
        // Each change of the register is one call of its map: a panic leaves it whole.
        let mut known = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        known.forget_points(|id, location| self.is_at(id, location));
        known
    }
}
