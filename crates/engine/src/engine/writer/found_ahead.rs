//! The points of deletes by filter, found before the messages of the deletes come: the writer of a
//! replica then looks only at what was written since.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use vectord_filter::Filter;

use crate::{Error, Result, engine::budget::Reservation, index::Matches, sync::lock};

/// The greatest number of results, kept or still searched for. A further search is refused: if an older
/// result were dropped for it, the writer would search for that one while all other writes wait.
const MOST: usize = 16;

/// A message that has not come after this time never will: its node has ended, or was refused.
const KEPT_FOR: Duration = Duration::from_mins(1);

/// What was found, by filter. Each is for one message. A message for which nothing is kept has its
/// points found by the writer, with the same outcome.
#[derive(Default)]
pub struct FoundAhead {
    results: Mutex<Results>,
}

#[derive(Default)]
struct Results {
    /// The oldest first.
    kept: Vec<Kept>,
    /// The number of places taken by searches that have not ended.
    awaited: usize,
}

/// A place for the result of a search, which gives it back if it is dropped without a result.
pub struct Place(Arc<FoundAhead>);

struct Kept {
    filter: Arc<Filter>,
    found: Matches,
    memory: Reservation,
    at: Instant,
}

impl FoundAhead {
    /// Takes the place of a result that is to be looked for.
    ///
    /// # Errors
    /// [`Error::Overloaded`]: there is none.
    pub fn begin(self: &Arc<Self>) -> Result<Place> {
        let mut results = lock(&self.results);
        if results.kept.len() + results.awaited >= MOST {
            return Err(Error::Overloaded(format!(
                "{MOST} deletes by filter are under way in this replica; try again"
            )));
        }
        results.awaited += 1;
        Ok(Place(Arc::clone(self)))
    }

    /// Takes what was found last with this filter.
    pub fn take(&self, filter: &Filter) -> Option<(Matches, Reservation)> {
        let kept = &mut lock(&self.results).kept;
        let at = kept.iter().rposition(|kept| *kept.filter == *filter)?;
        let Kept { found, memory, .. } = kept.remove(at);
        Some((found, memory))
    }

    /// Gives back what is too old by `now`.
    pub fn forget(&self, now: Instant) {
        let is_young = |kept: &Kept| now.saturating_duration_since(kept.at) < KEPT_FOR;
        lock(&self.results).kept.retain(is_young);
    }
}

impl Place {
    /// Keeps what was found, and the memory that it takes.
    pub fn keep(self, filter: Arc<Filter>, found: Matches, memory: Reservation) {
        lock(&self.0.results).kept.push(Kept {
            filter,
            found,
            memory,
            at: Instant::now(),
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.0.results).awaited -= 1;
    }
}
