//! Recall and time of filtered searches beside unfiltered ones, through the public interface of the
//! engine: `filters [FOLDER] [flags]`; `--help` lists the flags.
//!
//! Filters differ in the share of the points that match, and in where the matching points lie: at
//! random, near the query, far from it, or in every second cluster. Exits with 1 if an answer has
//! another number of points than it should, or a point that does not match.

mod attributes;
mod changing;
mod faults;
mod kind;
mod measure;
mod options;
mod outcome;
mod rule;
mod set;
mod table;
mod truth;
mod workload;

use std::{env, process::ExitCode};

use attributes::Attributes;
use faults::Faults;
use measure::Measurement;
use options::{Options, USAGE};
use set::Set;
use vectord_bench::{
    Result,
    collection::Collection,
    report::{Bound, Cell, Report, Row, Table, Verdict},
};

/// How much less the recall of a filtered search may be.
const MOST_LOST: f64 = 0.01;

fn main() -> ExitCode {
    if env::args_os().any(|argument| argument == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match Options::parse(env::args_os().skip(1)).and_then(|options| run(&options)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<ExitCode> {
    let (mut rows, mut verdicts) = (Rows::default(), Vec::new());
    for &name in &options.sets {
        let mut faults = Faults::default();
        let lost = measure(name, options, &mut faults, &mut rows)?;
        verdicts.extend(faults.verdicts(name));
        verdicts.push(Verdict {
            what: format!("{name}: the most recall that a filter costs at the same breadth"),
            found: Cell::Number(lost, 4),
            bound: Bound::AtMost(MOST_LOST),
        });
    }
    for verdict in &verdicts {
        verdict.print();
    }
    let table = |title: &str, rows| Table {
        title: title.into(),
        rows,
    };
    let mut tables = vec![table(
        "Filtered searches beside unfiltered ones",
        rows.at_rest,
    )];
    if options.changing {
        tables.push(table(
            "Filtered searches while points change",
            rows.changing,
        ));
    }
    let report = Report {
        settings: options.settings(),
        tables,
        verdicts,
        decides: true,
    };
    Ok(report.end(options.json.as_deref())?)
}

/// The rows of both tables.
#[derive(Default)]
struct Rows {
    at_rest: Vec<Row>,
    changing: Vec<Row>,
}

/// Measures one set. Returns the most recall that filtered searches lacked, at rest or while points
/// changed, of the recall of unfiltered ones at rest.
fn measure(
    name: &'static str,
    options: &Options,
    faults: &mut Faults,
    rows: &mut Rows,
) -> Result<f64> {
    let set = Set::read(&options.folder, name, options.points, options.queries)?;
    println!("{name}: {} points, {:?}", set.base.len(), set.metric);
    let attributes = Attributes::new(&set);
    let (workloads, all) = workload::all(&set, &attributes, &options.kinds, &options.shares)?;
    let collection = Collection::load(set.metric, &set.base, |row| attributes.metadata(row, 0))?;

    let mut measurement = Measurement::new(&collection, &set, &attributes, &all, faults);
    let (mut recalls, mut lost) = (Vec::new(), f64::MIN);
    let mut is_first = true;
    for workload in &workloads {
        measurement.prepare(workload)?;
        for &ef in &options.efs {
            let outcome = measurement.at_rest(workload, ef, options.rounds)?;
            let row = table::at_rest(&set, workload, ef, &outcome);
            table::print(&row, is_first);
            is_first = false;
            rows.at_rest.push(row);
            let (filtered, unfiltered) = (outcome.filtered.recall(), outcome.unfiltered.recall());
            lost = lost.max(unfiltered - filtered);
            recalls.push((filtered, unfiltered));
        }
    }
    if options.changing {
        let (recalls_changing, written) = changing::during(&collection, &set, &attributes, || {
            let mut recalls = Vec::new();
            for workload in &workloads {
                for &ef in &options.efs {
                    recalls.push(measurement.recall(workload, ef, options.rounds)?);
                }
            }
            Ok(recalls)
        })?;
        println!("{name}: {written} points written meanwhile");
        let cases = workloads
            .iter()
            .flat_map(|workload| options.efs.iter().map(move |&ef| (workload, ef)));
        let pairs = recalls.into_iter().zip(recalls_changing);
        for (at, ((workload, ef), ((at_rest, unfiltered), changing))) in
            cases.zip(pairs).enumerate()
        {
            lost = lost.max(unfiltered - changing);
            let row = table::changing(&set, workload, ef, (at_rest, changing));
            table::print(&row, at == 0);
            rows.changing.push(row);
        }
    }
    collection.close()?;
    Ok(lost)
}
