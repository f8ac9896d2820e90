//! Marks folders that a restore or a repair is filling. Until it has finished, the manifest has
//! another name, under which no store opens it. The last step gives it its own name.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use super::{
    io::{self as disk, Io, fatal, remove_if_there},
    snapshot,
};
use crate::{
    Error, Result,
    store::log::{
        manifest::{self, Manifest},
        segment,
    },
};

/// The path of the manifest until all segments that it names exist.
pub fn marker_path(folder: &Path) -> PathBuf {
    folder.join("MANIFEST.restoring")
}

/// Refuses a folder into which a restore or a repair was begun and not finished.
pub fn refuse_unfinished(io: &dyn Io, folder: &Path) -> Result<()> {
    if !is_unfinished(io, folder)? {
        return Ok(());
    }
    let folder = folder.display();
    let text =
        format!("a restore or a repair into {folder} was begun and not finished: run it again");
    Err(io::Error::other(text).into())
}

/// Whether a restore or a repair into a folder was begun and not finished.
pub fn is_unfinished(io: &dyn Io, folder: &Path) -> io::Result<bool> {
    Ok(io.list(folder)?.contains(&marker_path(folder)))
}

/// Refuses a target within the source folder: if that folder is lost, the target would be lost too.
/// `purpose` says in the error what is done to the source, such as "backed up".
pub fn refuse_inside(source: &Path, target: &Path, purpose: &str) -> Result<()> {
    let source = fs_err::canonicalize(source)?;
    for above in Path::new(".").join(target).ancestors() {
        match fs_err::canonicalize(above) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
            Ok(above) if above.starts_with(&source) => {
                let (source, target) = (source.display(), target.display());
                let text = format!("{target} is in {source}, which is to be {purpose}");
                return Err(Error::InvalidArgument(text));
            }
            Ok(_) => break,
        }
    }
    Ok(())
}

/// Refuses a folder that holds other files than the ones named in `kept` and the remains of a run
/// that was not finished.
pub fn refuse_used(io: &dyn Io, target: &Path, kept: &[&str]) -> Result<()> {
    let paths = io.list(target)?;
    let unfinished = paths.contains(&marker_path(target));
    let other = paths.iter().find(|path| {
        let kept = kept.iter().any(|name| path.ends_with(name));
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

/// Removes what an unfinished run has left in a folder, then marks it, durably, as a folder that is
/// being filled.
pub fn begin(io: &dyn Io, target: &Path, manifest: &Manifest) -> Result<()> {
    let marker = marker_path(target);
    for path in io.list(target)? {
        if is_remains(&path) && path != marker {
            io.remove(&path)?;
        }
    }
    remove_if_there(io, &manifest::temporary_path(target))?;
    io.sync_folder(target).map_err(fatal)?;
    // What an unfinished run has left stays marked until this one has marked it.
    mark(io, target, manifest)?;
    disk::sync_way_to(io, target);
    Ok(())
}

/// Has the manifest under the other name be this one, durably.
pub fn mark(io: &dyn Io, target: &Path, manifest: &Manifest) -> Result<()> {
    let temporary = manifest::temporary_path(target);
    manifest.write(io, &temporary)?;
    io.rename(&temporary, &marker_path(target))?;
    Ok(io.sync_folder(target).map_err(fatal)?)
}

/// Lets a store open the folder: all that the manifest names is durable.
pub fn finish(io: &dyn Io, target: &Path) -> Result<()> {
    io.sync_folder(target).map_err(fatal)?;
    io.rename(&marker_path(target), &manifest::path(target))?;
    Ok(io.sync_folder(target).map_err(fatal)?)
}

/// Whether an unfinished run may have left a file with this name.
fn is_remains(path: &Path) -> bool {
    segment::number(path).is_some()
        || snapshot::number(path).is_some()
        || path.ends_with("MANIFEST.restoring")
}
