//! Work on data folders that no engine has open, each on a thread of its own.

use std::{path::Path, sync::mpsc};

use napi::{
    Env, Result, Status,
    bindgen_prelude::{Object, ToNapiValue, Uint8Array},
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;
use vectord_engine::tools::{self, Event};

/// An event while the work goes on: damage, a note, or progress.
#[napi(object)]
pub struct FolderEvent {
    /// A damaged place: file, offset, sequence and reason.
    pub damage: Option<String>,
    /// A remark that is not damage.
    pub note: Option<String>,
    /// Bytes read or copied until now.
    pub done_bytes: Option<f64>,
    /// Bytes to read or to copy.
    pub total_bytes: Option<f64>,
}

/// What a data folder holds.
#[napi(object)]
pub struct FolderReport {
    /// Segments that could be read.
    pub segments: u32,
    /// Sound records.
    pub records: f64,
    /// Points that these records insert and do not delete.
    pub points: f64,
    /// Bytes of the log.
    pub bytes: f64,
    /// Damaged places.
    pub damages: f64,
}

/// What a backup holds.
#[napi(object)]
pub struct BackupReport {
    /// Segments in it.
    pub segments: u32,
    /// Those of them that are links.
    pub linked: u32,
    /// Bytes of the log.
    pub bytes: f64,
    /// The sequence of the last record.
    pub last_sequence: f64,
}

/// What a repair saved, and what it lost.
#[napi(object)]
pub struct RepairReport {
    /// Points in the new folder.
    pub points: f64,
    /// Bytes of its log.
    pub bytes: f64,
    /// Damaged places of the old one.
    pub damages: f64,
    /// Points that are known to be lost.
    pub lost_points: f64,
    /// Lost records of which nothing is known.
    pub lost_records: f64,
    /// Whether the end of the log may be lost.
    pub is_end_lost: bool,
    /// Saved points that a lost record may have deleted.
    pub outdated: f64,
    /// The path of the file that lists the losses.
    pub losses: String,
}

/// A folder that has become the store of a replica.
#[napi(object, object_from_js = false)]
pub struct AdoptedReplica {
    /// The id of its store.
    pub store_id: Uint8Array,
    /// Points in it.
    pub points: f64,
    /// Bytes of its log.
    pub bytes: f64,
}

/// Is called with each event, on the loop of Node.js. The work waits until it returns.
type OnEvent = ThreadsafeFunction<FolderEvent, (), FolderEvent, Status, false>;

/// Verifies a data folder that no process has open; changes nothing.
#[napi(catch_unwind, ts_return_type = "Promise<FolderReport>")]
pub fn check_folder(
    env: &Env,
    path: String,
    #[napi(ts_arg_type = "(event: FolderEvent) => void")] on_event: OnEvent,
) -> Result<Object<'_>> {
    let work = move |tell: &mut dyn FnMut(Event)| tools::check(Path::new(&path), tell);
    telling(env, on_event, work, FolderReport::from)
}

/// Backs up a data folder, whether a process has it open or not, into one that is missing or empty.
#[napi(catch_unwind, ts_return_type = "Promise<BackupReport>")]
pub fn backup_folder(
    env: &Env,
    source: String,
    target: String,
    #[napi(ts_arg_type = "(event: FolderEvent) => void")] on_event: OnEvent,
) -> Result<Object<'_>> {
    let work = move |tell: &mut dyn FnMut(Event)| {
        tools::backup(Path::new(&source), Path::new(&target), tell)
    };
    telling(env, on_event, work, BackupReport::from)
}

/// Verifies a backup and copies it into a data folder that is missing or empty.
#[napi(catch_unwind, ts_return_type = "Promise<FolderReport>")]
pub fn restore_folder(
    env: &Env,
    source: String,
    target: String,
    #[napi(ts_arg_type = "(event: FolderEvent) => void")] on_event: OnEvent,
) -> Result<Object<'_>> {
    let work = move |tell: &mut dyn FnMut(Event)| {
        tools::restore(Path::new(&source), Path::new(&target), tell)
    };
    telling(env, on_event, work, FolderReport::from)
}

