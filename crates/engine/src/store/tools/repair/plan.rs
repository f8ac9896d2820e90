//! Plans a repair: decides which points are saved, and what is lost.

use std::{collections::HashMap, ops::RangeInclusive};

use super::{
    ranges::Ranges,
    survey::{Insert, Spoilt, Survey, Surveyed},
};

/// The decisions of a repair.
pub struct RepairPlan {
    /// The points to be saved, by ascending sequence.
    pub saved: Vec<SavedPoint>,
    /// Points that are lost: they were stored and not deleted, as far as can be read. Each comes
    /// with the index of its file in the survey.
    pub lost_points: Vec<(usize, Spoilt)>,
    /// The sequences of lost records.
    pub lost: Vec<RangeInclusive<u64>>,
    /// Whether the log may have gone on behind what could be read.
    pub is_open: bool,
    /// The number of saved points, from the first on, that a lost record may have deleted.
    pub outdated: usize,
}

/// A point that is saved, and the index in the survey of the file that it is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SavedPoint {
    pub insert: Insert,
    pub file: usize,
}

/// Decides what is saved, from what could be read.
pub fn plan(survey: &Survey) -> RepairPlan {
    let files = &survey.files;
    let mut known = Ranges::default();
    for file in files {
        known.add_all(&file.known);
    }
    known.sort();
    let lost = known.missing(survey.last_sequence);
    let deletes = Deletes::of(files);
    let mut saved = stored(files);
    let newest = newest(files);
    // An id can be stored again only once its point was deleted or is replaced by that.
    let lives = |sequence: u64, id: &[u8; 16]| {
        newest.get(id) == Some(&sequence) && deletes.spare(sequence, id)
    };
    saved.retain(|point| lives(point.insert.sequence, &point.insert.id));
    let is_saved = |sequence: u64| {
        let found = saved.binary_search_by_key(&sequence, |point| point.insert.sequence);
        found.is_ok()
    };
    let mut lost_points: Vec<(usize, Spoilt)> = files
        .iter()
        .enumerate()
        .flat_map(|(index, file)| {
            file.uncopyable
                .iter()
                .map(move |point| (index, point.clone()))
        })
        .filter(|(index, point)| !left_out(files, *index, point.sequence))
        .filter(|(_, point)| lives(point.sequence, &point.id) && !is_saved(point.sequence))
        .collect();
    lost_points.sort_unstable_by_key(|(_, point)| point.sequence);
    lost_points.dedup_by_key(|(_, point)| point.sequence);
    let last_lost = if survey.is_open {
        u64::MAX
    } else {
        lost.last().map_or(0, |range| *range.end())
    };
    let outdated = saved.partition_point(|point| point.insert.sequence < last_lost);
    RepairPlan {
        saved,
        lost_points,
        lost,
        is_open: survey.is_open,
        outdated,
    }
}

/// One sound record for each insert, from the first file that has it, by ascending sequence.
fn stored(files: &[Surveyed]) -> Vec<SavedPoint> {
    let count = files.iter().map(|file| file.inserts.len()).sum();
    let mut stored = Vec::with_capacity(count);
    for (index, file) in files.iter().enumerate() {
        let inserts = file.inserts.iter().map(|&insert| SavedPoint {
            insert,
            file: index,
        });
        stored.extend(inserts.filter(|point| !left_out(files, index, point.insert.sequence)));
    }
    stored.sort_unstable_by_key(|point| (point.insert.sequence, point.file));
    stored.dedup_by_key(|point| point.insert.sequence);
    stored
}

/// Whether compaction has left out a record that an older file still holds: the point had been
/// deleted, and the record of the delete may be gone.
fn left_out(files: &[Surveyed], file: usize, sequence: u64) -> bool {
    let number = files[file].header.number;
    files.iter().any(|compacted| {
        compacted.is_compacted()
            && compacted.header.number > number
            && compacted.known.contains(sequence)
            && compacted.lacks(sequence)
    })
}

impl Surveyed {
    fn is_compacted(&self) -> bool {
        self.header.kind != crate::store::log::format::Kind::Log
    }

    /// Whether the file, as far as it could be read, holds no insert with this sequence.
    fn lacks(&self, sequence: u64) -> bool {
        let inserts = &self.inserts;
        let is_there = inserts.binary_search_by_key(&sequence, |insert| insert.sequence);
        is_there.is_err()
            && self
                .uncopyable
                .iter()
                .all(|point| point.sequence != sequence)
    }
}

/// The sequence with which each id was last stored.
fn newest(files: &[Surveyed]) -> HashMap<[u8; 16], u64> {
    let mut newest = HashMap::new();
    for file in files {
        let sound = file.inserts.iter().map(|point| (point.id, point.sequence));
        let uncopyable = file
            .uncopyable
            .iter()
            .map(|point| (point.id, point.sequence));
        for (id, sequence) in sound.chain(uncopyable) {
            let last = newest.entry(id).or_insert(sequence);
            *last = sequence.max(*last);
        }
    }
    newest
}

/// The inserts that were deleted or replaced.
struct Deletes {
    /// Each by its sequence and the id of its point.
    single: Vec<(u64, [u8; 16])>,
    /// All up to this sequence.
    all: u64,
}

impl Deletes {
    fn of(files: &[Surveyed]) -> Deletes {
        let mut single: Vec<_> = files.iter().flat_map(|file| file.deletes.clone()).collect();
        single.sort_unstable();
        let all = files.iter().map(|file| file.all_deleted).max().unwrap_or(0);
        Deletes { single, all }
    }

    /// Whether this insert was not deleted.
    fn spare(&self, sequence: u64, id: &[u8; 16]) -> bool {
        sequence > self.all && self.single.binary_search(&(sequence, *id)).is_err()
    }
}
