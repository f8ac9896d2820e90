//! What the right answers are, by ranking everything in double precision.

use vectord_engine::{Metric, layers::vectors::kernels};

/// The indexes of the `limit` nearest rows to a query, closest first, ties by index.
pub fn nearest<'r>(
    metric: Metric,
    query: &[f32],
    rows: impl IntoIterator<Item = &'r Vec<f32>>,
    limit: usize,
) -> Vec<(f64, usize)> {
    let mut ranked: Vec<(f64, usize)> = rows
        .into_iter()
        .enumerate()
        .map(|(index, row)| (kernels::distance(metric, query, row), index))
        .collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ranked.truncate(limit);
    ranked
}
