//! Walking the graph: from the entries through the upper layers, then a search of layer 0.

use super::{
    EntryPoint, Graph, Neighbor, Scratch,
    links::Link,
    ranks::{ByVector, Ranks},
};
use crate::{
    Result,
    hnsw::{
        code_error::{CodeError, SAMPLE},
        stop_rule::StopRule,
    },
    vectors::{
        measure::Measure,
        points::Points,
        quantize::{ByCode, Codes},
    },
};

/// The beam of a search in the layers above 0.
const APPROACH: usize = 2;

/// The same for an insertion, which is wider: a point that is linked in the wrong place stays hard
/// to find.
pub(super) const INSERT_APPROACH: usize = 16;

/// A walk expands several candidates together only if its beam is this many times as broad: in a
/// small beam, later candidates would often have been pushed out.
const LEAST_BREADTH: usize = 12;

/// The links of a candidate among the next of this number are prefetched at once: it will be
/// expanded soon.
const SOON: usize = 4;

/// The points that a walk takes as candidates; it passes all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eligible {
    /// Every point: the walk only looks for a way.
    All,
    /// Points that are not deleted: new links lead to them.
    Live,
    /// Deleted points as well, unless they are leaving.
    Staying,
}

/// The points of a walk, and which of them it takes as candidates.
pub(super) struct Filter<'p, P> {
    pub points: &'p P,
    pub eligible: Eligible,
}

/// The target of a walk, and the number of ranks so far.
pub(super) struct Target<R> {
    ranks: R,
    evaluations: u64,
}

impl<R: Ranks> Target<R> {
    pub fn new(ranks: R) -> Self {
        Target {
            ranks,
            evaluations: 0,
        }
    }

    /// Sets the ranks of neighbours. What this reads should be prefetched.
    #[inline]
    fn rank_all(&mut self, neighbors: &mut [Neighbor]) {
        self.ranks.rank_all(neighbors);
        self.evaluations += neighbors.len() as u64;
    }
}

