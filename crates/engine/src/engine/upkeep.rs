//! The upkeep thread, which maintains the data folder. It writes a snapshot of the graphs when a
//! large part of the index has changed, when the index has changed a little and then stayed the
//! same for a while, and at the end. It compacts the log: it copies live records out of segments
//! that hold many deleted ones, and removes these. It gives back graphs that no search has asked
//! for. And it compares all records with their checksums, in search of damage.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    Error, Metric, Result,
    engine::{stats::Counters, writer::Writer},
    index::Index,
    store::{HeaderPlace, Replacement, Snapshots, Store, Stretch, segment_number},
    sync::lock,
};

/// The time after which the thread looks again whether there is something to do.
const TICK: Duration = Duration::from_secs(1);

/// Takes the place of [`TICK`] while there is too little space on the disk: deletes wait for
/// compaction.
const TICK_WHEN_SHORT: Duration = Duration::from_millis(100);

/// A snapshot is not due at once for fewer changes than this: a start links them again within a
/// second or two.
const LEAST_CHANGES: u64 = 20_000;

/// A snapshot is due after one change for this number of points. Then all snapshots of a growing
/// store together take a few times the bytes of the last one.
const POINTS_PER_CHANGE: u64 = 2;

/// Fewer changes than these two constants ask for are saved once nothing has changed for this time.
const REST: Duration = Duration::from_secs(30);

/// The least time from a failure to the next attempt.
const RETRY: Duration = Duration::from_mins(1);

/// Takes the place of [`RETRY`] after a failure for lack of disk space: there may be some again at
/// any time.
const RETRY_WHEN_FULL: Duration = Duration::from_secs(10);

/// The reported failure while the disk has no space for snapshots.
const NO_SNAPSHOT: &str = "the disk is full, and the snapshots were removed to free space: \
                           a restart builds the graphs anew";

/// The bytes of records that one step of the search for damage compares with their checksums. The
/// last record may exceed them.
const SCRUB_BYTES: u64 = 32 << 20;

/// The least time between two steps of the search for damage.
const SCRUB_PAUSE: Duration = Duration::from_millis(900);

/// The time from the end of one search for damage to the next.
const SCRUB_EVERY: Duration = Duration::from_hours(24);

/// The time for which the thread waits for the index before it tries something else. A round of
/// reclaiming slots hardly ever takes less.
const ROUND: Duration = Duration::from_millis(200);

/// While the thread waits for the index, it looks again after this time.
const WAIT: Duration = Duration::from_millis(10);

/// Which graphs are given back.
#[derive(Clone, Debug, Default)]
pub struct GiveBack {
    /// The time without a search after which a graph is given back; None for never.
    pub after: Option<Duration>,
    /// The metrics whose graphs are kept whatever happens.
    pub kept: Vec<Metric>,
}

