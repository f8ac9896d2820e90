//! The id of a point.

/// The 16 bytes of a UUID.
pub type PointId = [u8; 16];

/// The two words of an id, as tables of words store it.
pub(super) fn halves(id: &PointId) -> [u64; 2] {
    bytemuck::cast(*id)
}
