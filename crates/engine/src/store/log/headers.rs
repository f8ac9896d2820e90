//! Looks for damage in the headers of open segments: headers of files, groups and records. A
//! damaged header would keep the next start from opening the folder, since it reads all of them,
//! including those of deleted points.

use super::{
    format::{BLOCK, Flaw, PAGE, SegmentHeader},
    group,
    reader::{Mapped, Segments},
};
use crate::Error;

/// The place of the headers with which a search for damage goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderPlace {
    segment: u32,
    /// 0 for the header of the file, or the offset of a group.
    offset: u64,
}

impl HeaderPlace {
    /// The place at which a search begins.
    pub const FIRST: HeaderPlace = HeaderPlace {
        segment: 1,
        offset: 0,
    };

    fn of(segment: u32) -> HeaderPlace {
        HeaderPlace { segment, offset: 0 }
    }
}

impl Segments {
    /// Verifies headers from `from` on, until they take `bytes` or `is_stopped` holds between two
    /// groups. Returns where to go on, or None after the last. Calls `note` with the first flaw of
    /// each segment. The caller holds a pin, so that no segment is unmapped.
    pub fn verify_headers(
        &self,
        from: HeaderPlace,
        bytes: u64,
        is_stopped: impl Fn() -> bool,
        mut note: impl FnMut(&Error),
    ) -> Option<HeaderPlace> {
        let (mut at, mut read) = (from, 0);
        loop {
            let (number, mapped) = self.first_from(at.segment)?;
            if number != at.segment {
                at = HeaderPlace::of(number);
            }
            if read >= bytes || is_stopped() {
                return Some(at);
            }
            let next = mapped.verify_headers_at(at.offset);
            let next = next.unwrap_or_else(|flaw| {
                note(&flaw.refuse(&mapped.path));
                None
            });
            // A header is read with the page around it.
            read += PAGE as u64;
            match next {
                Some((offset, length)) => {
                    read += length;
                    let blocks = |bytes: u64| (bytes / BLOCK as u64) as u32;
                    self.evict(number, blocks(at.offset), blocks(at.offset + length));
                    at.offset = offset;
                }
                None => at = HeaderPlace::of(number + 1),
            }
        }
    }
}

impl Mapped {
    /// Verifies the header of the segment (at `offset` 0), or the headers of the group at `offset`.
    /// Returns the offset of the next group and the length of the headers that were read; None at
    /// the end of the groups.
    fn verify_headers_at(&self, offset: u64) -> Result<Option<(u64, u64)>, Flaw> {
        if offset == 0 {
            let page = self.bytes(0, PAGE as u64)?.first_chunk();
            if SegmentHeader::decode(page.expect("a page was asked for"))? != self.header {
                return Err(Flaw::new(0, "this is the header of another segment"));
            }
            return Ok(Some((PAGE as u64, PAGE as u64)));
        }
        let published = self.mapping.published();
        if offset >= published.len() as u64 {
            return Ok(None);
        }
        self.bytes(offset, BLOCK as u64)?;
        let group = group::decode_header(&self.header, published, offset)?;
        let length = (u64::from(group.record_count) + 1) * BLOCK as u64;
        self.bytes(offset, length)?;
        group::verify_headers(&self.header, published, &group)?;
        Ok(Some((offset + group.length, length)))
    }
}