/// The handle of the running upkeep thread.
pub struct Upkeep {
    stop: Sender<()>,
    is_stopped: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Upkeep {
    /// Starts the thread for an index that is as the log and the last snapshot made it.
    pub fn start(
        index: Arc<Index>,
        writer: Arc<Writer>,
        snapshots: Snapshots,
        counters: Arc<Counters>,
        give_back: GiveBack,
    ) -> Result<Upkeep> {
        let (stop, stopped) = channel();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let failure = Arc::new(Mutex::new(None));
        let (saved, now) = (index.changes(), Instant::now());
        // Records that this process has written itself can wait.
        let scrub_from = match index.live() {
            0 => now + SCRUB_EVERY,
            _ => now,
        };
        let mut state = UpkeepThread {
            index,
            writer,
            snapshots,
            counters,
            give_back,
            is_stopped: Arc::clone(&is_stopped),
            saved,
            seen: saved,
            seen_at: now,
            save_from: now,
            not_before: now,
            is_short: false,
            has_no_snapshot: false,
            has_given_back: false,
            scrub_next: Scrub::Records(0),
            scrub_from,
            looked_at: None,
            uncopyable: HashSet::new(),
            damage_seen: 0,
            replacements: Vec::new(),
            failure: Arc::clone(&failure),
        };
        let thread = thread::Builder::new()
            .name("upkeep".into())
            .spawn(move || {
                while stopped.recv_timeout(state.pace()) == Err(RecvTimeoutError::Timeout) {
                    if Instant::now() >= state.not_before {
                        state.attempt(UpkeepThread::tick);
                    }
                }
                state.attempt(UpkeepThread::save_rest);
            })?;
        Ok(Upkeep {
            stop,
            is_stopped,
            thread,
            failure,
        })
    }

    /// The failure of the last attempt to write a snapshot or to give space back, if it failed, or
    /// the reason why there is no snapshot.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Ends the thread after a last snapshot. A compaction under way is given up.
    pub fn stop(self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        drop(self.stop);
        // A panic in the thread was caught and noted there.
        drop(self.thread.join());
    }
}

/// The state of the upkeep thread.
struct UpkeepThread {
    index: Arc<Index>,
    writer: Arc<Writer>,
    snapshots: Snapshots,
    counters: Arc<Counters>,
    give_back: GiveBack,
    is_stopped: Arc<AtomicBool>,
    /// The number of changes that the last snapshot holds.
    saved: u64,
    /// The number of changes at the last look, and when it was first seen.
    seen: u64,
    seen_at: Instant,
    /// The earliest time of the next snapshot.
    save_from: Instant,
    /// The earliest time of any attempt.
    not_before: Instant,
    /// Whether there was too little space on the disk at the last look.
    is_short: bool,
    /// Whether all snapshots were removed to free space, and none was written since.
    has_no_snapshot: bool,
    /// Whether a graph was given back since the last snapshot.
    has_given_back: bool,
    /// The next step of the search for damage, and its earliest time.
    scrub_next: Scrub,
    scrub_from: Instant,
    /// What had changed when compaction last found nothing worth copying. It looks again only after
    /// a further change.
    looked_at: Option<Looked>,
    /// The numbers of segments that compaction cannot copy, since the record of a live point in
    /// them is damaged.
    uncopyable: HashSet<u32>,
    /// The number of changes of the known damage when `uncopyable` was last emptied.
    damage_seen: u64,
    /// Compacted segments that readers use already, and that the manifest does not name yet.
    replacements: Vec<Replacement>,
    failure: Arc<Mutex<Option<String>>>,
}

/// The numbers of changes of the index, of refused deletes, and of changes of the known damage.
type Looked = (u64, u64, u64);

/// The next step of the search for damage, which reads records first, then headers.
#[derive(Clone, Copy)]
enum Scrub {
    /// Reads records, from the one of the point in this slot on.
    Records(u32),
    /// Reads headers of the log, from this one on.
    Headers(HeaderPlace),
}

impl UpkeepThread {
    /// Does `work`, notes whether it failed, and sets the time of the next attempt.
    fn attempt(&mut self, work: fn(&mut UpkeepThread) -> Result<()>) {
        let result = catch_unwind(AssertUnwindSafe(|| work(self)));
        let failure = match result {
            Ok(Ok(()) | Err(Error::Closed)) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => {
                // Otherwise inserts and deletes would wait for ever.
                drop(self.writer.run(Store::end_freeing_space));
                Some(Error::Internal("the upkeep panicked".into()))
            }
        };
        self.not_before = Instant::now()
            + match &failure {
                None => Duration::ZERO,
                Some(Error::StorageFull) => RETRY_WHEN_FULL,
                Some(_) => RETRY,
            };
        let failure = failure.map(|error| error.to_string());
        let no_snapshot = self.has_no_snapshot.then(|| NO_SNAPSHOT.to_owned());
        *lock(&self.failure) = failure.or(no_snapshot);
    }

