//! A set of real vectors: the points, the queries and the exact answers.

use std::path::{Path, PathBuf};

use vectord_engine::{
    Metric,
    layers::vectors::{measure::Measure, points::Points},
};

use crate::cases::Case;
use vectord_bench::{
    Result,
    npy::Npy,
    recall::{self, K},
    vectors::Vectors,
};

pub struct Set {
    /// The path of its files, up to the `_`.
    stem: PathBuf,
    pub base: Vectors,
    pub queries: Vectors,
    /// Whether `base` is all of the set, to which the answers on file belong.
    pub whole: bool,
}

impl Set {
    /// Reads the set of a case, no more than `points` of its base.
    pub fn read(folder: &Path, case: &Case, points: Option<usize>) -> Result<Self> {
        let stem = folder.join(case.set);
        let base = Vectors::read(&file(&stem, &format!("base.{}", case.values)))?;
        let queries = Vectors::read(&file(&stem, &format!("query.{}", case.values)))?;
        let points = points.unwrap_or(usize::MAX);
        let whole = points >= base.len() as usize;
        Ok(Set {
            stem,
            base: base.first(points).with_codes()?,
            queries,
            whole,
        })
    }

    /// For each query, the greatest rank of a right answer.
    pub fn bounds(&self, metric: Metric, name: &str) -> Result<Vec<f32>> {
        let queries = (0..self.queries.len()).map(|query| self.queries.vector(query));
        let measures = queries.map(|query| Measure::new(metric, query));
        if !self.whole {
            return Ok(measures
                .map(|measure| recall::bound(&self.base, &measure, 0..self.base.len()))
                .collect());
        }
        let rows = last_rows(&file(&self.stem, &format!("gt_{name}")))?;
        Ok(measures
            .zip(rows)
            .map(|(measure, row)| {
                // The answers come from other arithmetic, which may order near ties otherwise.
                let bound = measure.rank(&self.base, row);
                bound + bound.abs() * 1e-6 + f32::EPSILON
            })
            .collect())
    }
}

fn file(stem: &Path, part: &str) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(format!("_{part}.npy"));
    path.into()
}

/// The `K`-th nearest row of the base for each query.
fn last_rows(path: &Path) -> Result<Vec<u32>> {
    let Npy {
        kind,
        columns,
        data,
    } = Npy::read(path)?;
    if kind != "<i4" || columns < K {
        let found = format!("{columns} columns of {kind}");
        return Err(format!("{}: {found}, expected {K} or more of i4", path.display()).into());
    }
    let (rows, _) = data.as_chunks();
    Ok(rows
        .chunks_exact(columns)
        .map(|row| u32::from_le_bytes(row[K - 1]))
        .collect())
}
