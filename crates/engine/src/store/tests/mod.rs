//! The store as a whole, on folders that were closed, killed, cut off from power or damaged.

mod backup;
mod busy;
mod check;
mod compaction;
mod copy_on_write;
mod crash;
pub(crate) mod damage;
pub(crate) mod disk;
pub(crate) mod failing;
mod files;
mod fork;
mod full;
mod full_disk;
mod names;
mod repair;
mod replica;
mod restore;
mod round_trip;
mod snapshots;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use fs_err::os::unix::fs::FileExt;

use super::{
    LivePoint, Location, OpenOptions, Opened, Store, Stored, Write,
    io::{Disk, Io},
    recovery,
};
use crate::{Error, Result};

/// A point as a test keeps it: vector bits, content type, content, metadata.
pub(crate) type Point = (Vec<u32>, u8, Vec<u8>, Vec<u8>);
/// The live points by id.
pub(crate) type StoredPoints = BTreeMap<[u8; 16], Point>;

pub(crate) const DIMENSION: usize = 3;
pub(crate) const SEGMENT_BYTES: u64 = 8192;

/// A folder in memory if the system has one, since the tests write thousands of small files.
pub(crate) fn new_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

pub(crate) fn options(folder: &Path) -> OpenOptions {
    OpenOptions {
        path: folder.to_owned(),
        dimension: None,
        default_dimension: DIMENSION as u32,
        segment_bytes: SEGMENT_BYTES,
    }
}

pub(crate) fn open(folder: &Path) -> Result<Opened> {
    open_on(Arc::new(disk::TestDisk::default()), folder)
}

pub(crate) fn open_on(io: Arc<dyn Io>, folder: &Path) -> Result<Opened> {
    Store::open_on(io, &options(folder))
}

pub(crate) fn id(number: u32) -> [u8; 16] {
    let mut id = [0xA5; 16];
    id[..4].copy_from_slice(&number.to_le_bytes());
    id
}

/// A write that a test can keep.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Insert(u32, Vec<u8>),
    /// Replaces the point that there is, by one with another vector and with metadata.
    Replace(u32, Vec<u8>),
    Delete(u32),
    DeleteAll,
}

impl Step {
    fn number(&self) -> u32 {
        match self {
            Step::Insert(number, _) | Step::Replace(number, _) | Step::Delete(number) => *number,
            Step::DeleteAll => 0,
        }
    }

    /// The point that it stores.
    fn stores(&self) -> Option<Point> {
        match self {
            Step::Insert(number, content) => Some(point(*number, content, &[])),
            Step::Replace(number, content) => {
                Some(point(*number + REPLACED, content, &metadata(*number)))
            }
            Step::Delete(_) | Step::DeleteAll => None,
        }
    }
}

/// A point that replaces another has the vector of another number: its own plus this.
const REPLACED: u32 = 1 << 20;

/// Metadata of many lengths, 0 among them.
fn metadata(number: u32) -> Vec<u8> {
    vec![b'm'; (number as usize * 7) % 60]
}

/// Distinct finite values, and ones that a careless copy would change.
fn vector(number: u32) -> [f32; DIMENSION] {
    [number as f32 * 0.1, -0.0, f32::from_bits(number + 1)]
}

pub(crate) fn commit(store: &mut Store, steps: &[Step]) -> Result<Vec<Location>> {
    commit_by(store, steps, Store::commit)
}

/// Calls `commit` with the writes of these steps.
pub(crate) fn commit_by(
    store: &mut Store,
    steps: &[Step],
    commit: impl FnOnce(&mut Store, &[Write]) -> Result<Vec<Location>>,
) -> Result<Vec<Location>> {
    let points: Vec<_> = steps.iter().map(Step::stores).collect();
    let vectors: Vec<Vec<f32>> = points
        .iter()
        .map(|point| {
            let bits = point.iter().flat_map(|(bits, ..)| bits);
            bits.map(|&bits| f32::from_bits(bits)).collect()
        })
        .collect();
    let needs = |step: &Step| matches!(step, Step::Delete(_) | Step::Replace(..));
    let found = if steps.iter().any(needs) {
        live(store)
    } else {
        Vec::new()
    };
    let stored = |number| {
        let point = found.iter().rfind(|point| point.id == id(number))?;
        Some(Stored {
            inserted: point.sequence,
            location: point.location,
        })
    };
    let writes: Vec<Write> = steps
        .iter()
        .zip(points.iter().zip(&vectors))
        .map(|(step, (point, vector))| match (step, point) {
            (_, Some((_, content_type, content, metadata))) => Write::Insert {
                id: id(step.number()),
                vector,
                content_type: *content_type,
                content,
                metadata,
                replaced: if let Step::Replace(number, _) = step {
                    stored(*number)
                } else {
                    None
                },
            },
            (Step::DeleteAll, _) => Write::DeleteAll,
            (step, None) => Write::Delete {
                id: id(step.number()),
                stored: stored(step.number()).unwrap_or(NOTHING),
            },
        })
        .collect();
    commit(store, &writes)
}

/// A point that was never stored.
const NOTHING: Stored = Stored {
    inserted: 0,
    location: Location {
        segment: u32::MAX,
        record: 64,
        vector: 65,
    },
};

