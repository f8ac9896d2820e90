//! Decides on a full disk who may use the space that is left: inserts, deletes or compaction. It
//! goes by the reserves of the store.

use std::collections::HashSet;

use crate::{
    Result,
    store::{
        Store, Stretch,
        log::{format::PAGE, usage::Terms},
    },
};

/// On a full disk a segment is copied if that frees one in this number of its bytes.
const SHARE_WHEN_FULL: u64 = 8;

/// Takes the place of [`SHARE_WHEN_FULL`] once deletes have used half of their reserve.
const SHARE_WHEN_LOW: u64 = 256;

impl Store {
    /// Whether a write found no space, and the reserves have not been filled again since.
    #[must_use]
    pub fn is_short_of_space(&self) -> bool {
        self.reserves.is_short
    }

    /// Whether deletes or compaction have been given their reserve.
    #[must_use]
    pub fn has_given_reserves(&self) -> bool {
        self.reserves.is_given()
    }

    /// Whether compaction is freeing space, which deletes may wait for.
    #[must_use]
    pub fn is_freeing_space(&self) -> bool {
        self.reserves.is_freeing
    }

    /// Whether deletes have used half of their reserve, and there is no other space.
    pub fn is_low_on_space(&mut self) -> Result<bool> {
        Ok(self.reserves.for_deletes.is_low()
            && !self.regain_reserves()?
            && self.reserves.for_deletes.is_low())
    }

    /// Gives both reserves to the copies of compaction and to a new manifest. Inserts are refused
    /// until [`Store::end_freeing_space`].
    pub fn begin_freeing_space(&mut self) -> Result<()> {
        self.check_writable()?;
        let given = self.reserves.give_to_compaction(&*self.io);
        given.map_err(|error| self.failed(&error))
    }

    /// Chooses the stretch to compact next on a full disk, and calls
    /// [`Store::begin_freeing_space`]. None if no stretch is worth it or there is space enough.
    /// Compaction cannot copy the `uncopyable` segments.
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

    /// Fills the reserves again with the space that compaction has left or freed.
    pub fn end_freeing_space(&mut self) -> Result<()> {
        self.check_writable()?;
        if std::mem::take(&mut self.reserves.is_freeing) {
            self.regain_reserves()?;
        }
        self.reserves.is_short = self.reserves.is_given();
        Ok(())
    }

    /// Fills the reserves again. False while there is too little space.
    fn regain_reserves(&mut self) -> Result<bool> {
        let is_back = self.reserves.regain(&*self.io);
        is_back.map_err(|error| self.failed(&error))
    }

    /// The stretch whose copy takes the least space, if one frees one in `share` of its bytes.
    fn tight_stretch_on(
        &mut self,
        share: u64,
        uncopyable: &HashSet<u32>,
    ) -> Result<Option<Stretch>> {
        // A new manifest is written, and the disk may not count less than a page.
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
}
