//! The tables, and what they say of growth.

use std::fmt::Write;

use crate::{Row, curve::RECALL, support::Result};

/// The rows of one set.
pub struct Table {
    name: &'static str,
    rows: Vec<Row>,
}

/// Measures a set at each size and prints a line for it as soon as it is known.
pub fn table(
    name: &'static str,
    title: &str,
    sizes: &[usize],
    measure: impl Fn(usize) -> Result<Row>,
) -> Result<Table> {
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
        fit(&rows);
    }
    if rows.iter().any(|row| row.at.recall > RECALL) {
        println!(
            "  a recall above {RECALL} is that of the least breadth; it takes no part in the fit"
        );
    }
    Ok(Table { name, rows })
}

fn print(row: &Row) {
    let points = row.points as f64;
    let bytes = row.bytes.map_or_else(
        || "?".into(),
        |bytes| format!("{:.0}", bytes as f64 / points),
    );
    println!(
        "{:>9} {:>7.4} {:>6.1} {:>12.1} {:>10.2} {:>8.0} {:>11.2} {:>12.1} {:>13}",
        row.points,
        row.at.recall,
        row.at.ef,
        row.at.evaluations,
        row.at.evaluations / points.log2(),
        1.0 / row.at.seconds,
        row.build_cpu,
        row.build_cpu * 1e6 / points,
        bytes
    );
}

/// How the cost grew from the fewest points to the most.
fn compare(first: &Row, last: &Row) {
    let (fewest, most) = (first.points as f64, last.points as f64);
    let evaluations = last.at.evaluations / first.at.evaluations;
    println!(
        "  {:.0} times the points: log2 N grows {:.2} times, evaluations {evaluations:.2} times, \
         time {:.2} times; evaluations like N to the power of {:.3}",
        most / fewest,
        most.log2() / fewest.log2(),
        last.at.seconds / first.at.seconds,
        evaluations.ln() / (most / fewest).ln()
    );
}

/// The straight line of evaluations over log2 N, by least squares, and how well it fits.
fn fit(rows: &[Row]) {
    let at: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| row.at.recall <= RECALL)
        .map(|row| ((row.points as f64).log2(), row.at.evaluations))
        .collect();
    if at.len() < 3 {
        println!("  too few sizes at a recall of {RECALL} for a line");
        return;
    }
    let count = at.len() as f64;
    let middle_x = at.iter().map(|(x, _)| x).sum::<f64>() / count;
    let middle_y = at.iter().map(|(_, y)| y).sum::<f64>() / count;
    let products: f64 = at
        .iter()
        .map(|(x, y)| (x - middle_x) * (y - middle_y))
        .sum();
    let squares: f64 = at.iter().map(|(x, _)| (x - middle_x).powi(2)).sum();
    let slope = products / squares;
    let start = middle_y - slope * middle_x;
    let off = at
        .iter()
        .map(|(x, y)| (start + slope * x - y).abs() / y)
        .fold(0.0, f64::max);
    println!(
        "  evaluations = {slope:.1} log2 N {start:+.0}, off by at most {:.1} %",
        100.0 * off
    );
}

/// The tables as JSON.
pub fn json(tables: &[Table]) -> String {
    let mut text = String::from("{\n");
    for (index, table) in tables.iter().enumerate() {
        let rows: Vec<String> = table.rows.iter().map(json_row).collect();
        let comma = if index + 1 < tables.len() { "," } else { "" };
        let rows = rows.join(",\n  ");
        writeln!(text, " \"{}\": [\n  {rows}\n ]{comma}", table.name).expect("a string grows");
    }
    text + "}\n"
}

fn json_row(row: &Row) -> String {
    let bytes = row
        .bytes
        .map_or_else(|| "null".into(), |bytes| bytes.to_string());
    format!(
        "{{\"points\": {}, \"recall\": {}, \"ef\": {:.1}, \"evaluations\": {:.2}, \"qps\": {:.1}, \
         \"build_cpu_seconds\": {:.3}, \"bytes\": {bytes}}}",
        row.points,
        row.at.recall,
        row.at.ef,
        row.at.evaluations,
        1.0 / row.at.seconds,
        row.build_cpu
    )
}
