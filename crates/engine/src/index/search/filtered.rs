//! How a search with a filter goes on: its plan follows from what it meets.
//!
//! 1. It looks at points near to the query. If a good part of them pass, it walks as a search without
//!    a filter does, and asks the filter about the points that the walk meets alone.
//! 2. Else all points that pass are found, and it is known how many there are. If they are few, they
//!    are scanned.
//! 3. Else a walk goes among them, past the others. It is broader where next to none near to the
//!    query pass though many do elsewhere: the closest are in all directions then.
//! 4. If a walk finds too few, a scan of all that pass answers.

use super::{Prepared, Selection, rescore::Ranked, walk::Way};
use crate::{Result, hnsw::Scratch, index::matching::Matching};

/// If the share of points that pass near to the query is this many times less than among all, they
/// are far from it. Some 64 points are looked at there: of a small share they may hold few by chance.
const FAR: f32 = 2.0;
const FAR_OF_FEW: f32 = 4.0;

/// A share from which on the points near to the query tell more.
const NOT_FEW: f32 = 0.25;

/// How many times as broad a walk is among points that are far from the query.
const BROADER: usize = 16;

/// How much broader it is among others: it misses some links that lead past more than one point.
const MARGIN: usize = 4;

/// The nanoseconds that a search may go on so with an impatient scratch.
const AT_ONCE: f32 = 300_000.0;

/// In a view of more slots than this, finding all points that pass takes longer.
pub(super) const SLOTS_AT_ONCE: u32 = 1 << 18;

/// Where a smaller share of the points pass, too few of them are linked past one other.
const LEAST_SHARE: f32 = 0.03;

impl Prepared<'_, '_> {
    /// The closest points in their final order, after a walk that found too few or gave up. None with
    /// an [impatient](Scratch::impatient) scratch, if it takes long to find them.
    pub(super) fn search_among(&self, within: &Selection, scratch: &mut Scratch) -> Result<Ranked> {
        let matching = within.matching()?;
        let count = matching.count();
        let share = count as f32 / self.view.live.max(1) as f32;
        let far = if share < NOT_FEW { FAR_OF_FEW } else { FAR };
        let is_far = scratch.share_near() * far < share;
        let breadth = if is_far {
            self.request.ef.saturating_mul(BROADER)
        } else {
            self.request.ef.saturating_add(MARGIN)
        };
        let scanning = self.costs.scan_list(count as u32);
        let walking = self
            .costs
            .walk_among(breadth, self.view.slots, share, is_far);
        let may_walk = share >= LEAST_SHARE && breadth < count && walking < scanning;
        let cost = if may_walk { walking } else { scanning };
        if scratch.is_impatient() && cost > AT_ONCE {
            return Ok(Ranked::new());
        }
        if may_walk && let Some(linked) = &self.linked {
            let found = self.walk(linked, Way::Among(breadth, matching), scratch)?;
            if found.len() >= self.request.limit {
                return Ok(found);
            }
        }
        self.scan_matching(matching, scratch)
    }

    /// The closest of the points that pass in their final order: by their codes, if these are worth
    /// it and the search need not be exact.
    pub(super) fn scan_matching(
        &self,
        matching: &Matching,
        scratch: &mut Scratch,
    ) -> Result<Ranked> {
        if let Some(linked) = &self.linked
            && self.request.ef < matching.count()
            && self.costs.lists_by_codes(matching.count(), self.request.ef)
        {
            let found = self.scan_codes(linked, matching, scratch)?;
            if found.len() >= self.request.limit {
                return Ok(found);
            }
        }
        self.scan(scratch)
    }
}
