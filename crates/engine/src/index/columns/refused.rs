//! The fields for whose columns there was no room.

use vectord_filter::Field;

/// The most fields that are kept; beyond it the oldest gives way. Filters may name any number.
const MAX: usize = 256;

/// Fields, and the memory in bytes that their columns would take, the oldest first.
#[derive(Default)]
pub struct Refused(Vec<(Field, usize)>);

impl Refused {
    /// Keeps a field whose column would take this many bytes.
    pub fn add(&mut self, field: &Field, bytes: usize) {
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| known == field) {
            *known = bytes;
            return;
        }
        if self.0.len() == MAX {
            self.0.remove(0);
        }
        self.0.push((field.clone(), bytes));
    }

    /// The bytes that the column of a field would take; 0 for one that is not kept.
    pub fn bytes_of(&self, field: &Field) -> usize {
        let known = self.0.iter().find(|(known, _)| known == field);
        known.map_or(0, |&(_, bytes)| bytes)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &(Field, usize)> {
        self.0.iter()
    }
}
