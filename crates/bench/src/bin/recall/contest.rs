//! Measuring indexes side by side. They take turns: a busy machine slows all of them alike.

use std::{ops::Range, time::Instant};

use vectord_engine::{
    Metric,
    layers::vectors::{measure::Measure, points::Points},
};

use crate::sets::Set;
use vectord_bench::{
    Result,
    recall::{self, K},
};

/// How many pieces a build is cut into, between which the indexes take turns.
const BUILD_TURNS: u32 = 16;

/// How often all queries are searched for; the round of median time counts.
const SEARCH_ROUNDS: usize = 3;

/// Inserts the points in some slots.
pub type Fill<'a> = Box<dyn Fn(Range<u32>) -> Result<()> + 'a>;

/// Finds the nearest slots of a query, and counts the distances that it computes.
pub type Search<'a> = Box<dyn FnMut(&[f32]) -> Result<(Vec<u32>, u64)> + 'a>;

/// The cost and the recall of an average query.
pub struct Outcome {
    pub recall: f64,
    pub ranks: f64,
    pub micros: f64,
}

/// Inserts slots 0 to `points` into every index and returns the seconds that each took.
pub fn build(points: u32, indexes: &[Fill]) -> Result<Vec<f64>> {
    let mut seconds = vec![0.0; indexes.len()];
    let piece = points.div_ceil(BUILD_TURNS);
    for start in (0..points).step_by(piece as usize) {
        for (fill, seconds) in indexes.iter().zip(&mut seconds) {
            let now = Instant::now();
            fill(start..points.min(start + piece))?;
            *seconds += now.elapsed().as_secs_f64();
        }
    }
    Ok(seconds)
}

/// Searches every index for every query, one thread at a time.
pub fn search(
    set: &Set,
    metric: Metric,
    bounds: &[f32],
    indexes: &mut [Search],
) -> Result<Vec<Outcome>> {
    let mut rounds: Vec<Vec<Outcome>> = indexes.iter().map(|_| Vec::new()).collect();
    for _ in 0..SEARCH_ROUNDS {
        for (search, rounds) in indexes.iter_mut().zip(&mut rounds) {
            rounds.push(round(set, metric, bounds, search)?);
        }
    }
    Ok(rounds.into_iter().map(median).collect())
}

fn round(set: &Set, metric: Metric, bounds: &[f32], search: &mut Search) -> Result<Outcome> {
    let (mut hits, mut ranks, mut seconds) = (0, 0, 0.0);
    for (query, &bound) in (0..set.queries.len()).zip(bounds) {
        let query = set.queries.vector(query);
        let now = Instant::now();
        let (slots, evaluations) = search(query)?;
        seconds += now.elapsed().as_secs_f64();
        ranks += evaluations;
        hits += recall::hits(&set.base, &Measure::new(metric, query), bound, &slots);
    }
    let queries = f64::from(set.queries.len());
    Ok(Outcome {
        recall: hits as f64 / (queries * K as f64),
        ranks: ranks as f64 / queries,
        micros: seconds * 1e6 / queries,
    })
}

fn median(mut rounds: Vec<Outcome>) -> Outcome {
    rounds.sort_by(|a, b| a.micros.total_cmp(&b.micros));
    rounds.swap_remove(SEARCH_ROUNDS / 2)
}
