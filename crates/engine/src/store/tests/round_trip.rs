//! Committed writes come back, and nothing else.

use std::{os::unix::fs::PermissionsExt, sync::Arc};

use super::{
    DIMENSION, NOTHING, Step, commit, copy, files, id, new_folder, open, options, state,
    state_after, vector, workload,
};
use crate::{
    Error,
    store::{
        Location, OpenOptions, Store, Write,
        log::format::{BLOCK, MAX_DIMENSION},
    },
};

const DELETE_OF_NOTHING: Write = Write::Delete {
    id: [9; 16],
    stored: NOTHING,
};

#[test]
fn groups_across_several_segments_come_back_bit_for_bit_in_order() {
    let folder = new_folder();
    let mut opened = Store::open(&options(folder.path())).unwrap();
    assert!(!opened.remembered);
    for group in workload() {
        commit(&mut opened.store, &group).unwrap();
    }
    let records: usize = workload().iter().map(Vec::len).sum();
    assert_eq!(opened.store.last_sequence(), records as u64);
    opened.store.close().unwrap();

    let opened = Store::open(&options(folder.path())).unwrap();
    assert_eq!(state(&opened), state_after(&workload()));
    assert!(
        opened.remembered && opened.notes.is_empty(),
        "{:?}",
        opened.notes
    );
    assert_eq!(opened.dimension as usize, DIMENSION);
    assert_eq!(opened.last_sequence, records as u64 + 1);
    let logs = files(folder.path())
        .keys()
        .filter(|p| p.extension().is_some())
        .count();
    assert!(logs >= 3, "{logs} segments");
}

#[test]
fn a_commit_says_where_each_record_is_and_readers_find_it_there() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let segments = opened.store.segments();
    let (a, b) = (vector(1), vector(2));
    let insert = |number, vector, content| Write::Insert {
        id: id(number),
        vector,
        content_type: 1,
        content,
        metadata: &[],
        replaced: None,
    };
    let writes = [insert(1, &a, b"one"), DELETE_OF_NOTHING, insert(2, &b, b"")];
    let locations = opened.store.commit(&writes).unwrap();
    assert_eq!(locations.len(), 3);
    assert_eq!(locations[1].vector, 0);
    assert_eq!(
        segments.vector(locations[0].segment, locations[0].vector),
        a
    );
    let second = segments.read(locations[2]).unwrap();
    assert_eq!((second.id, second.sequence), (id(2), 3));
    assert_eq!(
        (second.vector, second.content_type, second.content),
        (&b[..], 1, &b""[..])
    );
    // Records that readers hold stay readable when the writer is gone.
    drop(opened);
    assert_eq!(segments.read(locations[0]).unwrap().content, b"one");
    assert!(segments.read(locations[1]).is_err(), "a delete is no point");
    assert!(
        segments
            .read(Location {
                segment: 7,
                record: 64,
                vector: 0
            })
            .is_err()
    );
    assert!(
        segments
            .read(Location {
                segment: 1,
                record: u32::MAX,
                vector: 0
            })
            .is_err()
    );
}

#[test]
fn a_delete_counts_as_the_bytes_of_its_record_however_large_vectors_are() {
    let folder = new_folder();
    let options = OpenOptions {
        default_dimension: MAX_DIMENSION,
        segment_bytes: 1 << 20,
        ..options(folder.path())
    };
    let mut store = Store::open(&options).unwrap().store;
    let vector = vec![0.5; MAX_DIMENSION as usize];
    let insert = Write::Insert {
        id: id(1),
        vector: &vector,
        content_type: 0,
        content: &[],
        metadata: &[],
        replaced: None,
    };
    store.commit(&[insert]).unwrap();
    let end = |store: &Store| store.active.as_ref().unwrap().end;
    let before = end(&store);
    // As many vectors would be more than a group may hold.
    let mut deletes = vec![DELETE_OF_NOTHING; 1_000];
    deletes.push(Write::DeleteAll);
    let bytes = store.check(&deletes).unwrap();
    store.commit(&deletes).unwrap();
    assert_eq!(end(&store), before + BLOCK as u64 + bytes);
}

#[test]
fn readers_read_while_the_writer_writes() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let segments = opened.store.segments();
    let (send, receive) = std::sync::mpsc::channel::<(u32, Location)>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut seen = Vec::new();
            for (number, location) in receive {
                seen.push((number, location));
                for &(number, location) in &seen {
                    assert_eq!(segments.read(location).unwrap().vector, vector(number));
                }
            }
            assert_eq!(seen.len(), 300);
        });
        for number in 0..300 {
            let step = [Step::Insert(number, vec![0; 40])];
            send.send((number, commit(&mut opened.store, &step).unwrap()[0]))
                .unwrap();
        }
        drop(send);
    });
}

#[test]
fn a_folder_copied_at_any_moment_holds_every_acknowledged_group() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let groups = workload();
    for (index, group) in groups.iter().enumerate() {
        commit(&mut opened.store, group).unwrap();
        let killed = copy(folder.path());
        let found = open(killed.path()).unwrap();
        assert_eq!(
            state(&found),
            state_after(&groups[..=index]),
            "after group {index}"
        );
    }
}

