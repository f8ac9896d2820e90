//! Forged files: random bytes, and sound files with changed words and recomputed checksums. Opening
//! them and reading their contents never panics. No single allocation is larger than the largest
//! file, and all at one time are no larger than all files together.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "memory is counted in the allocator; the lint spares test functions, not their helpers"
)]

#[path = "support/aged.rs"]
mod aged;
#[path = "support/driver.rs"]
mod driver;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs, panic,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, Once, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use aged::{Aged, End, copy_of, is, open_aged, texts};
use crc32fast::Hasher;
use driver::{answer, try_search};
use proptest::{prelude::*, test_runner::FileFailurePersistence};
use vectord_engine::Metric;

const PAGE: usize = 4096;
const BLOCK: usize = 64;
const SNAPSHOT_HEADER: usize = 64;
const FRAME_HEADER: usize = 12;

/// The bytes that opening a folder takes whatever its files contain: threads, tables, an empty
/// index.
const BASE_BYTES: usize = 64 << 10;

/// The additional bytes for reading, searching and closing: mainly the frame in which a snapshot is
/// written.
const USE_BYTES: usize = (1 << 20) + (512 << 10);

/// Counts the allocated bytes, their maximum, and the largest single allocation.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn grown(bytes: usize) {
    let now = NOW.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(now, Relaxed);
    LARGEST.fetch_max(bytes, Relaxed);
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grown(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(block, layout, size) }
    }
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts panics in every thread, caught or not.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Relaxed);
            print(info);
        }));
    });
}

fn aged() -> &'static Aged {
    static AGED: OnceLock<Aged> = OnceLock::new();
    AGED.get_or_init(|| Aged::new(End::Closed))
}

/// Blocks all other tests: memory and panics are counted for the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a folder, reads every point that was stored in it at first, and searches.
fn open_and_use(folder: &Path) -> Result<(), TestCaseError> {
    // A file is in memory at most once, one file at a time: counts and lengths are compared with
    // the available bytes before memory is allocated for them. The engine keeps less of a record
    // than the record's bytes, and less of a slot than the bytes of the slot with its links.
    open_and_use_within(folder, (1, 1))
}

/// The same, where `memory` bytes may be allocated for `file` bytes of a file.
fn open_and_use_within(folder: &Path, (memory, file): (usize, usize)) -> Result<(), TestCaseError> {
    let bound_for = |bytes: usize| bytes * memory / file;
    count_panics();
    let panics = PANICS.load(Relaxed);
    let before = NOW.load(Relaxed);
    let sizes: Vec<usize> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len() as usize)
        .collect();
    let (all, largest) = (sizes.iter().sum::<usize>(), sizes.iter().max().unwrap());
    MOST.store(before, Relaxed);
    LARGEST.store(0, Relaxed);
    let opened = open_aged(folder);
    let (taken, at_once) = (
        MOST.load(Relaxed).saturating_sub(before),
        LARGEST.load(Relaxed),
    );
    let bound = bound_for(*largest);
    prop_assert!(
        at_once <= bound,
        "{at_once} bytes at once, expected {bound}"
    );
    let bound = BASE_BYTES + bound_for(all);
    prop_assert!(taken <= bound, "{taken} bytes to open, expected {bound}");
    if let Ok(engine) = opened {
        // The points may be anything: an author of correct checksums can write any contents.
        for (id, _) in &aged().model {
            drop(engine.get(id));
        }
        let query = vec![0.5; engine.dimension() as usize];
        for metric in Metric::ALL {
            drop(try_search(&engine, metric, &query, 10, 30));
        }
        drop(answer(|done| engine.count(texts(), done)));
        drop(engine.close());
    }
    let taken = MOST.load(Relaxed).saturating_sub(before);
    let bound = bound + USE_BYTES;
    prop_assert!(taken <= bound, "{taken} bytes were taken, expected {bound}");
    prop_assert_eq!(PANICS.load(Relaxed), panics, "something panicked");
    Ok(())
}

/// Words with which sizes, counts and offsets often go wrong.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        0_u32..4,
        (0_u32..64).prop_map(|power| (1_u64 << (power % 32)) as u32),
        (0_u32..3).prop_map(|below| u32::MAX - below),
        4_000_u32..5_000,
        any::<u32>(),
    ]
}

