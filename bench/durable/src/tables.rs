//! What was found, as tables and verdicts.

use crate::{
    Inserts, Restarts,
    inserts::{Load, Run},
    restart::Times,
    stores::Form,
};
use vectord_bench::{
    report::{Bound, Cell, Row, Table, Verdict},
    rounds::Samples,
};

/// vectord is to insert at least as fast as SQLite in its fastest form.
const LEAST_RATIO: f64 = 1.0;

/// Bytes written for each byte of points that come in batches.
const MOST_WRITTEN: f64 = 1.25;

pub fn inserts(all: &[Inserts]) -> Table {
    let rows = all.iter().flat_map(|Inserts { load, forms }| {
        let (_, vectord) = &forms[0];
        forms.iter().map(|(form, runs)| -> Row {
            vec![
                ("inserts", load.name().into()),
                ("store", form.name().into()),
                (
                    "points a second",
                    spread(runs, |run| run.points_per_second).cell(0),
                ),
                ("vectord / this", ratios(vectord, runs).cell(2)),
                (
                    "bytes written / bytes of points",
                    spread(runs, |run| run.written).cell(2),
                ),
                ("by the count of the device", by_device(runs)),
            ]
        })
    });
    Table {
        title: "Durable inserts".into(),
        rows: rows.collect(),
    }
}

pub fn restarts(all: &[Restarts]) -> Table {
    let rows = all.iter().flat_map(|Restarts { points, starts }| {
        starts.iter().map(|(kind, files, times)| -> Row {
            let cell = |figure: fn(&Times) -> f64, digits| spread(times, figure).cell(digits);
            vec![
                ("points", (*points as usize).into()),
                ("files", files.name().into()),
                ("store", kind.name().into()),
                ("seconds to the first get", cell(|times| times.get, 3)),
                ("seconds to the first search", cell(|times| times.search, 3)),
                ("recall@10", cell(|times| times.recall, 2)),
                (
                    "milliseconds of the next search",
                    cell(|times| times.next_search * 1e3, 2),
                ),
            ]
        })
    });
    Table {
        title: "From the start of a process to its first right answers".into(),
        rows: rows.collect(),
    }
}

pub fn verdicts(all: &[Inserts]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for Inserts { load, forms } in all {
        let (_, vectord) = &forms[0];
        let rivals = forms
            .iter()
            .filter(|(form, _)| matches!(form, Form::Sqlite(_)));
        let rivals: Vec<_> = rivals.map(|(_, runs)| runs).collect();
        // The fastest of each round, whichever it is.
        let best = |round: usize| {
            let speeds = rivals.iter().map(|runs| runs[round].points_per_second);
            speeds.fold(0.0, f64::max)
        };
        let mut ratios = Samples::new();
        for (round, run) in vectord.iter().enumerate() {
            ratios.add((run.points_per_second / best(round)) as f32);
        }
        verdicts.push(Verdict {
            what: format!("vectord / SQLite at its fastest, {}", load.name()),
            found: ratios.cell(2),
            bound: Bound::AtLeast(LEAST_RATIO),
        });
        if *load == Load::Batches {
            verdicts.push(Verdict {
                what: "bytes written by vectord / bytes of points, from an empty folder on".into(),
                found: spread(vectord, |run| run.written_in_all).cell(2),
                bound: Bound::AtMost(MOST_WRITTEN),
            });
        }
    }
    verdicts
}

/// Prints the rows one below the other.
pub fn print(table: &Table) {
    println!("\n{}", table.title);
    for row in &table.rows {
        let cells = row.iter().map(|(name, cell)| format!("{name}: {cell}"));
        println!("  {}", cells.collect::<Vec<_>>().join(", "));
    }
}

fn spread<T>(rounds: &[T], figure: impl Fn(&T) -> f64) -> Samples {
    let mut samples = Samples::new();
    for round in rounds {
        samples.add(figure(round) as f32);
    }
    samples
}

/// How many times as fast the one is, round by round.
fn ratios(one: &[Run], other: &[Run]) -> Samples {
    let mut samples = Samples::new();
    for (one, other) in one.iter().zip(other) {
        samples.add((one.points_per_second / other.points_per_second) as f32);
    }
    samples
}

fn by_device(runs: &[Run]) -> Cell {
    if runs.iter().any(|run| run.written_by_device.is_none()) {
        return "?".into();
    }
    spread(runs, |run| run.written_by_device.unwrap_or(0.0)).cell(2)
}
