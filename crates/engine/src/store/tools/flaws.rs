//! Collects the flaws of a log, and decides which of them matter to checks and backups: a flaw
//! matters if a start would refuse the folder for it, or if it loses a live point.
//!
//! Everything that a start reads matters: all headers, and the records behind the end that the
//! manifest knows. Any other flaw is in the record of a point. It matters while the point lives.
//! Once the point is deleted or replaced, the record is not read any more, and compaction drops it.

use std::{collections::BTreeMap, path::Path};

use super::event::Damage;
use crate::{
    Result,
    error::uuid,
    store::log::{format::RecordHeader, manifest::Entry, usage::Tombstone, verify::Found},
};

/// The flaws that were found so far, in the order in which they were found.
#[derive(Default)]
pub struct Flaws {
    found: Vec<Damage>,
    /// For each damaged record of a point, by the sequence of its insert, the index of its flaw in
    /// `found`.
    damaged: BTreeMap<u64, usize>,
    /// The indices in `found` of flaws that do not matter.
    harmless: Vec<usize>,
}

impl Flaws {
    /// Adds damage that matters.
    pub fn push(&mut self, damage: Damage) {
        self.found.push(damage);
    }

    /// Takes note of what the verification of a segment has found. A version that this code does
    /// not know is an error.
    pub fn heed(&mut self, found: Found, path: &Path, entry: Option<&Entry>) -> Result<()> {
        match found {
            Found::Record(record, _) => self.heed_tombstone(record),
            Found::Spoilt(record, flaw) => {
                self.heed_tombstone(record);
                let sequence = record.sequence;
                let mut damage = Damage::of(flaw, path, Some(sequence))?;
                damage.reason = format!("{}: point {}", damage.reason, uuid(&record.id));
                // A start does not verify records before the end that the manifest knows.
                if entry.is_some_and(|entry| damage.offset < entry.end) {
                    self.damaged.insert(sequence, self.found.len());
                }
                self.found.push(damage);
            }
            Found::Stray(..) => {}
            Found::Flaw(flaw, sequence) => {
                self.found.push(Damage::of(flaw, path, Some(sequence))?);
            }
        }
        Ok(())
    }

    /// Notes that points were deleted: flaws in their records do not matter.
    fn heed_tombstone(&mut self, record: &RecordHeader) {
        let Some(tombstone) = Tombstone::of(record) else {
            return;
        };
        let undone = self
            .damaged
            .extract_if(tombstone.first..=tombstone.last, |_, _| true);
        self.harmless.extend(undone.map(|(_, place)| place));
    }

    /// Returns the damage that matters, and a line about each flaw that does not.
    pub fn into_parts(self) -> (Vec<Damage>, Vec<String>) {
        let Flaws {
            found,
            mut harmless,
            ..
        } = self;
        harmless.sort_unstable();
        let mut harmless = harmless.into_iter().peekable();
        let (mut damages, mut notes) = (Vec::new(), Vec::new());
        for (place, damage) in found.into_iter().enumerate() {
            if harmless.next_if_eq(&place).is_some() {
                notes.push(format!("{damage}, which was deleted: compaction drops it"));
            } else {
                damages.push(damage);
            }
        }
        (damages, notes)
    }
}
