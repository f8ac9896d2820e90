//! The reserves of a store, and who may use the free space of a full disk. Deletes and compaction
//! free space, so each has a reserve. Inserts wait until both reserves are back.

use std::{io, path::Path};

use super::{
    io::Io,
    reserve::{self, Reserve},
};

/// The reserve for compaction is larger than a segment by `1 / MARGIN` of it: for the manifest, and
/// for the space that files take besides their bytes.
const MARGIN: u64 = 8;

/// The reserves of a store, and what is known of the space on its disk.
pub struct Reserves {
    pub(super) for_deletes: Reserve,
    for_compaction: Reserve,
    /// Whether a write found no space, and the reserves have not been filled again since.
    pub(super) is_short: bool,
    /// Whether the last delete found no space.
    is_delete_refused: bool,
    /// Whether compaction is freeing space; inserts must not use it meanwhile.
    pub(super) is_freeing: bool,
}

impl Reserves {
    /// The reserves of a folder; their files are not read yet.
    pub fn new(folder: &Path) -> Self {
        Reserves {
            for_deletes: Reserve::new(reserve::path_for_deletes(folder)),
            for_compaction: Reserve::new(reserve::path_for_compaction(folder)),
            is_short: false,
            is_delete_refused: false,
            is_freeing: false,
        }
    }

    /// Fills both reserves. New segments have `usual_bytes`, and `most_bytes` at most.
    pub fn keep(&mut self, io: &dyn Io, most_bytes: u64, usual_bytes: u64) -> io::Result<()> {
        let for_compaction = usual_bytes + usual_bytes / MARGIN;
        self.for_compaction.keep(io, for_compaction)?;
        let for_deletes = reserve::bytes_for_deletes(most_bytes);
        self.for_deletes.keep(io, for_deletes)?;
        self.is_short |= self.is_given();
        Ok(())
    }

    /// Whether a write found no space, and the reserves are not back since.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// Whether the space of a reserve is given away.
    pub(super) fn is_given(&self) -> bool {
        self.for_deletes.is_given() || self.for_compaction.is_given()
    }

    /// Whether inserts may use space.
    pub fn allows_inserts(&mut self, io: &dyn Io) -> io::Result<bool> {
        Ok(!self.is_freeing && self.regain(io)?)
    }

    /// Whether deletes may use this number of bytes. They must leave the reserve of compaction
    /// alone.
    pub fn allows_deletes(&mut self, io: &dyn Io, bytes: u64) -> io::Result<bool> {
        if !self.for_compaction.is_given() {
            return Ok(true);
        }
        self.for_deletes.give_up(io)?;
        Ok(!self.for_deletes.is_given() || self.for_deletes.has(bytes))
    }

    /// Fills the reserves again, that of compaction first: without it, what deletes have freed may
    /// never be given back. False while there is too little space.
    pub(super) fn regain(&mut self, io: &dyn Io) -> io::Result<bool> {
        let is_back = self.for_compaction.is_back(io)? && self.for_deletes.is_back(io)?;
        self.is_delete_refused &= !self.for_deletes.is_kept();
        if self.for_compaction.is_given() {
            // Compaction needs all the space there is.
            self.for_deletes.spend(u64::MAX);
        }
        Ok(is_back)
    }

    /// Gives deletes their reserve if it holds this number of bytes. False if it does not, if they
    /// have it already or if there is none.
    pub fn give_to_deletes(&mut self, io: &dyn Io, bytes: u64) -> io::Result<bool> {
        Ok(self.for_deletes.holds(bytes) && self.for_deletes.give_up(io)?)
    }

    /// Whether deletes found no space, or soon will find none.
    pub(super) fn is_low(&self) -> bool {
        self.is_delete_refused || self.for_deletes.is_low()
    }

    /// Gives compaction both reserves, and refuses inserts meanwhile. Deletes may use space
    /// meanwhile.
    pub(super) fn give_to_compaction(&mut self, io: &dyn Io) -> io::Result<()> {
        self.for_deletes.give_up(io)?;
        self.for_compaction.give_up(io)?;
        (self.is_short, self.is_freeing) = (true, true);
        Ok(())
    }

    /// Notes that a write found no space, and whether it only deletes.
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