    /// The time until the next tick.
    fn pace(&self) -> Duration {
        if self.is_short { TICK_WHEN_SHORT } else { TICK }
    }

    /// Does what there is to do now.
    fn tick(&mut self) -> Result<()> {
        self.give_back_graphs();
        self.writer.forget_found(Instant::now());
        let saved = self.save_if_due();
        self.heed_damage();
        self.scrub();
        self.compact()?;
        saved
    }

    /// Gives back graphs that no search has asked for. A snapshot without them is due then.
    fn give_back_graphs(&mut self) {
        let GiveBack { after, kept } = &self.give_back;
        if let Some(after) = *after
            && self.index.give_back_graphs(after, kept, Instant::now())
        {
            self.has_given_back = true;
        }
    }

    /// Writes a snapshot if it is due, but not while disk space is short: then deletes and
    /// compaction come first.
    fn save_if_due(&mut self) -> Result<()> {
        if self.is_short || Instant::now() < self.save_from || !self.is_snapshot_due() {
            return Ok(());
        }
        let saved = self.save();
        if saved.is_err() {
            self.save_from = Instant::now() + RETRY;
        }
        saved
    }

    /// Does a step of the search for damage, if it is time.
    fn scrub(&mut self) {
        let now = Instant::now();
        if now < self.scrub_from {
            return;
        }
        let is_stopped = || self.is_stopped();
        let next = match self.scrub_next {
            Scrub::Records(slot) => match self.index.scrub(slot, SCRUB_BYTES, is_stopped).next {
                0 => Some(Scrub::Headers(HeaderPlace::FIRST)),
                slot => Some(Scrub::Records(slot)),
            },
            Scrub::Headers(at) => {
                let next = self.index.scrub_headers(at, SCRUB_BYTES, is_stopped);
                next.map(Scrub::Headers)
            }
        };
        let pause = next.map_or(SCRUB_EVERY, |_| SCRUB_PAUSE);
        self.scrub_next = next.unwrap_or(Scrub::Records(0));
        self.scrub_from = now + pause;
    }

    /// After a change of the known damage, compaction may be able to copy a segment that it could
    /// not copy before, and the headers are searched soon: damage seldom comes alone.
    fn heed_damage(&mut self) {
        let changes = self.index.damage_changes();
        if changes == self.damage_seen {
            return;
        }
        self.damage_seen = changes;
        self.uncopyable.clear();
        let is_at_rest = self.scrub_from > Instant::now() + SCRUB_PAUSE;
        if is_at_rest && self.index.damage().is_some() {
            self.scrub_next = Scrub::Headers(HeaderPlace::FIRST);
            self.scrub_from = Instant::now();
        }
    }

    /// Whether the index has changed so much, or has rested so long after a change, that a snapshot
    /// is due.
    fn is_snapshot_due(&mut self) -> bool {
        let (now, changes) = (Instant::now(), self.index.changes());
        if changes != self.seen {
            (self.seen, self.seen_at) = (changes, now);
        }
        let unsaved = self.unsaved();
        let many = LEAST_CHANGES.max(self.index.live() / POINTS_PER_CHANGE);
        unsaved >= many || unsaved > 0 && now - self.seen_at >= REST
    }

    /// The number of changes since the last snapshot.
    fn unsaved(&self) -> u64 {
        // The count falls when a graph is given up.
        self.index.changes().saturating_sub(self.saved)
    }

    /// Writes a snapshot. Where no graph is left, the last one was given back: then the snapshots
    /// that hold it are removed.
    fn save(&mut self) -> Result<()> {
        let changes = self.index.changes();
        if self.index.snapshot(&self.snapshots)? {
            self.counters.add_snapshot();
        } else if self.has_given_back {
            for path in self.snapshots.list()? {
                self.snapshots.remove(&path)?;
            }
        }
        self.saved = changes;
        self.has_no_snapshot = false;
        self.has_given_back = false;
        Ok(())
    }