/// Saves the points of a damaged data folder into one that is missing or empty.
#[napi(catch_unwind, ts_return_type = "Promise<RepairReport>")]
pub fn repair_folder(
    env: &Env,
    source: String,
    target: String,
    #[napi(ts_arg_type = "(event: FolderEvent) => void")] on_event: OnEvent,
) -> Result<Object<'_>> {
    let work = move |tell: &mut dyn FnMut(Event)| {
        tools::repair(Path::new(&source), Path::new(&target), tell)
    };
    telling(env, on_event, work, RepairReport::from)
}

/// Verifies a backup of a replica and turns it, in place, into the store of another one.
#[napi(catch_unwind, ts_return_type = "Promise<AdoptedReplica>")]
pub fn adopt_replica(
    env: &Env,
    folder: String,
    #[napi(ts_arg_type = "(event: FolderEvent) => void")] on_event: OnEvent,
) -> Result<Object<'_>> {
    let work = move |tell: &mut dyn FnMut(Event)| tools::adopt(Path::new(&folder), tell);
    telling(env, on_event, work, AdoptedReplica::from)
}

/// Runs the work on a thread of its own. All events are delivered before the promise is settled.
fn telling<T, J>(
    env: &Env,
    on_event: OnEvent,
    work: impl FnOnce(&mut dyn FnMut(Event)) -> vectord_engine::Result<T> + Send + 'static,
    convert: fn(T) -> J,
) -> Result<Object<'_>>
where
    T: Send + 'static,
    J: ToNapiValue + Send + 'static,
{
    crate::on_thread(
        env,
        move || work(&mut |event| hear(&on_event, event)),
        convert,
    )
}

/// Calls back and waits until the callback has returned.
fn hear(on_event: &OnEvent, event: Event) {
    let (heard, wait) = mpsc::channel();
    on_event.call_with_return_value(
        event.into(),
        ThreadsafeFunctionCallMode::Blocking,
        move |_, _| {
            // The receiver is gone only where the process ends.
            let _ = heard.send(());
            Ok(())
        },
    );
    // Where the loop of Node.js has ended, the sender is dropped without a call.
    let _ = wait.recv();
}

impl From<Event> for FolderEvent {
    fn from(event: Event) -> FolderEvent {
        let mut told = FolderEvent {
            damage: None,
            note: None,
            done_bytes: None,
            total_bytes: None,
        };
        match event {
            Event::Damage(damage) => told.damage = Some(damage.to_string()),
            Event::Note(note) => told.note = Some(note),
            Event::Progress { done, total } => {
                told.done_bytes = Some(done as f64);
                told.total_bytes = Some(total as f64);
            }
        }
        told
    }
}

impl From<tools::Report> for FolderReport {
    fn from(report: tools::Report) -> FolderReport {
        FolderReport {
            segments: report.segments,
            records: report.records as f64,
            points: report.points as f64,
            bytes: report.bytes as f64,
            damages: report.damages as f64,
        }
    }
}

impl From<tools::Adopted> for AdoptedReplica {
    fn from(adopted: tools::Adopted) -> AdoptedReplica {
        AdoptedReplica {
            store_id: Uint8Array::new(adopted.store.to_vec()),
            points: adopted.report.points as f64,
            bytes: adopted.report.bytes as f64,
        }
    }
}

impl From<tools::BackupReport> for BackupReport {
    fn from(report: tools::BackupReport) -> BackupReport {
        BackupReport {
            segments: report.segments,
            linked: report.linked,
            bytes: report.bytes as f64,
            last_sequence: report.last_sequence as f64,
        }
    }
}

impl From<tools::RepairReport> for RepairReport {
    fn from(report: tools::RepairReport) -> RepairReport {
        RepairReport {
            points: report.points as f64,
            bytes: report.bytes as f64,
            damages: report.damages as f64,
            lost_points: report.lost_points as f64,
            lost_records: report.lost_records as f64,
            is_end_lost: report.is_end_lost,
            outdated: report.outdated as f64,
            losses: report.losses.display().to_string(),
        }
    }
}
