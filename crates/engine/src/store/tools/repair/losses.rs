//! The list of what a repair could not save: a file in JSON beside the new folder, laid out as
//! docs/BACKUP.md says.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

use super::{plan::RepairPlan, survey::Survey};
use crate::{
    Error, Result,
    error::uuid,
    store::io::{Io, fatal, write_all},
};

/// The path of the list for a new folder.
pub fn path(target: &Path) -> Result<PathBuf> {
    let Some(name) = target.file_name() else {
        let text = format!("{} is no name for a new folder", target.display());
        return Err(Error::InvalidArgument(text));
    };
    let mut name = name.to_owned();
    name.push(".losses.json");
    Ok(target.with_file_name(name))
}

/// Writes the list, durably. After an error there is none.
pub fn save(
    io: &dyn Io,
    path: &Path,
    folders: (&Path, &Path),
    what: (&Survey, &RepairPlan),
) -> Result<()> {
    let saved = try_save(io, path, &text(folders, what));
    if saved.is_err() {
        // If this fails, the next run removes it.
        drop(io.remove(path));
    }
    Ok(saved?)
}

fn try_save(io: &dyn Io, path: &Path, text: &str) -> io::Result<()> {
    let file = io.create(path)?;
    write_all(&*file, text.as_bytes(), 0).map_err(|(_, error)| error)?;
    file.sync_all().map_err(fatal)?;
    let above = path.parent().filter(|above| *above != Path::new(""));
    io.sync_folder(above.unwrap_or(Path::new(".")))
        .map_err(fatal)
}

fn text((source, target): (&Path, &Path), (survey, plan): (&Survey, &RepairPlan)) -> String {
    let end = plan.is_open.then(|| {
        let from = survey.last_sequence + 1;
        format!(r#"{{"from": {from}, "to": null}}"#)
    });
    let ranges = plan.lost.iter();
    let ranges = ranges.map(|range| {
        let (from, to) = (range.start(), range.end());
        format!(r#"{{"from": {from}, "to": {to}}}"#)
    });
    let points = plan.lost_points.iter().map(|(file, point)| {
        let file = quote(&name(&survey.files[*file].path));
        let (id, sequence, offset) = (uuid(&point.id), point.sequence, point.offset);
        format!(r#"{{"id": "{id}", "sequence": {sequence}, "file": {file}, "offset": {offset}}}"#)
    });
    let damages = survey.damages.iter().map(|damage| {
        let (file, offset) = (quote(&name(&damage.path)), damage.offset);
        let sequence = damage
            .sequence
            .map_or("null".to_owned(), |at| at.to_string());
        let reason = quote(&damage.reason);
        format!(
            r#"{{"file": {file}, "offset": {offset}, "sequence": {sequence}, "reason": {reason}}}"#
        )
    });
    let outdated = plan.outdated;
    let newest = outdated
        .checked_sub(1)
        .map(|index| plan.saved[index].insert);
    let [newest_id, below] = newest.map_or(["null".to_owned(), "0".to_owned()], |point| {
        [
            format!("\"{}\"", uuid(&point.id)),
            (point.sequence + 1).to_string(),
        ]
    });
    format!(
        r#"{{
  "source": {},
  "target": {},
  "saved": {},
  "lostPoints": {},
  "lostSequences": {},
  "possiblyOutdated": {{"count": {outdated}, "below": {below}, "newest": {newest_id}}},
  "damages": {}
}}
"#,
        quote(&source.to_string_lossy()),
        quote(&target.to_string_lossy()),
        plan.saved.len(),
        list(points),
        list(ranges.chain(end)),
        list(damages),
    )
}

/// An array with an item on each line.
fn list(items: impl Iterator<Item = String>) -> String {
    let mut text = String::from("[");
    for (index, item) in items.enumerate() {
        text.push_str(if index == 0 { "\n    " } else { ",\n    " });
        text.push_str(&item);
    }
    if text.len() > 1 {
        text.push_str("\n  ");
    }
    text.push(']');
    text
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// A string of JSON.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\0'..' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(char));
            }
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_and_an_id_are_written_as_json_has_them() {
        assert_eq!(quote("a \"b\\\n\u{e9}"), "\"a \\\"b\\\\\\u000a\u{e9}\"");
        let id = std::array::from_fn(|index| index as u8 * 17);
        assert_eq!(uuid(&id), "00112233-4455-6677-8899-aabbccddeeff");
        let items = ["1", "2"].map(str::to_owned);
        assert_eq!(list(items.into_iter()), "[\n    1,\n    2\n  ]");
        assert_eq!(list(std::iter::empty()), "[]");
    }
}
