//! The answers of the writer thread when the disk fails or is full.

use std::{
    ops::Range,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError, channel},
    },
    thread,
};

use vectord_filter::{Condition, Expression, Filter};

use crate::{
    Error, Metric, Result,
    engine::{
        budget::Budget,
        stats::Counters,
        writer::{Batch, Existing, Update, Writer},
    },
    hnsw::{Params, Scratch},
    index::{Index, Matches, Request},
    store::{
        MAX_GROUP_BYTES, OpenOptions, Store,
        tests::{
            DIMENSION, SEGMENT_BYTES,
            disk::{Call, TestDisk},
            id, new_folder, options,
        },
    },
};

pub struct Writing {
    pub disk: TestDisk,
    pub index: Arc<Index>,
    pub writer: Arc<Writer>,
}

impl Writing {
    pub fn start(folder: &Path) -> Writing {
        Writing::start_with(folder, 1 << 20)
    }

    /// Starts a writer whose requests may take `budget` bytes of memory together.
    fn start_with(folder: &Path, budget: usize) -> Writing {
        let disk = TestDisk::default();
        let options = OpenOptions {
            segment_bytes: 8 * SEGMENT_BYTES,
            ..options(folder)
        };
        let opened = Store::open_on(Arc::new(disk.clone()), &options).unwrap();
        let params = Params {
            m: 16,
            ef_construction: 100,
        };
        let segments = opened.store.segments();
        let index = Arc::new(Index::new(segments, opened.dimension, params));
        let budget = Budget::new(budget);
        let writer = Writer::start(opened.store, Arc::clone(&index), budget, Counters::new());
        Writing {
            disk,
            index,
            writer: Arc::new(writer.unwrap()),
        }
    }

    pub fn insert(&self, number: u32) -> Result<()> {
        self.begin_insert(number).recv().unwrap()
    }

    fn begin_insert(&self, number: u32) -> Receiver<Result<()>> {
        self.begin_insert_with(number, vec![7; 10])
    }

    fn begin_insert_with(&self, number: u32, content: Vec<u8>) -> Receiver<Result<()>> {
        let (done, answer) = channel();
        let batch = Batch {
            ids: vec![id(number)],
            vectors: vec![number as f32; DIMENSION],
            content_types: vec![0],
            content_ends: vec![content.len()],
            contents: content,
            ..Batch::default()
        };
        let done = Box::new(move |stored: Result<_>| drop(done.send(stored.map(drop))));
        self.writer.store(batch, Existing::Impossible, done);
        answer
    }

    pub fn delete(&self, number: u32) -> Receiver<Result<bool>> {
        let (done, answer) = channel();
        let done = Box::new(move |found: Result<Vec<bool>>| {
            drop(done.send(found.map(|found| found == [true])));
        });
        self.writer.delete(vec![id(number)], done);
        answer
    }

    /// Deletes the points that pass; returns their number.
    fn delete_matching(&self, expression: Expression) -> Result<u64> {
        let (done, answer) = channel();
        let filter = Arc::new(Filter::new(expression));
        let done = Box::new(move |deleted| drop(done.send(deleted)));
        let memory = Budget::new(0).reserve(0).unwrap();
        self.writer
            .delete_matching(filter, Matches::default(), memory, done);
        answer.recv().unwrap()
    }

    /// Makes all writes that `enqueue` enqueues fall into one group.
    fn in_one_group<T>(&self, enqueue: impl FnOnce() -> T) -> T {
        let (begun, has_begun) = channel();
        let (go_on, goes_on) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(|| {
                let hold = move |_: &mut Store| {
                    begun.send(()).unwrap();
                    goes_on.recv().unwrap();
                };
                self.writer.run(hold).unwrap();
            });
            has_begun.recv().unwrap();
            let enqueued = enqueue();
            go_on.send(()).unwrap();
            enqueued
        })
    }

    /// The points that readers find: by their ids, and by a search.
    fn visible(&self, numbers: Range<u32>) -> [Vec<[u8; 16]>; 2] {
        let ids = numbers.map(id);
        let by_id = ids.filter(|id| self.index.with_location(id, |_| ()).is_some());
        let request = Request {
            metric: Metric::Euclidean,
            query: &[0.0; DIMENSION],
            limit: 100,
            ef: 100,
            within: None,
        };
        let hits = self
            .index
            .view()
            .prepare(request)
            .run(&mut Scratch::new())
            .unwrap();
        [by_id.collect(), hits.iter().map(|hit| hit.id).collect()]
    }

    /// Begins to free space, then deletes points until a delete has to wait.
    fn delete_until_one_waits(
        &self,
        numbers: &mut impl Iterator<Item = u32>,
    ) -> (u32, Receiver<Result<bool>>) {
        self.writer
            .run(Store::begin_freeing_space)
            .unwrap()
            .unwrap();
        loop {
            let number = numbers.next().unwrap();
            let answer = self.delete(number);
            // The closure runs once everything that was enqueued before is done.
            self.writer.run(|_| ()).unwrap();
            match answer.try_recv() {
                Err(TryRecvError::Empty) => return (number, answer),
                answered => assert!(answered.unwrap().unwrap(), "{number}"),
            }
        }
    }
}

