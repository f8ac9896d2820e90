//! What a search sees.

use super::{Index, linking::activity::Running};
use crate::sync::epoch::Pin;

/// The points that searches see: those of one moment, whatever is written meanwhile.
pub struct View<'i> {
    pub(super) index: &'i Index,
    pub(super) _running: Running<'i>,
    /// Whatever slot a search meets, no point that comes later gets it before the view is dropped.
    pub(super) _pin: Pin<'i>,
    pub(super) sequence: u64,
    pub(super) slots: u32,
    /// Points that it contains, or fewer.
    pub(super) live: u64,
}

impl Index {
    /// What a search that starts now sees.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let (running, pin) = (self.enter(), self.epochs.pin());
        // The sequence first: every point that it contains then has its slot.
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
