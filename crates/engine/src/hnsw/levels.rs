//! The level of each point, which is the highest layer that it is linked in, drawn from its slot.

/// The highest layer of any graph. With `m` = 16, one point in 10^24 would rise above it.
const MAX_LEVEL: u8 = 15;

/// The level of the point in `slot`. Of the points in each layer, one in `2 * m` is in the next one
/// too; `2 * m` is the number of links in layer 0. With one in `m`, as in the paper, a search
/// computes as many ranks (given that it begins at many entry points), and the layers above 0 take
/// twice the memory.
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

/// The pseudo-random number that decides the level of a point: the lower the number, the higher the
/// level. It depends on the slot alone, so that another build gives the same graph.
pub(super) fn drawn(slot: u32) -> u64 {
    scramble(u64::from(slot))
}

/// Turns successive numbers into seemingly independent ones (`SplitMix64`).
pub(super) fn scramble(number: u64) -> u64 {
    let bits = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
