//! Runs searches that are prepared: a search alone, a search that must not take long, or several
//! together.

use super::{Neighbour, Prepared, filtered::SLOTS_AT_ONCE, plan::Plan, rescore::Ranked, walk::Way};
use crate::{Result, hnsw::Scratch};

impl Prepared<'_, '_> {
    /// Answers the search.
    pub fn run(&self, scratch: &mut Scratch) -> Result<Vec<Neighbour>> {
        if let Some(hits) = self.run_at_once(scratch)? {
            return Ok(hits);
        }
        let ranked = self.search_on(scratch)?;
        self.hits(ranked, scratch)
    }

    /// Answers a search whose walk found too few points, or passed too many that it may not return.
    fn search_on(&self, scratch: &mut Scratch) -> Result<Ranked> {
        match self.request.within {
            Some(within) => self.search_among(within, scratch),
            // Only a scan is sure to find enough.
            None => self.scan(scratch),
        }
    }

    /// Answers the search by its plan alone. None if a walk does not find enough points. With an
    /// [impatient](Scratch::impatient) scratch also None if the search turns out to take long: the
    /// walk meets many deleted points, or many records have to be verified. The caller then
    /// [runs](Self::run) it elsewhere.
    pub fn run_at_once(&self, scratch: &mut Scratch) -> Result<Option<Vec<Neighbour>>> {
        let ranked = match (self.plan, &self.linked) {
            (Plan::Graph, Some(linked)) => {
                let mut ranked = self.walk(linked, Way::Plain, scratch)?;
                if let Some(within) = self.request.within
                    && ranked.len() < self.request.limit
                    && self.view.slots <= SLOTS_AT_ONCE
                {
                    ranked = self.search_among(within, scratch)?;
                }
                if ranked.len() < self.request.limit {
                    return Ok(None);
                }
                ranked
            }
            (Plan::Exact, _) => self.rank_all(scratch)?,
            _ => match self.request.within {
                Some(within) => self.scan_matching(within.matching()?, scratch)?,
                None => self.scan(scratch)?,
            },
        };
        if scratch.is_impatient() && self.takes_long_to_verify(&ranked) {
            return Ok(None);
        }
        self.hits(ranked, scratch).map(Some)
    }

    /// Runs searches under one metric that were prepared in one view. All that scan all points do it
    /// together.
    /// Then the others run one after the other as long as `goes_on` holds; it is called with the
    /// number of points that were considered so far. The answers are in the order of `searches`,
    /// None for searches that were not run.
    pub fn run_together(
        mut searches: Vec<Prepared>,
        scratch: &mut Scratch,
        goes_on: impl Fn(u64) -> bool,
    ) -> Result<Vec<Option<Vec<Neighbour>>>> {
        Prepared::join(&mut searches);
        let mut answers: Vec<Option<Vec<Neighbour>>> = searches.iter().map(|_| None).collect();
        let (together, alone): (Vec<_>, Vec<_>) = searches
            .iter()
            .enumerate()
            .partition(|(_, search)| search.plan == Plan::Scan && search.is_among_all());
        let scanning: Vec<&Prepared> = together.iter().map(|&(_, search)| search).collect();
        let found = Prepared::scan_together(&scanning, scratch)?;
        let mut considered: u64 = 0;
        for (&(number, search), ranked) in together.iter().zip(found) {
            answers[number] = Some(search.hits(ranked, scratch)?);
            considered = considered.saturating_add(search.considered());
        }
        for &(number, search) in &alone {
            if !goes_on(considered) {
                break;
            }
            answers[number] = Some(search.run(scratch)?);
            considered = considered.saturating_add(search.considered());
        }
        Ok(answers)
    }
}
