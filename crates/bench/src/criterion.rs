//! Whether evaluations grow like the logarithm of the number of points.
//!
//! Two tests, since each alone is easily passed. First, the sizes must lie near a straight line
//! over log N. A power of N bends away from such a line, but N^0.25 by at most 4 % over a
//! twentyfold N. Second, the power of N that fits best must be low. For a power law this is its
//! exponent at any sizes; for a logarithm it falls as the sizes grow, and is low at these. A power
//! law that is as slow as a logarithm at these sizes passes.

/// How far a size may be from the line, as part of its evaluations.
pub const MOST_OFF: f64 = 0.1;

/// The greatest power of N that passes: well below the fourth root, which must fail.
pub const MOST_POWER: f64 = 0.22;

/// Any three sizes lie near some line, so that more are needed.
const LEAST_SIZES: usize = 4;

/// The fit for the sizes of a set.
pub struct Growth {
    /// Evaluations for each doubling of the points.
    pub slope: f64,
    /// The line's value at one point; a large set says nothing of it.
    pub start: f64,
    /// The farthest that a size is from the line, as part of its evaluations.
    pub off: f64,
    /// The power of N that fits best.
    pub power: f64,
    /// The farthest that a size is from that power law.
    pub off_power: f64,
}

/// Fits the evaluations of searches over numbers of points, if there are enough.
pub fn growth(sizes: &[(f64, f64)]) -> Option<Growth> {
    if sizes.len() < LEAST_SIZES {
        return None;
    }
    let (slope, start) = line(sizes.iter().map(|(points, cost)| (points.log2(), *cost)));
    let (power, factor) = line(sizes.iter().map(|(points, cost)| (points.ln(), cost.ln())));
    let farthest = |law: &dyn Fn(f64) -> f64| {
        let off = |&(points, cost): &(f64, f64)| (law(points) - cost).abs() / cost;
        sizes.iter().map(off).fold(0.0, f64::max)
    };
    Some(Growth {
        slope,
        start,
        off: farthest(&|points| start + slope * points.log2()),
        power,
        off_power: farthest(&|points| (factor + power * points.ln()).exp()),
    })
}

/// Slope and intercept of the least-squares line.
fn line(at: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let count = at.clone().count() as f64;
    let middle_x = at.clone().map(|(x, _)| x).sum::<f64>() / count;
    let middle_y = at.clone().map(|(_, y)| y).sum::<f64>() / count;
    let products: f64 = at
        .clone()
        .map(|(x, y)| (x - middle_x) * (y - middle_y))
        .sum();
    let squares: f64 = at.map(|(x, _)| (x - middle_x).powi(2)).sum();
    let slope = products / squares;
    (slope, middle_y - slope * middle_x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of points. Some sets only reach the first four.
    const LONG: [f64; 5] = [1e4, 3e4, 1e5, 2e5, 1e6];

    /// Sizes whose evaluations follow a law.
    fn sizes(points: &[f64], law: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        points.iter().map(|&points| (points, law(points))).collect()
    }

    fn is_met(sizes: &[(f64, f64)]) -> bool {
        let growth = growth(sizes).expect("there are enough sizes");
        growth.off <= MOST_OFF && growth.power <= MOST_POWER
    }

    #[test]
    fn what_was_measured_passes() {
        for costs in [
            &[431.0, 531.0, 644.0, 726.0, 957.0][..],
            &[355.0, 459.0, 589.0, 664.0],
        ] {
            let sizes: Vec<_> = LONG.into_iter().zip(costs.iter().copied()).collect();
            assert!(is_met(&sizes), "{costs:?}");
        }
    }

    #[test]
    fn a_logarithm_lies_on_the_line() {
        for points in [&LONG[..], &LONG[..4]] {
            let sizes = sizes(points, |points| 50.0 * points.log2());
            assert!(growth(&sizes).expect("there are enough sizes").off < 1e-9);
            assert!(is_met(&sizes));
        }
    }

    #[test]
    fn a_power_law_fails_however_far_the_sizes_reach() {
        for points in [&LONG[..], &LONG[..4]] {
            for power in [0.25, 0.3, 0.5, 1.0] {
                let sizes = sizes(points, |points| 40.0 * points.powf(power));
                let found = growth(&sizes).expect("there are enough sizes").power;
                assert!((found - power).abs() < 1e-9, "{found}, not {power}");
                assert!(!is_met(&sizes), "N to the power of {power}");
            }
        }
    }

    #[test]
    fn one_size_off_the_line_fails() {
        let mut sizes = sizes(&LONG, |points| 50.0 * points.log2());
        sizes[2].1 *= 1.2;
        assert!(!is_met(&sizes));
    }

    #[test]
    fn too_few_sizes_say_nothing() {
        assert!(growth(&[(1e4, 355.0), (3e4, 459.0), (1e5, 589.0)]).is_none());
    }
}
