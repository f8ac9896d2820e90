//! The known damage: each place once, for as long as it matters. Damage of a point's record matters
//! until the point is deleted, damage of headers until compaction has replaced the file.

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

/// The most places that are kept. Of further ones it is only known that there are more.
const MOST_KEPT: usize = 10_000;

/// The most points and places that are named.
const MOST_NAMED: usize = 16;

/// Damage that was found since the start and still exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// A line for the log about each of the first places.
    pub places: Vec<String>,
    /// The first points whose records are damaged.
    pub points: Vec<PointId>,
    /// The number of points whose records are damaged.
    pub damaged_points: usize,
    /// The number of damaged places in headers. They cost no answer, but a start would be refused.
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
    /// Damage that was found since the start and still exists, if there is any.
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

    /// A number that grows with each place of damage that is found, or that ceases to matter.
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

    /// The known damage, without the records of points that were deleted: they are in no answer.
    fn known_damage(&self) -> MutexGuard<'_, Known> {
        let mut known = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.places.is_empty() {
            let lives = |id: &PointId| self.ids.get(id, &self.arena, |_| ()).is_some();
            known.retain(|_, place| place.point.as_ref().is_none_or(lives));
        }
        known
    }
}