    /// Writes a last snapshot at the end, if anything has changed.
    fn save_rest(&mut self) -> Result<()> {
        if self.unsaved() > 0 {
            self.save()?;
        }
        Ok(())
    }

    /// Compacts the log, if it is worth it.
    fn compact(&mut self) -> Result<()> {
        let now = (
            self.index.changes(),
            self.writer.refused_deletes(),
            self.index.damage_changes(),
        );
        if self.replacements.is_empty() && self.looked_at == Some(now) {
            return Ok(());
        }
        self.is_short = self.writer.run(|store| store.is_short_of_space())?;
        let compacted = if self.is_short {
            Err(Error::StorageFull)
        } else {
            self.compact_at_once(now)
        };
        match compacted {
            Err(Error::StorageFull) => self.free_space(now),
            compacted => compacted,
        }
    }

    /// Copies all [stretches](Stretch) of segments that are worth it, writes a snapshot, and
    /// removes the old segments. The snapshot comes before, since the previous one holds points
    /// whose vectors are in the old segments.
    fn compact_at_once(&mut self, now: Looked) -> Result<()> {
        if self.replacements.is_empty() {
            let uncopyable = self.uncopyable.clone();
            let damaged_numbers = &self.index.segments_with_damaged_headers() - &uncopyable;
            let stretches = self.writer.run(move |store| {
                let damaged = store.damaged_stretches(&damaged_numbers)?;
                Ok::<_, Error>(if damaged.is_empty() {
                    store.stretches(&uncopyable)
                } else {
                    damaged
                })
            })??;
            if stretches.is_empty() {
                self.looked_at = Some(now);
            }
            for stretch in stretches {
                self.copy_sound(stretch)?;
            }
        }
        if self.replacements.is_empty() {
            return Ok(());
        }
        self.clear_going()?;
        self.save()?;
        self.replace()
    }

    /// Compacts the log on a full disk.
    fn free_space(&mut self, now: Looked) -> Result<()> {
        if !self.replacements.is_empty() {
            self.writer.run(Store::begin_freeing_space)??;
        }
        let made = self.compact_one_by_one(now);
        self.is_short = self.writer.run(|store| {
            store.end_freeing_space()?;
            Ok::<_, Error>(store.is_short_of_space())
        })??;
        made
    }

