//! Any history of inserts, deletes, searches and restarts, against a plain list of points.

use proptest::{prelude::*, sample::Index};
use vectord_engine::Metric;

use crate::{
    engines::Modelled,
    random::Random,
    sets::{self, Rows},
};

/// Without codes and with them.
const DIMENSIONS: [usize; 2] = [4, 32];

#[derive(Clone, Debug)]
enum Step {
    /// Inserts so many points of one kind as a batch.
    Insert(Kind, usize, u64),
    /// Deletes points, each chosen among the points that are left.
    Delete(Vec<Index>),
    /// Deletes a point and inserts its vector again.
    Reinsert(Index),
    /// Searches from a place near points of one kind.
    Search(Metric, Kind, u64, Limit, Breadth),
    Reopen,
}

/// What vectors look like.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Whole numbers: duplicates, ties and zero vectors.
    Grid,
    /// Around a few far places.
    Far,
    /// Of any size that single precision can rank.
    Sizes,
    /// Tiny or huge: single precision cannot rank them.
    F64Only,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Few(usize),
    /// All points but so many.
    Nearly(usize),
    Beyond,
}

#[derive(Clone, Copy, Debug)]
enum Breadth {
    Narrow(usize),
    /// Of all points: the answer is exact.
    All,
}

impl Kind {
    fn rows(self, count: usize, dimension: usize, seed: u64) -> Rows {
        let mut random = Random::new(seed);
        sets::rows(count, |_| match self {
            Kind::Grid => (0..dimension)
                .map(|_| random.below(4) as f64 - 1.0)
                .collect(),
            Kind::Far => {
                let place = random.below(5) as f64 * 1_000.0;
                sets::around(&vec![place; dimension], 1.0, &random.vector(dimension))
            }
            Kind::Sizes => {
                let size = 10.0_f64.powf(12.0 * random.uniform() - 6.0);
                sets::around(&vec![0.0; dimension], size, &random.vector(dimension))
            }
            Kind::F64Only => {
                let size = [1e-30, 1e30][random.below(2)];
                sets::around(&vec![0.0; dimension], size, &random.vector(dimension))
            }
        })
    }
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => Just(Kind::Grid),
        4 => Just(Kind::Far),
        3 => Just(Kind::Sizes),
        1 => Just(Kind::F64Only),
    ]
}

fn searches() -> impl Strategy<Value = Step> {
    let limit = prop_oneof![
        4 => (1_usize..40).prop_map(Limit::Few),
        2 => (0_usize..3).prop_map(Limit::Nearly),
        1 => Just(Limit::Beyond),
    ];
    let breadth = prop_oneof![
        3 => (1_usize..120).prop_map(Breadth::Narrow),
        1 => Just(Breadth::All),
    ];
    let metric = prop::sample::select(Metric::ALL.to_vec());
    (metric, kinds(), any::<u64>(), limit, breadth).prop_map(
        |(metric, kind, seed, limit, breadth)| Step::Search(metric, kind, seed, limit, breadth),
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<Index>;
    let step = prop_oneof![
        3 => (kinds(), 1_usize..60, any::<u64>()).prop_map(|(kind, n, s)| Step::Insert(kind, n, s)),
        // Large enough for graphs to pay.
        1 => (kinds(), any::<u64>()).prop_map(|(kind, seed)| Step::Insert(kind, 1_500, seed)),
        3 => prop::collection::vec(index(), 1..80).prop_map(Step::Delete),
        2 => index().prop_map(Step::Reinsert),
        8 => searches(),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 5..40)
}

fn search(modelled: &Modelled, metric: Metric, query: &[f32], limit: Limit, breadth: Breadth) {
    let points = modelled.points.len();
    let limit = match limit {
        Limit::Few(limit) => limit,
        Limit::Nearly(less) => points.saturating_sub(less).max(1),
        Limit::Beyond => usize::MAX,
    };
    let ef = match breadth {
        Breadth::Narrow(ef) => ef,
        Breadth::All => points.max(1),
    };
    let hits = modelled.search(metric, query, limit, ef);
    if ef.max(limit) >= points {
        assert_eq!(
            hits,
            modelled.truth(metric, query, limit),
            "{metric:?} limit {limit} ef {ef}"
        );
    }
    modelled.check(metric, query, limit, &hits);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_keeps_every_promise_after_any_history(
        dimension in prop::sample::select(DIMENSIONS.to_vec()),
        steps in steps(),
    ) {
        let mut modelled = Modelled::new(dimension);
        for step in steps {
            let points = modelled.points.len();
            match step {
                Step::Insert(kind, count, seed) => modelled.insert(&kind.rows(count, dimension, seed)),
                Step::Delete(indexes) => for index in indexes.iter().take(points) {
                    modelled.delete(index.index(modelled.points.len()));
                },
                Step::Reinsert(index) => if points > 0 {
                    let row = modelled.delete(index.index(points));
                    modelled.insert(&vec![row]);
                },
                Step::Search(metric, kind, seed, limit, breadth) => {
                    let query = &kind.rows(1, dimension, seed)[0];
                    search(&modelled, metric, query, limit, breadth);
                }
                Step::Reopen => modelled.reopen(),
            }
        }
    }
}