#[test]
fn a_fresh_folder_stays_empty_and_binds_nothing_until_a_point_is_stored() {
    let parent = new_folder();
    let folder = parent.path().join("a/b");
    for dimension in [5, 7] {
        let options = OpenOptions {
            dimension: Some(dimension),
            ..options(&folder)
        };
        let mut opened = Store::open(&options).unwrap();
        assert_eq!((opened.dimension, opened.remembered), (dimension, false));
        let refused = opened.store.commit(&[DELETE_OF_NOTHING]);
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
        opened.store.prove().unwrap();
        opened.store.close().unwrap();
        assert!(files(&folder).is_empty());
    }
    let mode = fs_err::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn the_first_stored_point_pins_the_dimension() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    commit(&mut opened.store, &[Step::Insert(1, vec![])]).unwrap();
    commit(&mut opened.store, &[Step::Delete(1)]).unwrap();
    opened.store.close().unwrap();
    let before = files(folder.path());
    let other = OpenOptions {
        dimension: Some(8),
        ..options(folder.path())
    };
    let Err(Error::DimensionMismatch {
        remembered,
        configured,
        ..
    }) = Store::open(&other)
    else {
        panic!("expected the dimension to be refused");
    };
    assert_eq!((remembered, configured), (3, 8));
    assert_eq!(files(folder.path()), before);
    let absent = OpenOptions {
        default_dimension: 8,
        ..options(folder.path())
    };
    let opened = Store::open(&absent).unwrap();
    assert_eq!((opened.dimension, opened.remembered), (3, true));
}

#[test]
fn a_first_insert_that_was_interrupted_binds_nothing() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    commit(&mut opened.store, &[Step::Insert(1, vec![])]).unwrap();
    let segment = opened.store.active.as_ref().unwrap();
    segment.erase(4096, segment.end - 64).unwrap();
    drop(opened);
    let other = OpenOptions {
        dimension: Some(8),
        ..options(folder.path())
    };
    let mut opened = Store::open(&other).unwrap();
    assert_eq!((opened.dimension, opened.remembered), (8, false));
    assert!(files(folder.path()).is_empty());
    let write = Write::Insert {
        id: id(1),
        vector: &[0.5; 8],
        content_type: 0,
        content: b"again",
        metadata: &[],
        replaced: None,
    };
    opened.store.commit(&[write]).unwrap();
    drop(opened);
    assert_eq!(Store::open(&other).unwrap().points.len(), 1);
}

#[test]
fn opening_and_closing_writes_nothing_new() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    commit(&mut opened.store, &[Step::Insert(1, vec![])]).unwrap();
    opened.store.prove().unwrap();
    opened.store.prove().unwrap();
    assert_eq!(opened.store.last_sequence(), 2);
    opened.store.close().unwrap();
    let before = files(folder.path());
    for _ in 0..3 {
        open(folder.path()).unwrap().store.close().unwrap();
        drop(open(folder.path()).unwrap());
        assert_eq!(files(folder.path()), before);
    }
}

#[test]
fn a_store_that_has_proven_all_keeps_no_buffer() {
    let folder = new_folder();
    let mut store = open(folder.path()).unwrap().store;
    commit(&mut store, &[Step::Insert(1, vec![7; 10_000])]).unwrap();
    assert!(store.buffer.capacity() >= 10_000);
    store.prove().unwrap();
    assert_eq!(store.buffer.capacity(), 0);
}

#[test]
fn an_open_folder_cannot_be_opened_again_even_by_the_same_process() {
    let folder = new_folder();
    let first = open(folder.path()).unwrap();
    let second = open(folder.path());
    assert!(matches!(second, Err(Error::Locked { .. })));
    first.store.close().unwrap();
    open(folder.path()).unwrap();
}

#[test]
fn what_cannot_be_is_refused_with_what_was_expected() {
    let folder = new_folder();
    let small = OpenOptions {
        segment_bytes: 4096,
        ..options(folder.path())
    };
    assert!(matches!(
        Store::open(&small),
        Err(Error::InvalidArgument(_))
    ));
    let flat = OpenOptions {
        dimension: Some(0),
        ..options(folder.path())
    };
    assert!(matches!(Store::open(&flat), Err(Error::InvalidArgument(_))));

    let mut opened = open(folder.path()).unwrap();
    let short = Write::Insert {
        id: id(1),
        vector: &[1.0],
        content_type: 0,
        content: b"",
        metadata: &[],
        replaced: None,
    };
    let error = opened.store.commit(&[short]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "vector has 1 dimensions, this store has 3"
    );
    assert_eq!(opened.store.commit(&[]).unwrap(), []);
    assert!(files(folder.path()).is_empty());

    let file = folder.path().join("file");
    fs_err::write(&file, "").unwrap();
    let error = Store::open(&options(&file.join("data"))).err().unwrap();
    assert!(
        matches!(error, Error::Io(_)) && error.to_string().contains("file"),
        "{error}"
    );
}

#[test]
fn store_and_segments_can_go_to_other_threads() {
    fn sent<T: Send>(_: &T) {}
    fn shared<T: Send + Sync>(_: &T) {}
    let folder = new_folder();
    let opened = open(folder.path()).unwrap();
    sent(&opened.store);
    shared(&Arc::clone(&opened.store.segments()));
}
