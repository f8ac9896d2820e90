//! What searches with a filter and without found, and what they took.

use vectord_bench::rounds::Samples;

/// What searches found, and what they took in microseconds of processor time.
pub struct Side {
    /// How many results are right.
    pub right: usize,
    /// How many results the answers have to have.
    pub results: usize,
    /// Of an answer from the threads of the engine.
    pub micros: Samples,
    /// Of an answer on the calling thread or, where the engine declines that, of being declined and
    /// of an answer from its threads.
    pub served_micros: Samples,
    /// The share of the answers on the calling thread.
    pub at_once: f64,
}

impl Side {
    pub fn new() -> Self {
        Side {
            right: 0,
            results: 0,
            micros: Samples::new(),
            served_micros: Samples::new(),
            at_once: 0.0,
        }
    }

    pub fn recall(&self) -> f64 {
        self.right as f64 / self.results as f64
    }
}

/// What was measured with a filter and without.
pub struct Outcome {
    pub filtered: Side,
    pub unfiltered: Side,
    /// The time of an unfiltered search over that of a filtered one, both from the threads of the
    /// engine.
    pub speed: Samples,
    /// The same as the service answers.
    pub served_speed: Samples,
}

/// The processor time of a query in seconds.
#[derive(Clone, Copy, Default)]
pub struct Times {
    /// Of the answer from the threads of the engine.
    pub threads: f64,
    /// Of the answer on the calling thread, or of being declined.
    pub at_once: f64,
    pub is_declined: bool,
}

/// The times of a round, with a filter and without.
pub struct Round {
    pub filtered: Vec<Times>,
    pub unfiltered: Vec<Times>,
}

impl Round {
    /// The outcome of `queries` queries, none of which is measured yet.
    pub fn new(queries: usize) -> Self {
        Round {
            filtered: vec![Times::default(); queries],
            unfiltered: vec![Times::default(); queries],
        }
    }
}

impl Outcome {
    pub fn new() -> Self {
        Outcome {
            filtered: Side::new(),
            unfiltered: Side::new(),
            speed: Samples::new(),
            served_speed: Samples::new(),
        }
    }

    /// Adds the times of a round.
    pub fn add(&mut self, round: &Round) {
        let filtered = self.filtered.add(&round.filtered);
        let unfiltered = self.unfiltered.add(&round.unfiltered);
        self.speed.add((unfiltered[0] / filtered[0]) as f32);
        self.served_speed.add((unfiltered[1] / filtered[1]) as f32);
    }
}

impl Side {
    /// Adds the times of a round, and returns the mean ones: from the threads, and as served.
    fn add(&mut self, times: &[Times]) -> [f64; 2] {
        let served = |times: &Times| {
            let declined = if times.is_declined {
                times.threads
            } else {
                0.0
            };
            times.at_once + declined
        };
        let mean =
            |of: &dyn Fn(&Times) -> f64| times.iter().map(of).sum::<f64>() / times.len() as f64;
        let means = [mean(&|times| times.threads), mean(&served)];
        self.micros.add((means[0] * 1e6) as f32);
        self.served_micros.add((means[1] * 1e6) as f32);
        self.at_once = mean(&|times| f64::from(u8::from(!times.is_declined)));
        means
    }
}
