//! The exact scan: the points in order of their slots, each read once for all queries that scan.
//!
//! Vectors lie behind each other in the log, but a slot has to be looked up and found visible
//! first. So a scan works in blocks: it looks up the next one, and has its vectors fetched one by
//! one while the first query ranks those of the block before, in the order in which they come from
//! memory. The other queries find the block in the nearest cache, and rank four vectors at a time,
//! for which they load their own values once.

use std::ops::Range;

use super::{arena::Arena, best::Best, best::Candidate};
use crate::{Result, distance, measure::Measure};

/// Vectors in a block at most.
const MAX_BLOCK: usize = 64;

/// Bytes of vectors in a block: two of them and some queries fit a nearest cache of 32 KiB.
const BLOCK_BYTES: usize = 8 << 10;

/// A vector is ranked together with three others.
const FOUR: usize = 4;

/// Which points a scan sees.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The points.
    pub arena: &'a Arena,
    /// The sequence number of the view.
    pub sequence: u64,
    /// Values in a vector.
    pub dimension: usize,
}

/// One query of a scan and what it has found.
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

/// Offers every point of `slots` that is in scope, and that single precision can rank, to each of
/// the scans.
pub fn scan(scope: Scope, slots: Range<u32>, scans: &mut [Scan]) {
    for_each_block(scope, slots, |block, next| {
        let [first, others @ ..] = &mut *scans else {
            return;
        };
        let measure = first.measure;
        block.rank_from_memory(&measure, next, |rank, slot| {
            first.offer(scope.arena, rank, slot);
        });
        for scan in others {
            let measure = scan.measure;
            block.rank_from_cache(&measure, |rank, slot| scan.offer(scope.arena, rank, slot));
        }
    });
}

/// The slots of all points in scope whose rank is at most `reach`.
pub fn within(scope: Scope, slots: Range<u32>, measure: &Measure, reach: f32) -> Result<Vec<u32>> {
    let mut near = Vec::new();
    let mut outcome = Ok(());
    for_each_block(scope, slots, |block, next| {
        block.rank_from_memory(measure, next, |rank, slot| {
            if rank <= reach && outcome.is_ok() {
                outcome = super::search::reserve(&mut near, 1);
                if outcome.is_ok() {
                    near.push(slot);
                }
            }
        });
    });
    outcome.map(|()| near)
}

/// Calls `work` with each block of points in scope and the one behind it.
fn for_each_block(scope: Scope, mut slots: Range<u32>, mut work: impl FnMut(&Block, &Block)) {
    let mut block = Block::new(scope.dimension);
    let mut next = Block::new(scope.dimension);
    block.fill(scope, &mut slots);
    while block.len > 0 {
        next.fill(scope, &mut slots);
        work(&block, &next);
        std::mem::swap(&mut block, &mut next);
    }
}

/// Some points in scope, looked up.
struct Block<'a> {
    len: usize,
    capacity: usize,
    slots: [u32; MAX_BLOCK],
    vectors: [&'a [f32]; MAX_BLOCK],
    inverse_norms: [f32; MAX_BLOCK],
}

impl<'a> Block<'a> {
    fn new(dimension: usize) -> Self {
        let fitting = BLOCK_BYTES / (dimension * size_of::<f32>()).max(1);
        Block {
            len: 0,
            capacity: (fitting - fitting % FOUR).clamp(FOUR, MAX_BLOCK),
            slots: [0; MAX_BLOCK],
            vectors: [&[]; MAX_BLOCK],
            inverse_norms: [0.0; MAX_BLOCK],
        }
    }

    /// Takes the next points that are in scope and that single precision can rank.
    fn fill(&mut self, scope: Scope<'a>, slots: &mut Range<u32>) {
        self.len = 0;
        while self.len < self.capacity
            && let Some(slot) = slots.next()
        {
            if let Some((vector, inverse_norm)) = scope.arena.ordinary(slot, scope.sequence) {
                self.slots[self.len] = slot;
                self.vectors[self.len] = vector;
                self.inverse_norms[self.len] = inverse_norm;
                self.len += 1;
            }
        }
    }

    /// Gives `take` the rank and the slot of each point, and has the next block fetched meanwhile.
    fn rank_from_memory(&self, measure: &Measure, next: &Block, mut take: impl FnMut(f32, u32)) {
        for at in 0..self.len {
            if at < next.len {
                distance::prefetch(next.vectors[at]);
            }
            let rank = measure.rank_of(self.vectors[at], self.inverse_norms[at]);
            take(rank, self.slots[at]);
        }
    }

    /// Gives `take` the rank and the slot of each point, which another query has just read.
    fn rank_from_cache(&self, measure: &Measure, mut take: impl FnMut(f32, u32)) {
        let (slots, _) = self.slots[..self.len].as_chunks::<FOUR>();
        let (vectors, _) = self.vectors[..self.len].as_chunks::<FOUR>();
        let (inverse_norms, _) = self.inverse_norms[..self.len].as_chunks::<FOUR>();
        for ((&slots, &vectors), &inverse_norms) in slots.iter().zip(vectors).zip(inverse_norms) {
            let ranks = measure.ranks_of_four(vectors, inverse_norms);
            for (rank, slot) in ranks.into_iter().zip(slots) {
                take(rank, slot);
            }
        }
        for at in self.len - self.len % FOUR..self.len {
            let rank = measure.rank_of(self.vectors[at], self.inverse_norms[at]);
            take(rank, self.slots[at]);
        }
    }
}
