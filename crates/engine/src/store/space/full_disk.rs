//! Who gets what room there is on a full disk. Deletes and compaction have a reserve each, since
//! they make room; inserts wait until both reserves are there again.

use std::{collections::HashSet, io, path::Path};

use super::reserve::{self, Reserve};
use crate::{
    Error, Result,
    store::{
        Store, Stretch,
        io::Io,
        log::{format::PAGE, usage::Terms},
    },
};

/// A new segment takes at most one in so many bytes of the log, so that there is room for its copy
/// where there was room for the log.
const SEGMENTS_PER_LOG: u64 = 8;

/// Smaller segments are not worth a file.
const LEAST_SEGMENT_BYTES: u64 = 4 << 20;

/// The reserve for compaction is larger than a segment by one in so many bytes: for the manifest, and
/// for what files take beside their bytes.
const MARGIN: u64 = 8;

/// On a full disk a segment is copied for one in so many bytes: nobody has room for anything else.
const SHARE_WHEN_FULL: u64 = 8;

/// When deletes have used half of their reserve, it is copied for so few.
const SHARE_WHEN_LOW: u64 = 256;

/// The room of a store on its disk.
pub struct Reserves {
    for_deletes: Reserve,
    for_compaction: Reserve,
    /// Whether a write has found none, and none was found for all since.
    is_short: bool,
    /// Whether the last delete has found none.
    is_delete_refused: bool,
    /// Whether compaction is making some, which inserts must not take.
    is_freeing: bool,
}

impl Reserves {
    /// The room of a folder, whose reserves were not looked at yet.
    pub fn new(folder: &Path) -> Self {
        Reserves {
            for_deletes: Reserve::new(reserve::path_for_deletes(folder)),
            for_compaction: Reserve::new(reserve::path_for_compaction(folder)),
            is_short: false,
            is_delete_refused: false,
            is_freeing: false,
        }
    }

    /// Makes both reserves for segments of this size at most, and usually.
    pub fn keep(&mut self, io: &dyn Io, most_bytes: u64, usual_bytes: u64) -> io::Result<()> {
        let for_compaction = usual_bytes + usual_bytes / MARGIN;
        self.for_compaction.keep(io, for_compaction)?;
        let for_deletes = reserve::bytes_for_deletes(most_bytes);
        self.for_deletes.keep(io, for_deletes)?;
        self.is_short |= self.is_given();
        Ok(())
    }

    /// Whether a write has found no room, and none was found for all since.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    fn is_given(&self) -> bool {
        self.for_deletes.is_given() || self.for_compaction.is_given()
    }

    /// Whether inserts may take room.
    pub fn allows_inserts(&mut self, io: &dyn Io) -> io::Result<bool> {
        Ok(!self.is_freeing && self.regain(io)?)
    }

    /// Whether deletes may take so many bytes: what compaction was given is not theirs.
    pub fn allows_deletes(&mut self, io: &dyn Io, bytes: u64) -> io::Result<bool> {
        if !self.for_compaction.is_given() {
            return Ok(true);
        }
        self.for_deletes.give_up(io)?;
        Ok(!self.for_deletes.is_given() || self.for_deletes.has(bytes))
    }

    /// Takes back what was given away, that of compaction first: all that deletes have freed may
    /// depend on it. False while there is too little.
    fn regain(&mut self, io: &dyn Io) -> io::Result<bool> {
        let is_back = self.for_compaction.is_back(io)? && self.for_deletes.is_back(io)?;
        self.is_delete_refused &= !self.for_deletes.is_kept();
        if self.for_compaction.is_given() {
            // What there is, compaction needs.
            self.for_deletes.spend(u64::MAX);
        }
        Ok(is_back)
    }

    /// Gives deletes the room that is kept for them; false if they have had it.
    pub fn give_to_deletes(&mut self, io: &dyn Io) -> io::Result<bool> {
        self.for_deletes.give_up(io)
    }

    /// Whether deletes have found no room, or soon will.
    fn is_low(&self) -> bool {
        self.is_delete_refused || self.for_deletes.is_low()
    }

    /// Gives compaction all the room that is kept, and lets no insert have any of it: what deletes
    /// take meanwhile is theirs.
    fn give_to_compaction(&mut self, io: &dyn Io) -> io::Result<()> {
        self.for_deletes.give_up(io)?;
        self.for_compaction.give_up(io)?;
        (self.is_short, self.is_freeing) = (true, true);
        Ok(())
    }

    /// Notes that a write, maybe one that only deletes, has found no room.
    pub fn note_full(&mut self, is_delete: bool) {
        self.is_short = true;
        self.is_delete_refused |= is_delete;
    }

    /// Notes that a group of this size was written.
    pub fn note_written(&mut self, bytes: u64, has_inserts: bool) {
        self.for_deletes.spend(bytes);
        self.is_short &= !has_inserts;
        self.is_delete_refused = false;
    }
}