/// The place and the new word of a change: a share of the existing places, multiples of 4 bytes.
type Change = (prop::sample::Index, u32);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec((any::<prop::sample::Index>(), word()), 1..4)
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Changes words of a manifest's content and recomputes its checksum.
fn change_manifest(bytes: &mut [u8], changes: &[Change]) {
    let content = bytes.len() - 4;
    for (place, word) in changes {
        // The magic and the version are compared before anything else.
        put(bytes, 12 + 4 * place.index((content - 12) / 4), *word);
    }
    let crc = crc32fast::hash(&bytes[..content]);
    put(bytes, content, crc);
}

/// Changes words of the segment's header, of group headers and of record headers, and recomputes
/// all checksums.
fn change_segment(bytes: &mut [u8], changes: &[Change]) {
    let groups = groups(bytes);
    let mut places: Vec<usize> = (12..92).step_by(4).collect();
    for &(group, records) in &groups {
        // The salt at the start of a group and its position identify the group, so they are not
        // changed.
        places.extend((group + 24..group + BLOCK).step_by(4));
        let headers = (group + BLOCK..group + (records + 1) * BLOCK).step_by(BLOCK);
        places.extend(headers.flat_map(|header| (header + 4..header + BLOCK).step_by(4)));
    }
    for (place, word) in changes {
        put(bytes, *place.get(&places), *word);
    }
    let salt = bytes[48..64].to_vec();
    for (group, records) in groups {
        for header in (1..=records).map(|record| group + record * BLOCK) {
            let crc = record_crc(bytes, header, &salt);
            put(bytes, header, crc);
        }
        let count = u32_at(bytes, group + 48) as usize;
        let end = count
            .saturating_add(1)
            .saturating_mul(BLOCK)
            .saturating_add(group);
        let body = bytes.get(group + BLOCK..end).unwrap_or_default();
        let crc = salted(&salt, &[body]);
        put(bytes, group + 12, crc);
        let crc = salted(&salt, &[&bytes[group + 12..group + BLOCK]]);
        put(bytes, group + 8, crc);
    }
    let crc = crc32fast::hash(&bytes[..PAGE - 4]);
    put(bytes, PAGE - 4, crc);
}

/// The place of each group of a segment, and its number of records.
fn groups(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut groups = Vec::new();
    let mut at = PAGE;
    while at < bytes.len() && bytes[at..at + 8] == bytes[48..56] {
        groups.push((at, u32_at(bytes, at + 48) as usize));
        at += u64_at(bytes, at + 24) as usize;
    }
    groups
}

fn record_crc(bytes: &[u8], header: usize, salt: &[u8]) -> u32 {
    let part = |offset: u64, length: usize| {
        let from = usize::try_from(offset).unwrap();
        bytes.get(from..from.checked_add(length)?)
    };
    let is_insert = bytes[header + 4] == 1;
    let vector_bytes = if is_insert {
        4 * aged::DIMENSION as usize
    } else {
        0
    };
    let vector = part(u64_at(bytes, header + 32), vector_bytes);
    let payload = part(
        u64_at(bytes, header + 40),
        u32_at(bytes, header + 48) as usize,
    );
    let fields = &bytes[header + 4..header + BLOCK];
    salted(
        salt,
        &[
            fields,
            vector.unwrap_or_default(),
            payload.unwrap_or_default(),
        ],
    )
}

