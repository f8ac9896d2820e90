//! The flaws of a log, and which of them matter: the rule for checks and backups, which agrees with
//! what a start refuses.
//!
//! Everything that a start reads matters: all headers, and the records behind the end that the
//! manifest knows. Any other flaw is in the record of a point. It matters while the point lives.
//! Once the point is deleted, the record is not read any more, and compaction drops it.

use std::{collections::HashMap, path::Path};

use super::event::Damage;
use crate::{
    Result,
    error::uuid,
    store::log::{
        format::{Op, RecordHeader},
        manifest::Entry,
        verify::Found,
    },
};

/// Flaws in the order in which they were found.
#[derive(Default)]
pub struct Flaws {
    found: Vec<Damage>,
    /// Records of points, by the sequences of their inserts: the places of their flaws in `found`.
    damaged: HashMap<u64, usize>,
    /// The places in `found` of flaws that do not matter.
    harmless: Vec<usize>,
}

impl Flaws {
    /// Adds damage that matters.
    pub fn push(&mut self, damage: Damage) {
        self.found.push(damage);
    }

    /// Adds what the verification of a segment has found. The error is a version that is not known.
    pub fn heed(&mut self, found: Found, path: &Path, entry: Option<&Entry>) -> Result<()> {
        match found {
            Found::Record(record, _) => self.heed_delete(record),
            Found::Spoilt(record, flaw) => {
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

    fn heed_delete(&mut self, record: &RecordHeader) {
        if record.op == Op::Delete {
            self.harmless.extend(self.damaged.remove(&record.inserted));
        }
    }

    /// The damage that matters, and a line about each that does not.
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
