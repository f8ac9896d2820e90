//! An engine beside a plain list of its points, which says what every answer should be.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    sync::{
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use vectord_engine::{Batch, Engine, Hit, Metric, Options, Params, PointId, Query};

use crate::{sets::Rows, truth};

/// An engine and its points in the order of their insertion.
pub struct Modelled {
    folder: TempDir,
    engine: Engine,
    dimension: usize,
    pub points: Vec<PointId>,
    /// The vectors of the points.
    pub rows: Rows,
}

impl Modelled {
    /// An engine in a folder of its own that holds these points.
    pub fn of(rows: &Rows) -> Self {
        let mut modelled = Modelled::new(rows[0].len());
        modelled.insert(rows);
        modelled
    }

    /// An engine without points.
    pub fn new(dimension: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(&folder, dimension);
        Modelled {
            folder,
            engine,
            dimension,
            points: Vec::new(),
            rows: Rows::new(),
        }
    }

    /// Closes the engine and opens its folder again.
    pub fn reopen(&mut self) {
        self.engine.close().unwrap();
        self.engine = open(&self.folder, self.dimension);
    }

    /// Inserts vectors as one batch.
    pub fn insert(&mut self, rows: &Rows) {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let next_id = || u128::from(NEXT_ID.fetch_add(1, Relaxed)).to_be_bytes();
        let ids: Vec<PointId> = rows.iter().map(|_| next_id()).collect();
        let batch = Batch {
            ids: ids.clone(),
            vectors: rows.concat(),
            content_types: vec![1; rows.len()],
            content_ends: vec![0; rows.len()],
            contents: Vec::new(),
            ..Batch::default()
        };
        let (sender, receiver) = channel();
        self.engine.insert(
            batch,
            Box::new(move |outcome| sender.send(outcome).unwrap()),
        );
        receiver.recv().unwrap().unwrap();
        self.points.extend(ids);
        self.rows.extend(rows.iter().cloned());
    }

    /// Deletes the point at an index of the list and returns its vector.
    pub fn delete(&mut self, index: usize) -> Vec<f32> {
        let (sender, receiver) = channel();
        self.engine.delete(
            self.points.remove(index),
            Box::new(move |outcome| sender.send(outcome).unwrap()),
        );
        assert!(receiver.recv().unwrap().unwrap(), "the point was there");
        self.rows.remove(index)
    }

    /// Searches in the way of a batch, which never declines.
    pub fn search(&self, metric: Metric, query: &[f32], limit: usize, ef: usize) -> Vec<Hit> {
        let (sender, receiver) = channel();
        self.engine.search_batch(
            query.to_vec(),
            vec![Query { metric, limit, ef }],
            Box::new(move |outcome| sender.send(outcome).unwrap()),
        );
        receiver.recv().unwrap().unwrap().remove(0)
    }

    /// Has the graph of a metric built, if a walk would ever pay: a narrow one pays first.
    pub fn build_graph(&self, metric: Metric) {
        self.search(metric, &vec![0.5; self.dimension], 1, 1);
        let begin = Instant::now();
        while self
            .engine
            .status()
            .graphs
            .iter()
            .any(|graph| graph.linked < graph.slots)
        {
            assert!(
                begin.elapsed() < Duration::from_mins(2),
                "linking takes too long"
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// What a search for all points, or with a breadth of all points, must answer to the bit.
    pub fn truth(&self, metric: Metric, query: &[f32], limit: usize) -> Vec<Hit> {
        truth::nearest(metric, query, &self.rows, limit)
            .into_iter()
            .map(|(rank, index)| Hit {
                id: self.points[index],
                rank,
            })
            .collect()
    }

    /// Checks what holds of every answer, exact or not: as many as there should be, each once, of
    /// points that exist, with their true ranks, closest first, ties by insertion.
    pub fn check(&self, metric: Metric, query: &[f32], limit: usize, hits: &[Hit]) {
        assert_eq!(
            hits.len(),
            limit.min(self.points.len()),
            "{metric:?} limit {limit}"
        );
        let everything = self.truth(metric, query, usize::MAX);
        let mut rest = everything.iter();
        for hit in hits {
            // The true order, with gaps: that says it all.
            assert!(
                rest.any(|truth| truth == hit),
                "{metric:?} limit {limit}: {hit:?} twice, out of order, wrong or of no point"
            );
        }
    }
}

fn open(folder: &TempDir, dimension: usize) -> Engine {
    Engine::open(&Options {
        warm_metrics: Vec::new(),
        give_back_after: None,
        path: folder.path().into(),
        dimension: Some(dimension as u32),
        graph: Params {
            m: 16,
            ef_construction: 100,
        },
        segment_bytes: 1 << 20,
        max_queued_bytes: 256 << 20,
        max_column_bytes: 256 << 20,
    })
    .unwrap()
}