fn salted(salt: &[u8], parts: &[&[u8]]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(salt);
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

/// The content of a snapshot, without its frames.
fn content_of(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    let mut at = SNAPSHOT_HEADER;
    while at < bytes.len() {
        let length = u32_at(bytes, at) as usize;
        content.extend(&bytes[at + FRAME_HEADER..at + FRAME_HEADER + length]);
        at += FRAME_HEADER + length;
    }
    content
}

/// Changes words of a snapshot's header and content, and frames it again.
fn change_snapshot(bytes: &mut Vec<u8>, changes: &[Change]) {
    let mut content = content_of(bytes);
    let mut header = bytes[..SNAPSHOT_HEADER].to_vec();
    for (number, (place, word)) in changes.iter().enumerate() {
        // The first words are the counts of everything else.
        match (number, content.len() / 4) {
            (0, words) if word % 2 == 0 => put(&mut content, 4 * (place.index(words) % 6), *word),
            (_, words) => put(&mut content, 4 * place.index(words), *word),
        }
    }
    if let [(place, word)] = changes {
        put(&mut header, 16 + 4 * place.index(11), *word);
    }
    let crc = crc32fast::hash(&header[..SNAPSHOT_HEADER - 4]);
    put(&mut header, SNAPSHOT_HEADER - 4, crc);
    *bytes = framed(header, &content);
}

/// A snapshot file with this header and content, with correct checksums.
fn framed(header: Vec<u8>, content: &[u8]) -> Vec<u8> {
    let id = header[32..48].to_vec();
    let mut bytes = header;
    let frames = content.chunks(1 << 20).chain([&[][..]]);
    for (number, frame) in frames.enumerate() {
        let mut start = [0; FRAME_HEADER];
        put(&mut start, 0, frame.len() as u32);
        put(&mut start, 4, number as u32);
        let crc = salted(&id, &[&start[..8], frame]);
        put(&mut start, 8, crc);
        bytes.extend(start);
        bytes.extend(frame);
    }
    bytes
}

/// A copy of the sound folder in which `change` has changed these files.
fn with_changed(files: &[(PathBuf, Vec<u8>)], change: impl Fn(&mut Vec<u8>)) -> tempfile::TempDir {
    let folder = copy_of(aged().folder.path());
    for (path, bytes) in files {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        fs::write(folder.path().join(path.file_name().unwrap()), bytes).unwrap();
    }
    folder
}

fn files(pick: impl Fn(&Path) -> bool) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = aged().files();
    files.retain(|(path, _)| pick(path));
    files
}

fn is_manifest(path: &Path) -> bool {
    path.ends_with("MANIFEST")
}

#[test]
fn files_are_put_together_again_as_they_were() {
    let _alone = alone();
    for (path, sound) in aged().files() {
        let mut bytes = sound.clone();
        if is_manifest(&path) {
            change_manifest(&mut bytes, &[]);
        } else if is(&path, "log") {
            change_segment(&mut bytes, &[]);
        } else {
            change_snapshot(&mut bytes, &[]);
        }
        assert_eq!(bytes, sound, "{}", path.display());
    }
}

/// Most words of a snapshot are links: 0 is no link, and a mark alone is never written.
#[test]
fn a_word_of_a_snapshot_that_is_zeroed_or_a_mark_alone_is_taken_or_refused() {
    const MARK: u32 = 1 << 31;
    let _alone = alone();
    let snapshots = files(|path| is(path, "snapshot"));
    let words = snapshots[0].1.len() / 4 - 100;
    for (number, place) in (0..words).step_by(97).enumerate() {
        let word = [0, MARK][number % 2];
        let folder = with_changed(&snapshots, |file| {
            let mut content = content_of(file);
            put(&mut content, 4 * place, word);
            *file = framed(file[..SNAPSHOT_HEADER].to_vec(), &content);
        });
        open_and_use(folder.path()).unwrap_or_else(|error| panic!("word {place}: {error}"));
    }
}

/// Nothing in a file takes more memory for its bytes.
#[test]
fn a_snapshot_of_free_slots_alone_takes_what_these_slots_take() {
    const SLOTS: u32 = 100_000;
    // A slot takes 24 bytes in the file and 56 in memory.
    const TIMES: (usize, usize) = (56, 24);
    let _alone = alone();
    let folder = with_changed(&files(|path| is(path, "snapshot")), |file| {
        let mut content = vec![0; 8 + 24 * SLOTS as usize];
        put(&mut content, 0, SLOTS);
        *file = framed(file[..SNAPSHOT_HEADER].to_vec(), &content);
    });
    open_and_use_within(folder.path(), TIMES).unwrap();
    // More slots than the file has bytes for.
    let folder = with_changed(&files(|path| is(path, "snapshot")), |file| {
        let mut content = vec![0; 8 + 24 * SLOTS as usize];
        put(&mut content, 0, SLOTS + 100);
        *file = framed(file[..SNAPSHOT_HEADER].to_vec(), &content);
    });
    open_and_use(folder.path()).unwrap();
}

