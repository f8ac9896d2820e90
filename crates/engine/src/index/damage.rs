//! What is known of damage: each place once, for as long as it matters. That of a point's record
//! does until the point is deleted, that of a file's headers until compaction has replaced the file.

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

/// So many places are kept at most; of more it is known that there are more.
const MOST_KEPT: usize = 10_000;

/// So many points and places are named at most.
const MOST_NAMED: usize = 16;

/// Damage that was found since the start and is there still.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// A line for the log about each place, of which the first are named.
    pub places: Vec<String>,
    /// The points whose records are damaged: the first of them.
    pub points: Vec<PointId>,
    /// How many points that are.
    pub damaged_points: usize,
    /// How many places in headers, which cost no answer, and which a start would refuse.
    pub damaged_headers: usize,
}

/// By file and offset.
#[derive(Default)]
pub(super) struct Known {
    places: BTreeMap<(PathBuf, u64), Place>,
    changes: u64,
}

struct Place {
    text: String,
    /// The point whose record this is, if it is one.
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
    /// Damage that was found since the start and is there still, if there is any.
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

    /// Grows with each place of damage that is found or that does not matter any more.
    #[must_use]
    pub fn damage_changes(&self) -> u64 {
        self.known_damage().changes
    }

    /// The numbers of the segments whose headers are damaged.
    #[must_use]
    pub fn segments_with_damaged_headers(&self) -> HashSet<u32> {
        let known = self.known_damage();
        let headers = known.places.iter().filter(|(_, at)| at.point.is_none());
        let numbers = headers.filter_map(|((path, _), _)| segment_number(path));
        numbers.collect()
    }

    /// Notes damage: that of the record of a point, or of headers.
    pub fn note_damage(&self, error: &Error, point: Option<PointId>) {
        let key = match error {
            Error::Damaged { path, offset, .. } => (path.clone(), *offset),
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

    /// Forgets damage of segments that are gone.
    pub fn forget_damage(&self, segments: &[u32]) {
        let stays = |number| !segments.contains(&number);
        let mut known = self.known_damage();
        known.retain(|path, _| segment_number(path).is_none_or(stays));
    }

    /// The live point whose record is in a segment at this offset.
    #[must_use]
    pub fn point_at(&self, segment: u32, offset: u64) -> Option<PointId> {
        let _pin = self.epochs.pin();
        let is_there = |location: &Location| location.offset() == offset;
        self.live_in(segment)
            .find(|(_, location)| is_there(location))
            .map(|(id, _)| id)
    }

    /// What is known, but for the records of points that were deleted: they are in no answer.
    fn known_damage(&self) -> MutexGuard<'_, Known> {
        let mut known = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.places.is_empty() {
            let lives = |id: &PointId| self.ids.get(id, &self.arena, |_| ()).is_some();
            known.retain(|_, place| place.point.as_ref().is_none_or(lives));
        }
        known
    }
}
