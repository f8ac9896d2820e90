//! The scan: ranks all points in single precision, in the order of their slots, each read from
//! memory once for all queries that scan together.
//!
//! Vectors lie one after the other in the log, but a slot has to be looked up and its visibility
//! checked first. So a scan works in blocks. While the first query ranks a vector of a block, a
//! vector of the next block is looked up and prefetched line by line, so that the memory is always
//! busy. The other queries find the block in the nearest cache, and rank four vectors at a time,
//! for which they load their own values once.

use std::mem;

use super::best::{Best, Candidate, reserve};
use crate::{
    Result,
    hnsw::Scratch,
    index::arena::{Arena, AskedAhead},
    vectors::measure::Measure,
};

/// The greatest number of vectors in a block.
const MAX_BLOCK: usize = 64;

/// The bytes of the vectors in a block: two blocks and some queries fit a nearest cache of 32 KiB.
const BLOCK_BYTES: usize = 8 << 10;

/// The number of vectors that are ranked together.
const FOUR: usize = 4;

/// The points "in scope" of a scan: the points of a view that single precision can rank.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The points of the index.
    pub arena: &'a Arena,
    /// The sequence number of the view.
    pub sequence: u64,
    /// The number of values in a vector.
    pub dimension: usize,
    /// Tells whether anybody waits for the scan.
    pub scratch: &'a Scratch,
}

/// One query of a scan and its candidates.
pub struct Scan<'q> {
    /// The query.
    pub measure: Measure<'q>,
    /// The closest points so far.
    pub best: Best,
}

impl<'q> Scan<'q> {
    /// A scan for the `capacity` points closest to a query.
    pub fn new(measure: Measure<'q>, capacity: usize) -> Result<Self> {
        let best = Best::new(capacity)?;
        Ok(Scan { measure, best })
    }

    /// Keeps a point if it is among the closest so far.
    #[inline]
    fn offer(&mut self, arena: &Arena, rank: f32, slot: u32) {
        if self.best.admits(rank) {
            self.best.offer(Candidate {
                rank,
                slot,
                sequence: arena.sequence(slot),
            });
        }
    }
}

/// Offers every point of `slots` that is in scope to each of the scans.
///
/// # Errors
/// [`Error::Abandoned`](crate::Error::Abandoned).
pub fn scan(scope: Scope, slots: impl Iterator<Item = u32>, scans: &mut [Scan]) -> Result<()> {
    let [first, others @ ..] = scans else {
        return Ok(());
    };
    let measure = first.measure;
    let take = |rank, slot| first.offer(scope.arena, rank, slot);
    read(scope, slots, &measure, take, |block| {
        for scan in &mut *others {
            let measure = scan.measure;
            block.rank(&measure, |rank, slot| scan.offer(scope.arena, rank, slot));
        }
    })
}

/// The slots of all points in scope whose rank is at most `bound`.
pub fn within(
    scope: Scope,
    slots: impl Iterator<Item = u32>,
    measure: &Measure,
    bound: f32,
) -> Result<Vec<u32>> {
    let mut near = Vec::new();
    let mut outcome = Ok(());
    let take = |rank, slot| {
        if rank <= bound && outcome.is_ok() {
            outcome = reserve(&mut near, 1);
            if outcome.is_ok() {
                near.push(slot);
            }
        }
    };
    read(scope, slots, measure, take, |_| ())?;
    outcome.map(|()| near)
}

/// Reads the points of `slots` that are in scope, in blocks. Calls `take` with the rank against
/// `measure` and the slot of each point, and `again` with each block while it is in the nearest
/// cache, for other queries.
fn read(
    scope: Scope,
    mut slots: impl Iterator<Item = u32>,
    measure: &Measure,
    mut take: impl FnMut(f32, u32),
    mut again: impl FnMut(&Block),
) -> Result<()> {
    let mut blocks = [const { Block::EMPTY }; 2];
    let [block, next] = &mut blocks;
    let (mut block, mut next) = (block, next);
    let capacity = Block::capacity(scope.dimension);
    let mut asked = AskedAhead::default();
    while block.len < capacity && block.add(scope, &mut slots) {}
    while block.len > 0 {
        scope.scratch.unless_abandoned()?;
        next.len = 0;
        scope.arena.ask_ahead(block.slots[0], &mut asked);
        for at in 0..block.len {
            let vector = block.vectors[at];
            // At the end there is no next block to prefetch.
            let ahead = if next.add(scope, &mut slots) {
                next.vectors[at]
            } else {
                vector
            };
            let rank = measure.rank_fetching(vector, block.inverse_norms[at], ahead);
            take(rank, block.slots[at]);
        }
        again(block);
        mem::swap(&mut block, &mut next);
    }
    Ok(())
}

/// Some points in scope, with what it takes to rank them. The first `len` places are in use.
struct Block<'a> {
    len: usize,
    slots: [u32; MAX_BLOCK],
    vectors: [&'a [f32]; MAX_BLOCK],
    inverse_norms: [f32; MAX_BLOCK],
}

impl<'a> Block<'a> {
    const EMPTY: Self = Block {
        len: 0,
        slots: [0; MAX_BLOCK],
        vectors: [&[]; MAX_BLOCK],
        inverse_norms: [0.0; MAX_BLOCK],
    };

    /// The number of points of this dimension in a block.
    fn capacity(dimension: usize) -> usize {
        let fitting = BLOCK_BYTES / (dimension * size_of::<f32>()).max(1);
        (fitting - fitting % FOUR).clamp(FOUR, MAX_BLOCK)
    }

    /// Adds the next point of `slots` that is in scope. False if there is none left.
    #[inline]
    fn add(&mut self, scope: Scope<'a>, slots: &mut impl Iterator<Item = u32>) -> bool {
        for slot in slots {
            if let Some((vector, inverse_norm)) = scope.arena.ordinary(slot, scope.sequence) {
                self.slots[self.len] = slot;
                self.vectors[self.len] = vector;
                self.inverse_norms[self.len] = inverse_norm;
                self.len += 1;
                return true;
            }
        }
        false
    }

    /// Calls `take` with the rank and the slot of each point of a block that another query has just
    /// read.
    fn rank(&self, measure: &Measure, mut take: impl FnMut(f32, u32)) {
        let (slots, _) = self.slots[..self.len].as_chunks::<FOUR>();
        let (vectors, _) = self.vectors[..self.len].as_chunks::<FOUR>();
        let (inverse_norms, _) = self.inverse_norms[..self.len].as_chunks::<FOUR>();
        for ((slots, vectors), inverse_norms) in slots.iter().zip(vectors).zip(inverse_norms) {
            let ranks = measure.ranks_of_four(vectors, inverse_norms);
            for (&rank, &slot) in ranks.iter().zip(slots) {
                take(rank, slot);
            }
        }
        for at in self.len - self.len % FOUR..self.len {
            let rank = measure.rank_of(self.vectors[at], self.inverse_norms[at]);
            take(rank, self.slots[at]);
        }
    }
}
