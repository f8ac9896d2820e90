//! Makes a data folder of a backup.
//!
//! From its first file on the new folder holds its manifest under another name, with which a store
//! does not open it. Taking its own name is the last that happens.

use std::path::Path;

use super::{
    check::{self, CheckedSegment, Report},
    copy::{copy, path_in, snapshots},
    event::Event,
    format::Flaw,
    io::{self, Disk, Io, fatal, remove_if_there},
    lock::Lock,
    manifest, random, segment, snapshot,
    unfinished::marker_path,
};
use crate::{Error, Result};

/// What may be in a folder before anything is restored into it.
const KEPT: [&str; 2] = ["LOCK", "keys.json"];

/// Verifies a backup, then copies it into a data folder that is missing or empty. Holds a segment
/// in memory, and the ids of the live points. Damage is told whole and nothing is copied. A restore
/// that fails or is interrupted leaves a folder that no store opens until it is run again.
pub fn restore(source: &Path, target: &Path, tell: &mut dyn FnMut(Event)) -> Result<Report> {
    restore_on(&Disk, source, target, tell)
}

pub(super) fn restore_on(
    io: &dyn Io,
    source: &Path,
    target: &Path,
    tell: &mut dyn FnMut(Event),
) -> Result<Report> {
    if !io.list(source)?.contains(&manifest::path(source)) {
        let text = format!(
            "{} holds no MANIFEST: it is no whole backup",
            source.display()
        );
        return Err(Error::InvalidArgument(text));
    }
    io::create_folder(target)?;
    let _lock = Lock::acquire(target)?;
    check_unused(io, target)?;
    let _source_lock = Lock::share(source)?;
    let checked = check::check_on(io, source, tell)?;
    if let Some(damage) = checked.first_damage {
        return Err(damage.into());
    }
    let Some(mut manifest) = checked.manifest else {
        let text = format!("the MANIFEST of {} is gone", source.display());
        return Err(Error::Internal(text));
    };
    // What is written from now on is another history than that of the source, or of a second restore
    // of it: their files must not pass for each other's.
    manifest.store = random()?;
    let marker = marker_path(target);
    clear(io, target, &marker)?;
    // What an unfinished restore has left stays marked until this one has marked it.
    let temporary = manifest::temporary_path(target);
    manifest.write(io, &temporary)?;
    io.rename(&temporary, &marker)?;
    io.sync_folder(target).map_err(fatal)?;
    io::sync_way_to(io, target);
    copy_segments(io, (source, target), &checked.segments, tell)?;
    for segment in &checked.segments {
        let path = segment::path(target, segment.number);
        segment::set_store(io, &path, manifest.store)?;
    }
    for path in snapshots(io, source)? {
        let file = io.open_read(&path)?;
        let size = file.size()?;
        let to = path_in(target, &path);
        copy(io, &*file, &to, (size, size), &mut |_| {})?;
        snapshot::set_store(io, &to, manifest.store)?;
    }
    io.sync_folder(target).map_err(fatal)?;
    io.rename(&marker, &manifest::path(target))?;
    io.sync_folder(target).map_err(fatal)?;
    Ok(checked.report)
}

fn copy_segments(
    io: &dyn Io,
    (source, target): (&Path, &Path),
    segments: &[CheckedSegment],
    tell: &mut dyn FnMut(Event),
) -> Result<()> {
    let total = segments.iter().map(|segment| segment.end).sum();
    let mut done = 0;
    for segment in segments {
        let from = segment::path(source, segment.number);
        let file = io.open_read(&from)?;
        let to = segment::path(target, segment.number);
        let sizes = (segment.end, segment.capacity);
        let crc = copy(io, &*file, &to, sizes, &mut |bytes| {
            done += bytes;
            tell(Event::Progress { done, total });
        })?;
        if crc != segment.crc {
            let reason = "it reads otherwise than when it was verified";
            return Err(Flaw::new(0, reason).refuse(&from));
        }
    }
    Ok(())
}

/// Refuses a folder that holds more than an unfinished restore may have left.
fn check_unused(io: &dyn Io, target: &Path) -> Result<()> {
    let paths = io.list(target)?;
    let unfinished = paths.contains(&marker_path(target));
    let other = paths.iter().find(|path| {
        let kept = KEPT.iter().any(|name| path.ends_with(name));
        let is_first = **path == manifest::temporary_path(target);
        !(kept || is_first || unfinished && is_remains(path))
    });
    let Some(other) = other else {
        return Ok(());
    };
    let (target, other) = (target.display(), other.display());
    let text = format!("{target} is not empty: it holds {other}");
    Err(Error::InvalidArgument(text))
}

/// Whether an unfinished restore may have left a file with this name.
fn is_remains(path: &Path) -> bool {
    segment::number(path).is_some()
        || snapshot::number(path).is_some()
        || path.ends_with("MANIFEST.restoring")
}

/// Removes what an unfinished restore has left, but for what says that it did.
fn clear(io: &dyn Io, target: &Path, marker: &Path) -> Result<()> {
    for path in io.list(target)? {
        if is_remains(&path) && path != marker {
            io.remove(&path)?;
        }
    }
    remove_if_there(io, &manifest::temporary_path(target))?;
    Ok(io.sync_folder(target).map_err(fatal)?)
}
