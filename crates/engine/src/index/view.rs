//! The view of a search.

use super::{Index, linking::activity::Running};
use crate::sync::epoch::Pin;

/// The points of one moment, whatever is written meanwhile.
pub struct View<'i> {
    pub(super) index: &'i Index,
    pub(super) _running: Running<'i>,
    /// Until the view is dropped, no slot that a search may meet gets another point.
    pub(super) _pin: Pin<'i>,
    pub(super) sequence: u64,
    pub(super) slots: u32,
    /// The number of points that the view contains, or less.
    pub(super) live: u64,
}

impl Index {
    /// The view of a search that begins now.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let (running, pin) = (self.enter(), self.epochs.pin());
        // The sequence is read first: then every point of the view has its slot.
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
    /// Whether the view contains the point in `slot`.
    pub(super) fn contains(&self, slot: u32) -> bool {
        slot < self.slots && self.index.arena.is_visible(slot, self.sequence)
    }
}
