//! Repairs a damaged data folder: saves everything in it that is provably sound into a new folder,
//! and lists what is lost. The damaged folder is only read.

mod header;
mod losses;
mod plan;
mod ranges;
mod survey;
mod write;

use std::path::{Path, PathBuf};

use self::{plan::plan, survey::survey, write::write};
use super::{check, event::Event};
use crate::{
    Error, Result,
    store::{
        io::{Disk, Io, create_folder, remove_if_there},
        lock::Lock,
        log::manifest::Manifest,
        random, unfinished,
    },
};

/// The files that may be in a folder before anything is saved into it.
const KEPT: [&str; 1] = ["LOCK"];

/// The outcome of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// The number of points in the new folder.
    pub points: u64,
    /// The bytes of the new log.
    pub bytes: u64,
    /// The number of damaged places in the old folder.
    pub damages: u64,
    /// The number of points that are known to be lost.
    pub lost_points: u64,
    /// The number of lost records of which nothing is known.
    pub lost_records: u64,
    /// Whether the end of the log may be lost, with any number of records.
    pub is_end_lost: bool,
    /// The number of saved points that may have been deleted by a lost record.
    pub outdated: u64,
    /// The path of the file that lists all of this.
    pub losses: PathBuf,
}

/// Saves the points of a damaged folder, which no process has open, into a folder that is missing
/// or empty. This takes the memory of one segment, and 80 bytes for each record of a point. A
/// repair that fails or is interrupted leaves a folder that no store opens until the repair is run
/// again.
pub fn repair(source: &Path, target: &Path, tell: &mut dyn FnMut(Event)) -> Result<RepairReport> {
    repair_on(&Disk, source, target, tell)
}

pub(crate) fn repair_on(
    io: &dyn Io,
    source: &Path,
    target: &Path,
    tell: &mut dyn FnMut(Event),
) -> Result<RepairReport> {
    unfinished::refuse_unfinished(io, source)?;
    unfinished::refuse_inside(source, target, "repaired")?;
    let losses_path = losses::path(target)?;
    let _source_lock = Lock::share(source)?;
    create_folder(target)?;
    let _lock = Lock::acquire(target)?;
    unfinished::refuse_used(io, target, &KEPT)?;
    if unfinished::is_unfinished(io, target)? {
        remove_if_there(io, &losses_path)?;
    } else if losses_path.exists() {
        let path = losses_path.display();
        let text = format!("{path} exists already: move it elsewhere, or choose another folder");
        return Err(Error::InvalidArgument(text));
    }
    let survey = survey(io, source, tell)?;
    let plan = plan(&survey);
    let mut manifest = Manifest {
        store: random()?,
        dimension: survey.dimension,
        next_number: 1,
        stream: None,
        segments: Vec::new(),
    };
    unfinished::begin(io, target, &manifest)?;
    write(io, target, &mut manifest, (&survey, &plan), tell)?;
    unfinished::mark(io, target, &manifest)?;
    let checked = check::check_by(io, target, manifest, tell)?;
    if let Some(damage) = checked.first_damage {
        return Err(damage.into());
    }
    let points = plan.saved.len() as u64;
    if checked.report.points != points {
        let found = checked.report.points;
        let text = format!(
            "{} holds {found} points, expected {points}",
            target.display()
        );
        return Err(Error::Internal(text));
    }
    losses::save(io, &losses_path, (source, target), (&survey, &plan))?;
    unfinished::finish(io, target)?;
    let lost = plan
        .lost
        .iter()
        .map(|range| range.end() - range.start() + 1);
    Ok(RepairReport {
        points,
        bytes: checked.report.bytes,
        damages: survey.damages.len() as u64,
        lost_points: plan.lost_points.len() as u64,
        lost_records: lost.sum(),
        is_end_lost: plan.is_open,
        outdated: plan.outdated as u64,
        losses: losses_path,
    })
}
