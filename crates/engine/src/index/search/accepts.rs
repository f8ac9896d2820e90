//! Which points may be among the results of a search.

use super::Prepared;

impl Prepared<'_, '_> {
    /// Whether the point in `slot` may be among the results.
    #[inline]
    pub(super) fn accepts(&self, slot: u32) -> bool {
        match self.request.within {
            Some(within) => within.contains(slot),
            None => self.view.contains(slot),
        }
    }

    /// Whether the results may be among all points of the view, so that searches share their work.
    pub(super) fn is_among_all(&self) -> bool {
        self.request.within.is_none()
    }
}
