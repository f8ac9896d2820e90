//! The register of the damage that was found in segments since the index was opened. It has one
//! entry for each damaged place, which is a file and an offset in it. The entry of a damaged record
//! is dropped when its point is deleted or replaced, and every entry when its segment is removed.
//! Compaction, which removes segments, copies no damaged record, and leaves a segment alone that has
//! one of a live point.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
};

use super::point_id::PointId;
use crate::{
    Error,
    store::{Location, segment_number},
};

/// The greatest number of places that are kept. Further places are ignored, so that no count of
/// [`KnownDamage`] exceeds this.
const MOST_KEPT: usize = 10_000;

/// The greatest number of points, and of places, that a [`KnownDamage`] lists.
const MOST_NAMED: usize = 16;

/// The damage that was found since the index was opened and that still matters. Lists are in the
/// order of files and offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownDamage {
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
pub(super) struct DamageRegister {
    /// The damaged places, by file and offset. An error that names no file, such as an I/O error, is
    /// under the place of its point.
    places: BTreeMap<(PathBuf, u64), DamagedPlace>,
    /// The number of entries that were added or dropped so far.
    changes: u64,
}

struct DamagedPlace {
    /// A line for the log.
    text: String,
    /// The point whose record is damaged, and where the record is. None for headers.
    point: Option<(PointId, Location)>,
}

impl DamageRegister {
    /// A report of the damage, or None if there is none.
    pub fn report(&self) -> Option<KnownDamage> {
        if self.places.is_empty() {
            return None;
        }
        let points = self.places.values().filter_map(|place| place.point);
        let points = points.map(|(id, _)| id);
        let damaged_points = points.clone().count();
        let texts = self.places.values().map(|place| &place.text);
        Some(KnownDamage {
            places: texts.take(MOST_NAMED).cloned().collect(),
            points: points.take(MOST_NAMED).collect(),
            damaged_points,
            damaged_headers: self.places.len() - damaged_points,
        })
    }

    /// The number of entries that were added or dropped so far.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The numbers of the segments whose headers are damaged.
    pub fn segments_with_damaged_headers(&self) -> HashSet<u32> {
        let headers = self
            .places
            .iter()
            .filter(|(_, place)| place.point.is_none());
        let numbers = headers.filter_map(|((path, _), _)| segment_number(path));
        numbers.collect()
    }

    /// Adds a damaged place, unless it is known.
    pub fn note(&mut self, error: &Error, point: Option<(PointId, Location)>) {
        let key = match (error, &point) {
            (Error::Damaged { path, offset, .. }, _) => (path.clone(), *offset),
            (_, Some((_, at))) => (
                PathBuf::new(),
                u64::from(at.segment) << 32 | u64::from(at.record),
            ),
            // No point has this place: segments count from 1.
            (_, None) => (PathBuf::new(), 0),
        };
        if self.places.len() >= MOST_KEPT || self.places.contains_key(&key) {
            return;
        }
        let text = error.to_string();
        self.places.insert(key, DamagedPlace { text, point });
        self.changes += 1;
    }

    /// Drops all entries of these segments.
    pub fn forget_segments(&mut self, segments: &[u32]) {
        let stays = |number| !segments.contains(&number);
        self.retain(|path, _| segment_number(path).is_none_or(stays));
    }

    /// Drops the entries of records that are not those of live points.
    pub fn forget_points(&mut self, is_at: impl Fn(&PointId, Location) -> bool) {
        let lives = |&(id, location): &(PointId, Location)| is_at(&id, location);
        self.retain(|_, place| place.point.as_ref().is_none_or(lives));
    }

    fn retain(&mut self, keep: impl Fn(&PathBuf, &DamagedPlace) -> bool) {
        let before = self.places.len();
        self.places.retain(|(path, _), place| keep(path, place));
        self.changes += (before - self.places.len()) as u64;
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use std::io;

    use super::{DamageRegister, Location};
    use crate::Error;

    #[test]
    fn each_point_that_cannot_be_read_has_an_entry_of_its_own() {
        let point_of = |number: u8| {
            let location = Location {
                segment: 1,
                record: u32::from(number),
                vector: 0,
            };
            ([number; 16], location)
        };
        let mut register = DamageRegister::default();
        for number in [1, 2, 2] {
            let error = Error::Io(io::Error::other("no answer of the disk"));
            register.note(&error, Some(point_of(number)));
        }
        assert_eq!(register.report().unwrap().damaged_points, 2);

        // The first is replaced.
        register.forget_points(|id, _| *id != point_of(1).0);
        assert_eq!(register.report().unwrap().points, [point_of(2).0]);
    }
}
