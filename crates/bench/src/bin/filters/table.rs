//! The rows of the tables, and their printing.

use vectord_bench::report::{Cell, Row};

use crate::{outcome::Outcome, set::Set, workload::Workload};

/// The least width of a column.
const WIDTH: usize = 7;

/// What was measured while nothing was written.
pub fn at_rest(set: &Set, workload: &Workload, ef: usize, outcome: &Outcome) -> Row {
    let Outcome {
        filtered,
        unfiltered,
        speed,
        served_speed,
    } = outcome;
    let mut row = first(set, workload, ef);
    row.extend([
        ("recall filtered", recall(filtered.recall())),
        ("recall unfiltered", recall(unfiltered.recall())),
        (
            "difference",
            recall(filtered.recall() - unfiltered.recall()),
        ),
        ("us filtered", filtered.micros.cell(1)),
        ("us unfiltered", unfiltered.micros.cell(1)),
        ("speed", speed.cell(3)),
        ("served us filtered", filtered.served_micros.cell(1)),
        ("served us unfiltered", unfiltered.served_micros.cell(1)),
        ("served speed", served_speed.cell(3)),
        ("at once %", Cell::Number(100.0 * filtered.at_once, 0)),
    ]);
    row
}

/// The recall of filtered searches while nothing was written, and while points were.
pub fn changing(set: &Set, workload: &Workload, ef: usize, (at_rest, changing): (f64, f64)) -> Row {
    let mut row = first(set, workload, ef);
    row.extend([
        ("recall at rest", recall(at_rest)),
        ("recall changing", recall(changing)),
        ("difference", recall(changing - at_rest)),
    ]);
    row
}

/// Prints a row, under the names of the columns if it is the first.
pub fn print(row: &Row, is_first: bool) {
    let width = |name: &str| name.len().max(WIDTH);
    if is_first {
        let names = row
            .iter()
            .map(|(name, _)| format!("{name:>0$}", width(name)));
        println!("{}", names.collect::<Vec<_>>().join("  "));
    }
    let cells = row.iter().map(|(name, cell)| {
        let cell = match cell {
            // The spread is in the file.
            Cell::Spread([median, ..], digits) => Cell::Number(*median, *digits),
            cell => cell.clone(),
        };
        format!("{cell:>0$}", width(name))
    });
    println!("{}", cells.collect::<Vec<_>>().join("  "));
}

/// The columns that both tables have.
fn first(set: &Set, workload: &Workload, ef: usize) -> Row {
    vec![
        ("set", set.name.into()),
        ("kind", workload.kind.name().into()),
        ("share %", Cell::Text(workload.share.to_string())),
        ("matches", Cell::Number(workload.matches(), 0)),
        ("ef", ef.into()),
    ]
}

fn recall(share: f64) -> Cell {
    // Not -0.
    Cell::Number((share * 1e4).round() / 1e4 + 0.0, 4)
}
