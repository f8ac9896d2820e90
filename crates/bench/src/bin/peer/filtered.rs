//! The engine of the service, with filters by a number of each point.

use std::sync::Arc;

use vectord_bench::{
    Result,
    collection::{Collection, row_of},
    vectors::Vectors,
};
use vectord_engine::Metric;
use vectord_filter::Filter;
use vectord_json::filter_of;

use crate::index::Index;

/// The numbers of this many points in a row are all different. bench/peers/filters.py has the same
/// numbers.
const NUMBERS: usize = 100_000;
const STRIDE: usize = 61_803;

pub struct Filtered {
    metric: Metric,
    base: Vectors,
    collection: Option<Collection>,
    filter: Option<Arc<Filter>>,
}

impl Filtered {
    pub fn new(metric: Metric, base: Vectors) -> Self {
        Filtered {
            metric,
            base,
            collection: None,
            filter: None,
        }
    }

    fn collection(&self) -> Result<&Collection> {
        Ok(self.collection.as_ref().ok_or("nothing is built yet")?)
    }
}

impl Index for Filtered {
    /// The engine links with as many threads as it has by itself.
    fn build(&mut self, _threads: u32) -> Result<()> {
        let metadata = |row| format!(r#"{{"r":{}}}"#, row * STRIDE % NUMBERS);
        self.collection = Some(Collection::load(self.metric, &self.base, metadata)?);
        Ok(())
    }

    /// Returns once the engine knows the field.
    fn filter(&mut self, bound: u32) -> Result<()> {
        self.filter = None;
        if bound > 0 {
            let text = format!(r#"{{"r":{{"$lt":{bound}}}}}"#);
            let filter = filter_of(&text).map_err(|wrong| format!("{text}: {wrong:?}"))?;
            let filter = Arc::new(Filter::new(filter));
            self.collection()?.count(&filter)?;
            self.collection()?.wait_for_columns();
            self.filter = Some(filter);
        }
        Ok(())
    }

    /// As the service answers: on this thread, or where the engine declines that, on its own.
    fn search(&mut self, query: &[f32], ef: usize, k: usize) -> Result<(Vec<u32>, Option<u64>)> {
        let (collection, filter) = (self.collection()?, self.filter.as_ref());
        let hits = match collection.search_at_once(query, (ef, k), filter)? {
            Some(hits) => hits,
            None => collection.search(query, (ef, k), filter)?,
        };
        let rows = hits.iter().map(|hit| row_of(hit.id) as u32);
        Ok((rows.collect(), None))
    }
}
