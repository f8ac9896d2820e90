//! Recovers the damaged header of a segment, without which nothing else in the file can be read.

use crate::store::log::{
    format::{
        BLOCK, GroupHeader, PAGE, SEGMENT_VERSION, Salt, SegmentHeader, array_at, put, u32_at,
    },
    group,
    manifest::{Entry, Manifest},
};

/// The bits of the polynomial of CRC-32, the lowest power first.
const POLYNOMIAL: u32 = 0xEDB8_8320;
const CRC_AT: usize = PAGE - 4;

/// A header that was recovered.
pub struct RecoveredHeader {
    pub header: SegmentHeader,
    /// Whether the rest of the page names the store.
    pub names_store: bool,
}

/// Recovers the header of a segment from the bytes of its file. If one byte is wrong, the checksum
/// of the page tells which. If more are, the header is made from the entry of the manifest and the
/// salt of the first group. None if no group is sound under the header that results.
pub fn recover(bytes: &[u8], named: Option<(&Manifest, &Entry)>) -> Option<RecoveredHeader> {
    let page = bytes.first_chunk()?;
    if let Some(header) = correct_byte(page).filter(|header| leads_to_groups(header, bytes)) {
        let names_store = true;
        return Some(RecoveredHeader {
            header,
            names_store,
        });
    }
    let (manifest, entry) = named?;
    let salts = [Some(Salt(array_at(page, 48))), salt_of(&bytes[PAGE..])];
    let header = |salt| SegmentHeader {
        // Records of earlier versions are read by this one, too.
        version: SEGMENT_VERSION,
        number: entry.number,
        store: manifest.store,
        id: entry.id,
        salt,
        dimension: manifest.dimension,
        kind: entry.kind,
        first_sequence: entry.first_sequence,
        capacity: (bytes.len() as u64).next_multiple_of(BLOCK as u64),
    };
    let mut headers = salts.into_iter().flatten().map(header);
    let header = headers.find(|header| leads_to_groups(header, bytes))?;
    let names_store = page[16..32] == manifest.store || page[32..48] == entry.id;
    Some(RecoveredHeader {
        header,
        names_store,
    })
}

/// The header of a page in which one byte is wrong; None if no change of one byte makes it right.
fn correct_byte(page: &[u8; PAGE]) -> Option<SegmentHeader> {
    let (found, computed) = (u32_at(page, CRC_AT), crc32fast::hash(&page[..CRC_AT]));
    let mut page = *page;
    if (found ^ computed)
        .to_le_bytes()
        .iter()
        .filter(|&&byte| byte != 0)
        .count()
        == 1
    {
        put(&mut page, CRC_AT, &computed.to_le_bytes());
        return SegmentHeader::decode(&page).ok();
    }
    // A change of one byte changes the register of the checksum, and each byte behind it carries
    // that change on in the same way, whatever its value.
    let mut added = found ^ computed;
    for at in (0..CRC_AT).rev() {
        added = unwind(added, &[0]);
        if let Ok(difference) = u8::try_from(added) {
            page[at] ^= difference;
            return SegmentHeader::decode(&page).ok();
        }
    }
    None
}

/// Computes from the first group of a segment a salt that gives the same checksums as the salt of
/// the segment: the state of a checksum before some bytes follows from the state behind them.
fn salt_of(groups: &[u8]) -> Option<Salt> {
    let group: &[u8; BLOCK] = groups.first_chunk()?;
    let behind_salt = unwind(!u32_at(group, 8), &group[12..]);
    let mut salt = [0; 16];
    // A group begins with the first half of the salt. The rest is chosen to give the same checksum.
    salt[..8].copy_from_slice(&group[..8]);
    let before = !crc32fast::hash(&salt[..12]);
    put(
        &mut salt,
        12,
        &(before ^ unwind(behind_salt, &[0; 4])).to_le_bytes(),
    );
    Some(Salt(salt))
}

/// Computes the register of a checksum before some bytes from the register behind them.
fn unwind(mut register: u32, bytes: &[u8]) -> u32 {
    for &byte in bytes.iter().rev() {
        for _ in 0..8 {
            let is_top_bit_set = register >> 31 == 1;
            register = if is_top_bit_set {
                (register ^ POLYNOMIAL) << 1 | 1
            } else {
                register << 1
            };
        }
        register ^= u32::from(byte);
    }
    register
}

/// Whether some group, with the headers of its records, is sound under this header.
fn leads_to_groups(header: &SegmentHeader, bytes: &[u8]) -> bool {
    (PAGE..bytes.len()).step_by(BLOCK).any(|at| {
        GroupHeader::decode(&bytes[at..], header.salt, at as u64).is_some()
            && group::decode_header(header, bytes, at as u64)
                .is_ok_and(|group| group::verify_headers(header, bytes, &group).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::log::format::Kind;

    fn header() -> SegmentHeader {
        SegmentHeader {
            version: SEGMENT_VERSION,
            number: 7,
            store: [1; 16],
            id: [2; 16],
            salt: Salt(std::array::from_fn(|index| 200 - index as u8 * 7)),
            dimension: 3,
            kind: Kind::Log,
            first_sequence: 5,
            capacity: 1 << 16,
        }
    }

    #[test]
    fn any_one_byte_of_a_page_is_found_by_its_checksum() {
        for at in 0..PAGE {
            for difference in [1, 0x80, 0xFF, (at % 255) as u8 + 1] {
                let mut page = header().encode();
                page[at] ^= difference;
                assert_eq!(
                    correct_byte(&page),
                    Some(header()),
                    "byte {at} by {difference}"
                );
            }
        }
    }

    #[test]
    fn a_salt_that_is_lost_follows_from_the_first_group() {
        let salt = header().salt;
        let group = GroupHeader {
            position: PAGE as u64,
            length: 128,
            first_sequence: 5,
            durable: 4,
            record_count: 1,
            body_crc: 0x1234_5678,
            stream: None,
        };
        let found = salt_of(&group.encode(salt)).unwrap();
        for bytes in [&b""[..], b"a record"] {
            let checksum = |salt: Salt| {
                let mut hasher = salt.hasher();
                hasher.update(bytes);
                hasher.finalize()
            };
            assert_eq!(checksum(found), checksum(salt));
        }
        let mut bytes = group.encode(salt);
        assert!(GroupHeader::decode(&bytes, found, PAGE as u64).is_some());
        bytes[20] ^= 1;
        assert!(GroupHeader::decode(&bytes, found, PAGE as u64).is_none());
    }
}