impl Store {
    /// Whether a write has found no room, and none was found for all since.
    #[must_use]
    pub fn is_short_of_space(&self) -> bool {
        self.reserves.is_short
    }

    /// Whether deletes or compaction have been given what is kept for them.
    #[must_use]
    pub fn has_given_reserves(&self) -> bool {
        self.reserves.is_given()
    }

    /// Whether compaction is making room, which deletes may wait for.
    #[must_use]
    pub fn is_freeing_space(&self) -> bool {
        self.reserves.is_freeing
    }

    /// Whether deletes have used half of the room that is kept for them, and there is no other.
    pub fn is_low_on_space(&mut self) -> Result<bool> {
        Ok(self.reserves.for_deletes.is_low()
            && !self.regain_reserves()?
            && self.reserves.for_deletes.is_low())
    }

    /// Gives the copies of compaction, and a new manifest, all the room that is kept: until
    /// [`Store::end_freeing_space`] no insert is taken.
    pub fn begin_freeing_space(&mut self) -> Result<()> {
        self.check_writable()?;
        let given = self.reserves.give_to_compaction(&*self.io);
        given.map_err(|error| self.failed(&error))
    }

    /// Chooses, on a full disk, the one stretch to compact next, and gives its copy room as
    /// [`Store::begin_freeing_space`] does. None once nothing is worth it or there is room enough.
    /// `uncopyable` segments cannot be copied.
    pub fn tight_stretch(&mut self, uncopyable: &HashSet<u32>) -> Result<Option<Stretch>> {
        self.check_writable()?;
        if let Some(stretch) = self.tight_stretch_on(SHARE_WHEN_FULL, uncopyable)? {
            return Ok(Some(stretch));
        }
        if self.reserves.is_freeing {
            self.regain_reserves()?;
        }
        if self.reserves.is_low() {
            self.tight_stretch_on(SHARE_WHEN_LOW, uncopyable)
        } else {
            Ok(None)
        }
    }

    /// Takes back what compaction has left or made of the room that is kept.
    pub fn end_freeing_space(&mut self) -> Result<()> {
        self.check_writable()?;
        if std::mem::take(&mut self.reserves.is_freeing) {
            self.regain_reserves()?;
        }
        self.reserves.is_short = self.reserves.is_given();
        Ok(())
    }

    fn regain_reserves(&mut self) -> Result<bool> {
        let is_back = self.reserves.regain(&*self.io);
        is_back.map_err(|error| self.failed(&error))
    }

    fn tight_stretch_on(
        &mut self,
        share: u64,
        uncopyable: &HashSet<u32>,
    ) -> Result<Option<Stretch>> {
        // The manifest is written anew, and less than a page may be nothing to the disk.
        let bytes = PAGE as u64 + self.manifest.bytes();
        let terms = Terms { share, bytes };
        let segment_bytes = self.usual_segment_bytes();
        let places = |store: &Store| {
            let usage = &store.usage;
            usage.tightest(&store.manifest, segment_bytes, uncopyable, terms)
        };
        let mut found = places(self);
        let end = self.active.as_ref().map_or(0, |active| active.end);
        if found.is_none() && self.usage.is_last_worth(&self.manifest, end, terms) {
            self.begin_freeing_space()?;
            self.rotate(0).map_err(|error| self.failed(&error))?;
            found = places(self);
        }
        let Some(places) = found else {
            return Ok(None);
        };
        self.begin_freeing_space()?;
        Ok(Some(self.stretch_of(places)))
    }

    /// The size of a new segment, unless a group needs a larger one: a power of two, where the
    /// largest size allows, so that the reserve for compaction seldom changes with it.
    pub(crate) fn usual_segment_bytes(&self) -> u64 {
        let active = self.active.as_ref().map_or(0, |active| active.end);
        let share = (self.manifest.sealed_bytes() + active) / SEGMENTS_PER_LOG;
        let power = share.checked_ilog2().map_or(0, |power| 1 << power);
        power.max(LEAST_SEGMENT_BYTES).min(self.segment_bytes)
    }

    pub(crate) fn keep_reserves(&mut self) -> io::Result<()> {
        let usual = self.usual_segment_bytes();
        self.reserves.keep(&*self.io, self.segment_bytes, usual)
    }

    pub(crate) fn check_space_for_inserts(&mut self) -> Result<()> {
        let is_room = self.reserves.allows_inserts(&*self.io);
        self.check_space(is_room, false)
    }

    pub(crate) fn check_space_for_deletes(&mut self, group_length: u64) -> Result<()> {
        let bytes = self.bytes_for(group_length);
        let is_room = self.reserves.allows_deletes(&*self.io, bytes);
        self.check_space(is_room, true)
    }

    fn check_space(&mut self, is_room: io::Result<bool>, is_delete: bool) -> Result<()> {
        if is_room.map_err(|error| self.failed(&error))? {
            return Ok(());
        }
        self.reserves.note_full(is_delete);
        Err(Error::StorageFull)
    }
}
