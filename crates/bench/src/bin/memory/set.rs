//! The size of a set of points.

use std::fmt;

use vectord_bench::Result;

/// The number of points and their dimension.
#[derive(Clone, Copy)]
pub struct Set {
    pub points: usize,
    pub dimension: usize,
}

impl fmt::Display for Set {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}x{}", self.points, self.dimension)
    }
}

impl Set {
    pub fn parse(text: &str) -> Result<Self> {
        let numbers = text.split_once('x');
        let parsed = numbers.and_then(|(points, dimension)| {
            Some(Set {
                points: points.parse().ok()?,
                dimension: dimension.parse().ok()?,
            })
        });
        parsed
            .filter(|set| set.points > 0 && set.dimension > 0)
            .ok_or_else(|| format!("--set {text}: expected POINTSxDIMENSION as 100000x128").into())
    }
}
