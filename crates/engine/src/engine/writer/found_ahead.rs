//! The points of deletes by filter, found before the messages of the deletes come: the writer of a
//! replica then looks only at what was written since.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use vectord_filter::Filter;

use crate::{Error, Result, engine::budget::Reservation, index::Matches, sync::lock};

/// The greatest number of results, kept or still searched for: the writer compares each message with
/// all of them. A further search is refused: if an older result were dropped for it, the writer would
/// search for that one while all other writes wait.
const MOST: usize = 256;

/// A message that has not come after this time will hardly ever do so: its node waits for up to 30 s
/// until other replicas have found the points, and then sends the message for up to 20 s.
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
    /// The filters of the searches whose results are to be kept.
    awaited: Vec<Arc<Filter>>,
    /// The number of searches that have not ended.
    searches: usize,
}

/// A place for the result of a search, which is free again once the result is taken, or if there is
/// none.
pub struct Place {
    of: Arc<FoundAhead>,
    filter: Arc<Filter>,
}

struct Kept {
    filter: Arc<Filter>,
    found: Matches,
    memory: Reservation,
    at: Instant,
}

impl FoundAhead {
    /// Takes the place of a result that is to be looked for with this filter.
    ///
    /// # Errors
    /// [`Error::Overloaded`]: there is none by `now`.
    pub fn begin(self: &Arc<Self>, filter: &Arc<Filter>, now: Instant) -> Result<Place> {
        self.forget(now);
        let mut results = lock(&self.results);
        if results.kept.len() + results.searches >= MOST {
            return Err(Error::Overloaded(format!(
                "{MOST} deletes by filter are under way in this replica, or have had no outcome for \
                 less than {} s; try again",
                KEPT_FOR.as_secs()
            )));
        }
        results.searches += 1;
        results.awaited.push(Arc::clone(filter));
        Ok(Place {
            of: Arc::clone(self),
            filter: Arc::clone(filter),
        })
    }

    /// Takes what was found last with this filter. If nothing is kept, what a search under way finds
    /// with it will not be kept.
    pub fn take(&self, filter: &Filter) -> Option<(Matches, Reservation)> {
        let mut results = lock(&self.results);
        let mut kept = results.kept.iter();
        if let Some(at) = kept.rposition(|kept| *kept.filter == *filter) {
            let Kept { found, memory, .. } = results.kept.remove(at);
            return Some((found, memory));
        }
        results.end_await(|awaited| **awaited == *filter);
        None
    }

    /// Gives back what is too old by `now`.
    pub fn forget(&self, now: Instant) {
        let is_young = |kept: &Kept| now.saturating_duration_since(kept.at) < KEPT_FOR;
        lock(&self.results).kept.retain(is_young);
    }
}

impl Results {
    /// Has the result of such a search not be kept. Returns whether there is one.
    fn end_await(&mut self, is_it: impl FnMut(&Arc<Filter>) -> bool) -> bool {
        let at = self.awaited.iter().position(is_it);
        at.is_some_and(|at| {
            self.awaited.remove(at);
            true
        })
    }
}

impl Place {
    /// Keeps what was found, and the memory that it takes, unless its message has come already.
    pub fn keep(self, found: Matches, memory: Reservation) {
        let mut results = lock(&self.of.results);
        if results.end_await(|awaited| Arc::ptr_eq(awaited, &self.filter)) {
            results.kept.push(Kept {
                filter: Arc::clone(&self.filter),
                found,
                memory,
                at: Instant::now(),
            });
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut results = lock(&self.of.results);
        results.searches -= 1;
        results.end_await(|awaited| Arc::ptr_eq(awaited, &self.filter));
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use vectord_filter::Expression;

    use super::*;
    use crate::engine::budget::Budget;

    #[test]
    fn a_place_is_free_once_its_message_has_not_come_in_time() {
        let ahead = Arc::<FoundAhead>::default();
        let filter = Arc::new(Filter::new(Expression::All(Vec::new())));
        let begun = Instant::now();
        for _ in 0..MOST {
            let place = ahead.begin(&filter, begun).unwrap();
            place.keep(Matches::default(), Budget::new(0).take(0));
        }
        assert!(ahead.begin(&filter, begun).is_err());
        let later = Instant::now() + KEPT_FOR;
        let place = ahead.begin(&filter, later).unwrap();
        assert!(ahead.take(&filter).is_none());
        drop(place);
        let places: Vec<_> = (0..=MOST)
            .map_while(|_| ahead.begin(&filter, later).ok())
            .collect();
        assert_eq!(places.len(), MOST);
    }
}
