//! A figure or a word, as it is printed and as JSON.

use std::fmt;

#[derive(Clone)]
pub enum Cell {
    Text(String),
    /// A number, and how many digits of it after the point mean something.
    Number(f64, usize),
    /// The median of several rounds, the least and the most, and how many digits mean something.
    Spread([f64; 3], usize),
}

impl Cell {
    /// What is held against a target.
    pub fn value(&self) -> Option<f64> {
        match self {
            Cell::Text(_) => None,
            Cell::Number(value, _) | Cell::Spread([value, _, _], _) => Some(*value),
        }
    }

    pub fn json(&self) -> String {
        match self {
            Cell::Text(text) => quoted(text),
            Cell::Number(value, digits) => format!("{value:.digits$}"),
            Cell::Spread([median, least, most], digits) => format!(
                "{{\"median\": {median:.digits$}, \"least\": {least:.digits$}, \
                 \"most\": {most:.digits$}}}"
            ),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let text = match self {
            Cell::Text(text) => text.clone(),
            Cell::Number(value, digits) => format!("{value:.digits$}"),
            Cell::Spread([median, least, most], digits) => {
                format!("{median:.digits$} ({least:.digits$}-{most:.digits$})")
            }
        };
        formatter.pad(&text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.into())
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Cell::Number(count as f64, 0)
    }
}

/// Names and values as a JSON object, in their order.
pub fn object(row: &[(&str, Cell)]) -> String {
    let pair = |(name, cell): &(&str, Cell)| format!("{}: {}", quoted(name), cell.json());
    format!(
        "{{{}}}",
        row.iter().map(pair).collect::<Vec<_>>().join(", ")
    )
}

/// A string of JSON: of what JSON escapes, a benchmark writes quotation marks and backslashes alone.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
