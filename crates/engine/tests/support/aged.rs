//! A data folder with every kind of contents: segments, compacted ones, and two snapshots.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test uses some of this, and the lint spares test functions, not their helpers"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use vectord_engine::{Engine, Error, Metric, Options, PointId};
use vectord_filter::{Condition, Expression, Filter};

use crate::driver::{
    Model, answer, begin_graph, clustered, delete, insert, options, wait_for_graphs, wait_until,
};

pub const DIMENSION: u32 = 8;
const SEGMENT_BYTES: u64 = 1 << 16;
const POINTS: usize = 1_200;
const LATER_POINTS: usize = 200;
/// Points with the vector of another: duplicates, for graphs.
const COPIES: usize = 30;

/// After this time without writes, the last acknowledged record is proven.
const UNTIL_PROVEN: Duration = Duration::from_millis(300);

/// A folder, and the acknowledged writes in it.
pub struct Aged {
    pub folder: tempfile::TempDir,
    pub model: Model,
    pub gone: Vec<PointId>,
}

/// How the process that had opened a folder ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Closed,
    Killed,
}

pub fn open_aged(folder: &Path) -> Result<Engine, Error> {
    Engine::open(&Options {
        segment_bytes: SEGMENT_BYTES,
        ..options(folder, Some(DIMENSION))
    })
}

impl Aged {
    pub fn new(end: End) -> Aged {
        let folder = new_folder();
        let engine = open_aged(folder.path()).unwrap();
        let vectors = clustered(POINTS, DIMENSION as usize);
        let mut model = Model::new();
        for vectors in vectors.chunks(50) {
            let ids = insert(&engine, vectors).unwrap();
            model.extend(ids.into_iter().zip(vectors.to_vec()));
        }
        begin_graph(&engine, Metric::Euclidean);
        let mut gone = Vec::new();
        for (index, point) in std::mem::take(&mut model).into_iter().enumerate() {
            // Of the first half nearly all points are deleted, and its segments are compacted; of
            // the second half some.
            let goes = index % if index < POINTS / 2 { 8 } else { 5 } != 0;
            if goes == (index < POINTS / 2) {
                assert!(delete(&engine, point.0));
                gone.push(point.0);
            } else {
                model.push(point);
            }
        }
        let first = folder.path().join("00000001.log");
        wait_until("compaction", || !first.exists());
        for (id, vector) in &model {
            let point = engine.get(id).unwrap().unwrap();
            assert_eq!(&point.vector, vector, "read from where it is now");
        }
        engine.close().unwrap();

        let engine = open_aged(folder.path()).unwrap();
        let mut vectors = clustered(POINTS + LATER_POINTS, DIMENSION as usize).split_off(POINTS);
        for copy in 0..COPIES {
            vectors.push(vectors[copy % 3].clone());
        }
        let ids = insert(&engine, &vectors).unwrap();
        // The snapshots have a column.
        let all = answer(|done| engine.count(texts(), done)).unwrap();
        assert_eq!(all, (model.len() + vectors.len()) as u64);
        wait_until("the column", || {
            engine.status().columns.iter().all(|column| column.is_read)
        });
        model.extend(ids.into_iter().zip(vectors));
        let (id, _) = model.remove(0);
        assert!(delete(&engine, id));
        gone.push(id);
        wait_for_graphs(&engine);
        let folder = match end {
            End::Closed => {
                engine.close().unwrap();
                folder
            }
            End::Killed => {
                thread::sleep(UNTIL_PROVEN);
                copy_of(folder.path())
            }
        };
        Aged {
            folder,
            model,
            gone,
        }
    }

    /// Every file that anything is read from, and its content.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        files(self.folder.path())
    }
}

/// Passes points with the content type of all of them.
pub fn texts() -> Arc<Filter> {
    let type_of_all = Condition::ContentType(vec![1]);
    Arc::new(Filter::new(Expression::Condition(type_of_all)))
}

/// A folder in memory, if the system has one.
pub fn new_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// A copy of a folder as a kill of the process would leave it.
pub fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = new_folder();
    for (path, bytes) in files(folder) {
        fs::write(copy.path().join(path.file_name().unwrap()), bytes).unwrap();
    }
    copy
}

fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        ["LOCK", "RESERVE", "SPARE"]
            .iter()
            .all(|name| !path.ends_with(name))
    });
    paths.sort();
    // In a folder that is in use, a file may have been removed by now.
    let read = |path: PathBuf| fs::read(&path).ok().map(|bytes| (path, bytes));
    paths.into_iter().filter_map(read).collect()
}

/// The segments of a folder that compaction wrote.
pub fn compacted(folder: &Path) -> Vec<PathBuf> {
    const KIND_AT: usize = 68;
    let files = files(folder).into_iter();
    files
        .filter(|(path, bytes)| is(path, "log") && bytes.get(KIND_AT) == Some(&1))
        .map(|(path, _)| path)
        .collect()
}

/// Whether a file has this extension.
pub fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}