#[test]
fn a_write_whose_commit_failed_is_not_answered_with_success_nor_is_any_later_one() {
    for failing in 0..2 {
        let folder = new_folder();
        let writing = Writing::start(folder.path());
        writing.insert(1).unwrap();
        // The write itself fails, then its sync.
        writing.disk.fail_after(failing);
        let failed = writing.insert(2);
        assert!(matches!(failed, Err(Error::ReadOnly(_))), "{failed:?}");
        assert!(writing.index.find(&id(2)).is_none());
        for answer in [
            writing.insert(3),
            writing.delete(1).recv().unwrap().map(drop),
        ] {
            assert!(matches!(answer, Err(Error::ReadOnly(_))), "{answer:?}");
        }
        assert!(writing.index.find(&id(1)).is_some());
        assert!(writing.writer.failure().is_some());
    }
}

#[test]
fn a_write_for_which_no_file_can_be_opened_is_refused_and_the_next_one_succeeds() {
    let folder = new_folder();
    let writing = Writing::start(folder.path());
    writing.insert(0).unwrap();
    writing.disk.set_files_left(Some(0));
    // Until the active segment is full.
    let (number, refused) = (1..1_000)
        .find_map(|number| Some((number, writing.insert(number).err()?)))
        .unwrap();
    assert!(matches!(refused, Error::Overloaded(_)), "{refused:?}");
    assert!(writing.index.find(&id(number)).is_none());
    assert_eq!(writing.writer.failure(), None);
    writing.disk.set_files_left(None);
    writing.insert(number).unwrap();
    assert!(writing.delete(0).recv().unwrap().unwrap());
    writing.writer.close().unwrap();
}

#[test]
fn a_group_is_neither_answered_nor_visible_while_it_is_synced_and_both_afterwards() {
    let folder = new_folder();
    let writing = Writing::start(folder.path());
    writing.insert(1).unwrap();
    let (inserted, deleted, held, begun) = writing.in_one_group(|| {
        let enqueued = (writing.begin_insert(2), writing.delete(1));
        let held = writing.disk.hold_next_sync();
        (enqueued.0, enqueued.1, held, writing.disk.call_count())
    });
    held.is_asked();
    assert!(
        !groups_of(&writing.disk, begun).is_empty(),
        "it is synced once it is written"
    );
    assert!(matches!(inserted.try_recv(), Err(TryRecvError::Empty)));
    assert!(matches!(deleted.try_recv(), Err(TryRecvError::Empty)));
    assert_eq!(writing.visible(0..4), [[id(1)], [id(1)]]);
    held.let_go_on();
    inserted.recv().unwrap().unwrap();
    assert!(deleted.recv().unwrap().unwrap());
    assert_eq!(writing.visible(0..4), [[id(2)], [id(2)]]);
    writing.writer.close().unwrap();
}

/// The lengths of the groups that were written from the call of the number `begun` on.
fn groups_of(disk: &TestDisk, begun: usize) -> Vec<usize> {
    let calls = disk.calls();
    let group = |call: &Call| match call {
        Call::Write(.., bytes) if bytes.iter().any(|&byte| byte != 0) => Some(bytes.len()),
        _ => None,
    };
    calls[begun..].iter().filter_map(group).collect()
}