impl Graph {
    /// Leaves the up to `limit` closest points that `accept` lets pass in [`Scratch::results`],
    /// found by a walk of breadth `ef`, and says how many ranks it took. `measure` is of the graph's
    /// metric. Points whose insertion has not finished may be missing; decide which points those
    /// are with [`Graph::contains`] before the search, not after it. Where too many points do not
    /// pass, the search gives up and [says so](Scratch::gave_up).
    ///
    /// If there are codes, the walk ranks by them. The ranks of the results are those of the
    /// vectors.
    pub fn search<P: Points>(
        &self,
        points: &P,
        measure: &Measure,
        ef: usize,
        limit: usize,
        accept: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<u64> {
        let ef = ef.max(limit);
        let metric = measure.metric();
        let stop_rule = StopRule::of_search(metric, ef, limit);
        let by_vector = ByVector {
            points,
            measure: *measure,
        };
        let mut evaluations = 0;
        if let Some(codes) = points.codes().filter(|_| Codes::suit(metric)) {
            let mut code = std::mem::take(&mut scratch.code);
            codes.encode(measure.query(), &mut code);
            let by_code = codes.by_code(metric, &code);
            let walked = self.walk(by_code, points, ef, stop_rule, &accept, scratch);
            evaluations = walked?;
            let is_sure = scratch.rescore(by_code, by_vector, stop_rule.most, limit);
            scratch.code = code;
            if is_sure || scratch.gave_up() {
                return Ok(evaluations);
            }
        }
        evaluations += self.walk(by_vector, points, ef, stop_rule, &accept, scratch)?;
        let Scratch { beam, results, .. } = scratch;
        results.clear();
        results.extend(beam.neighbors().take(limit));
        Ok(evaluations)
    }

    /// The number of points that a walk of this breadth may pass without taking them as candidates:
    /// beyond it, a scan would hardly take longer.
    pub(super) fn patience(&self, breadth: usize) -> usize {
        breadth.saturating_mul(4).max(self.len() as usize / 4)
    }

    /// Fills the beam with the points of layer 0 that are closest by `ranks`.
    fn walk<R: Ranks, P: Points>(
        &self,
        ranks: R,
        points: &P,
        ef: usize,
        stop_rule: StopRule,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<u64> {
        scratch.beam.begin(ef, self.links.capacity())?;
        let Some(highest) = self.entries.highest() else {
            return Ok(0);
        };
        let mut target = Target::new(ranks);
        self.approach(&mut target, points, highest, 0, APPROACH, scratch)?;
        scratch.visited.begin(self.links.capacity())?;
        scratch.beam.begin(stop_rule.most, self.links.capacity())?;
        scratch.beam.set_stop_rule(stop_rule);
        let patience = self.patience(ef).min(scratch.patience());
        scratch.beam.bound_rejected(patience, 0);
        for index in 0..scratch.starts.len() {
            let start = scratch.starts[index];
            if scratch.visited.insert(start.slot) && scratch.beam.admits(start.rank) {
                self.offer(start, accept, scratch)?;
            }
        }
        while self.expand(&mut target, 0, scratch) {
            for index in 0..scratch.fresh.len() {
                let neighbor = scratch.fresh[index];
                if scratch.beam.admits(neighbor.rank) {
                    self.offer(neighbor, accept, scratch)?;
                }
            }
        }
        Ok(target.evaluations)
    }

    /// Takes a point and its duplicates into the beam as far as they are close enough.
    #[inline]
    fn offer(
        &self,
        neighbor: Neighbor,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let beam = &mut scratch.beam;
        if accept(neighbor.slot) {
            if beam.accept(neighbor) < SOON {
                self.links.prefetch(neighbor.slot);
            }
        } else {
            beam.reject(neighbor)?;
        }
        for slot in self.links.duplicates(neighbor.slot) {
            if !beam.admits(neighbor.rank) {
                break;
            }
            if accept(slot) {
                beam.accept_leaf(Neighbor { slot, ..neighbor });
            } else if !beam.pass_leaf() {
                break;
            }
        }
        Ok(())
    }

    /// Walks from the entry points (`highest` is one of them) down to the layer above `layer`, with
    /// the given number of candidates. Leaves them in `scratch.starts`, at least one.
    pub(super) fn approach<R: Ranks, P: Points>(
        &self,
        target: &mut Target<R>,
        points: &P,
        highest: EntryPoint,
        layer: u8,
        breadth: usize,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let level = self.enter(target, highest, layer, scratch);
        scratch.beam.begin(breadth, usize::MAX)?;
        let filter = Filter {
            points,
            eligible: Eligible::All,
        };
        for layer in (layer + 1..=level).rev() {
            self.walk_layer(target, &filter, layer, scratch)?;
            scratch.starts.clear();
            scratch.starts.extend(scratch.beam.neighbors());
        }
        Ok(())
    }

    /// Ranks the entries that rise to `layer`, leaves them in `scratch.starts`, and says to which
    /// layer all of them rise.
    fn enter<R: Ranks>(
        &self,
        target: &mut Target<R>,
        highest: EntryPoint,
        layer: u8,
        scratch: &mut Scratch,
    ) -> u8 {
        let starts = &mut scratch.starts;
        let mut level = highest.level;
        starts.clear();
        starts.push(Neighbor::unranked(highest.slot));
        for entry in self.entries.sample() {
            if entry.level >= layer && entry.slot != highest.slot {
                level = level.min(entry.level);
                starts.push(Neighbor::unranked(entry.slot));
            }
        }
        target.ranks.prefetch_all(starts);
        target.rank_all(starts);
        level
    }

    /// Fills the beam, which holds where to begin, with the points closest to the target in one
    /// layer: the walk of an insertion, which sees every linked point and no duplicates. It begins at
    /// `scratch.starts` as well, which are not in the beam where nothing may be linked to them.
    pub(super) fn walk_layer<R: Ranks, P: Points>(
        &self,
        target: &mut Target<R>,
        filter: &Filter<P>,
        layer: u8,
        scratch: &mut Scratch,
    ) -> Result<()> {
        scratch.visited.begin(self.links.capacity())?;
        scratch.beam.restart();
        for neighbor in scratch.beam.neighbors() {
            scratch.visited.insert(neighbor.slot);
        }
        for &start in &scratch.starts {
            if scratch.visited.insert(start.slot) && scratch.beam.admits(start.rank) {
                self.meet(filter, start, &mut scratch.beam)?;
            }
        }
        while self.expand(target, layer, scratch) {
            for &neighbor in &scratch.fresh {
                if scratch.beam.admits(neighbor.rank) {
                    self.meet(filter, neighbor, &mut scratch.beam)?;
                }
            }
            if layer == 0
                && let Some(next) = scratch.beam.upcoming().next()
            {
                self.links.prefetch(next);
            }
        }
        Ok(())
    }

    /// Takes the next few candidates from the beam, ranks what they link to, as far as this walk
    /// has not seen it, and leaves in `scratch.fresh` what is close enough for now; false if no
    /// candidate is left.
    #[inline]
    fn expand<R: Ranks>(&self, target: &mut Target<R>, layer: u8, scratch: &mut Scratch) -> bool {
        scratch.fresh.clear();
        let abreast = (scratch.beam.breadth() / LEAST_BREADTH).clamp(1, R::ABREAST);
        let mut count = 0;
        while count < abreast
            && let Some(slot) = scratch.beam.next()
        {
            let listed = scratch.fresh.len();
            self.list_unseen(slot, layer, scratch);
            target.ranks.prefetch_all(&scratch.fresh[listed..]);
            count += 1;
        }
        if layer == 0 {
            for slot in scratch.beam.upcoming().take(abreast) {
                self.links.prefetch(slot);
            }
        }
        let Scratch { fresh, beam, .. } = scratch;
        target.rank_all(fresh);
        keep(fresh, |neighbor| beam.admits(neighbor.rank));
        count > 0
    }

    /// Adds the points linked from `slot` that this walk has not seen to `scratch.fresh`.
    #[inline]
    fn list_unseen(&self, slot: u32, layer: u8, scratch: &mut Scratch) {
        let Scratch { visited, fresh, .. } = scratch;
        let mut stamps = visited.open();
        let row = self.links.row(slot, layer);
        let mut count = fresh.len();
        fresh.resize(count + row.len(), Neighbor::unranked(slot));
        for link in row.iter().map_while(Link::load) {
            fresh[count].slot = link.slot();
            count += usize::from(stamps.insert(link.slot()));
        }
        fresh.truncate(count);
    }
}

/// Drops the neighbours that are not wanted, without a branch, which a processor could not predict.
#[inline]
fn keep(neighbors: &mut Vec<Neighbor>, is_wanted: impl Fn(&Neighbor) -> bool) {
    let mut count = 0;
    for index in 0..neighbors.len() {
        let neighbor = neighbors[index];
        neighbors[count] = neighbor;
        count += usize::from(is_wanted(&neighbor));
    }
    neighbors.truncate(count);
}

impl Scratch {
    /// Puts the `limit` closest candidates of a beam by codes into the results, by the ranks of
    /// their vectors; false if the codes cannot tell the candidates apart.
    ///
    /// The closest candidates by code are rescored first. Their ranks by code are the most
    /// favourable ones, so the differences to their ranks by vector, together with the rounding
    /// steps of the codes, bound the error of the other candidates. Of these, a candidate is
    /// rescored if its rank by code is within this error of the last result. If the whole of a full
    /// beam (`size` candidates) is within it, closer points may have been dropped from the beam:
    /// the answer is false. The closest candidates alone decide whether codes tell points apart.
    fn rescore<R: Ranks>(&mut self, codes: ByCode, ranks: R, size: usize, limit: usize) -> bool {
        let Scratch { beam, results, .. } = self;
        let surely = limit.max(SAMPLE);
        let mut candidates = beam.neighbors();
        results.clear();
        results.extend(candidates.by_ref().take(surely));
        let error = CodeError::of(results, ranks);
        // Farther candidates may be of another cluster, which any code tells apart.
        let nearest = beam.neighbors().take(surely.saturating_mul(2));
        if !error.is_small_for(nearest) {
            return false;
        }
        results.sort_unstable();
        results.truncate(limit);
        let Some(last) = results.last() else {
            return true;
        };
        let seen = error.differences.most + error.differences.span();
        let bound = last.rank + seen.max(codes.margin(last.slot, last.rank));
        let farthest = beam.neighbors().next_back();
        if beam.neighbors().len() >= size && farthest.is_some_and(|last| last.rank < bound) {
            return false;
        }
        for Neighbor { slot, .. } in candidates.take_while(|candidate| candidate.rank <= bound) {
            let neighbor = Neighbor {
                rank: ranks.rank(slot),
                slot,
            };
            if results.last().is_some_and(|last| neighbor < *last) {
                results.pop();
                let at = results.partition_point(|held| *held < neighbor);
                results.insert(at, neighbor);
            }
        }
        true
    }
}
