//! The fields for whose columns there was no room.

use std::time::Duration;

use vectord_filter::Field;

/// The most fields that are kept; beyond it the oldest gives way. Filters may name any number.
const MAX: usize = 256;

/// After this time the column of a field is built again, as far as there is room: the points may
/// hold less there by now.
const RETRY: Duration = Duration::from_mins(10);

/// Fields without a column, the oldest first.
#[derive(Default)]
pub struct Refused(Vec<One>);

/// A field without a column.
pub struct One {
    pub field: Field,
    /// The memory that its column would take.
    pub bytes: usize,
    /// When this was found, since the columns began.
    at: Duration,
}

impl Refused {
    /// Records that the column of a field would take this many bytes, as found at the time `now`.
    pub fn add(&mut self, field: &Field, bytes: usize, now: Duration) {
        let one = One {
            field: field.clone(),
            bytes,
            at: now,
        };
        if let Some(known) = self.0.iter_mut().find(|known| known.field == *field) {
            *known = one;
            return;
        }
        if self.0.len() == MAX {
            self.0.remove(0);
        }
        self.0.push(one);
    }

    /// The bytes that the column of a field would take. None if the field is not kept, or if its
    /// bytes were found more than [`RETRY`] before `now`.
    pub fn bytes_of(&self, field: &Field, now: Duration) -> Option<usize> {
        let mut all = self.0.iter();
        let known = all.find(|known| known.field == *field && known.at + RETRY > now);
        known.map(|known| known.bytes)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &One> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_known_for_some_time_only_and_the_latest_word_on_it_counts() {
        let field = Field::ContentType;
        let minutes = Duration::from_mins;
        let mut refused = Refused::default();
        assert_eq!(refused.bytes_of(&field, minutes(1)), None);
        refused.add(&field, 100, minutes(1));
        assert_eq!(refused.bytes_of(&field, minutes(10)), Some(100));
        assert_eq!(refused.bytes_of(&field, minutes(11)), None);
        refused.add(&field, 200, minutes(12));
        assert_eq!(refused.bytes_of(&field, minutes(21)), Some(200));
        assert_eq!(refused.iter().count(), 1);
    }
}
