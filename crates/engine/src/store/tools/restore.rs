//! Restores a data folder from a backup.

use std::path::Path;

use super::{
    check::{self, CheckedSegment, Report},
    copy::{copy, path_in, snapshots},
    event::Event,
};
use crate::{
    Error, Result,
    store::{
        io::{self, Disk, Io},
        lock::Lock,
        log::{format::Flaw, manifest, segment},
        random, snapshot, unfinished,
    },
};

/// The files that may be in a folder before anything is restored into it.
const KEPT: [&str; 3] = ["LOCK", "keys.json", "keys.json.made"];

/// Verifies a backup, then copies it into a data folder that is missing or empty. This takes the
/// memory of one segment and of the ids of the live points. If the backup is damaged, every damaged
/// place is reported and nothing is copied. A restore that fails or is interrupted leaves a folder
/// that no store opens until the restore is run again.
pub fn restore(source: &Path, target: &Path, tell: &mut dyn FnMut(Event)) -> Result<Report> {
    restore_on(&Disk, source, target, tell)
}

pub(crate) fn restore_on(
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
    unfinished::refuse_used(io, target, &KEPT)?;
    let _source_lock = Lock::share(source)?;
    let checked = check::check_on(io, source, tell)?;
    if let Some(damage) = checked.first_damage {
        return Err(damage.into());
    }
    let Some(mut manifest) = checked.manifest else {
        let text = format!("the MANIFEST of {} is gone", source.display());
        return Err(Error::Internal(text));
    };
    // The restored folder gets an id of its own: its files must not be taken for those of the
    // source or of a second restore. It is no replica of a stream any more either.
    manifest.store = random()?;
    manifest.stream = None;
    unfinished::begin(io, target, &manifest)?;
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
    unfinished::finish(io, target)?;
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