#[test]
fn small_updates_that_copy_much_are_divided_into_groups_by_what_they_plan() {
    const CONTENT: usize = 900 << 10;
    const POINTS: u32 = 24;
    let folder = new_folder();
    let writing = Writing::start_with(folder.path(), 64 << 20);
    for number in 0..POINTS {
        writing
            .begin_insert_with(number, vec![7; CONTENT])
            .recv()
            .unwrap()
            .unwrap();
    }
    let (answers, begun) = writing.in_one_group(|| {
        let update = |number| {
            let (done, answer) = channel();
            let update = Update {
                id: id(number),
                content_type: None,
                content: None,
                metadata: Some(br#"{"a":1}"#.to_vec()),
            };
            let done = Box::new(move |found| drop(done.send(found)));
            writing.writer.update(vec![update], done);
            answer
        };
        let answers: Vec<Receiver<Result<Vec<bool>>>> = (0..POINTS).map(update).collect();
        (answers, writing.disk.call_count())
    });
    for answer in answers {
        assert_eq!(answer.recv().unwrap().unwrap(), [true]);
    }
    let groups = groups_of(&writing.disk, begun);
    assert!(groups.len() > 1, "{groups:?}");
    assert!(groups.iter().all(|&bytes| bytes < 18 << 20), "{groups:?}");
    writing.writer.close().unwrap();
}

#[test]
fn what_the_store_refuses_is_refused_alone() {
    let folder = new_folder();
    let writing = Writing::start_with(folder.path(), 256 << 20);
    let large = vec![7; MAX_GROUP_BYTES as usize];
    let [before, refused, after] = writing.in_one_group(|| {
        [
            writing.begin_insert(1),
            writing.begin_insert_with(2, large),
            writing.begin_insert(3),
        ]
    });
    before.recv().unwrap().unwrap();
    let refused = refused.recv().unwrap();
    assert!(
        matches!(refused, Err(Error::InvalidArgument(_))),
        "{refused:?}"
    );
    after.recv().unwrap().unwrap();
    writing.insert(4).unwrap();
    assert_eq!(writing.writer.failure(), None);
    assert_eq!(writing.visible(0..9)[0], [1, 3, 4].map(id));
    writing.writer.close().unwrap();
}

#[test]
fn of_two_deletes_of_a_point_in_one_group_one_finds_it() {
    let folder = new_folder();
    let writing = Writing::start(folder.path());
    writing.insert(1).unwrap();
    writing.insert(2).unwrap();
    let answers = writing.in_one_group(|| [1, 2, 1, 1].map(|number| writing.delete(number)));
    let found = answers.map(|answer| answer.recv().unwrap().unwrap());
    assert_eq!(found, [true, true, false, false]);
    assert!(!writing.delete(1).recv().unwrap().unwrap());
    writing.writer.close().unwrap();
}

#[test]
fn a_delete_waits_for_space_that_compaction_frees_and_is_refused_once_it_frees_none() {
    let folder = new_folder();
    let writing = Writing::start(folder.path());
    for number in 0..2_000 {
        writing.insert(number).unwrap();
    }
    writing.disk.set_space(Some(0));
    let mut numbers = 0..2_000;
    let (number, answer) = writing.delete_until_one_waits(&mut numbers);
    writing.disk.set_space(None);
    writing
        .writer
        .run(Store::end_freeing_space)
        .unwrap()
        .unwrap();
    assert!(answer.recv().unwrap().unwrap());
    assert!(writing.index.find(&id(number)).is_none());

    writing.disk.set_space(Some(0));
    let (number, answer) = writing.delete_until_one_waits(&mut numbers);
    // Another program takes the free space.
    writing.disk.set_space(Some(0));
    writing
        .writer
        .run(Store::end_freeing_space)
        .unwrap()
        .unwrap();
    let refused = answer.recv().unwrap();
    assert!(matches!(refused, Err(Error::StorageFull)), "{refused:?}");
    assert!(writing.index.find(&id(number)).is_some());
    assert!(writing.writer.refused_deletes() > 0);
    writing.writer.close().unwrap();
}

#[test]
fn a_delete_by_a_filter_for_which_there_is_no_space_deletes_nothing_and_smaller_ones_go_on() {
    let folder = new_folder();
    let writing = Writing::start(folder.path());
    for number in 0..1_200 {
        writing.insert(number).unwrap();
    }
    writing.disk.set_space(Some(0));
    // More than the reserve holds.
    let everything = || Expression::All(Vec::new());
    let refused = writing.delete_matching(everything());
    assert!(matches!(refused, Err(Error::StorageFull)), "{refused:?}");
    assert_eq!(writing.index.live(), 1_200);
    let some = Condition::Id((0..500).map(id).collect());
    let deleted = writing.delete_matching(Expression::Condition(some));
    assert_eq!(deleted.unwrap(), 500);
    assert!(writing.delete(500).recv().unwrap().unwrap());
    writing.disk.set_space(None);
    assert_eq!(writing.delete_matching(everything()).unwrap(), 699);
    writing.writer.close().unwrap();
    let opened = Store::open(&options(folder.path())).unwrap();
    assert!(opened.points.is_empty());
}

#[test]
fn a_panic_of_the_writer_is_an_error_to_all_who_wait_and_ends_writing_alone() {
    let folder = new_folder();
    let writing = Writing::start(folder.path());
    let (before, behind) = writing.in_one_group(|| {
        let before = writing.begin_insert(1);
        let panics = Box::new(|_| panic!("an answer that panics on purpose"));
        writing.writer.delete(vec![id(9)], panics);
        (before, writing.begin_insert(2))
    });
    assert!(before.recv().unwrap().is_ok());
    let is_told = |answer: Result<()>| match answer {
        Err(Error::ReadOnly(reason)) => reason.contains("the writer panicked"),
        _ => false,
    };
    assert!(is_told(behind.recv().unwrap()));
    assert!(is_told(writing.insert(3)));
    assert!(writing.writer.failure().unwrap().contains("panicked"));
    writing.writer.run(|_| ()).unwrap();
    assert!(is_told(writing.writer.close()));

    let opened = Store::open(&options(folder.path())).unwrap();
    let ids: Vec<_> = opened.points.iter().map(|point| point.id).collect();
    assert_eq!(ids, [id(1), id(2)], "what was made durable is there");
}

#[test]
fn a_panic_of_what_the_writer_does_for_others_ends_writing() {
    let folder = new_folder();
    let writing = Writing::start(folder.path());
    writing.insert(1).unwrap();
    let ran = writing
        .writer
        .run(|_| panic!("work that panics on purpose"));
    assert!(matches!(ran, Err::<(), _>(Error::Closed)));
    let refused = writing.insert(2);
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
}
