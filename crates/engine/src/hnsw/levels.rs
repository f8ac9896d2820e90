//! The layer up to which each point is linked, drawn from its slot.

/// The highest layer. With `m` = 16, one point in 10^22 would rise above it.
const MAX_LEVEL: u8 = 15;

/// The layer up to which a point is linked: one point in `2 * m` rises above each layer, as many as
/// a point has links in layer 0. One in `m`, as in the paper, needs as many ranks with this number
/// of entry points, and twice the memory.
pub(super) fn draw_level(slot: u32, m: usize) -> u8 {
    let drawn = drawn(slot);
    let mut rising = u64::MAX;
    for level in 0..MAX_LEVEL {
        rising /= 2 * m as u64;
        if drawn >= rising {
            return level;
        }
    }
    MAX_LEVEL
}

/// The number that decides how high a point rises: the lower the number, the higher the point. It
/// is drawn from the slot, so that another build gives the same graph.
pub(super) fn drawn(slot: u32) -> u64 {
    scramble(u64::from(slot))
}

/// Turns successive numbers into independent ones (`SplitMix64`).
pub(super) fn scramble(number: u64) -> u64 {
    let bits = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
