//! Vectors that are hard to index, each kind for a reason of its own.

use crate::random::Random;

/// Vectors, one after another.
pub type Rows = Vec<Vec<f32>>;

/// Points, and queries from the same source.
pub struct Set {
    pub base: Rows,
    pub queries: Rows,
}

impl Set {
    /// Splits off as many queries from all over the rows.
    pub fn split(rows: Rows, queries: usize) -> Self {
        let step = rows.len() / queries;
        let (mut base, mut asked) = (Rows::new(), Rows::new());
        for (index, row) in rows.into_iter().enumerate() {
            if index % step == step / 2 && asked.len() < queries {
                asked.push(row);
            } else {
                base.push(row);
            }
        }
        Set {
            base,
            queries: asked,
        }
    }
}

/// As many rows, each made by `row` from its number.
pub fn rows(count: usize, mut row: impl FnMut(usize) -> Vec<f64>) -> Rows {
    (0..count)
        .map(|index| row(index).into_iter().map(|x| x as f32).collect())
        .collect()
}

/// `centre + scale * vector`.
pub fn around(centre: &[f64], scale: f64, vector: &[f64]) -> Vec<f64> {
    centre
        .iter()
        .zip(vector)
        .map(|(c, x)| c + scale * x)
        .collect()
}

/// Points around centres, in turn.
pub fn clusters(count: usize, dimension: usize, centres: usize, spread: f64) -> Rows {
    let mut random = Random::new(1);
    let centres: Vec<_> = (0..centres).map(|_| random.vector(dimension)).collect();
    rows(count, |index| {
        around(
            &centres[index % centres.len()],
            spread,
            &random.vector(dimension),
        )
    })
}

/// Directions of every kind, and norms of which the logarithm is normally distributed: many
/// vectors are short, and so near to all the others; few are long, and far from everything.
pub fn lognormal(count: usize, dimension: usize, sigma: f64) -> Rows {
    let mut random = Random::new(2);
    rows(count, |_| {
        let norm = (sigma * random.normal()).exp();
        around(&vec![0.0; dimension], norm, &random.direction(dimension))
    })
}

/// The same around a few directions, as trained embeddings have them.
pub fn lognormal_clusters(count: usize, dimension: usize, sigma: f64) -> Rows {
    let mut random = Random::new(3);
    let centres: Vec<_> = (0..100).map(|_| random.direction(dimension)).collect();
    rows(count, |index| {
        let norm = (sigma * random.normal()).exp();
        let towards = around(&centres[index % 100], 0.5, &random.direction(dimension));
        around(&vec![0.0; dimension], norm, &towards)
    })
}

/// Batch after batch lies elsewhere and is spread more: by a factor of a million from the first
/// to the last.
pub fn drifting(count: usize, dimension: usize, batches: usize) -> Rows {
    let mut random = Random::new(4);
    let mut rows = Rows::new();
    for batch in 0..batches {
        let scale = 10.0_f64.powf(6.0 * batch as f64 / (batches - 1) as f64 - 3.0);
        let mean: Vec<f64> = random
            .vector(dimension)
            .iter()
            .map(|x| 3.0 * scale * x)
            .collect();
        rows.extend(self::rows(count / batches, |_| {
            around(&mean, scale, &random.vector(dimension))
        }));
    }
    rows
}

/// One coordinate is thousands of times larger than the others, and the same to within their
/// size.
pub fn one_large_coordinate(count: usize, dimension: usize) -> Rows {
    let mut random = Random::new(5);
    rows(count, |_| {
        let mut row = random.vector(dimension);
        row[dimension / 2] += 5_000.0;
        row
    })
}

/// Among ordinary points, one in a hundred is ten thousand times as long.
pub fn few_outliers(count: usize, dimension: usize) -> Rows {
    let mut random = Random::new(6);
    rows(count, |index| {
        let scale = if index % 100 == 37 { 1e4 } else { 1.0 };
        around(&vec![0.0; dimension], scale, &random.vector(dimension))
    })
}

/// Small differences behind a great offset that all values have in common.
pub fn common_offset(count: usize, dimension: usize) -> Rows {
    let mut random = Random::new(7);
    rows(count, |_| {
        around(&vec![10_000.0; dimension], 1.0, &random.vector(dimension))
    })
}

/// Small differences behind a pattern of this size that all vectors have in common.
pub fn common_pattern(count: usize, dimension: usize, size: f64) -> Rows {
    let mut random = Random::new(9);
    let pattern = around(&vec![0.0; dimension], size, &random.vector(dimension));
    rows(count, |_| around(&pattern, 1.0, &random.vector(dimension)))
}

/// A few points far apart, each surrounded by thousands at a tiny distance.
pub fn far_clusters(count: usize, dimension: usize, centres: usize) -> Rows {
    let mut random = Random::new(8);
    let centres: Vec<_> = (0..centres).map(|_| random.vector(dimension)).collect();
    rows(count, |index| {
        let centre = &centres[index % centres.len()];
        let far: Vec<f64> = centre.iter().map(|x| 1_000.0 * x).collect();
        around(&far, 1.0, &random.vector(dimension))
    })
}
