//! What a benchmark found, in the one form that `bench/publish.sh` makes tables of, and the exit
//! status that follows from its verdicts.

mod cell;
mod verdict;

use std::{io, path::Path, process::ExitCode};

pub use cell::Cell;
pub use verdict::{Bound, Verdict};

/// A row by the names of its columns.
pub type Row = Vec<(&'static str, Cell)>;

pub struct Table {
    pub title: String,
    pub rows: Vec<Row>,
}

pub struct Report {
    /// What a run was asked for, by name.
    pub settings: Vec<(&'static str, String)>,
    pub tables: Vec<Table>,
    pub verdicts: Vec<Verdict>,
    /// Whether a target counts that is missed; not in a run that is too short for the targets.
    pub decides: bool,
}

impl Report {
    /// Writes the report, if it is asked for, and says how the program ends: with 1 if a target is
    /// missed.
    pub fn end(&self, json: Option<&Path>) -> io::Result<ExitCode> {
        if let Some(path) = json {
            fs_err::write(path, self.json())?;
            println!("\nwritten to {}", path.display());
        }
        if !self.decides {
            println!("so short a run decides nothing about the targets");
            return Ok(ExitCode::SUCCESS);
        }
        let missed = self.verdicts.iter().filter(|one| one.met() == Some(false));
        Ok(match missed.count() {
            0 => ExitCode::SUCCESS,
            missed => {
                eprintln!("{missed} targets missed");
                ExitCode::FAILURE
            }
        })
    }

    fn json(&self) -> String {
        let settings = self
            .settings
            .iter()
            .map(|(name, value)| (*name, Cell::from(value.as_str())));
        let tables = self.tables.iter().map(|table| {
            let rows = table
                .rows
                .iter()
                .map(|row| format!("\n   {}", cell::object(row)));
            format!(
                "\n  {{\"title\": {}, \"rows\": [{}\n  ]}}",
                cell::quoted(&table.title),
                joined(rows)
            )
        });
        let verdicts = self
            .verdicts
            .iter()
            .map(|one| format!("\n  {}", one.json()));
        format!(
            "{{\n \"settings\": {},\n \"tables\": [{}\n ],\n \"verdicts\": [{}\n ],\n \"decides\": {}\n}}\n",
            cell::object(&settings.collect::<Row>()),
            joined(tables),
            joined(verdicts),
            self.decides
        )
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}
