//! Making the pages of records readable with few calls of the system.

use std::ops::Range;

use super::format::Flaw;
use crate::store::mapping::Mapping;

/// The most bytes that are made readable ahead of use.
const MAX_WINDOW: u64 = 256 << 10;
/// What is read within so many bytes of what was readable counts as read in order.
const NEAR: u64 = 64 << 10;

/// The parts of records that lie behind the same parts of other records.
#[derive(Clone, Copy)]
pub enum Part {
    Header,
    Vector,
    Payload,
}

/// What has been made readable of a segment for one reader. As long as records are read in the order
/// in which they lie, more and more is made readable at a time: one call costs as much as a few
/// hundred bytes.
#[derive(Default)]
pub struct ReadAhead {
    segment: u32,
    runs: [Run; 3],
}

#[derive(Clone, Default)]
struct Run {
    readable: Range<u64>,
    /// How much was made readable besides what was asked for.
    window: u64,
}

impl ReadAhead {
    /// Goes on with the records of this segment.
    pub fn turn_to(&mut self, segment: u32) {
        if segment != self.segment {
            *self = ReadAhead {
                segment,
                ..ReadAhead::default()
            };
        }
    }

    /// The bytes of a part, which can be read.
    ///
    /// # Errors
    /// They are not published, or the file cannot be read there.
    pub fn bytes<'m>(
        &mut self,
        mapping: &'m Mapping,
        part: Part,
        offset: u64,
        length: u64,
    ) -> Result<&'m [u8], Flaw> {
        let bytes = mapping.bytes(offset, length);
        let bytes = bytes.ok_or_else(|| Flaw::new(offset, "this is outside of the segment"))?;
        if length == 0 || self.runs[part as usize].reach(mapping, offset, length) {
            return Ok(bytes);
        }
        Err(Flaw::new(offset, "the file cannot be read here"))
    }
}

impl Run {
    /// Whether these bytes can be read.
    fn reach(&mut self, mapping: &Mapping, offset: u64, length: u64) -> bool {
        let Range { start, end } = self.readable;
        let last = offset.saturating_add(length);
        if start <= offset && last <= end {
            return true;
        }
        let is_ahead = (end..end.saturating_add(NEAR)).contains(&offset);
        let is_before = (start.saturating_sub(NEAR)..start).contains(&offset);
        self.window = match self.window {
            _ if end == 0 || !(is_ahead || is_before) => 0,
            0 => length,
            window => (window * 2).min(MAX_WINDOW),
        };
        self.readable = if is_before {
            offset.saturating_sub(self.window)..last
        } else {
            offset..last.saturating_add(self.window)
        };
        if self.window > 0 && mapping.read_ahead(self.readable.start, self.readable.end) {
            return true;
        }
        self.window = 0;
        self.readable = offset..last;
        mapping.can_read(offset, length)
    }
}
