//! What of the log is in memory once the arena has pushed its points.

use crate::{
    index::arena::Arena,
    store::{BLOCK, OpenOptions, Store, Write},
    sync::memory::resident,
    vectors::points::Points,
};

const DIMENSION: usize = 128;
const POINTS: usize = 300;
const CONTENT_BYTES: usize = 1_000;
const GROUPS: usize = 8;
const SEGMENT_BYTES: usize = 4 << 20;

#[test]
fn vectors_are_in_memory_and_headers_and_contents_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions {
        path: folder.path().to_owned(),
        dimension: Some(DIMENSION as u32),
        default_dimension: 1,
        segment_bytes: SEGMENT_BYTES as u64,
    };
    let mut store = Store::open(&options).unwrap().store;
    let arena = Arena::new(store.segments(), DIMENSION);
    let mut locations = Vec::new();
    for group in 0..GROUPS {
        let write = Write::Insert {
            id: [group as u8; 16],
            vector: &[group as f32; DIMENSION],
            content_type: 0,
            content: &[b'a'; CONTENT_BYTES],
            metadata: &[],
            replaced: None,
        };
        for location in store.commit(&vec![write; POINTS]).unwrap() {
            arena.push([group as u8; 16], location, 1).unwrap();
            locations.push(location);
        }
    }
    let start = arena.vector(0).as_ptr().addr() - locations[0].vector as usize * BLOCK;
    let found = resident(&(start..start + SEGMENT_BYTES));
    let vectors = GROUPS * POINTS * DIMENSION * size_of::<f32>();
    // Parts of pages at both ends of a group, and what the last vectors brought in behind them.
    let beside = GROUPS * 2 * 4096 + POINTS * CONTENT_BYTES;
    assert!((vectors..vectors + beside).contains(&found), "{found}");
    for (slot, &location) in (0..).zip(&locations) {
        let stored = arena.segments().read(location).unwrap();
        assert_eq!(stored.id, arena.id(slot));
        assert_eq!(stored.content, [b'a'; CONTENT_BYTES]);
    }
}
