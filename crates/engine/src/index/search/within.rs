//! Among which points a search looks for neighbours: those that pass a filter.

use std::{cell::OnceCell, fmt};

use vectord_filter::Filter;

use crate::{
    Result,
    index::{matching::Matching, probe::Probe, view::View},
};

/// In a view of fewer slots than this, all points that pass are found at once.
const FEW_SLOTS: u32 = 8192;

/// Elsewhere they are found at once if the columns show that they are few: at most one of so many
/// points, and no more than are looked at in about 50 microseconds.
const ONE_OF: u32 = 32;
const MOST_FEW: u32 = 4096;

/// The number of points at which a walk among those that pass may begin.
const SEEDS: usize = 8;

/// The points of a view that pass a filter. To find all of them takes a time in the order of all
/// points, so it is done when a search needs them. Searches in one view with one filter share them.
pub struct Selection<'v> {
    probe: Probe<'v>,
    matching: OnceCell<Matching>,
}

impl fmt::Debug for Selection<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(
            formatter,
            "Selection of {:?} points",
            self.found().map(Matching::count)
        )
    }
}

impl View<'_> {
    /// Selects the points that pass a filter.
    ///
    /// # Errors
    /// [`Error::Abandoned`] if `goes_on` answers no meanwhile, as for all that the result is asked.
    pub fn select<'v>(
        &'v self,
        filter: &'v Filter,
        goes_on: &'v dyn Fn() -> bool,
    ) -> Result<Selection<'v>> {
        let selection = Selection {
            probe: self.probe(filter, goes_on)?,
            matching: OnceCell::new(),
        };
        if self.slots < FEW_SLOTS {
            selection.matching()?;
        } else if let Some(few) = selection
            .probe
            .few((self.slots / ONE_OF).min(MOST_FEW) as usize)
        {
            selection.matching.get_or_init(|| few);
        }
        Ok(selection)
    }
}

impl Selection<'_> {
    /// The greatest number of points that there may be: the number itself once all are found.
    #[must_use]
    pub fn most(&self) -> usize {
        let all = self.probe.view().slots as usize;
        self.found().map_or(all, Matching::count)
    }

    /// Whether the view contains the point in `slot`, and it is one of them.
    #[inline]
    pub(super) fn contains(&self, slot: u32) -> bool {
        match self.found() {
            Some(matching) => matching.contains(slot),
            None => self.probe.view().contains(slot) && self.probe.passes(slot),
        }
    }

    /// All of the points, if they were found already.
    pub(super) fn found(&self) -> Option<&Matching> {
        self.matching.get()
    }

    /// All of the points, found now unless they were before.
    ///
    /// # Errors
    /// [`Error::Abandoned`].
    pub(super) fn matching(&self) -> Result<&Matching> {
        if let Some(matching) = self.found() {
            return Ok(matching);
        }
        let matching = self.probe.matching()?;
        Ok(self.matching.get_or_init(|| matching))
    }
}

impl Matching {
    /// A few of the points, spread over all slots.
    pub(super) fn seeds(&self) -> Vec<u32> {
        let every = (self.count() / SEEDS).max(1);
        self.slots().step_by(every).take(SEEDS).collect()
    }
}
