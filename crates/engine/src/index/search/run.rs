//! Running searches that are prepared: alone, at once, or several together.

use super::{Hit, Prepared, plan::Plan};
use crate::{Result, hnsw::Scratch};

impl Prepared<'_, '_> {
    /// Answers the search.
    pub fn run(&self, scratch: &mut Scratch) -> Result<Vec<Hit>> {
        match self.run_at_once(scratch)? {
            Some(hits) => Ok(hits),
            // The walk found too few points, or passed too many that it may not return. Only a scan
            // is sure to find enough.
            None => self.hits(self.scan()?),
        }
    }

    /// Answers the search in the way that it was prepared for. None if a walk does not find enough,
    /// or if the scratch is impatient and the search would take long after all: among deleted points,
    /// or as its results have to be verified.
    pub fn run_at_once(&self, scratch: &mut Scratch) -> Result<Option<Vec<Hit>>> {
        let ranked = match (self.plan, &self.linked) {
            (Plan::Graph, Some(linked)) => {
                let ranked = self.walk(linked, scratch)?;
                if ranked.len() < self.request.limit {
                    return Ok(None);
                }
                ranked
            }
            (Plan::Exact, _) => self.rank_all()?,
            _ => self.scan()?,
        };
        if scratch.is_impatient() && self.takes_long_to_verify(&ranked) {
            return Ok(None);
        }
        self.hits(ranked).map(Some)
    }

    /// Runs searches under one metric that were prepared in one view. The scans go over the points
    /// together, then the walks run one after the other, as long as `goes_on` holds, which is given
    /// the number of candidates so far. The remaining searches have no answer.
    pub fn run_together(
        mut searches: Vec<Prepared>,
        scratch: &mut Scratch,
        goes_on: impl Fn(u64) -> bool,
    ) -> Result<Vec<Option<Vec<Hit>>>> {
        Prepared::join(&mut searches);
        let mut answers: Vec<Option<Vec<Hit>>> = searches.iter().map(|_| None).collect();
        let (together, alone): (Vec<_>, Vec<_>) = searches
            .iter()
            .enumerate()
            .partition(|(_, search)| search.plan == Plan::Scan);
        let scanning: Vec<&Prepared> = together.iter().map(|&(_, search)| search).collect();
        let found = Prepared::scan_together(&scanning)?;
        let mut work: u64 = 0;
        for (&(number, search), ranked) in together.iter().zip(found) {
            answers[number] = Some(search.hits(ranked)?);
            work = work.saturating_add(search.work());
        }
        for &(number, search) in &alone {
            if !goes_on(work) {
                break;
            }
            answers[number] = Some(search.run(scratch)?);
            work = work.saturating_add(search.work());
        }
        Ok(answers)
    }
}
