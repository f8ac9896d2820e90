//! The damage that was found in the segments since the index was opened: one entry for each damaged
//! place, which is a file and an offset in it. The entry of a damaged record is dropped when its
//! point is deleted, and every entry when its segment is removed: compaction, which removes them,
//! copies no damaged record, and leaves a segment alone that has one of a live point.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::PoisonError,
};

use super::{Index, PointId};
use crate::{
    Error,
    store::{Location, segment_number},
    sync::MutexGuard,
};

/// The most places that are kept. Further places are ignored, so that the counts of [`Damage`] end
/// here.
const MOST_KEPT: usize = 10_000;

/// The most points, and the most places, that a [`Damage`] lists.
const MOST_NAMED: usize = 16;

/// The damage that was found since the index was opened and that still matters. Lists are in the
/// order of files and offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// A line for the log about each of the first 16 places.
    pub places: Vec<String>,
    /// The first 16 points whose records are damaged.
    pub points: Vec<PointId>,
    /// The number of points whose records are damaged.
    pub damaged_points: usize,
    /// The number of damaged places in headers. Every request is still answered in full, but the
    /// index could not be opened again.
    pub damaged_headers: usize,
}

/// The register of damaged places.
#[derive(Default)]
pub(super) struct Known {
    /// By file and offset.
    places: BTreeMap<(PathBuf, u64), Place>,
    /// How many entries were added or dropped so far.
    changes: u64,
}

struct Place {
    text: String,
    /// The point whose record is damaged. None for headers.
    point: Option<PointId>,
}

impl Known {
    fn retain(&mut self, keep: impl Fn(&PathBuf, &Place) -> bool) {
        let before = self.places.len();
        self.places.retain(|(path, _), place| keep(path, place));
        self.changes += (before - self.places.len()) as u64;
    }
}

impl Index {
    /// The known damage, if there is any.
    #[must_use]
    pub fn damage(&self) -> Option<Damage> {
        let known = self.known_damage();
        if known.places.is_empty() {
            return None;
        }
        let points = known.places.values().filter_map(|place| place.point);
        let damaged_points = points.clone().count();
        let texts = known.places.values().map(|place| &place.text);
        Some(Damage {
            places: texts.take(MOST_NAMED).cloned().collect(),
            points: points.take(MOST_NAMED).collect(),
            damaged_points,
            damaged_headers: known.places.len() - damaged_points,
        })
    }

    /// A number that is greater than at the last call if an entry was added or dropped since.
    #[must_use]
    pub fn damage_changes(&self) -> u64 {
        self.known_damage().changes
    }

    /// The numbers of the segments whose headers are damaged.
    #[must_use]
    pub fn segments_with_damaged_headers(&self) -> HashSet<u32> {
        let known = self.known_damage();
        let headers = known
            .places
            .iter()
            .filter(|(_, place)| place.point.is_none());
        let numbers = headers.filter_map(|((path, _), _)| segment_number(path));
        numbers.collect()
    }

    /// Adds a damaged place, unless it is known. `point` is the point whose record is damaged, or
    /// None for headers, and for a record that no live point has.
    pub fn note_damage(&self, error: &Error, point: Option<PointId>) {
        let key = match error {
            Error::Damaged { path, offset, .. } => (path.clone(), *offset),
            // An error that names no place, such as one of the system. One entry stands for all.
            _ => (PathBuf::new(), 0),
        };
        let mut known = self.known_damage();
        if known.places.len() >= MOST_KEPT || known.places.contains_key(&key) {
            return;
        }
        let text = error.to_string();
        known.places.insert(key, Place { text, point });
        known.changes += 1;
    }

    /// Drops all entries of segments that are removed.
    pub fn forget_damage(&self, segments: &[u32]) {
        let stays = |number| !segments.contains(&number);
        let mut known = self.known_damage();
        known.retain(|path, _| segment_number(path).is_none_or(stays));
    }

    /// The live point whose record is in a segment at this offset: the one to note with damage that
    /// was found while the segment was read as a file. Goes through the points of the segment.
    #[must_use]
    pub fn point_at(&self, segment: u32, offset: u64) -> Option<PointId> {
        let _pin = self.epochs.pin();
        let mut points = self.live_in(segment);
        let found = points.find(|(_, location): &(_, Location)| location.offset() == offset);
        found.map(|(id, _)| id)
    }

    /// Drops the entries of points that were deleted, which no request returns, and gives the rest.
    /// Looks up the points of all entries, of which there are none but in a damaged folder.
    fn known_damage(&self) -> MutexGuard<'_, Known> {
        // Each change of the register is one call of its map: a panic leaves it whole.
        let mut known = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.places.is_empty() {
            let lives = |id: &PointId| self.ids.get(id, &self.arena, |_| ()).is_some();
            known.retain(|_, place| place.point.as_ref().is_none_or(lives));
        }
        known
    }
}