/// Following this chain of duplicates would never end.
#[test]
fn a_chain_of_copies_that_leads_back_into_itself_is_refused() {
    let _alone = alone();
    let (path, _) = files(|path| is(path, "snapshot")).pop().unwrap();
    let newest = files(|other| other == path);
    let folder = with_changed(&newest, |file| {
        let mut content = content_of(file);
        // The duplicates are before the end of the last graph, each with its slot and the next one;
        // one of them is the last of its chain. Columns follow.
        let is_end = |at: &usize| content[*at..*at + 12] == [u8::MAX; 12];
        let end = (0..content.len() - 12).rev().find(is_end).unwrap();
        let mut copies = (1..31).map(|back| end - back * 12);
        let last = copies.find(|&at| u32_at(&content, at + 4) == 0).unwrap();
        let own = u32_at(&content, last) + 1;
        put(&mut content, last + 4, own);
        *file = framed(file[..SNAPSHOT_HEADER].to_vec(), &content);
    });
    let notes = open_aged(folder.path()).unwrap().notes().join(" ");
    assert!(
        notes.contains("a chain of duplicates that is not one"),
        "{notes}"
    );
    open_and_use(folder.path()).unwrap();
}

/// The whole segment is searched for data, in pieces.
#[test]
fn a_segment_that_the_manifest_of_another_store_does_not_name_is_looked_at_within_its_size() {
    const STORE: usize = 16;
    const FIRST_ENTRY: usize = 40;
    let _alone = alone();
    let folder = with_changed(&files(is_manifest), |bytes| {
        put(bytes, STORE, 0);
        // The number of a segment that no longer exists.
        put(bytes, FIRST_ENTRY, 1);
        change_manifest(bytes, &[]);
    });
    let refusal = open_aged(folder.path()).err().unwrap().to_string();
    assert!(refusal.contains("MANIFEST does not name it"), "{refusal}");
    open_and_use(folder.path()).unwrap();
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 100,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    }
}

#[test]
fn any_bytes_in_place_of_a_file_are_taken_or_refused() {
    let _alone = alone();
    let which = any::<prop::sample::Index>();
    let bytes = prop::collection::vec(any::<u8>(), 0..9_000);
    proptest!(config(), |(which in which, kept in 0_usize..100, bytes in bytes)| {
        let all = files(|_| true);
        let folder = with_changed(&[which.get(&all).clone()], |file| {
            file.truncate(kept);
            file.extend(&bytes);
        });
        open_and_use(folder.path())?;
    });
}

#[test]
fn any_manifest_under_a_right_checksum_is_taken_or_refused() {
    let _alone = alone();
    proptest!(config(), |(changes in changes())| {
        let folder = with_changed(&files(is_manifest), |bytes| change_manifest(bytes, &changes));
        open_and_use(folder.path())?;
    });
}

#[test]
fn any_log_under_right_checksums_is_taken_or_refused() {
    let _alone = alone();
    proptest!(config(), |(which in any::<prop::sample::Index>(), changes in changes())| {
        let logs = files(|path| is(path, "log"));
        let folder = with_changed(&[which.get(&logs).clone()], |bytes| {
            change_segment(bytes, &changes);
        });
        open_and_use(folder.path())?;
    });
}

// All snapshots, so that none replaces another.
#[test]
fn any_snapshot_under_right_checksums_is_taken_or_refused() {
    let _alone = alone();
    proptest!(config(), |(changes in changes())| {
        let snapshots = files(|path| is(path, "snapshot"));
        let folder = with_changed(&snapshots, |bytes| change_snapshot(bytes, &changes));
        open_and_use(folder.path())?;
    });
}

#[test]
fn any_content_of_a_snapshot_is_taken_or_refused() {
    let _alone = alone();
    let words = prop::collection::vec(word(), 0..200);
    let bytes = prop::collection::vec(any::<u8>(), 0..2_000);
    proptest!(config(), |(words in words, bytes in bytes)| {
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        let content: Vec<u8> = words.chain(bytes).collect();
        let folder = with_changed(&files(|path| is(path, "snapshot")), |file| {
            *file = framed(file[..SNAPSHOT_HEADER].to_vec(), &content);
        });
        open_and_use(folder.path())?;
    });
}
