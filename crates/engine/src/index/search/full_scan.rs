//! Searches by a scan of all points, alone or together with others, and searches that rank all
//! points in double precision.

use super::{
    Prepared,
    best::reserve,
    rescore::{Ranked, slots_of, with_margin},
    scan::{self, Scan, Scope},
};
use crate::{Result, hnsw::Scratch, index::view::View};

impl View<'_> {
    /// The points of the view, as a scan with this scratch sees them.
    pub(super) fn scope<'a>(&'a self, scratch: &'a Scratch) -> Scope<'a> {
        Scope {
            arena: &self.index.arena,
            sequence: self.sequence,
            dimension: self.index.dimension,
            scratch,
        }
    }
}

impl Prepared<'_, '_> {
    /// The closest points in their final order, by a scan.
    pub(super) fn scan(&self, scratch: &Scratch) -> Result<Ranked> {
        let found = Prepared::scan_together(&[self], scratch)?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// The results of [`scan`](Self::scan) for several searches under one metric in one view, among
    /// the same points, by one scan.
    pub(super) fn scan_together(searches: &[&Prepared], scratch: &Scratch) -> Result<Vec<Ranked>> {
        let [first, ..] = searches else {
            return Ok(Vec::new());
        };
        let mut scans = Vec::new();
        reserve(&mut scans, searches.len())?;
        for search in searches {
            scans.push(Scan::new(
                search.measure(),
                with_margin(search.request.limit),
            )?);
        }
        first.scan_slots(&mut scans, scratch)?;
        let finish = |(search, scan): (&&Prepared, Scan)| search.finish_scan(scan, scratch);
        searches.iter().zip(scans).map(finish).collect()
    }

    /// Puts the candidates of a scan in their final order.
    ///
    /// A point that was not kept among the candidates may belong to the closest `limit` only if its
    /// computed rank is at most `bound`. If the farthest candidate is beyond that, none was missed.
    pub(super) fn finish_scan(&self, scan: Scan, scratch: &Scratch) -> Result<Ranked> {
        let Scan { measure, best } = scan;
        let may_have_missed = best.is_full() && !measure.is_exact();
        let candidates = best.into_sorted();
        let last_sure = candidates
            .get(self.request.limit - 1)
            .map_or(f32::INFINITY, |last| last.rank);
        let bound = measure.upper_bound(last_sure);
        let covers = candidates.last().is_none_or(|worst| worst.rank > bound);
        if covers || !may_have_missed {
            return self.rank(self.with_f64_only(slots_of(&candidates)), scratch);
        }
        // More points than there are candidates lie within the error of single precision. Another
        // scan gathers all of them, so that the answer is exact.
        let scope = self.view.scope(scratch);
        let near = match self.request.within {
            Some(within) => scan::within(scope, within.matching()?.slots(), &measure, bound)?,
            None => scan::within(scope, 0..self.view.slots, &measure, bound)?,
        };
        self.rank(self.with_f64_only(near), scratch)
    }

    /// The closest points in their final order, by ranking every point in double precision.
    pub(super) fn rank_all(&self, scratch: &Scratch) -> Result<Ranked> {
        let slots = 0..self.view.slots;
        let accepted = slots.filter(|&slot| self.accepts(slot)).collect();
        self.rank(accepted, scratch)
    }

    /// Offers every point of the search to each of the scans.
    fn scan_slots(&self, scans: &mut [Scan], scratch: &Scratch) -> Result<()> {
        let scope = self.view.scope(scratch);
        match self.request.within {
            Some(within) => scan::scan(scope, within.matching()?.slots(), scans),
            None => scan::scan(scope, 0..self.view.slots, scans),
        }
    }
}
