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
        io::{Disk, Io},
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
/// reported and nothing is changed. A folder whose adoption was interrupted is opened by no store: it
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
    manifest.store = random()?;
    unfinished::mark(io, folder, &manifest)?;
    for checked in &checked.segments {
        segment::set_store(io, &segment::path(folder, checked.number), manifest.store)?;
    }
    for path in snapshots(io, folder)? {
        snapshot::set_store(io, &path, manifest.store)?;
    }
    unfinished::finish(io, folder)?;
    Ok(Adopted {
        store: manifest.store,
        report: checked.report,
    })
}
