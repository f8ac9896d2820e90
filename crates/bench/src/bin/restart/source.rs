//! Where points and queries come from.

use std::path::Path;

use vectord_bench::{Result, npy::Npy, synthetic::Family};

pub struct Source {
    pub dimension: usize,
    pub name: String,
    vectors: Vectors,
}

enum Vectors {
    Synthetic(Family),
    Files { base: Npy, queries: Npy },
}

impl Source {
    pub fn synthetic(dimension: usize) -> Self {
        Source {
            dimension,
            name: "synthetic".into(),
            vectors: Vectors::Synthetic(Family::new(dimension)),
        }
    }

    pub fn of_files(base: &Path, queries: &Path) -> Result<Self> {
        let name = base.file_name().unwrap_or_default().display().to_string();
        let (base, queries) = (Npy::read(base)?, Npy::read(queries)?);
        Ok(Source {
            dimension: base.columns,
            name,
            vectors: Vectors::Files { base, queries },
        })
    }

    /// Points one after the other, from `first` on.
    pub fn points(&self, first: usize, count: usize) -> Result<Vec<f32>> {
        match &self.vectors {
            Vectors::Synthetic(family) => Ok(family.points(first as u64, count)),
            Vectors::Files { base, .. } => base.rows(first..first + count),
        }
    }

    pub fn queries(&self, count: usize) -> Result<Vec<f32>> {
        match &self.vectors {
            Vectors::Synthetic(family) => Ok(family.queries(count)),
            Vectors::Files { queries, .. } => queries.rows(0..count),
        }
    }
}
