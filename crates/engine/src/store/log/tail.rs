//! Decides whether the bytes behind the last whole group of a segment are a torn tail, left by a
//! write that was interrupted, or damage.

use super::format::{BLOCK, GroupHeader, SegmentHeader};

/// The end of the last block behind `from` that is not all zeros, if there is one.
pub fn dirty_end(bytes: &[u8], from: u64) -> Option<u64> {
    let (blocks, _) = bytes[from as usize..].as_chunks::<BLOCK>();
    let last = blocks.iter().rposition(|block| *block != [0; BLOCK])?;
    Some(from + (last as u64 + 1) * BLOCK as u64)
}

/// The proof that the record with the sequence `lost`, which is missing from byte `end` on, was on
/// disk, as a text; None if it may never have been. The manifest says that the groups reach at
/// least `known_end`.
pub fn proof(
    header: &SegmentHeader,
    bytes: &[u8],
    end: u64,
    lost: u64,
    known_end: u64,
) -> Option<String> {
    if end < known_end {
        return Some(format!("MANIFEST proves that sequence {lost} was on disk"));
    }
    let group = later_proof(header, bytes, end, lost)?;
    let (at, proven) = (group.position, group.durable);
    Some(format!(
        "the group at byte {at} proves that sequence {lost} was on disk, as were all up to {proven}"
    ))
}

/// The header of the first group from `from` on which says that `sequence` was on disk when the
/// group was written. Only headers that the store itself wrote to this place of this segment count.
fn later_proof(
    header: &SegmentHeader,
    bytes: &[u8],
    from: u64,
    sequence: u64,
) -> Option<GroupHeader> {
    (from..bytes.len() as u64)
        .step_by(BLOCK)
        .filter_map(|at| GroupHeader::decode(&bytes[at as usize..], header.salt, at))
        .find(|group| group.durable >= sequence)
}
