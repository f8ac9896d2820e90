//! The engine of vectord, as the service has it behind its interfaces.

use std::{
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
};

use vectord_engine::{
    Batch, Engine, Metric, Options, Query, Result as EngineResult, hnsw::Params, store,
};

use super::{Client, Store};
use crate::{
    Result,
    points::{CONTENT, CONTENT_TYPE, DIMENSION, Id, Rows},
};

const LIMIT: usize = 10;
const EF: usize = 100;

/// The settings of the service, but for the folder and the metrics kept warm.
pub fn options(folder: &Path, warm_metrics: Vec<Metric>) -> Options {
    Options {
        path: folder.to_owned(),
        dimension: Some(DIMENSION as u32),
        graph: Params::default(),
        warm_metrics,
        give_back_after: None,
        segment_bytes: store::DEFAULT_SEGMENT_BYTES,
        max_queued_bytes: 512 << 20,
    }
}

/// The ids of the nearest points.
pub fn search(engine: &Engine, vector: &[f32]) -> Result<Vec<Id>> {
    let query = Query {
        metric: Metric::Euclidean,
        limit: LIMIT,
        ef: EF,
    };
    let hits = if let Some(hits) = engine.search(vector, &query)? {
        hits
    } else {
        let (done, outcome) = channel();
        // Whoever waits is there until it is done.
        let answered = Box::new(move |result| drop(done.send(result)));
        engine.search_batch(vector.to_vec(), vec![query], answered);
        outcome.recv()??.into_iter().flatten().collect()
    };
    Ok(hits.into_iter().map(|hit| hit.id).collect())
}

pub struct Vectord(Engine);

impl Vectord {
    pub fn open(folder: &Path, warm_metrics: Vec<Metric>) -> Result<Self> {
        Ok(Vectord(Engine::open(&options(folder, warm_metrics))?))
    }
}

impl Store for Vectord {
    fn client(&self) -> Result<Box<dyn Client + Send + '_>> {
        let (done, outcome) = channel();
        Ok(Box::new(EngineClient {
            engine: &self.0,
            done,
            outcome,
        }))
    }

    fn settle(&self) -> Result<()> {
        // Nothing is put off: the log is where points stay.
        Ok(())
    }

    fn points(&self) -> Result<u64> {
        Ok(self.0.status().points)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.0.close()?)
    }
}

struct EngineClient<'a> {
    engine: &'a Engine,
    done: Sender<EngineResult<()>>,
    outcome: Receiver<EngineResult<()>>,
}

impl Client for EngineClient<'_> {
    fn insert(&mut self, rows: Rows) -> Result<()> {
        let count = rows.count();
        let batch = Batch {
            ids: rows.iter().map(|(id, _)| id).collect(),
            vectors: rows.vectors.to_vec(),
            content_types: vec![CONTENT_TYPE; count],
            contents: CONTENT.as_bytes().repeat(count),
            content_ends: (1..=count).map(|point| point * CONTENT.len()).collect(),
        };
        let done = self.done.clone();
        // Whoever waits is there until it is done.
        let insert = Box::new(move |result| drop(done.send(result)));
        self.engine.insert(batch, insert);
        Ok(self.outcome.recv()??)
    }
}
