//! Changes as bytes: the messages of the stream that orders the writes of a shard. Each replica reads
//! the same bytes, so what is written here is read by other versions of vectord: a number is never
//! given another meaning.
//!
//! A message begins with its version (1 byte), its kind (1 byte), two unused bytes, and the CRC-32 of
//! all that follows (4 bytes). Numbers are little-endian. A message of no bytes changes
//! nothing: it takes the place of one that came too late to count.

use std::{collections::HashSet, sync::Arc};

use vectord_filter::{Expression, Filter};

use super::request::{Batch, Change, Existing, Update};
use crate::{
    Error, Result,
    index::{Matches, PointId},
};

/// The version of the messages that this code writes.
const VERSION: u8 = 1;
const START_BYTES: usize = 8;

const REPLACE: u8 = 1;
const KEEP: u8 = 2;
const UPDATE: u8 = 3;
const DELETE: u8 = 4;
const DELETE_MATCHING: u8 = 5;
const DELETE_ALL: u8 = 6;

/// Which parts an update gives.
const CONTENT_TYPE: u8 = 1;
const CONTENT: u8 = 2;
const METADATA: u8 = 4;

/// A change that is written into a stream.
pub enum Message<'a> {
    /// Stores points. If a point with a generated id ([`Existing::Impossible`]) exists already, it is
    /// kept, because the message must be a repeated one.
    Store(&'a Batch, Existing),
    /// Changes the payloads of points.
    Update(&'a [Update]),
    /// Deletes the points with these ids.
    Delete(&'a [PointId]),
    /// Deletes the points that pass a filter. The writer finds them.
    DeleteMatching(&'a Expression),
    /// Deletes all points if there are as many as this.
    DeleteAll(u64),
}

impl Message<'_> {
    /// The bytes of the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.kind(), 0, 0, 0, 0, 0, 0];
        match self {
            Message::Store(batch, _) => encode_batch(batch, &mut bytes),
            Message::Update(updates) => {
                encode_count(updates.len(), &mut bytes);
                for update in *updates {
                    encode_update(update, &mut bytes);
                }
            }
            Message::Delete(ids) => {
                encode_count(ids.len(), &mut bytes);
                bytes.extend(ids.as_flattened());
            }
            Message::DeleteMatching(expression) => expression.encode(&mut bytes),
            Message::DeleteAll(expected) => bytes.extend(expected.to_le_bytes()),
        }
        let crc = crc32fast::hash(&bytes[START_BYTES..]);
        bytes[4..START_BYTES].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn kind(&self) -> u8 {
        match self {
            Message::Store(_, Existing::Replace) => REPLACE,
            Message::Store(_, Existing::Keep | Existing::Impossible) => KEEP,
            Message::Update(_) => UPDATE,
            Message::Delete(_) => DELETE,
            Message::DeleteMatching(_) => DELETE_MATCHING,
            Message::DeleteAll(_) => DELETE_ALL,
        }
    }
}

fn encode_count(count: usize, bytes: &mut Vec<u8>) {
    bytes.extend((count as u64).to_le_bytes());
}

fn encode_batch(batch: &Batch, bytes: &mut Vec<u8>) {
    encode_count(batch.ids.len(), bytes);
    encode_count(batch.metadata_ends.len(), bytes);
    bytes.extend(batch.ids.as_flattened());
    bytes.extend(bytemuck::cast_slice::<f32, u8>(&batch.vectors));
    bytes.extend(&batch.content_types);
    for ends in [&batch.content_ends, &batch.metadata_ends] {
        for &end in ends {
            encode_count(end, bytes);
        }
    }
    bytes.extend(&batch.contents);
    bytes.extend(&batch.metadata);
}

fn encode_update(update: &Update, bytes: &mut Vec<u8>) {
    let flag = |bit, is_given| if is_given { bit } else { 0 };
    bytes.extend(update.id);
    bytes.push(
        flag(CONTENT_TYPE, update.content_type.is_some())
            | flag(CONTENT, update.content.is_some())
            | flag(METADATA, update.metadata.is_some()),
    );
    bytes.extend(update.content_type);
    for part in [&update.content, &update.metadata].into_iter().flatten() {
        encode_count(part.len(), bytes);
        bytes.extend(part);
    }
}

/// Reads the bytes of a message, for vectors of `dimension` values. One of no bytes changes nothing: it
/// deletes no points.
///
/// # Errors
/// [`Error::InvalidArgument`]: they are no message that this code knows. No replica may pass over it,
/// as others may know it.
pub fn decode(bytes: &[u8], dimension: usize) -> Result<Change> {
    if bytes.is_empty() {
        return Ok(Change::Delete(Vec::new()));
    }
    let unknown = |what: String| Err(Error::InvalidArgument(what));
    let Some((&[version, kind, _, _, ref crc @ ..], body)) =
        bytes.split_first_chunk::<START_BYTES>()
    else {
        return unknown(format!(
            "a message of {} bytes, expected 8 at least",
            bytes.len()
        ));
    };
    if version != VERSION {
        return unknown(format!(
            "a message of version {version}, but this vectord reads version {VERSION}: use the \
             vectord that wrote it, or a newer one"
        ));
    }
    if u32::from_le_bytes(*crc) != crc32fast::hash(body) {
        return unknown("a message whose checksum does not match".to_owned());
    }
    let mut reader = Reader { bytes: body };
    match reader.change(kind, dimension) {
        Some(change) if reader.bytes.is_empty() => Ok(change),
        _ => unknown(format!("a malformed message of kind {kind}")),
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    fn change(&mut self, kind: u8, dimension: usize) -> Option<Change> {
        Some(match kind {
            REPLACE => Change::Store(self.batch(dimension)?, Existing::Replace),
            KEEP => Change::Store(self.batch(dimension)?, Existing::Keep),
            UPDATE => {
                let mut updates = Vec::new();
                for _ in 0..self.count()? {
                    updates.push(self.update()?);
                }
                has_no_repeated(updates.iter().map(|update| &update.id))?;
                Change::Update(updates)
            }
            DELETE => {
                let ids = self.ids()?;
                has_no_repeated(ids.iter())?;
                Change::Delete(ids)
            }
            DELETE_MATCHING => {
                let expression = Expression::decode(self.bytes)?;
                self.bytes = &[];
                Change::DeleteMatching(Arc::new(Filter::new(expression)), Matches::default())
            }
            DELETE_ALL => Change::DeleteAll(u64::from_le_bytes(self.array()?)),
            _ => return None,
        })
    }

    fn batch(&mut self, dimension: usize) -> Option<Batch> {
        let points = self.count()?;
        let with_metadata = self.count()?;
        if points == 0 || ![0, points].contains(&with_metadata) {
            return None;
        }
        let (ids, _) = self.take(points.checked_mul(16)?)?.as_chunks();
        has_no_repeated(ids.iter())?;
        let vectors = self.take(points.checked_mul(dimension)?.checked_mul(4)?)?;
        let vectors: Vec<f32> = bytemuck::pod_collect_to_vec(vectors);
        if !vectors.iter().all(|value| value.is_finite()) {
            return None;
        }
        let content_types = self.take(points)?.to_vec();
        let content_ends = self.ends(points)?;
        let metadata_ends = self.ends(with_metadata)?;
        let length = |ends: &[usize]| ends.last().copied().unwrap_or(0);
        Some(Batch {
            ids: ids.to_vec(),
            vectors,
            content_types,
            contents: self.take(length(&content_ends))?.to_vec(),
            content_ends,
            metadata: self.take(length(&metadata_ends))?.to_vec(),
            metadata_ends,
        })
    }

    fn update(&mut self) -> Option<Update> {
        let id = self.array()?;
        let [given] = self.array()?;
        let has = |bit| given & bit != 0;
        let content_type = if has(CONTENT_TYPE) {
            let [content_type] = self.array()?;
            Some(content_type)
        } else {
            None
        };
        let content = if has(CONTENT) {
            Some(self.part()?)
        } else {
            None
        };
        let metadata = if has(METADATA) {
            Some(self.part()?)
        } else {
            None
        };
        Some(Update {
            id,
            content_type,
            content,
            metadata,
        })
    }

    fn part(&mut self) -> Option<Vec<u8>> {
        let length = self.count()?;
        self.take(length).map(<[u8]>::to_vec)
    }

    fn ids(&mut self) -> Option<Vec<PointId>> {
        let count = self.count()?;
        let (ids, _) = self.take(count.checked_mul(16)?)?.as_chunks();
        Some(ids.to_vec())
    }

    /// Offsets at which parts end, none before the one before.
    fn ends(&mut self, count: usize) -> Option<Vec<usize>> {
        let (ends, _) = self.take(count.checked_mul(8)?)?.as_chunks();
        let ends = ends.iter().map(|end| u64::from_le_bytes(*end) as usize);
        let ends: Vec<usize> = ends.collect();
        ends.is_sorted().then_some(ends)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        self.bytes.split_off(..count)
    }
}

/// None if an id is there twice: the writer relies on that.
fn has_no_repeated<'i>(mut ids: impl Iterator<Item = &'i PointId>) -> Option<()> {
    let mut seen = HashSet::new();
    ids.all(|id| seen.insert(id)).then_some(())
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use proptest::prelude::*;
    use vectord_filter::{Condition, Test};

    use super::*;

    fn batch() -> Batch {
        Batch {
            ids: vec![[1; 16], [2; 16]],
            vectors: vec![0.5, -0.0, f32::MIN_POSITIVE, f32::MAX],
            content_types: vec![1, 0],
            contents: b"a cat".to_vec(),
            content_ends: vec![5, 5],
            metadata: b"{\"a\":1}".to_vec(),
            metadata_ends: vec![0, 7],
        }
    }

    fn updates() -> Vec<Update> {
        let update = |number: u8, content_type, content: Option<&str>| Update {
            id: [number; 16],
            content_type,
            content: content.map(|content| content.as_bytes().to_vec()),
            metadata: Some(Vec::new()).filter(|_| number > 1),
        };
        vec![
            update(1, Some(1), Some("new")),
            update(2, None, None),
            update(3, Some(0), Some("")),
        ]
    }

    /// One message of each kind.
    fn messages() -> Vec<Vec<u8>> {
        let batch = batch();
        let updates = updates();
        let exists = Condition::Metadata("a".into(), Test::Exists);
        let messages = [
            Message::Store(&batch, Existing::Replace),
            Message::Store(&batch, Existing::Impossible),
            Message::Update(&updates),
            Message::Delete(&[[7; 16], [8; 16]]),
            Message::DeleteMatching(&Expression::Condition(exists)),
            Message::DeleteAll(3),
        ];
        messages.iter().map(Message::encode).collect()
    }

    fn read(bytes: &[u8]) -> Option<Change> {
        decode(bytes, 2).ok()
    }

    #[test]
    fn what_is_stored_and_updated_comes_back() {
        let messages = messages();
        for (message, existing) in messages.iter().zip([Existing::Replace, Existing::Keep]) {
            let Some(Change::Store(read, read_existing)) = read(message) else {
                panic!("no batch");
            };
            assert_eq!(read_existing, existing);
            let parts = |batch: &Batch| {
                let bits: Vec<u32> = batch.vectors.iter().map(|value| value.to_bits()).collect();
                (
                    (batch.ids.clone(), bits, batch.content_types.clone()),
                    (batch.contents.clone(), batch.content_ends.clone()),
                    (batch.metadata.clone(), batch.metadata_ends.clone()),
                )
            };
            assert_eq!(parts(&read), parts(&batch()));
        }
        let Some(Change::Update(read)) = read(&messages[2]) else {
            panic!("no updates");
        };
        assert_eq!(format!("{read:?}"), format!("{:?}", updates()));
    }

    #[test]
    fn deletes_come_back() {
        let [.., ids, matching, all] = &messages()[..] else {
            panic!("fewer messages");
        };
        assert!(matches!(read(ids), Some(Change::Delete(ids)) if ids == [[7; 16], [8; 16]]));
        assert!(matches!(read(matching), Some(Change::DeleteMatching(..))));
        assert!(matches!(read(all), Some(Change::DeleteAll(3))));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_of_a_body_is_noticed() {
        for message in messages() {
            // The kind and the unused bytes are under no checksum of the message: the history is
            // one of all its bytes.
            for bit in (4 * 8..message.len() * 8).chain(0..8) {
                let mut bytes = message.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(&bytes, 2).is_err(), "bit {bit}");
            }
            for length in 1..message.len() {
                assert!(decode(&message[..length], 2).is_err(), "length {length}");
            }
        }
    }

    #[test]
    fn what_no_node_encodes_is_refused() {
        let changes: [fn(&mut Batch); 5] = [
            |batch| batch.ids[1] = batch.ids[0],
            |batch| batch.vectors[2] = f32::NAN,
            |batch| batch.vectors.truncate(3),
            |batch| batch.content_ends[0] = 6,
            |batch| *batch = Batch::default(),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut wrong = batch();
            change(&mut wrong);
            let bytes = Message::Store(&wrong, Existing::Replace).encode();
            assert!(decode(&bytes, 2).is_err(), "change {number}");
        }
        assert!(decode(&Message::Delete(&[[1; 16]; 2]).encode(), 2).is_err());
        let [update, ..] = &updates()[..] else {
            panic!("no update");
        };
        let twice = [update.clone(), update.clone()];
        assert!(decode(&Message::Update(&twice).encode(), 2).is_err());
        assert!(matches!(decode(&[], 2), Ok(Change::Delete(ids)) if ids.is_empty()));
    }

    proptest! {
        #[test]
        fn any_body_under_a_right_checksum_is_read_or_refused(
            kind in 0..8_u8,
            body in proptest::collection::vec(0..4_u8, 0..200),
        ) {
            let mut bytes = vec![VERSION, kind, 0, 0];
            bytes.extend(crc32fast::hash(&body).to_le_bytes());
            bytes.extend(body);
            let _: Result<_> = decode(&bytes, 1);
        }
    }
}