    /// Copies one stretch after the other, in the space that is reserved for it, and removes its
    /// old segments at once. No snapshot is written. The old snapshots hold points whose vectors
    /// are removed: they become less useful, but not wrong. If there is no space for a copy, or for
    /// deletes, snapshots are removed, the oldest first.
    fn compact_one_by_one(&mut self, now: Looked) -> Result<()> {
        loop {
            if self.is_stopped() {
                return Err(Error::Closed);
            }
            let compacted = match self.copy_tight() {
                Ok(()) if self.replacements.is_empty() => {
                    let is_low = self.writer.run(Store::is_low_on_space)??;
                    if is_low && self.remove_snapshot()? {
                        continue;
                    }
                    self.looked_at = Some(now);
                    return Ok(());
                }
                Ok(()) => self.clear_going().and_then(|()| self.replace()),
                Err(error) => Err(error),
            };
            match compacted {
                // The next snapshot is due as soon as there is space.
                Ok(()) => self.saved = 0,
                Err(Error::StorageFull) if self.remove_snapshot()? => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Copies the stretch that takes the least space, unless one is copied already.
    fn copy_tight(&mut self) -> Result<()> {
        while self.replacements.is_empty() {
            let uncopyable = self.uncopyable.clone();
            let stretch = self
                .writer
                .run(move |store| store.tight_stretch(&uncopyable))??;
            let Some(stretch) = stretch else { break };
            self.copy_sound(stretch)?;
        }
        Ok(())
    }

    /// Removes the oldest snapshot that is ours. False if there is none.
    fn remove_snapshot(&mut self) -> Result<bool> {
        for (newer, path) in self.snapshots.list()?.iter().enumerate().rev() {
            if self.snapshots.remove(path)? {
                self.has_no_snapshot = newer == 0;
                self.saved = 0;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Copies a stretch. If a record in it is damaged, excludes its segment instead.
    fn copy_sound(&mut self, stretch: Stretch) -> Result<()> {
        match self.copy(stretch) {
            Err(error @ Error::Damaged { .. }) => self.spare(error),
            copied => self.replacements.push(copied?),
        }
        Ok(())
    }

    /// Waits until no graph holds a point whose vector is about to be removed.
    fn clear_going(&self) -> Result<()> {
        let going = self.going();
        // Deleted points that are still in a graph need their vectors.
        while !self.wait_until(ROUND, |index| index.clear(&going))? {
            let (index, going) = (Arc::clone(&self.index), going.clone());
            self.writer
                .run(move |_| index.relocate_to_duplicates(&going))?;
        }
        Ok(())
    }

    /// The numbers of the segments that are copied and about to be removed.
    fn going(&self) -> Vec<u32> {
        let going = self.replacements.iter().flat_map(Replacement::going);
        going.collect()
    }

    /// Makes the manifest name the copies, and removes the segments that they replace.
    fn replace(&mut self) -> Result<()> {
        let going = self.going();
        let replacements = std::mem::take(&mut self.replacements);
        let compacted = replacements.len();
        let (replacements, replaced) = self.writer.run(move |store| {
            let replaced = store.replace(&replacements);
            (replacements, replaced)
        })?;
        if let Err(error) = replaced {
            self.replacements = replacements;
            return Err(error);
        }
        self.counters.add_compactions(compacted);
        let epoch = self.index.epochs().advance();
        while !self.wait_until(ROUND, |index| index.epochs().has_passed(epoch))? {}
        let dropped = going.clone();
        #[allow(unsafe_code, reason = "here it is known who reads the segments")]
        self.writer.run(move |store| {
            // SAFETY: no slot leads to the segments any more. Every reader that had found a slot
            // which did has ended, since each holds a pin while it reads and the epoch has passed.
            // The writer's thread, on which this runs, reads nothing of them now, and the upkeep
            // thread is done with them.
            unsafe { store.drop_segments(&dropped) }
        })??;
        self.index.forget_damage(&going);
        Ok(())
    }

    /// Excludes the segment that `error` names from compaction, since a record in it is damaged,
    /// and notes the damage.
    fn spare(&mut self, error: Error) {
        let Error::Damaged { path, offset, .. } = &error else {
            return;
        };
        let number = segment_number(path);
        let point = number.and_then(|number| self.index.point_at(number, *offset));
        self.uncopyable.extend(number);
        match point {
            Some((id, _)) => self.index.note_damage(&error.about(&id), point),
            None => self.index.note_damage(&error, None),
        }
    }

    /// Copies a stretch, and makes the index read the live points in the copy.
    fn copy(&self, stretch: Stretch) -> Result<Replacement> {
        let is_live = |id: &_, location| self.index.is_at(id, location);
        let live_in = |segment| {
            let _pin = self.index.epochs().pin();
            self.index.live_in(segment).collect()
        };
        let compacted = stretch.copy(is_live, live_in, || self.is_stopped())?;
        let index = Arc::clone(&self.index);
        self.writer.run(move |store| {
            store.take_in(compacted, |point| {
                index.relocate(&point.id, point.from, point.to)
            })
        })
    }

    /// Waits until `is_so` holds, for `time` at most. Returns whether it does.
    fn wait_until(&self, time: Duration, is_so: impl Fn(&Index) -> bool) -> Result<bool> {
        let start = Instant::now();
        while !is_so(&self.index) {
            if self.is_stopped() {
                return Err(Error::Closed);
            }
            if start.elapsed() >= time {
                return Ok(false);
            }
            thread::sleep(WAIT);
        }
        Ok(true)
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}
