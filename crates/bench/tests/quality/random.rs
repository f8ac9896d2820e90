//! Numbers that look random and are the same in every run.

use std::f64::consts::TAU;

/// A generator (`SplitMix64`), begun anew by each set that is made.
pub struct Random(u64);

impl Random {
    /// Another seed gives other numbers.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// From 0 up to, but not, 1.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Normally distributed around 0 with deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    /// A vector of normally distributed values.
    pub fn vector(&mut self, dimension: usize) -> Vec<f64> {
        (0..dimension).map(|_| self.normal()).collect()
    }

    /// A vector of length 1 in any direction.
    pub fn direction(&mut self, dimension: usize) -> Vec<f64> {
        let vector = self.vector(dimension);
        let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector.iter().map(|x| x / norm).collect()
    }
}
