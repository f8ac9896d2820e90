//! Vectors in memory, a slot for each.

use std::path::Path;

use vectord_engine::layers::vectors::{kernels, points::Points, quantize::Codes};

use super::{Result, npy::Npy};

pub struct Vectors {
    dimension: usize,
    values: Vec<f32>,
    inverse_norms: Vec<f32>,
    codes: Option<Codes>,
}

impl Vectors {
    pub fn new(dimension: usize, values: Vec<f32>) -> Self {
        let inverse_norms = values
            .chunks_exact(dimension)
            .map(kernels::inverse_norm)
            .collect();
        Vectors {
            dimension,
            values,
            inverse_norms,
            codes: None,
        }
    }

    /// The same with codes, by which graphs then walk, where the service would use codes.
    pub fn with_codes(mut self) -> Result<Self> {
        if !Codes::pay(self.dimension) {
            return Ok(self);
        }
        let codes = Codes::new(self.dimension);
        for slot in 0..self.len() {
            codes.store(slot, self.vector(slot))?;
        }
        self.codes = Some(codes);
        Ok(self)
    }

    /// The rows of an array file.
    pub fn read(path: &Path) -> Result<Self> {
        let array = Npy::read(path)?;
        let values = array
            .floats()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Vectors::new(array.columns, values))
    }

    /// The first `count` of them.
    pub fn first(mut self, count: usize) -> Self {
        self.values.truncate(count.saturating_mul(self.dimension));
        self.inverse_norms.truncate(count);
        self
    }

    pub fn len(&self) -> u32 {
        self.inverse_norms.len() as u32
    }
}

impl Points for Vectors {
    fn vector(&self, slot: u32) -> &[f32] {
        let start = slot as usize * self.dimension;
        &self.values[start..start + self.dimension]
    }

    fn inverse_norm(&self, slot: u32) -> f32 {
        self.inverse_norms[slot as usize]
    }

    fn codes(&self) -> Option<&Codes> {
        self.codes.as_ref()
    }

    fn prefetch(&self, slot: u32) {
        kernels::prefetch(self.vector(slot));
    }
}
