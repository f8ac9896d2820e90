//! Turns a copy of the log of one replica into the log of another.

use std::path::Path;

use super::{
    check::{self, Report},
    copy::snapshots,
    event::Event,
};
use crate::{
    Error, Result,
    store::{
        io::{Disk, Io, refuse_shared},
        lock::Lock,
        log::segment,
        random, snapshot, unfinished,
    },
};

/// A folder that has become the store of a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The id of the store, which no other has.
    pub store: [u8; 16],
    /// What is in it.
    pub report: Report,
}

/// Verifies a backup of a replica and turns it, in place, into the store of another replica of the
/// same shard, which goes on in the stream from where the backup ends. This takes the memory of one
/// segment and of the ids of the live points. If the backup is damaged, every damaged place is
/// reported and nothing is changed. Nothing is changed either if it shares files with another folder
/// by hard links: a copy of it has to be taken. A folder whose adoption was interrupted is opened by no store: it
/// has to be fetched again.
pub fn adopt(folder: &Path, tell: &mut dyn FnMut(Event)) -> Result<Adopted> {
    adopt_on(&Disk, folder, tell)
}

pub(crate) fn adopt_on(io: &dyn Io, folder: &Path, tell: &mut dyn FnMut(Event)) -> Result<Adopted> {
    let _lock = Lock::acquire(folder)?;
    let checked = check::check_on(io, folder, tell)?;
    if let Some(damage) = checked.first_damage {
        return Err(damage.into());
    }
    let replica = checked
        .manifest
        .filter(|manifest| manifest.stream.is_some());
    let Some(mut manifest) = replica else {
        let text = format!("{} is no backup of a replica", folder.display());
        return Err(Error::InvalidArgument(text));
    };
    let segments = checked.segments.iter();
    let segments: Vec<_> = segments
        .map(|checked| segment::path(folder, checked.number))
        .collect();
    let snapshots = snapshots(io, folder)?;
    for path in segments.iter().chain(&snapshots) {
        refuse_shared(path)?;
    }
    manifest.store = random()?;
    unfinished::mark(io, folder, &manifest)?;
    for path in &segments {
        segment::set_store(io, path, manifest.store)?;
    }
    for path in &snapshots {
        snapshot::set_store(io, path, manifest.store)?;
    }
    unfinished::finish(io, folder)?;
    Ok(Adopted {
        store: manifest.store,
        report: checked.report,
    })
}
