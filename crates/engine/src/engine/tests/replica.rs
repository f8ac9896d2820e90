//! Replicas of one stream, each with a schedule of its own of full disks, kills, power cuts and
//! restarts: all come to the same history and the same points.

use std::{
    collections::HashSet,
    mem,
    ops::Range,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use fs_err::os::unix::fs::FileExt;
use proptest::prelude::*;
use tempfile::TempDir;
use vectord_filter::{Condition, Expression, Filter, Test, Value};

use crate::{
    Error, Metric, Result,
    engine::{
        budget::Budget,
        stats::Counters,
        writer::{Batch, Existing, Outcome, Update, Writer, message::Message},
    },
    hnsw::Params,
    index::{Index, Matches, PointId, tests::support::work_on},
    store::{
        OpenOptions, Opened, Store, StreamPosition,
        tests::{
            DIMENSION, Point, SEGMENT_BYTES,
            disk::{Files, Loss, TestDisk, after_power_cut},
            files, id, new_folder, options, restore, state,
        },
    },
};

/// The number of points that the graph may lack.
const LONGEST_TAIL: u32 = 3;

/// As long as a message may take before the test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A change, with the numbers of its points.
#[derive(Clone, Debug)]
enum Op {
    Store(Vec<u32>, Existing, u8),
    Update(Vec<u32>, u8),
    Delete(Vec<u32>),
    DeleteMatching(u8),
    /// Whether the expected number of points is the right one.
    DeleteAll(bool),
    Nothing,
}

/// What happens to a replica.
#[derive(Clone, Debug)]
enum Event {
    /// The next messages of the stream, all at once.
    Feed(usize),
    /// Finds the points that a delete with this number would delete now, and keeps them for it.
    FindAhead(u8),
    /// A message that it has already.
    Again,
    /// Links, and waits for all that was fed, unless the disk is full.
    Settle,
    /// Links what waits to be linked, so that the graphs have room again.
    Link,
    Space(u64),
    Free,
    Kill(Loss),
    Stop,
}

fn op() -> impl Strategy<Value = Op> {
    let numbers = || proptest::collection::hash_set(0..12_u32, 1..4);
    let numbers = || numbers().prop_map(|set: HashSet<u32>| Vec::from_iter(set));
    let existing = prop_oneof![
        Just(Existing::Replace),
        Just(Existing::Keep),
        Just(Existing::Impossible)
    ];
    prop_oneof![
        6 => (numbers(), existing, any::<u8>()).prop_map(|(a, b, c)| Op::Store(a, b, c)),
        3 => (numbers(), any::<u8>()).prop_map(|(numbers, seed)| Op::Update(numbers, seed)),
        4 => numbers().prop_map(Op::Delete),
        2 => (0..4_u8).prop_map(Op::DeleteMatching),
        1 => any::<bool>().prop_map(Op::DeleteAll),
        1 => Just(Op::Nothing),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let loss = prop_oneof![
        Just(Loss::All),
        Just(Loss::Nothing),
        any::<u64>().prop_map(Loss::Some)
    ];
    prop_oneof![
        8 => (1..9_usize).prop_map(Event::Feed),
        4 => (0..4_u8).prop_map(Event::FindAhead),
        1 => Just(Event::Again),
        3 => Just(Event::Settle),
        2 => Just(Event::Link),
        2 => (0..4_096_u64).prop_map(Event::Space),
        2 => Just(Event::Free),
        2 => loss.prop_map(Event::Kill),
        1 => Just(Event::Stop),
    ]
}

fn content(seed: u8) -> Vec<u8> {
    vec![seed; usize::from(seed) * 5]
}

fn metadata(seed: u8) -> Vec<u8> {
    format!(r#"{{"k":{}}}"#, seed % 4).into_bytes()
}

fn vector(number: u32, seed: u8) -> [f32; DIMENSION] {
    [number as f32, f32::from(seed), -0.0]
}

/// What a message must do, in the words of [`Outcome`].
#[derive(Clone, Debug, Default, PartialEq)]
struct Effect {
    counts: [usize; 3],
    found: Vec<bool>,
    deleted: u64,
    is_refused: bool,
}

/// The points in the order of their last change.
type Points = Vec<(PointId, Point)>;

/// The messages of some changes, what each must do, and the points at the end.
struct Stream {
    messages: Vec<Vec<u8>>,
    effects: Vec<Effect>,
    /// The positions behind no message, behind the first, and so on.
    positions: Vec<StreamPosition>,
    points: Points,
}

impl Stream {
    fn of(ops: &[Op]) -> Stream {
        let mut points = Points::new();
        let mut stream = Stream {
            messages: Vec::new(),
            effects: Vec::new(),
            positions: vec![StreamPosition::default()],
            points: Vec::new(),
        };
        for op in ops {
            let (message, effect) = play(op, &mut points);
            let last = *stream.positions.last().unwrap();
            stream.positions.push(last.after(crc32fast::hash(&message)));
            stream.messages.push(message);
            stream.effects.push(effect);
        }
        stream.points = points;
        stream
    }
}

/// Makes a change of a plain list. Returns its message and what it has done.
fn play(op: &Op, points: &mut Points) -> (Vec<u8>, Effect) {
    let mut effect = Effect::default();
    let at = |points: &Points, number: u32| points.iter().position(|(at, _)| *at == id(number));
    let message = match op {
        Op::Store(numbers, existing, seed) => {
            let mut batch = Batch::default();
            for &number in numbers {
                batch.ids.push(id(number));
                batch.vectors.extend(vector(number, *seed));
                batch.content_types.push(seed % 2);
                batch.contents.extend(content(*seed));
                batch.content_ends.push(batch.contents.len());
                batch.metadata.extend(metadata(*seed));
                batch.metadata_ends.push(batch.metadata.len());
                let found = at(points, number);
                match found {
                    Some(_) if *existing != Existing::Replace => {
                        effect.counts[2] += 1;
                        continue;
                    }
                    Some(found) => {
                        points.remove(found);
                        effect.counts[1] += 1;
                    }
                    None => effect.counts[0] += 1,
                }
                let bits = vector(number, *seed).map(f32::to_bits).to_vec();
                let point = (bits, seed % 2, content(*seed), metadata(*seed));
                points.push((id(number), point));
            }
            Message::Store(&batch, *existing).encode()
        }
        Op::Update(numbers, seed) => {
            let update = |&number: &u32| Update {
                id: id(number),
                content_type: None,
                content: Some(content(*seed)).filter(|_| seed % 3 > 0),
                metadata: Some(metadata(*seed)).filter(|_| seed % 3 != 1),
            };
            let updates: Vec<_> = numbers.iter().map(update).collect();
            for update in &updates {
                let found = points.iter().position(|(at, _)| *at == update.id);
                effect.found.push(found.is_some());
                let Some(found) = found else { continue };
                let (id, mut point) = points.remove(found);
                point.2 = update.content.clone().unwrap_or(point.2);
                point.3 = update.metadata.clone().unwrap_or(point.3);
                points.push((id, point));
            }
            Message::Update(&updates).encode()
        }
        Op::Delete(numbers) => {
            for &number in numbers {
                let found = at(points, number);
                effect.found.push(found.is_some());
                if let Some(found) = found {
                    points.remove(found);
                }
            }
            let ids: Vec<_> = numbers.iter().copied().map(id).collect();
            Message::Delete(&ids).encode()
        }
        Op::DeleteMatching(k) => {
            let before = points.len();
            points.retain(|(_, (.., found))| *found != metadata(*k));
            effect.deleted = (before - points.len()) as u64;
            Message::DeleteMatching(&has_number(*k)).encode()
        }
        Op::DeleteAll(is_right) => {
            let expected = points.len() as u64 + u64::from(!is_right);
            effect.is_refused = !is_right;
            if *is_right {
                points.clear();
            }
            Message::DeleteAll(expected).encode()
        }
        Op::Nothing => Vec::new(),
    };
    (message, effect)
}

fn has_number(k: u8) -> Expression {
    let test = Test::In([Value::Number(f64::from(k))].into_iter().collect());
    Expression::Condition(Condition::Metadata("k".into(), test))
}

fn effect_of(applied: Outcome) -> Effect {
    let counts = applied.counts;
    Effect {
        counts: [counts.stored, counts.replaced, counts.kept],
        found: applied.found,
        deleted: applied.deleted,
        is_refused: applied.refused.is_some(),
    }
}

/// A replica that runs.
struct Replica<'s> {
    stream: &'s Stream,
    folder: TempDir,
    /// The files of the folder when the disk was new.
    before: Files,
    disk: TestDisk,
    index: Arc<Index>,
    writer: Writer,
    /// The answers that are waited for, by the sequences of their messages.
    waiting: Vec<(u64, Receiver<Result<Outcome>>)>,
    /// The last message that was fed, and the last that was confirmed.
    fed: u64,
    confirmed: u64,
    is_full: bool,
}

fn open(disk: &TestDisk, folder: &TempDir) -> Opened {
    let options = OpenOptions {
        segment_bytes: SEGMENT_BYTES,
        ..options(folder.path())
    };
    Store::open_on(Arc::new(disk.clone()), &options).unwrap()
}

impl<'s> Replica<'s> {
    fn start(stream: &'s Stream, folder: TempDir, before: Files) -> Replica<'s> {
        let disk = TestDisk::default();
        let opened = open(&disk, &folder);
        let position = opened.store.position().unwrap_or_default();
        let params = Params {
            m: 16,
            ef_construction: 100,
        };
        let index = Index::new(opened.store.segments(), opened.dimension, params);
        let index = Arc::new(index.with_longest_tail(LONGEST_TAIL));
        let (last, snapshots) = (opened.last_sequence, opened.store.snapshots());
        let restored = index.restore(&opened.points, &opened.dead, last, &snapshots);
        restored.unwrap();
        // Once it has caught up, it has no room for more points than it may lack.
        index.want_graph(Metric::Euclidean);
        work_on(&index);
        let budget = Budget::new(1 << 24);
        let shared = Arc::clone(&index);
        let writer = Writer::start(opened.store, shared, budget, Counters::new()).unwrap();
        assert_eq!(position, stream.positions[position.sequence as usize]);
        Replica {
            stream,
            folder,
            before,
            disk,
            index,
            writer,
            waiting: Vec::new(),
            fed: position.sequence,
            confirmed: position.sequence,
            is_full: false,
        }
    }

    fn apply(&self, sequence: u64) -> Receiver<Result<Outcome>> {
        let (done, answer) = channel();
        let bytes = &self.stream.messages[sequence as usize - 1];
        let done = Box::new(move |applied| drop(done.send(applied)));
        self.writer.apply(bytes, sequence, DIMENSION, done);
        answer
    }

    fn feed(&mut self, count: usize) {
        let last = (self.fed as usize)
            .saturating_add(count)
            .min(self.stream.messages.len()) as u64;
        for sequence in self.fed + 1..=last {
            self.waiting.push((sequence, self.apply(sequence)));
        }
        self.fed = last;
    }

    /// Checks what was answered by now.
    fn check_answers(&mut self) {
        let mut waiting = mem::take(&mut self.waiting).into_iter();
        while let Some((sequence, answer)) = waiting.next() {
            match answer.try_recv() {
                Ok(applied) => {
                    let applied = applied.unwrap();
                    let at = sequence as usize;
                    assert_eq!(applied.position, self.stream.positions[at]);
                    let expected = &self.stream.effects[at - 1];
                    assert_eq!(effect_of(applied), *expected, "{sequence}");
                    self.confirmed = sequence;
                }
                Err(TryRecvError::Empty) => {
                    self.waiting.push((sequence, answer));
                    self.waiting.extend(waiting);
                    return;
                }
                Err(error) => panic!("message {sequence}: {error}"),
            }
        }
    }

    /// Links until all is answered that was fed.
    fn settle(&mut self) {
        let begun = Instant::now();
        self.check_answers();
        while !self.waiting.is_empty() {
            assert!(begun.elapsed() < PATIENCE, "{} wait", self.waiting.len());
            work_on(&self.index);
            thread::sleep(Duration::from_millis(1));
            self.check_answers();
        }
    }

    fn play(mut self, event: &Event) -> Replica<'s> {
        match event {
            Event::Feed(count) => self.feed(*count),
            Event::FindAhead(k) => {
                let filter = Arc::new(Filter::new(has_number(*k)));
                let found = Matches::find(&self.index, &filter, &|| true).unwrap();
                let memory = Budget::new(0).reserve(0).unwrap();
                // Without a place it would be refused.
                if let Ok(place) = self.writer.find_ahead(&filter) {
                    place.keep(found, memory);
                }
            }
            // On a full disk it would wait behind the others.
            Event::Again if self.confirmed > 0 && !self.is_full => {
                self.settle();
                let answer = self.apply(self.confirmed);
                // It waits for room as the others do.
                work_on(&self.index);
                let again = answer.recv_timeout(PATIENCE).unwrap();
                assert!(matches!(again, Err(Error::InvalidArgument(_))), "{again:?}");
            }
            Event::Settle if !self.is_full => self.settle(),
            Event::Link => work_on(&self.index),
            Event::Space(bytes) => {
                self.disk.set_space(Some(*bytes));
                self.is_full = true;
            }
            Event::Free => {
                self.disk.set_space(None);
                self.is_full = false;
            }
            Event::Kill(loss) => {
                self.check_answers();
                let files = after_power_cut(&self.before, &self.disk.calls(), *loss);
                return self.restart(Some(&files));
            }
            Event::Stop => return self.restart(None),
            Event::Again | Event::Settle => {}
        }
        self
    }

    /// Stops and starts again, with these files if it was killed.
    fn restart(mut self, killed: Option<&Files>) -> Replica<'s> {
        self.disk.set_space(None);
        self.writer.close().unwrap();
        match killed {
            Some(files) => restore(self.folder.path(), files),
            // What still waited for space stays in the stream.
            None => self.waiting.clear(),
        }
        let Replica {
            stream,
            folder,
            confirmed,
            ..
        } = self;
        let before = files(folder.path());
        let replica = Replica::start(stream, folder, before);
        assert!(
            replica.confirmed >= confirmed,
            "a confirmed message is lost"
        );
        replica
    }

    /// Applies what is left of the stream, and returns the points in the order of their changes.
    fn finish(mut self) -> (Option<StreamPosition>, Points) {
        self.disk.set_space(None);
        self.feed(usize::MAX);
        self.settle();
        let position = self.writer.position();
        assert_eq!(self.writer.failure(), None);
        self.writer.close().unwrap();
        assert_eq!(self.index.live(), self.stream.points.len() as u64);
        let opened = open(&self.disk, &self.folder);
        assert_eq!(opened.store.position(), position);
        let mut points = state(&opened);
        let in_order = opened.points.iter().map(|point| point.id);
        let in_order = in_order.map(|id| (id, points.remove(&id).unwrap()));
        (position, in_order.collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn replicas_with_any_schedule_come_to_equal_histories_and_points(
        ops in proptest::collection::vec(op(), 1..40),
        schedules in proptest::collection::vec(proptest::collection::vec(event(), 0..24), 3),
    ) {
        let stream = Stream::of(&ops);
        for schedule in &schedules {
            let replica = Replica::start(&stream, new_folder(), Files::new());
            let replica = schedule.iter().fold(replica, Replica::play);
            let (position, points) = replica.finish();
            prop_assert_eq!(position.as_ref(), stream.positions.last());
            prop_assert_eq!(&points, &stream.points);
        }
    }
}

/// A message that stores points with these numbers.
fn store(numbers: Range<u32>) -> Vec<u8> {
    let mut batch = Batch::default();
    for number in numbers {
        batch.ids.push(id(number));
        batch.vectors.extend(vector(number, 1));
        batch.content_types.push(0);
        batch.content_ends.push(0);
    }
    Message::Store(&batch, Existing::Impossible).encode()
}

/// A stream whose effects nobody compares.
fn stream_of(messages: Vec<Vec<u8>>) -> Stream {
    let start = StreamPosition::default();
    let crcs = messages.iter().map(|message| crc32fast::hash(message));
    let positions = crcs.scan(start, |at, crc| {
        *at = at.after(crc);
        Some(*at)
    });
    Stream {
        positions: std::iter::once(start).chain(positions).collect(),
        effects: Vec::new(),
        points: Points::new(),
        messages,
    }
}

#[test]
fn a_delete_waits_for_the_point_that_waits_for_the_graphs() {
    let delete = Message::Delete(&[id(30)]).encode();
    let messages = vec![store(0..1), store(1..9), store(30..31), delete];
    let later = vec![Vec::new(), Vec::new()];
    let stream = stream_of([messages, later].concat());
    let replica = Replica::start(&stream, new_folder(), Files::new());
    let answered =
        |answer: &Receiver<Result<Outcome>>| answer.recv_timeout(PATIENCE).unwrap().unwrap();
    answered(&replica.apply(1));
    work_on(&replica.index);
    answered(&replica.apply(2));
    assert!(!replica.index.accepts_inserts());
    let waiting = [replica.apply(3), replica.apply(4)];
    // One that is not the next is refused in its turn.
    let behind = replica.apply(6);
    for answer in waiting.iter().chain([&behind]) {
        let answer = answer.recv_timeout(Duration::from_millis(50));
        assert_eq!(answer.err(), Some(RecvTimeoutError::Timeout));
    }
    assert_eq!(replica.writer.position(), Some(stream.positions[2]));
    work_on(&replica.index);
    let [stored, deleted] = waiting.map(|answer| answered(&answer));
    assert_eq!((stored.counts.stored, deleted.found), (1, vec![true]));
    assert_eq!(deleted.position, stream.positions[4]);
    let refused = behind.recv_timeout(PATIENCE).unwrap();
    assert!(
        matches!(refused, Err(Error::InvalidArgument(_))),
        "{refused:?}"
    );
    replica.writer.close().unwrap();
}

#[test]
fn on_a_full_disk_messages_wait_in_their_order_until_there_is_space() {
    // More than a group takes, so that some wait while others are tried.
    let large = |content: u8| {
        let batch = Batch {
            ids: vec![id(0)],
            vectors: vector(0, content).to_vec(),
            content_types: vec![0],
            contents: vec![content; 1 << 20],
            content_ends: vec![1 << 20],
            ..Batch::default()
        };
        Message::Store(&batch, Existing::Replace).encode()
    };
    let mut stream = stream_of((0..12).map(large).collect());
    stream.effects = (0..12).map(|_| Effect::default()).collect();
    for (at, effect) in stream.effects.iter_mut().enumerate() {
        effect.counts[usize::from(at > 0)] = 1;
    }
    let mut replica = Replica::start(&stream, new_folder(), Files::new());
    replica.feed(1);
    replica.settle();
    replica.disk.set_space(Some(0));
    replica.feed(11);
    // Longer than the pause between two tries.
    thread::sleep(Duration::from_millis(400));
    replica.check_answers();
    assert_eq!((replica.confirmed, replica.waiting.len()), (1, 11));
    assert!(replica.writer.is_full());
    replica.disk.set_space(None);
    replica.settle();
    assert_eq!(replica.writer.position(), stream.positions.last().copied());
    replica.writer.close().unwrap();
    let opened = open(&replica.disk, &replica.folder);
    let points = state(&opened);
    assert_eq!(points.len(), 1);
    assert_eq!(points[&id(0)].2, vec![11; 1 << 20]);
}

#[test]
fn a_write_that_is_no_message_is_refused_and_the_next_message_is_applied() {
    let stream = stream_of(vec![store(0..1), store(1..2)]);
    let replica = Replica::start(&stream, new_folder(), Files::new());
    let applied = |sequence| replica.apply(sequence).recv_timeout(PATIENCE).unwrap();
    assert!(applied(1).is_ok());
    let (done, answer) = channel();
    let done = Box::new(move |found| drop(done.send(found)));
    replica.writer.delete(vec![id(0)], done);
    let refused = answer.recv_timeout(PATIENCE).unwrap();
    assert!(
        matches!(refused, Err(Error::InvalidArgument(_))),
        "{refused:?}"
    );
    assert!(applied(2).is_ok());
    assert_eq!(replica.index.live(), 2);
    replica.writer.close().unwrap();
}

#[test]
fn where_a_record_is_damaged_no_message_is_decided_that_asks_for_it() {
    let exists = Condition::Metadata("k".into(), Test::Exists);
    let matching = Message::DeleteMatching(&Expression::Condition(exists)).encode();
    let update = Update {
        id: id(1),
        content_type: None,
        content: Some(Vec::new()),
        metadata: None,
    };
    let update = Message::Update(&[update]).encode();
    for asking in [matching, update] {
        let stream = stream_of(vec![store(0..3), asking]);
        let replica = Replica::start(&stream, new_folder(), Files::new());
        let answer = |answer: Receiver<Result<Outcome>>| answer.recv_timeout(PATIENCE).unwrap();
        answer(replica.apply(1)).unwrap();
        let at = replica.index.find(&id(1)).unwrap().location;
        let path = replica.folder.path().join("00000001.log");
        let file = fs_err::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(&[0xFF], at.offset() + 20).unwrap();
        let refused = answer(replica.apply(2));
        assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
        assert_eq!(replica.writer.position(), Some(stream.positions[1]));
        assert_eq!(replica.index.live(), 3);
        assert!(replica.writer.failure().is_some());
    }
}
