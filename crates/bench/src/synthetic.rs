//! Any number of vectors from one distribution: a larger set is a larger sample of the same, so
//! that sizes can be compared.
//!
//! A vector is a point of a space of few dimensions, mapped into more dimensions by a fixed linear
//! map. In the small space a point is a random centre plus normal noise. The vectors therefore have
//! the intrinsic dimension [`INTRINSIC`], whatever their stored dimension is.

use std::f64::consts::TAU;

/// The dimension of the space that the vectors come from; estimates for real sets of descriptors
/// and embeddings are of this order.
pub const INTRINSIC: usize = 16;

/// Centres that the points lie around.
pub const CLUSTERS: usize = 256;

/// The standard deviation of points around their centre, where that of centres is 1: clusters
/// overlap.
const SPREAD: f64 = 1.0;

/// Each vector has a number, its seed; those of queries begin here.
const QUERIES: u64 = 1 << 40;

/// The distribution.
pub struct Family {
    dimension: usize,
    centres: Vec<[f64; INTRINSIC]>,
    map: Vec<[f64; INTRINSIC]>,
}

impl Family {
    /// Vectors of this dimension.
    pub fn new(dimension: usize) -> Self {
        let mut normal = normal_numbers(0);
        let mut place = || std::array::from_fn(|_| normal());
        Family {
            dimension,
            centres: (0..CLUSTERS).map(|_| place()).collect(),
            map: (0..dimension).map(|_| place()).collect(),
        }
    }

    /// Points one after the other, from `first` on.
    pub fn points(&self, first: u64, count: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(count * self.dimension);
        for number in first..first + count as u64 {
            values.extend(self.vector(number));
        }
        values
    }

    /// Queries from the same distribution, none of them a point.
    pub fn queries(&self, count: usize) -> Vec<f32> {
        self.points(QUERIES, count)
    }

    fn vector(&self, number: u64) -> impl Iterator<Item = f32> {
        let centre = &self.centres[(mix(number) % CLUSTERS as u64) as usize];
        let mut normal = normal_numbers(number + 1);
        let place: [f64; INTRINSIC] = std::array::from_fn(|at| centre[at] + SPREAD * normal());
        self.map.iter().map(move |row| {
            let value: f64 = row.iter().zip(&place).map(|(a, b)| a * b).sum();
            value as f32
        })
    }
}

/// Numbers of a standard normal distribution, the same for the same seed, by Box and Muller, 1958.
fn normal_numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = mix(seed);
    let mut uniform = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // Above 0, which has no logarithm.
        ((mix(state) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    };
    move || (-2.0 * uniform().ln()).sqrt() * (TAU * uniform()).cos()
}

/// `SplitMix64` after Steele, Lea and Flood, 2014: neighbouring numbers become unlike ones.
pub fn mix(number: u64) -> u64 {
    let mut mixed = number;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
