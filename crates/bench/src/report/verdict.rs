//! A target, and whether it is met.

use std::fmt;

use super::cell::{Cell, quoted};

pub struct Verdict {
    pub what: String,
    /// A word in place of a figure says why the target stays open.
    pub found: Cell,
    pub bound: Bound,
}

#[derive(Clone, Copy)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Verdict {
    /// Nothing if there is no figure to hold against the target.
    pub fn met(&self) -> Option<bool> {
        let found = self.found.value()?;
        Some(match self.bound {
            Bound::AtLeast(least) => found >= least,
            Bound::AtMost(most) => found <= most,
        })
    }

    pub fn print(&self) {
        let met = match self.met() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "open",
        };
        println!(
            "  {:44} {:>8}, {}: {met}",
            self.what, self.found, self.bound
        );
    }

    pub fn json(&self) -> String {
        let met = self.met().map_or("null".into(), |met| met.to_string());
        format!(
            "{{\"what\": {}, \"found\": {}, \"target\": \"{}\", \"met\": {met}}}",
            quoted(&self.what),
            self.found.json(),
            self.bound
        )
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Bound::AtLeast(least) => write!(formatter, "at least {least}"),
            Bound::AtMost(most) => write!(formatter, "at most {most}"),
        }
    }
}
