//! What is known of a [coarse code](crate::vectors::coarse) besides its values.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the instruction set"
)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is known of a coarse code besides its values: four numbers in 64 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outline(pub u64);

impl Outline {
    /// The bits of the mean and of the spread: the sign, the exponent and 11 bits of the fraction.
    const LONG: u32 = 20;
    /// The bits of the step.
    const SHORT: u32 = 16;
    /// The shortfall is stored in units of its greatest value divided by this, from the least on.
    const SHORTFALLS: f64 = 255.0;
    const LEAST_SHORTFALL: f64 = -1.0 / 64.0;
    const SHORTFALL_RANGE: f64 = 0.5;

    /// The outline of the upper half of a code with these `scale`, `spread` (`|w|²`) and `mean`.
    /// `squares` is `Σ (h - h̄)²`, `products` is `Σ (h - h̄) value`.
    #[allow(
        clippy::cast_sign_loss,
        reason = "a shortfall below the least becomes 0"
    )]
    pub fn new(scale: f64, spread: f64, mean: f64, squares: f64, products: f64) -> Self {
        let step = if squares > 0.0 {
            scale * products / squares
        } else {
            0.0
        };
        let step = bits(step, Self::SHORT);
        let decoded = f64::from(number(step, Self::SHORT));
        // 1 - w · ŵ / |w|², of the step as it is stored.
        let shortfall = if spread > 0.0 {
            1.0 - decoded * scale * products / spread
        } else {
            0.0
        };
        let shortfall = (shortfall - Self::LEAST_SHORTFALL) / Self::SHORTFALL_RANGE;
        // The cast stays within 0 to 255, and makes NaN 0.
        let shortfall = (shortfall * Self::SHORTFALLS).round() as u8;
        Outline(
            bits(mean, Self::LONG) << 44
                | bits(spread, Self::LONG) << 24
                | step << 8
                | u64::from(shortfall),
        )
    }

    /// The outline behind the upper half of a code.
    #[inline(always)]
    pub fn behind(half: &[AtomicU64]) -> Self {
        Outline(half[half.len() - 1].load(Relaxed))
    }

    pub fn store(self, word: &AtomicU64) {
        word.store(self.0, Relaxed);
    }

    /// The upper half of the word, and the lower one.
    #[inline(always)]
    pub fn halves(self) -> [u32; 2] {
        [(self.0 >> 32) as u32, self.0 as u32]
    }

    #[inline(always)]
    pub fn parts(self) -> Parts {
        Parts::of(self.halves())
    }
}

/// What an [`Outline`] says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    pub mean: f32,
    /// `|w|²`.
    pub spread: f32,
    pub step: f32,
    /// `1 - w · ŵ / |w|²`.
    pub shortfall: f32,
}

impl Parts {
    /// What the outline with these [halves](Outline::halves) says.
    #[inline(always)]
    pub fn of([upper, lower]: [u32; 2]) -> Self {
        const UNIT: f32 = (Outline::SHORTFALL_RANGE / Outline::SHORTFALLS) as f32;
        Parts {
            mean: f32::from_bits(upper & 0xFFFF_F000),
            spread: f32::from_bits((upper << 20 | lower >> 12) & 0xFFFF_F000),
            step: f32::from_bits(lower << 8 & 0xFFFF_0000),
            shortfall: (lower & 0xFF).cast_signed() as f32 * UNIT + Outline::LEAST_SHORTFALL as f32,
        }
    }

    #[inline(always)]
    pub fn inverse_norm(self) -> f32 {
        inverse_norm(self.spread, self.mean)
    }
}

/// `1 / |v|` of a vector with this spread (`|w|²`) and mean times `√n`. It is finite for a zero vector
/// too, whose inner products are all 0.
#[inline(always)]
pub(super) fn inverse_norm(spread: f32, mean: f32) -> f32 {
    let square = spread + mean * mean;
    1.0 / square.max(f32::MIN_POSITIVE).sqrt()
}

/// The upper `count` bits of a number in single precision, rounded.
fn bits(number: f64, count: u32) -> u64 {
    let cut = u32::BITS - count;
    let bits = (number as f32).to_bits();
    u64::from(bits.saturating_add(1 << (cut - 1)) >> cut)
}

/// The number with these upper bits.
fn number(bits: u64, count: u32) -> f32 {
    f32::from_bits((bits as u32) << (u32::BITS - count))
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the numbers have few bits")]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_outline_are_told_apart() {
        let outline = Outline::new(0.5, 1000.0, -3.0, 80.0, 1300.0);
        assert_eq!(outline.parts().mean, -3.0);
        assert_eq!(outline.parts().spread, 1000.0);
        assert_eq!(outline.parts().step, 8.125);
        let shortfall = 1.0 - 8.125 * 0.5 * 1300.0 / 1000.0;
        assert!(shortfall < -4.0, "it is out of range");
        assert_eq!(outline.parts().shortfall, -1.0 / 64.0);
        let outline = Outline::new(0.5, 6000.0, 2.0, 80.0, 1300.0);
        let shortfall = 1.0 - 8.125 * 0.5 * 1300.0 / f64::from(outline.parts().spread);
        assert!((f64::from(outline.parts().shortfall) - shortfall).abs() < 0.002);
    }
}
