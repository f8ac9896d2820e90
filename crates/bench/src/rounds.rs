//! What several rounds measured.

use crate::report::Cell;

/// The figures of some rounds.
pub struct Samples(Vec<f32>);

impl Samples {
    pub const fn new() -> Self {
        Samples(Vec::new())
    }

    pub fn add(&mut self, sample: f32) {
        self.0.push(sample);
        self.0.sort_unstable_by(f32::total_cmp);
    }

    pub fn median(&self) -> f32 {
        self.0[self.0.len() / 2]
    }

    /// The median, with the least and the most.
    pub fn cell(&self, digits: usize) -> Cell {
        let (least, most) = (self.0[0], self.0[self.0.len() - 1]);
        Cell::Spread([self.median(), least, most].map(f64::from), digits)
    }
}
