//! The view of a search: the points that were visible when it began.

use super::{Index, PointId, graphs::activity::Running};
use crate::sync::epoch::Pin;

/// The points of one moment, whatever is written meanwhile. Searches run in a view; a batch of
/// searches shares one.
pub struct View<'i> {
    pub(super) index: &'i Index,
    /// Counts the search as running until the view is dropped.
    pub(super) _running: Running<'i>,
    /// Until the view is dropped, no slot that a search may meet gets another point.
    pub(super) _pin: Pin<'i>,
    /// The view contains the points inserted, and not deleted, up to this sequence number.
    pub(super) sequence: u64,
    /// All points of the view are in slots below this number.
    pub(super) slots: u32,
    /// The number of points that the view contains, or less.
    pub(super) live: u64,
}

impl Index {
    /// Takes the view of a search that begins now. A thread holds one at a time, since the view
    /// pins an epoch.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let (running, pin) = (self.enter(), self.epochs.pin());
        // The sequence is read before the number of slots: then all points of the view are in them.
        let (sequence, live) = self.arena.visible_points();
        View {
            index: self,
            _running: running,
            _pin: pin,
            sequence,
            slots: self.arena.slots(),
            live,
        }
    }
}

impl View<'_> {
    /// The number of slots, among which are all points of the view.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// The id of the point in `slot`.
    #[must_use]
    pub fn id(&self, slot: u32) -> PointId {
        self.index.arena.id(slot)
    }

    /// Whether the view contains the point in `slot`.
    pub(super) fn contains(&self, slot: u32) -> bool {
        slot < self.slots && self.index.arena.is_visible(slot, self.sequence)
    }
}
