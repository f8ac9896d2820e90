//! The recall benchmark: builds graphs over real sets, searches them and compares recall and effort
//! with targets. Exits with 1 when a target is missed. With `--reference`, `hnsw_rs` does the same
//! beside each graph, with equal parameters.
//!
//! `cargo run --release -p vectord-bench --bin recall -- [FOLDER] [--set NAME] [--points N]
//! [--reference]`, with `VECTORD_DATA` as the folder if none is named. The folder holds, as `.npy`
//! files, `<set>_base`, `<set>_query` (`u8` or `f16`) and `<set>_gt_<metric>` (`i32`: the exact
//! nearest rows of the base for each query, closest first).

mod cases;
mod contest;
mod options;
mod sets;
mod table;

use std::{env, process::ExitCode};

use cases::{CASES, Case, Target};
use contest::{Fill, Outcome, Search};
use options::Options;
use sets::Set;
use vectord_bench::{Result, fill::fill, recall::K, reference::Reference};
use vectord_engine::{
    Metric, Params,
    layers::{
        hnsw::{Graph, Scratch},
        vectors::measure::Measure,
    },
};

const BUILD_THREADS: u32 = 2;

fn main() -> ExitCode {
    match Options::parse(env::args_os().skip(1)).and_then(|options| run(&options)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            eprintln!("{missed} targets missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the cases asked for and returns how many targets were missed.
fn run(options: &Options) -> Result<usize> {
    table::heading();
    let mut missed = 0;
    for case in &CASES {
        if options.set.as_deref().is_none_or(|name| name == case.set) {
            let set = Set::read(&options.folder, case, options.points)?;
            missed += measure(case, &set, options.reference)?;
        }
    }
    if !options.reference {
        println!("--reference measures hnsw_rs beside these and takes several times longer");
    }
    Ok(missed)
}

/// Builds the graph of a case, and that of the reference if it is wanted, and searches them. Returns
/// how many targets the engine's graph missed.
fn measure(case: &Case, set: &Set, with_reference: bool) -> Result<usize> {
    let (base, metric) = (&set.base, case.metric);
    let params = Params::default();
    let graph = Graph::new(metric, params);
    let reference = with_reference.then(|| Reference::new(metric, params, base));
    let mut builds: Vec<Fill> = vec![Box::new(|slots| {
        Ok(fill(&graph, base, slots, BUILD_THREADS)?)
    })];
    if let Some(reference) = &reference {
        builds.push(Box::new(|slots| Ok(reference.fill(slots, BUILD_THREADS)?)));
    }
    let seconds = contest::build(base.len(), &builds)?;

    let mut missed = 0;
    let bounds = set.bounds(metric, case.answers)?;
    for target in case.targets {
        let mut searches = vec![search_graph(&graph, set, metric, target.ef)];
        if let Some(reference) = &reference {
            searches.push(Box::new(|query| Ok(reference.search(query, target.ef, K))));
        }
        let outcomes = contest::search(set, metric, &bounds, &mut searches)?;
        let hit = meets(target, set, &outcomes[0]);
        missed += usize::from(!hit);
        let row = table::Row {
            set: case.set,
            metric,
            points: base.len(),
            ef: target.ef,
        };
        row.engine(seconds[0], &outcomes[0], hit);
        if let [ours, theirs] = &outcomes[..] {
            row.reference(seconds[1], theirs);
            table::ratio(seconds[0] / seconds[1], ours, theirs);
        }
    }
    Ok(missed)
}

fn search_graph<'a>(graph: &'a Graph, set: &'a Set, metric: Metric, ef: usize) -> Search<'a> {
    let mut scratch = Scratch::new();
    Box::new(move |query| {
        let measure = Measure::new(metric, query);
        let ranks = graph.search(&set.base, &measure, ef, K, |_| true, &mut scratch)?;
        let nearest = scratch.results().iter();
        Ok((nearest.map(|neighbor| neighbor.slot).collect(), ranks))
    })
}

/// Effort grows far slower than the set, so the share of points that are ranked says nothing for a
/// part of a set.
fn meets(target: Target, set: &Set, outcome: &Outcome) -> bool {
    let share = outcome.ranks / f64::from(set.base.len());
    outcome.recall >= target.least_recall && (share < target.most_ranks || !set.whole)
}