/// The live points according to the files.
fn live(store: &Store) -> Vec<LivePoint> {
    let found = recovery::inspect(&Disk, &store.folder).unwrap();
    found.replay.into_points().0
}

/// Groups of every mix that fill several segments: single inserts, batches, deletes, both together,
/// an id that is inserted again, points that are replaced, once, twice and after their deletes,
/// alone and beside others, a delete of all, a group larger than a segment, empty contents, segments
/// with little left in them.
fn workload() -> Vec<Vec<Step>> {
    let insert = |number: u32| Step::Insert(number, vec![number as u8; number as usize % 90]);
    let replace = |number: u32| Step::Replace(number, vec![number as u8; number as usize % 70]);
    let mut groups = vec![vec![insert(301)], vec![insert(302), insert(303)]];
    groups.push(vec![replace(301)]);
    groups.push(vec![insert(305), replace(303), Step::Delete(301)]);
    groups.push(vec![replace(303), replace(305)]);
    groups.push(vec![Step::DeleteAll]);
    groups.push(vec![insert(0)]);
    groups.push(vec![insert(1), insert(2), insert(3)]);
    groups.push(vec![Step::Delete(2)]);
    groups.push(vec![insert(2), Step::Delete(0), insert(4)]);
    groups.push((10..20).map(insert).collect());
    groups.push(vec![Step::Delete(4)]);
    groups.push(vec![Step::Delete(11), Step::Delete(12)]);
    groups.push((100..140).map(insert).collect());
    groups.push((100..139).map(Step::Delete).collect());
    groups.push((20..50).map(insert).collect());
    groups.push((20..40).map(replace).collect());
    groups.push((20..30).map(Step::Delete).collect());
    groups.push((30..34).map(replace).collect());
    groups.push(vec![Step::Insert(60, vec![7; 9000]), insert(61)]);
    groups.extend((70..80).map(|number| vec![insert(number)]));
    groups.push(vec![Step::Delete(60)]);
    groups.push((140..180).map(insert).collect());
    groups.push((141..180).map(Step::Delete).collect());
    groups.push((180..220).map(insert).collect());
    groups
}

pub(crate) fn state_after(groups: &[Vec<Step>]) -> StoredPoints {
    let mut state = StoredPoints::new();
    for group in groups {
        apply(group, &mut state);
    }
    state
}

pub(crate) fn apply(group: &[Step], state: &mut StoredPoints) {
    for step in group {
        match step {
            Step::Insert(number, _) | Step::Replace(number, _) => {
                let point = step.stores().expect("it stores a point");
                state.insert(id(*number), point);
            }
            Step::Delete(number) => {
                state.remove(&id(*number));
            }
            Step::DeleteAll => state.clear(),
        }
    }
}

fn point(number: u32, content: &[u8], metadata: &[u8]) -> Point {
    let vector = vector(number).iter().map(|value| value.to_bits()).collect();
    let content_type = (number % 2) as u8;
    (vector, content_type, content.to_vec(), metadata.to_vec())
}

/// The contents of an opened store, each point read back and verified.
pub(crate) fn state(opened: &Opened) -> StoredPoints {
    let segments = opened.store.segments();
    assert!(opened.points.is_sorted_by(|a, b| a.sequence < b.sequence));
    let read = |point: &super::LivePoint| {
        let stored = segments.read(point.location).unwrap();
        assert_eq!((stored.id, stored.sequence), (point.id, point.sequence));
        let in_place = segments.vector(point.location.segment, point.location.vector);
        assert!(std::ptr::eq(in_place, stored.vector));
        let vector = stored.vector.iter().map(|value| value.to_bits()).collect();
        (
            point.id,
            (
                vector,
                stored.content_type,
                stored.content.to_vec(),
                stored.metadata.to_vec(),
            ),
        )
    };
    opened.points.iter().map(read).collect()
}

/// The files of a folder, except for the lock.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fs_err::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("LOCK"))
        .map(|path| (path.clone(), fs_err::read(&path).unwrap()))
        .collect()
}

/// Gives a folder exactly these files. They are written in place: when a file is truncated and
/// written again, some file systems write to the disk each time.
pub(crate) fn restore(folder: &Path, wanted: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in files(folder)
        .keys()
        .filter(|path| !wanted.contains_key(*path))
    {
        fs_err::remove_file(path).unwrap();
    }
    for (path, bytes) in wanted {
        let file = fs_err::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let file = file.unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
    }
}

/// Overwrites some bytes of a file.
fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let file = fs_err::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

/// A copy of a folder in its present state.
fn copy(folder: &Path) -> tempfile::TempDir {
    let copy = new_folder();
    for (path, bytes) in files(folder) {
        fs_err::write(copy.path().join(path.file_name().unwrap()), bytes).unwrap();
    }
    copy
}

/// The path and the offset that a refusal names.
fn damage(result: Result<Opened>) -> (PathBuf, u64, String) {
    match result {
        Err(Error::Damaged {
            path,
            offset,
            reason,
        }) => (path, offset, reason),
        Err(other) => panic!("expected damage, found {other}"),
        Ok(_) => panic!("expected damage, the store opened"),
    }
}
