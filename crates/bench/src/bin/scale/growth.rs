//! The tables, and the verdict on growth.

use crate::curve::{RECALL, Reading};
use vectord_bench::{
    Result,
    criterion::{self, Growth, MOST_OFF, MOST_POWER},
    report::{self, Bound, Cell, Table, Verdict},
};

/// The measurements of one size.
pub struct Row {
    pub points: usize,
    pub at: Reading,
    pub build_cpu: f64,
    /// Anonymous memory of codes and graph, where the system reports it.
    pub bytes: Option<u64>,
}

/// The rows of a set, and their growth.
pub struct Judged {
    pub table: Table,
    pub growth: Option<report::Row>,
    pub verdicts: [Verdict; 2],
}

/// Measures a set at each size and prints a line for it as soon as it is known.
pub fn table(
    name: &str,
    title: String,
    sizes: &[usize],
    measure: impl Fn(usize) -> Result<Row>,
) -> Result<Judged> {
    println!("\n{title}");
    println!(
        "{:>9} {:>7} {:>6} {:>12} {:>10} {:>8} {:>11} {:>12} {:>13}",
        "points",
        "recall",
        "ef",
        "evaluations",
        "per log2 N",
        "QPS",
        "build CPU s",
        "us per point",
        "bytes a point"
    );
    let mut rows = Vec::new();
    for &points in sizes {
        let row = measure(points)?;
        print(&row);
        rows.push(row);
    }
    if let [first, .., last] = &rows[..] {
        compare(first, last);
    }
    if rows.iter().any(|row| row.at.recall > RECALL) {
        println!(
            "  a recall above {RECALL} is that of the least breadth; it takes no part in the fit"
        );
    }
    let growth = fit(&rows);
    let verdicts = judge(name, growth.as_ref());
    let growth = growth.map(|growth| describe(name, &growth));
    for (column, cell) in growth.iter().flatten().skip(1) {
        println!("  {column}: {cell}");
    }
    for verdict in &verdicts {
        verdict.print();
    }
    let rows = rows.iter().map(cells).collect();
    Ok(Judged {
        table: Table { title, rows },
        growth,
        verdicts,
    })
}

fn print(row: &Row) {
    let widths = [9, 7, 6, 12, 10, 8, 11, 12, 13];
    for (width, (_, cell)) in widths.iter().zip(cells(row)) {
        print!("{cell:>width$} ");
    }
    println!();
}

/// How the cost grew from the fewest points to the most.
fn compare(first: &Row, last: &Row) {
    let (fewest, most) = (first.points as f64, last.points as f64);
    let evaluations = last.at.evaluations / first.at.evaluations;
    println!(
        "  {:.0} times the points: log2 N grows {:.2} times, evaluations {evaluations:.2} times, \
         time {:.2} times",
        most / fewest,
        most.log2() / fewest.log2(),
        last.at.seconds / first.at.seconds
    );
}

/// The growth of the cost over the sizes, at equal recall.
fn fit(rows: &[Row]) -> Option<Growth> {
    let at: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| row.at.recall <= RECALL)
        .map(|row| (row.points as f64, row.at.evaluations))
        .collect();
    criterion::growth(&at)
}

fn describe(name: &str, growth: &Growth) -> report::Row {
    let percent = |part: f64| Cell::Number(100.0 * part, 1);
    let line = format!("{:.1} log2 N {:+.0}", growth.slope, growth.start);
    vec![
        ("set", name.into()),
        ("evaluations by a line", Cell::Text(line)),
        ("off by at most %", percent(growth.off)),
        ("by a power of N", Cell::Number(growth.power, 3)),
        ("that off by at most %", percent(growth.off_power)),
    ]
}

fn judge(name: &str, growth: Option<&Growth>) -> [Verdict; 2] {
    let found = |figure: fn(&Growth) -> f64| {
        growth.map_or("too few sizes".into(), |growth| {
            Cell::Number(figure(growth), 3)
        })
    };
    [
        Verdict {
            what: format!("{name}: off a line over log N"),
            found: found(|growth| growth.off),
            bound: Bound::AtMost(MOST_OFF),
        },
        Verdict {
            what: format!("{name}: growth as a power of N"),
            found: found(|growth| growth.power),
            bound: Bound::AtMost(MOST_POWER),
        },
    ]
}

fn cells(row: &Row) -> report::Row {
    let points = row.points as f64;
    let bytes = row.bytes.map(|bytes| bytes as f64 / points);
    vec![
        ("points", row.points.into()),
        ("recall", Cell::Number(row.at.recall, 4)),
        ("ef", Cell::Number(row.at.ef, 1)),
        ("evaluations", Cell::Number(row.at.evaluations, 1)),
        (
            "per log2 N",
            Cell::Number(row.at.evaluations / points.log2(), 2),
        ),
        ("QPS", Cell::Number(1.0 / row.at.seconds, 0)),
        ("build CPU s", Cell::Number(row.build_cpu, 2)),
        (
            "us per point",
            Cell::Number(row.build_cpu * 1e6 / points, 1),
        ),
        (
            "bytes a point",
            bytes.map_or("?".into(), |bytes| Cell::Number(bytes, 0)),
        ),
    ]
}
