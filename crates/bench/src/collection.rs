//! An engine that holds points with metadata, in a temporary folder.

use std::{sync::Arc, thread, time::Duration};

use tempfile::TempDir;
use vectord_engine::{
    Asked, Batch, DEFAULT_SEGMENT_BYTES, Engine, Existing, Hit, Metric, Options, Params, Query,
    Result as EngineResult, Want, layers::vectors::points::Points,
};
use vectord_filter::Filter;

use crate::{Result, callback::callback, vectors::Vectors};

/// The points of one upsert.
const BATCH: usize = 1_000;

/// How often it is asked whether the engine has caught up.
const WAIT: Duration = Duration::from_millis(20);

/// How long the linking threads go on for a little once all is linked.
const SETTLE: Duration = Duration::from_millis(500);

/// Text, as the service numbers the content types.
const CONTENT_TYPE: u8 = 1;

pub struct Collection {
    engine: Engine,
    metric: Metric,
    /// Removed when it is dropped, after the engine.
    _folder: TempDir,
}

impl Collection {
    /// Stores a point for each vector, with the metadata of its row in JSON, and waits until the
    /// graph holds them all.
    pub fn load(
        metric: Metric,
        base: &Vectors,
        metadata: impl Fn(usize) -> String,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let engine = Engine::open(&Options {
            path: folder.path().into(),
            dimension: Some(base.vector(0).len() as u32),
            graph: Params::default(),
            warm_metrics: vec![metric],
            give_back_after: None,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            max_queued_bytes: 512 << 20,
            max_column_bytes: 256 << 20,
        })?;
        let collection = Collection {
            engine,
            metric,
            _folder: folder,
        };
        let count = base.len() as usize;
        for first in (0..count).step_by(BATCH) {
            let rows = first..count.min(first + BATCH);
            let points = rows.map(|row| Written {
                row,
                vector: base.vector(row as u32),
                metadata: metadata(row),
            });
            collection.upsert(points)?;
        }
        collection.wait_for_graph()?;
        Ok(collection)
    }

    /// Stores points, in place of those with the same ids.
    pub fn upsert<'v>(&self, points: impl Iterator<Item = Written<'v>>) -> Result<()> {
        let mut batch = Batch::default();
        for point in points {
            batch.ids.push(id_of(point.row));
            batch.vectors.extend_from_slice(point.vector);
            batch.content_types.push(CONTENT_TYPE);
            batch.content_ends.push(0);
            batch.metadata.extend_from_slice(point.metadata.as_bytes());
            batch.metadata_ends.push(batch.metadata.len());
        }
        let (done, outcome) = callback();
        self.engine.upsert(batch, Existing::Replace, done);
        outcome.recv()??;
        Ok(())
    }

    /// Answers one query, with `limit` results, on another thread.
    pub fn search(
        &self,
        vector: &[f32],
        (ef, limit): (usize, usize),
        filter: Option<&Arc<Filter>>,
    ) -> Result<Vec<Hit>> {
        let asked = Asked {
            vectors: vector.to_vec(),
            queries: vec![self.query((ef, limit))],
            wants: filter.map(want).into_iter().collect(),
            max_bytes: usize::MAX,
        };
        let (done, outcome) = callback();
        self.engine.find_batch(asked, done);
        let found = outcome.recv()??.pop().ok_or("no answer to a query")?;
        Ok(found.hits)
    }

    /// Answers one query, with `limit` results, on this thread, if the engine does that.
    pub fn search_at_once(
        &self,
        vector: &[f32],
        (ef, limit): (usize, usize),
        filter: Option<&Arc<Filter>>,
    ) -> Result<Option<Vec<Hit>>> {
        let want = filter.map_or_else(Want::default, want);
        let found = self
            .engine
            .find(vector, &self.query((ef, limit)), &want, usize::MAX)?;
        Ok(found.map(|found| found.hits))
    }

    /// Counts the points that match.
    pub fn count(&self, filter: &Arc<Filter>) -> Result<u64> {
        let (done, outcome) = callback();
        self.engine.count(Arc::clone(filter), done);
        Ok(outcome.recv()??)
    }

    /// Waits until the columns of all fields that were asked for are read.
    pub fn wait_for_columns(&self) {
        let columns = || self.engine.status().columns;
        while columns()
            .iter()
            .any(|column| column.exists && !column.is_read)
        {
            thread::sleep(WAIT);
        }
    }

    pub fn close(&self) -> EngineResult<()> {
        self.engine.close()
    }

    fn query(&self, (ef, limit): (usize, usize)) -> Query {
        Query {
            metric: self.metric,
            limit,
            ef,
        }
    }

    fn wait_for_graph(&self) -> Result<()> {
        loop {
            let status = self.engine.status();
            let graph = status.graphs.first().ok_or("there is no graph")?;
            if let Some(failure) = &graph.failure {
                return Err(format!("the graph failed: {failure}").into());
            }
            if graph.linked == graph.slots {
                thread::sleep(SETTLE);
                return Ok(());
            }
            thread::sleep(WAIT);
        }
    }
}

/// A point to be stored.
pub struct Written<'v> {
    pub row: usize,
    pub vector: &'v [f32],
    pub metadata: String,
}

/// The row of the point with this id.
pub fn row_of(id: [u8; 16]) -> usize {
    u128::from_be_bytes(id) as usize - 1
}

fn id_of(row: usize) -> [u8; 16] {
    (row as u128 + 1).to_be_bytes()
}

fn want(filter: &Arc<Filter>) -> Want {
    Want {
        filter: Some(Arc::clone(filter)),
        ..Want::default()
    }
}
