//! What each index can do.

use vectord_bench::Result;

/// An index that takes part.
pub trait Index {
    /// Indexes all points.
    fn build(&mut self, threads: u32) -> Result<()>;

    /// Has the searches to come ask for points with numbers below a bound; 0 for all points.
    fn filter(&mut self, _bound: u32) -> Result<()> {
        Err("this index has no filters".into())
    }

    /// The `k` rows nearest to a query, and how many distances it took to find them, where that is
    /// counted.
    fn search(&mut self, query: &[f32], ef: usize, k: usize) -> Result<(Vec<u32>, Option<u64>)>;
}
