//! How far a rank by code may be off.

/// The number of standard deviations that the error of a rank by code hardly ever exceeds.
const DEVIATIONS: f32 = 3.0;

/// Bounds the errors of ranks by code, of squared distances or of half of them. Quantization moves
/// each value by up to half a step, every amount as likely as another. From this follow the mean of
/// the error and its variance, which grows with the distance.
#[derive(Clone, Copy, Debug)]
pub struct Margin {
    /// The mean of the error.
    mean: f32,
    /// The variance of the error of one value.
    variance: f32,
}

impl Margin {
    /// That of ranks by vector, which are not off.
    pub const NONE: Margin = Margin {
        mean: 0.0,
        variance: 0.0,
    };

    /// The margin if each value is rounded once for each of these `steps`, its width. The errors of
    /// `values` values add to the mean.
    pub(crate) fn of_steps(steps: &[f32], values: usize) -> Self {
        let variance = steps.iter().map(|step| step * step / 12.0).sum();
        Margin {
            mean: values as f32 * variance,
            variance,
        }
    }

    /// The error that a rank by code hardly ever exceeds, for a point whose rank by vector is `rank`.
    /// It is finite and at least 0.
    #[inline]
    #[must_use]
    pub fn at(self, rank: f32) -> f32 {
        let deviation = 2.0 * (rank.clamp(0.0, f32::MAX) * self.variance).sqrt();
        (self.mean + DEVIATIONS * deviation).clamp(0.0, f32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_grows_with_the_root_of_the_rank_and_is_finite_for_any() {
        let margin = Margin::of_steps(&[3.0, 3.0], 2);
        let at = |rank| margin.at(rank);
        let near = |found: f32, expected: f32| assert!((found - expected).abs() < 1e-4, "{found}");
        near(at(0.0), 3.0);
        near(at(-1.0), 3.0);
        near((at(400.0) - 3.0) / (at(100.0) - 3.0), 2.0);
        assert!(at(f32::INFINITY).is_finite());
        near(Margin::NONE.at(f32::INFINITY), 0.0);
    }
}
