//! Recall and time of filtered searches beside unfiltered ones, through the public interface of the
//! engine: `filters [FOLDER] [flags]`; `--help` lists the flags.
//!
//! Filters differ in the share of the points that match, and in where the matching points lie: at
//! random, near the query, or far from it. Exits with 1 if an answer has another number of points
//! than it should, or a point that does not match.

mod attributes;
mod changing;
mod collection;
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
use collection::Collection;
use faults::Faults;
use measure::Measurement;
use options::{Options, USAGE};
use set::Set;
use vectord_bench::{
    Result,
    report::{Report, Row, Table},
};

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
        measure(name, options, &mut faults, &mut rows)?;
        verdicts.extend(faults.verdicts(name));
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

/// Measures one set.
fn measure(
    name: &'static str,
    options: &Options,
    faults: &mut Faults,
    rows: &mut Rows,
) -> Result<()> {
    let set = Set::read(&options.folder, name, options.points, options.queries)?;
    println!("{name}: {} points, {:?}", set.base.len(), set.metric);
    let attributes = Attributes::new(&set);
    let (workloads, all) = workload::all(&set, &attributes, &options.kinds, &options.shares)?;
    let collection = Collection::load(&set, &attributes)?;

    let mut measurement = Measurement::new(&collection, &set, &attributes, &all, faults);
    let mut recalls = Vec::new();
    let mut is_first = true;
    for workload in &workloads {
        measurement.prepare(workload)?;
        for &ef in &options.efs {
            let outcome = measurement.at_rest(workload, ef, options.rounds)?;
            let row = table::at_rest(&set, workload, ef, &outcome);
            table::print(&row, is_first);
            is_first = false;
            rows.at_rest.push(row);
            recalls.push(outcome.filtered.recall());
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
        for (at, ((workload, ef), pair)) in cases.zip(pairs).enumerate() {
            let row = table::changing(&set, workload, ef, pair);
            table::print(&row, at == 0);
            rows.changing.push(row);
        }
    }
    Ok(collection.close()?)
}
