//! Vectors to scan, in a store of their own.

use std::{path::PathBuf, sync::Arc};

use vectord_engine::{
    DEFAULT_SEGMENT_BYTES, Params, Result,
    layers::{
        index::{Index, Linker},
        store::{OpenOptions, Store, Write},
    },
};

/// Centres that the points lie around.
const CLUSTERS: usize = 200;

/// A store in a temporary folder and the index over it.
pub struct Collection {
    pub index: Arc<Index>,
    store: Store,
    folder: PathBuf,
    next: u64,
    dimension: u32,
    is_rounded: bool,
}

impl Collection {
    pub fn new(dimension: u32) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("vectord-scan-{}", std::process::id()));
        let store = Store::open(&OpenOptions {
            path: folder.clone(),
            dimension: Some(dimension),
            default_dimension: dimension,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
        })?
        .store;
        let index = Index::new(store.segments(), dimension, Params::default());
        Ok(Collection {
            index: Arc::new(index),
            store,
            folder,
            next: 0,
            dimension,
            is_rounded: false,
        })
    }

    /// The same with few distinct values: otherwise vectors differ in every position under Hamming.
    pub fn rounded(dimension: u32) -> Result<Self> {
        let mut collection = Collection::new(dimension)?;
        collection.is_rounded = true;
        Ok(collection)
    }

    pub fn filled(dimension: u32, count: usize) -> Result<Self> {
        let mut collection = Collection::new(dimension)?;
        collection.grow_to(count as u64)?;
        Ok(collection)
    }

    /// Inserts points until there are `count`, in the commits of ordinary batches.
    pub fn grow_to(&mut self, count: u64) -> Result<()> {
        const BATCH: u64 = 4096;
        while self.next < count {
            let numbers = self.next..count.min(self.next + BATCH);
            let vectors: Vec<Vec<f32>> = numbers
                .clone()
                .map(|number| vector(self.dimension, number as usize))
                .map(|vector| {
                    if self.is_rounded {
                        rounded(vector)
                    } else {
                        vector
                    }
                })
                .collect();
            let ids = numbers
                .clone()
                .map(|number| u128::from(number + 1).to_be_bytes());
            let writes: Vec<Write> = ids
                .clone()
                .zip(&vectors)
                .map(|(id, vector)| Write::Insert {
                    id,
                    vector,
                    content_type: 0,
                    content: &[],
                    metadata: &[],
                    replaced: None,
                })
                .collect();
            let locations = self.store.commit(&writes)?;
            for ((id, location), sequence) in ids.zip(locations).zip(numbers.start + 1..) {
                self.index.insert(id, location, sequence)?;
            }
            self.index.publish(numbers.end);
            self.next = numbers.end;
        }
        Ok(())
    }

    pub fn linker(&self) -> Result<Linker> {
        Linker::start(&self.index, 1)
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("{} is left behind: {error}", self.folder.display());
        }
    }
}

/// A query near some points.
pub fn query(dimension: u32, seed: usize) -> Vec<f32> {
    vector(dimension, usize::MAX / 2 + seed * 7)
}

/// Values in steps of a half.
pub fn rounded(mut vector: Vec<f32>) -> Vec<f32> {
    for value in &mut vector {
        *value = (*value * 2.0).round() / 2.0;
    }
    vector
}

/// Point `number`: a centre plus noise.
fn vector(dimension: u32, number: usize) -> Vec<f32> {
    let mut centre = random((number % CLUSTERS) as u64);
    let mut own = random(number as u64 | 1 << 63);
    (0..dimension).map(|_| 2.0 * centre() + own()).collect()
}

/// Numbers between -1 and 1, the same for the same seed.
fn random(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }
}
