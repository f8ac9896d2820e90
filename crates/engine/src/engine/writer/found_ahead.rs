//! The points of deletes by filter, found before the messages of the deletes come: the writer of a
//! replica then looks only at what was written since.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use vectord_filter::Filter;

use crate::{engine::budget::Reservation, index::Matches, sync::lock};

/// The greatest number of results that are kept. The oldest makes room for a new one.
const MOST: usize = 16;

/// A message that has not come after this time never will: its node has ended, or was refused.
const KEPT_FOR: Duration = Duration::from_mins(1);

/// What was found, by filter. Each is for one message. A message for which nothing is kept has its
/// points found by the writer, with the same outcome.
#[derive(Default)]
pub struct FoundAhead {
    /// The oldest first.
    kept: Mutex<Vec<Kept>>,
}

struct Kept {
    filter: Arc<Filter>,
    found: Matches,
    memory: Reservation,
    at: Instant,
}

impl FoundAhead {
    /// Keeps what was found, and the memory that it takes.
    pub fn keep(&self, filter: Arc<Filter>, found: Matches, memory: Reservation) {
        let mut kept = lock(&self.kept);
        if kept.len() == MOST {
            kept.remove(0);
        }
        kept.push(Kept {
            filter,
            found,
            memory,
            at: Instant::now(),
        });
    }

    /// Takes what was found last with this filter.
    pub fn take(&self, filter: &Filter) -> Option<(Matches, Reservation)> {
        let mut kept = lock(&self.kept);
        let at = kept.iter().rposition(|kept| *kept.filter == *filter)?;
        let Kept { found, memory, .. } = kept.remove(at);
        Some((found, memory))
    }

    /// Gives back what is too old by `now`.
    pub fn forget(&self, now: Instant) {
        lock(&self.kept).retain(|kept| now.saturating_duration_since(kept.at) < KEPT_FOR);
    }
}
