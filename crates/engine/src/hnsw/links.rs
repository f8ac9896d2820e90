//! The links of the points of a graph. Each point has a row of links for each layer that it is in:
//! the rows of layer 0 are in one table, those of all layers above it in another.

use std::sync::PoisonError;

use crate::{
    Result,
    sync::{
        Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{
            AtomicU8, AtomicU32, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
        table::{Table, bit_of},
    },
    vectors::kernels,
};

/// The number of locks that all points share. Two writers rarely need the same one, except under
/// the model checker.
const STRIPES: usize = if cfg!(feature = "shuttle") { 2 } else { 1024 };

/// Slots are below this number, which leaves the highest bit of a link for [`TREE_MARK`].
pub(super) const SLOTS: u32 = TREE_MARK - 1;

/// The bit that marks a tree link.
const TREE_MARK: u32 = 1 << 31;

/// A link as it is stored: the slot + 1, so that zeroed memory holds no link, and perhaps
/// [`TREE_MARK`]. Tree links form the [spanning tree](super::tree) of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(u32);

impl Link {
    /// A link that may be pruned.
    pub fn new(slot: u32) -> Self {
        Link(slot + 1)
    }

    /// A tree link, which is never pruned.
    pub fn tree(slot: u32) -> Self {
        Link((slot + 1) | TREE_MARK)
    }

    /// Whether this is a tree link.
    pub fn is_tree(self) -> bool {
        self.0 & TREE_MARK != 0
    }

    /// Joins two links to the same point: the result is a tree link if either of them is.
    pub fn or(self, other: Link) -> Self {
        Link(self.0 | other.0)
    }

    /// The point linked to.
    #[inline]
    pub fn slot(self) -> u32 {
        (self.0 & !TREE_MARK) - 1
    }

    /// The link in a place of a row, unless the place is free.
    #[inline]
    pub fn load(place: &AtomicU32) -> Option<Link> {
        match place.load(Acquire) {
            0 => None,
            stored => Some(Link(stored)),
        }
    }

    /// Stores the link in a place of a row.
    pub fn store(self, place: &AtomicU32) {
        place.store(self.0, Release);
    }

    /// Empties a place of a row.
    pub fn erase(place: &AtomicU32) {
        place.store(0, Release);
    }
}

/// The links of every point, its level, and its chain of duplicates.
///
/// The first free place of a row ends it. Readers need no lock: they may see a mix of old and new
/// links, each of which is or was a link of the point. Writers hold the [`Links::lock`] of the
/// point.
///
/// Links are stored with `Release` and loaded with `Acquire`: a reader that finds a point by a link
/// sees its vector and its own links.
#[derive(Debug)]
pub(super) struct Links {
    /// The rows of layer 0, by slot.
    ground: Table<AtomicU32>,
    /// The rows of the layers above. Those of a point lie side by side, layer 1 first.
    upper: Table<AtomicU32>,
    /// The number of the row of `upper` that the next point gets as its first.
    upper_used: AtomicU32,
    /// By slot, the number of the point's first row in `upper`, or 0 if it was never in a layer
    /// above 0. A slot always draws the same level, so it keeps its rows. Row 0 is unused.
    upper_first: Table<AtomicU32>,
    /// By slot, two links. The first leads to the next point of its chain of duplicates. The second
    /// leads from the first point of a chain to the last, and from all others to the first point.
    duplicates: Table<AtomicU32>,
    /// A bit for each slot: whether it may have a next duplicate. Nearly all have none, and walks ask
    /// for each point that they take: the bits of 512 points lie in one cache line.
    chained: Table<AtomicU64>,
    /// By slot, its state: 0 before its insertion begins, [`BUSY`] until it is finished, then 1 +
    /// its highest layer, with the flags [`DUPLICATE`] and [`LEAVING`].
    levels: Table<AtomicU8>,
    /// The locks of points. The point in `slot` has the lock at `slot % STRIPES`.
    stripes: Box<[Mutex<()>]>,
    /// Guards the spanning tree: shared by threads that add points, exclusive for a thread that
    /// takes a point out.
    tree: RwLock<()>,
}

/// Positions in a row of `duplicates`. The last two are the same place: it depends on the point
/// which of them it holds.
const NEXT_DUPLICATE: usize = 0;
const LAST_DUPLICATE: usize = 1;
const FIRST_DUPLICATE: usize = 1;

/// Stored instead of the level while the insertion of a point is under way.
const BUSY: u8 = LEVEL;
/// The bits of an entry in `levels` that hold the level.
const LEVEL: u8 = 0x1F;
/// The point has no links of its own: it is the duplicate of another.
const DUPLICATE: u8 = 0x20;
/// The point is leaving the graph.
const LEAVING: u8 = 0x80;

impl Links {
    /// Has no points yet. Rows have `2 * m` places in layer 0 and `m` above.
    pub fn new(m: usize) -> Self {
        Links {
            ground: Table::new(2 * m),
            upper: Table::new(m),
            upper_used: AtomicU32::new(1),
            upper_first: Table::new(1),
            duplicates: Table::sparse(2),
            chained: Table::new(1),
            levels: Table::new(1),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            tree: RwLock::new(()),
        }
    }

    /// Claims the insertion of a point. Of several threads that claim the same slot, one gets true.
    /// A slot that is in the graph cannot be claimed until it is [erased](Self::erase).
    pub fn begin(&self, slot: u32) -> Result<bool> {
        self.levels.ensure(slot as usize + 1)?;
        let level = self.levels.get(slot);
        Ok(level.compare_exchange(0, BUSY, Acquire, Relaxed).is_ok())
    }

    /// Reserves rows in layer 0 for the slots below `slots` at once, which is faster than one by one.
    pub fn reserve_slots(&self, slots: usize) -> Result<()> {
        self.levels.ensure(slots)?;
        self.reserve_duplicates(slots)?;
        self.ground.ensure(slots)
    }

    /// Reserves rows for a point up to layer `level`. Only the thread that inserts the point calls
    /// this.
    pub fn reserve(&self, slot: u32, level: u8) -> Result<()> {
        let slots = slot as usize + 1;
        self.reserve_duplicates(slots)?;
        self.ground.ensure(slots)?;
        if level > 0 {
            self.upper_first.ensure(slots)?;
            let own = self.upper_first.get(slot);
            if own.load(Relaxed) == 0 {
                let first = self.upper_used.fetch_add(u32::from(level), Relaxed);
                self.upper.ensure(first as usize + usize::from(level))?;
                own.store(first, Relaxed);
            }
        }
        Ok(())
    }

    fn reserve_duplicates(&self, slots: usize) -> Result<()> {
        self.duplicates.ensure(slots)?;
        self.chained.ensure(slots.div_ceil(u64::BITS as usize))
    }

    /// The number of slots that have rows. All links lead to slots below it.
    pub fn capacity(&self) -> usize {
        self.ground.capacity()
    }

    /// The memory in bytes that the rows and the states of the first `slots` slots take.
    pub fn bytes(&self, slots: usize) -> usize {
        self.ground.bytes_of(slots)
            + self.levels.bytes_of(slots)
            + self.chained.bytes_of(slots.div_ceil(u64::BITS as usize))
            + self.upper_first.bytes_of(slots)
            + self.upper.bytes_of(self.upper_used.load(Relaxed) as usize)
    }

    /// The places for the links of a point in one layer. They must be [reserved](Self::reserve).
    #[inline]
    pub fn row(&self, slot: u32, layer: u8) -> &[AtomicU32] {
        match layer.checked_sub(1) {
            None => self.ground.row(slot),
            Some(above) => self
                .upper
                .row(self.upper_first.get(slot).load(Relaxed) + u32::from(above)),
        }
    }

    /// The points that a point links to in one layer.
    #[inline]
    pub fn of(&self, slot: u32, layer: u8) -> impl Iterator<Item = u32> {
        self.row(slot, layer)
            .iter()
            .map_while(Link::load)
            .map(Link::slot)
    }

    /// Stores the first links of a point in one layer. No reader can reach the point yet.
    pub fn set(&self, slot: u32, layer: u8, linked: impl Iterator<Item = u32>) {
        let mut linked = linked.map(Link::new);
        for place in self.row(slot, layer) {
            place.store(linked.next().map_or(0, |link| link.0), Release);
        }
    }

    /// Removes the links of a full row to points for which `stays` does not hold, and adds `new` if
    /// it holds for its point. The lock of the point is held. A reader of the row may miss a link
    /// that moves meanwhile.
    pub fn prune(&self, slot: u32, layer: u8, new: Link, stays: impl Fn(u32) -> bool) {
        let row = self.row(slot, layer);
        let stays = |link: &Link| stays(link.slot());
        let mut links = row.iter().filter_map(Link::load).filter(stays);
        let mut new = Some(new).filter(stays);
        for place in row {
            let link = links.next().or_else(|| new.take());
            let stored = link.map_or(0, |link| link.0);
            if place.load(Relaxed) != stored {
                place.store(stored, Release);
            }
        }
    }

    /// Prefetches the links of a point in layer 0.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        kernels::prefetch(self.ground.row(slot));
    }

    /// The neighbours of a point in the spanning tree.
    pub fn tree_neighbors(&self, slot: u32) -> impl Iterator<Item = u32> {
        let links = self.ground.row(slot).iter().map_while(Link::load);
        links.filter(|link| link.is_tree()).map(Link::slot)
    }

    /// The points that follow `slot` in its chain, in the order of linking: all duplicates if it is
    /// the first point of the chain.
    #[inline]
    pub fn duplicates(&self, slot: u32) -> impl Iterator<Item = u32> {
        let next = |slot| {
            let is_chained = self.has_duplicates(slot);
            let row = is_chained.then(|| self.duplicates.row(slot))?;
            Link::load(&row[NEXT_DUPLICATE]).map(Link::slot)
        };
        std::iter::successors(next(slot), move |&duplicate| next(duplicate))
    }

    /// Stores the link from a point to the next of its chain.
    fn chain(&self, slot: u32, next: Link) {
        next.store(&self.duplicates.row(slot)[NEXT_DUPLICATE]);
        let (word, bit) = bit_of(slot);
        self.chained.get(word).fetch_or(bit, Release);
    }

    /// Ends the chain at a point.
    fn end_chain(&self, slot: u32) {
        if self.has_duplicates(slot) {
            let (word, bit) = bit_of(slot);
            self.chained.get(word).fetch_and(!bit, Release);
            Link::erase(&self.duplicates.row(slot)[NEXT_DUPLICATE]);
        }
    }

    /// Appends `duplicate` to the chain of `first` if `first` is eligible, which is decided under
    /// its lock. Returns whether it did.
    pub fn append_duplicate(
        &self,
        first: u32,
        duplicate: u32,
        is_eligible: impl FnOnce(u32) -> bool,
    ) -> bool {
        let _lock = self.lock(first);
        if !is_eligible(first) {
            return false;
        }
        Link::new(first).store(&self.duplicates.row(duplicate)[FIRST_DUPLICATE]);
        let last = self.last_duplicate(first).unwrap_or(first);
        self.chain(last, Link::new(duplicate));
        Link::new(duplicate).store(&self.duplicates.row(first)[LAST_DUPLICATE]);
        true
    }

    /// The first point of the chain that the point in `slot`, a duplicate, belongs to.
    pub fn first_duplicate(&self, slot: u32) -> Option<u32> {
        Link::load(&self.duplicates.row(slot)[FIRST_DUPLICATE]).map(Link::slot)
    }

    /// The last point of the chain of `first`, if it has duplicates.
    pub fn last_duplicate(&self, first: u32) -> Option<u32> {
        Link::load(&self.duplicates.row(first)[LAST_DUPLICATE]).map(Link::slot)
    }

    /// Removes the leaving duplicates of `first` from its chain, and returns whether it has any
    /// duplicate left. The lock of `first` is held. A reader that stands on a removed duplicate
    /// still finds the next one.
    pub fn drop_leaving_duplicates(&self, first: u32) -> bool {
        let mut last = first;
        for duplicate in self.duplicates(first) {
            if !self.is_leaving(duplicate) {
                let next = &self.duplicates.row(last)[NEXT_DUPLICATE];
                if Link::load(next) != Some(Link::new(duplicate)) {
                    self.chain(last, Link::new(duplicate));
                }
                last = duplicate;
            }
        }
        self.end_chain(last);
        let end = &self.duplicates.row(first)[LAST_DUPLICATE];
        if last == first {
            Link::erase(end);
        } else {
            Link::new(last).store(end);
        }
        last != first
    }

    /// Whether a point has duplicates: whether another follows it in its chain.
    #[inline]
    pub fn has_duplicates(&self, slot: u32) -> bool {
        let (word, bit) = bit_of(slot);
        self.chained.get(word).load(Acquire) & bit != 0
    }

    /// Takes the lock of a point, which writers of its links hold. No thread takes two such locks
    /// at once, since two points may share one.
    pub fn lock(&self, slot: u32) -> MutexGuard<'_, ()> {
        // No state behind the lock can be left half-changed by a panic.
        self.stripes[slot as usize % STRIPES]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the spanning tree for adding points to it: several threads may at once.
    pub fn read_tree(&self) -> RwLockReadGuard<'_, ()> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the spanning tree for taking a point out of it, which excludes all other changes.
    pub fn lock_tree(&self) -> RwLockWriteGuard<'_, ()> {
        self.tree.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The highest layer of a point. None before its insertion is finished.
    pub fn level(&self, slot: u32) -> Option<u8> {
        match self.state(slot) & LEVEL {
            BUSY => None,
            level => level.checked_sub(1),
        }
    }

    /// The highest layer of a point that has links of its own and is not leaving; None for others.
    pub fn staying_level(&self, slot: u32) -> Option<u8> {
        let stands = self.state(slot) & (DUPLICATE | LEAVING) == 0;
        self.level(slot).filter(|_| stands)
    }

    /// Whether a point is a duplicate, without links of its own.
    pub fn is_duplicate(&self, slot: u32) -> bool {
        self.state(slot) & DUPLICATE != 0
    }

    /// Whether a point is leaving the graph, see [`delete`](super::delete).
    #[inline]
    pub fn is_leaving(&self, slot: u32) -> bool {
        self.levels.get(slot).load(Acquire) & LEAVING != 0
    }

    /// The byte for a point in a snapshot: 0 if it is not in the graph, or 1 + its highest layer,
    /// with [`DUPLICATE`] if it is one.
    pub fn saved_state(&self, slot: u32) -> u8 {
        match self.state(slot) {
            state if state & LEVEL == BUSY => 0,
            state => state & (LEVEL | DUPLICATE),
        }
    }

    /// Decodes the byte of [`saved_state`](Self::saved_state): the highest layer of the point, and
    /// whether it is a duplicate. None if it is not in the graph, or for a byte that is never
    /// saved.
    pub fn read_state(state: u8) -> Option<(u8, bool)> {
        let level = (state & LEVEL).checked_sub(1)?;
        let is_known = state & !(LEVEL | DUPLICATE) == 0 && state & LEVEL != BUSY;
        is_known.then_some((level, state & DUPLICATE != 0))
    }

    /// The slot that a link in a snapshot leads to; None for the word of a free place.
    pub fn slot_of(stored: u32) -> Option<u32> {
        (stored & !TREE_MARK).checked_sub(1)
    }

    /// The two links of a point for its chain of duplicates, as a snapshot holds them.
    pub fn duplicate_words(&self, slot: u32) -> [u32; 2] {
        let row = self.duplicates.row(slot);
        [NEXT_DUPLICATE, LAST_DUPLICATE].map(|place| row[place].load(Relaxed))
    }

    /// Stores the two links from a snapshot for the chain of a point.
    pub fn set_duplicate_words(&self, slot: u32, words: [u32; 2]) {
        let [next, other] = words;
        self.duplicates.row(slot)[LAST_DUPLICATE].store(other, Release);
        if next != 0 {
            self.chain(slot, Link(next));
        }
    }

    /// Marks the insertion of a point as finished: from now on the graph contains it.
    pub fn finish(&self, slot: u32, level: u8, is_duplicate: bool) {
        let duplicate = if is_duplicate { DUPLICATE } else { 0 };
        self.levels
            .get(slot)
            .store((level + 1) | duplicate, Release);
    }

    /// Takes back the insertion of a point that nothing links to. Its slot can then be inserted again.
    pub fn take_back(&self, slot: u32, level: u8) {
        for layer in 0..=level {
            self.row(slot, layer).iter().for_each(Link::erase);
        }
        self.levels.get(slot).store(0, Release);
    }

    /// Marks a point whose insertion is finished as leaving.
    pub fn mark_leaving(&self, slot: u32) {
        self.levels.get(slot).fetch_or(LEAVING, Release);
    }

    /// Erases a leaving point that no thread can reach or stands on any more. Its slot can then be
    /// inserted again.
    pub fn erase(&self, slot: u32) {
        for layer in 0..=self.level(slot).unwrap_or(0) {
            self.row(slot, layer).iter().for_each(Link::erase);
        }
        self.end_chain(slot);
        // A row that was never written takes no memory, so no zeros are written to it.
        let duplicates = self.duplicates.row(slot).iter();
        duplicates
            .filter(|place| Link::load(place).is_some())
            .for_each(Link::erase);
        self.levels.get(slot).store(0, Release);
    }

    fn state(&self, slot: u32) -> u8 {
        if slot as usize >= self.levels.capacity() {
            return 0;
        }
        self.levels.get(slot).load(Acquire)
    }
}
