//! Walking the graph: from the entries through the upper layers, then a search of layer 0.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the instruction set"
)]

use std::mem;

use super::{
    EntryPoint, Graph, Neighbor, Scratch,
    eligible::{Eligible, Filter},
    enter::Target,
    links::{Link, Links},
    ranks::{ByVector, Ranks},
    visited::Stamps,
};
use crate::{
    Result,
    hnsw::{
        code_error::{CodeError, OF_COARSE_CODES, OF_CODES, SAMPLE},
        stop_rule::StopRule,
    },
    sync::atomic::AtomicU32,
    vectors::{
        coarse::ByCoarse,
        kernels::{self, Computation, Simd},
        measure::Measure,
        points::Points,
        quantize::{ByCode, Codes},
    },
};

/// The breadth of the beam in the layers above 0 during a search, as in the paper. With 2, a search
/// computes 1 to 5 % more ranks at equal recall.
const APPROACH: usize = 1;

/// The breadth of the beam above the layers of a new point during an insertion. It is wider than
/// [`APPROACH`], since a point that is linked in the wrong place stays hard to find.
pub(super) const INSERT_APPROACH: usize = 16;

/// A walk expands `n` candidates together only if its beam has `n` times this number of places (twice
/// `ef` in a search): in a small beam, closer points would often have pushed out the later of them
/// meanwhile.
const LEAST_BREADTH: usize = 10;

/// If fewer candidates than this come before a new one, its links are prefetched at once, since it
/// will be expanded soon.
const SOON: usize = 4;

/// How a search goes through points that it does not accept.
#[derive(Clone, Copy)]
enum Way<'s> {
    /// It ranks and expands them as it does others: best where most points are accepted.
    Through,
    /// The same, if enough of the points near to the query are accepted.
    Near,
    /// It [looks behind](super::among) them. Begins at these points, which are accepted, if too few
    /// near to the query are.
    Among(&'s [u32]),
}

/// Where a search takes its candidates from.
#[derive(Clone, Copy)]
enum Source<'s> {
    Walk(Way<'s>),
    /// These points, all of which it accepts.
    List(&'s [u32]),
}

/// Coarse codes are not trusted if the ranks of a beam spread less than their margin divided by this.
const NARROW: f32 = 2.0;

/// The number of points of a list that are ranked together, while the next are prefetched.
const BLOCK: usize = 32;

/// A walk through rejected points is worth it where at least this share of the points near to the
/// query are accepted.
const LEAST_SHARE: f32 = 0.25;

/// The number of rejected points that such a walk may pass for each candidate of its breadth: twice
/// as many as there are beside each accepted one at the least share.
const PASSED_PER_PLACE: usize = 6;

impl Graph {
    /// Searches the graph for the `limit` points closest to the query of `measure` for which
    /// `accept` holds, by a walk of breadth `ef` (at least `limit`). Leaves them in
    /// [`Scratch::results`], fewer if it finds no more, and returns the number of ranks that it
    /// computed. `measure` is of the graph's metric.
    ///
    /// Points whose insertion is not finished may be missing. To know which, ask
    /// [`Graph::contains`] before the search: afterwards it may hold for a point that was missed.
    /// If `accept` rejects too many points, the search [gives up](Scratch::gave_up).
    ///
    /// If there are codes for this metric, the walk ranks by coarse codes, and its closest candidates
    /// are ranked again by whole codes and then by their vectors. If the coarse codes cannot tell the
    /// candidates apart, a second walk ranks by whole codes, or by vectors if these cannot either. The
    /// results have ranks by vector in any case.
    pub fn search<P: Points>(
        &self,
        points: &P,
        measure: &Measure,
        ef: usize,
        limit: usize,
        accept: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<u64> {
        let walk = Source::Walk(Way::Through);
        self.search_by(walk, points, measure, (ef, limit), accept, scratch)
    }

    /// As [`search`](Self::search), but gives up at once unless a good part of the points near to
    /// the query are accepted: [`Scratch::share_near`] tells which. Gives up too if the walk passes
    /// many more rejected points than that share lets expect.
    pub fn search_near<P: Points>(
        &self,
        points: &P,
        measure: &Measure,
        (ef, limit): (usize, usize),
        accept: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<u64> {
        let walk = Source::Walk(Way::Near);
        self.search_by(walk, points, measure, (ef, limit), accept, scratch)
    }

    /// As [`search`](Self::search), by a walk [among](super::among) the accepted points: for a
    /// search that accepts a part of all points. `seeds` are some of them, spread over all: the walk
    /// begins there if too few near to the query are accepted.
    pub fn search_among<P: Points>(
        &self,
        points: &P,
        measure: &Measure,
        (ef, limit): (usize, usize),
        accept: impl Fn(u32) -> bool,
        seeds: &[u32],
        scratch: &mut Scratch,
    ) -> Result<u64> {
        let walk = Source::Walk(Way::Among(seeds));
        self.search_by(walk, points, measure, (ef, limit), accept, scratch)
    }

    /// As [`search`](Self::search), by ranking the points in `slots`, whether they are in the graph or
    /// not: for a search that accepts few points. None of them needs double precision.
    pub fn search_only<P: Points>(
        &self,
        points: &P,
        measure: &Measure,
        (ef, limit): (usize, usize),
        slots: &[u32],
        scratch: &mut Scratch,
    ) -> Result<u64> {
        let list = Source::List(slots);
        self.search_by(list, points, measure, (ef, limit), |_| true, scratch)
    }

    fn search_by<P: Points>(
        &self,
        source: Source,
        points: &P,
        measure: &Measure,
        (ef, limit): (usize, usize),
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
            let (mut query, mut code) =
                (mem::take(&mut scratch.query), mem::take(&mut scratch.code));
            let by_coarse = ByCoarse::new(codes, metric, measure.query(), &mut query);
            codes.encode(measure.query(), &mut code);
            let by_code = codes.by_code(metric, &code);
            let filled = self.fill(source, by_coarse, points, ef, stop_rule, &accept, scratch);
            evaluations = filled?;
            let mut is_sure = scratch.refine(by_coarse, by_code, stop_rule.most, limit)
                && scratch.rescore(by_code, by_vector, usize::MAX, limit);
            if !is_sure && !scratch.gave_up() && scratch.codes_tell_apart(by_vector) {
                evaluations +=
                    self.fill(source, by_code, points, ef, stop_rule, &accept, scratch)?;
                scratch.refined.clear();
                scratch.refined.extend(scratch.beam.neighbors());
                is_sure = scratch.rescore(by_code, by_vector, stop_rule.most, limit);
            }
            (scratch.query, scratch.code) = (query, code);
            if is_sure || scratch.gave_up() {
                return Ok(evaluations);
            }
        }
        evaluations += self.fill(source, by_vector, points, ef, stop_rule, &accept, scratch)?;
        let Scratch { beam, results, .. } = scratch;
        results.clear();
        results.extend(beam.neighbors().take(limit));
        Ok(evaluations)
    }

    /// The number of points that a walk of this breadth may expand without taking them as
    /// candidates. Beyond it, a scan would hardly take longer.
    pub(super) fn patience(&self, breadth: usize) -> usize {
        breadth.saturating_mul(4).max(self.len() as usize / 4)
    }

    /// Fills the beam with the closest points by `ranks` that `accept` holds for. Returns the number
    /// of ranks that were computed, or [`Error::Abandoned`](crate::Error::Abandoned).
    #[expect(
        clippy::too_many_arguments,
        reason = "all of them differ from search to search"
    )]
    fn fill<R: Ranks, P: Points>(
        &self,
        source: Source,
        ranks: R,
        points: &P,
        ef: usize,
        stop_rule: StopRule,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<u64> {
        let mut target = Target::new(ranks);
        match source {
            Source::Walk(way) => {
                self.walk(way, &mut target, points, ef, stop_rule, accept, scratch)?;
            }
            Source::List(slots) => {
                scratch.beam.begin(stop_rule.most, slots.len())?;
                target.rank_only(slots, scratch)?;
            }
        }
        Ok(target.evaluations)
    }

    /// Fills the beam with the points of layer 0 that are closest to the target and that `accept`
    /// holds for.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of them differ from search to search"
    )]
    fn walk<R: Ranks, P: Points>(
        &self,
        way: Way,
        target: &mut Target<R>,
        points: &P,
        ef: usize,
        stop_rule: StopRule,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<()> {
        scratch.beam.begin(ef, self.links.capacity())?;
        let Some(highest) = self.entries.highest() else {
            return Ok(());
        };
        self.approach(target, points, highest, 0, APPROACH, scratch)?;
        if let Way::Among(seeds) = way {
            self.start_among(target, seeds, accept, scratch)?;
        }
        scratch.visited.begin(self.links.capacity())?;
        scratch.beam.begin(stop_rule.most, self.links.capacity())?;
        let margin = target.margin(&scratch.starts);
        scratch.beam.set_stop_rule(stop_rule, margin);
        let mut patience = self.patience(ef).min(scratch.patience());
        if let Way::Near = way {
            scratch.share_near = self.share_near(&scratch.starts, accept);
            if scratch.share_near < LEAST_SHARE {
                scratch.beam.give_up();
                return Ok(());
            }
            patience = patience.min(ef.saturating_mul(PASSED_PER_PLACE));
        }
        scratch.beam.bound_rejected(patience, 0);
        for index in 0..scratch.starts.len() {
            let start = scratch.starts[index];
            if scratch.visited.insert(start.slot) && scratch.beam.admits(start.rank) {
                self.offer(start, accept, scratch)?;
            }
        }
        while match way {
            Way::Through | Way::Near => self.expand(target, 0, scratch),
            Way::Among(_) => self.expand_among(target, accept, scratch),
        } {
            scratch.unless_abandoned()?;
            for index in 0..scratch.fresh.len() {
                let neighbor = scratch.fresh[index];
                if scratch.beam.admits(neighbor.rank) {
                    self.offer(neighbor, accept, scratch)?;
                }
            }
        }
        Ok(())
    }

    /// Takes a point that a search has met, and its duplicates, into the beam, as long as it admits
    /// them.
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
    /// a beam of the given breadth. Leaves the candidates of the last layer in `scratch.starts`, at
    /// least one: the walk of `layer` begins at them.
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
        // One set for all layers: a point that was met in a layer and is not in the beam would not be
        // admitted to it further down either.
        scratch.visited.begin(self.links.capacity())?;
        let filter = Filter {
            points,
            eligible: Eligible::All,
        };
        for layer in (layer + 1..=level).rev() {
            scratch.beam.restart();
            self.walk_layer(target, &filter, layer, scratch)?;
            scratch.starts.clear();
            scratch.starts.extend(scratch.beam.neighbors());
        }
        Ok(())
    }

    /// Fills the beam with the points closest to the target in one layer: the walk of an insertion,
    /// and of [`Graph::approach`]. It begins at the points that are in the beam, from the layer
    /// above, and at `scratch.starts`; the latter are not in the beam if nothing may be linked to
    /// them. It ranks no point of the visited set, and meets no duplicates, as no link leads to one.
    pub(super) fn walk_layer<R: Ranks, P: Points>(
        &self,
        target: &mut Target<R>,
        filter: &Filter<P>,
        layer: u8,
        scratch: &mut Scratch,
    ) -> Result<()> {
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

    /// Expands the next few candidates of the beam: ranks the points that they link to and that
    /// this walk has not met before, and leaves in `scratch.fresh` the points among them that the
    /// beam admits now. False if no candidate is left: the walk is over.
    #[inline]
    fn expand<R: Ranks>(&self, target: &mut Target<R>, layer: u8, scratch: &mut Scratch) -> bool {
        let (links, ranks) = (&self.links, target.ranks);
        let ranked = kernels::compute(Expansion {
            links,
            ranks,
            layer,
            scratch,
        });
        target.evaluations += ranked.unwrap_or(0) as u64;
        ranked.is_some()
    }
}

/// What [`Graph::expand`] does, in one loop: it answers the number of ranks, or None if no candidate is
/// left.
struct Expansion<'e, R> {
    links: &'e Links,
    ranks: R,
    layer: u8,
    scratch: &'e mut Scratch,
}

impl<R: Ranks> Computation for Expansion<'_, R> {
    type Output = Option<usize>;

    #[inline(always)]
    fn compute<S: Simd>(self, simd: S) -> Option<usize> {
        let Expansion {
            links,
            ranks,
            layer,
            scratch,
        } = self;
        let Scratch {
            visited,
            unseen,
            fresh,
            beam,
            ..
        } = scratch;
        let mut stamps = visited.open();
        let abreast = (beam.breadth() / LEAST_BREADTH).clamp(1, R::ABREAST);
        let (mut expanded, mut count) = (0, 0);
        while expanded < abreast
            && let Some(slot) = beam.next()
        {
            let listed = count;
            count = list_unseen(links.row(slot, layer), &mut stamps, unseen, listed);
            ranks.prefetch(unseen[listed..count].iter().copied());
            expanded += 1;
        }
        if layer == 0 {
            for slot in beam.upcoming().take(abreast) {
                links.prefetch(slot);
            }
        }
        ranks.rank_within(simd, unseen, count, beam.reach(), fresh);
        (expanded > 0).then_some(count)
    }
}

/// Writes the points that a row links to and that this walk has not met before to `unseen`, from the
/// place `count` on. Returns the number of places that are written then.
#[inline(always)]
fn list_unseen(
    row: &[AtomicU32],
    stamps: &mut Stamps,
    unseen: &mut Vec<u32>,
    mut count: usize,
) -> usize {
    let most = count + row.len();
    if unseen.len() < most {
        unseen.resize(most, 0);
    }
    // A local slice: the address of the list would be loaded again after each store to the stamps.
    let places = &mut unseen[..most];
    for link in row.iter().map_while(Link::load) {
        places[count] = link.slot();
        count += usize::from(stamps.insert(link.slot()));
    }
    count
}

impl<R: Ranks> Target<R> {
    /// Fills the beam with the closest of these points.
    fn rank_only(&mut self, slots: &[u32], scratch: &mut Scratch) -> Result<()> {
        let mut blocks = slots.chunks(BLOCK).peekable();
        while let Some(block) = blocks.next() {
            scratch.unless_abandoned()?;
            let Scratch { fresh, beam, .. } = scratch;
            let next = blocks.peek().copied().unwrap_or_default();
            self.ranks.prefetch(next.iter().copied());
            fresh.clear();
            fresh.extend(block.iter().map(|&slot| Neighbor::unranked(slot)));
            self.rank_all(fresh);
            for &neighbor in &*fresh {
                if beam.admits(neighbor.rank) {
                    beam.accept_leaf(neighbor);
                }
            }
        }
        Ok(())
    }
}

impl Scratch {
    /// Ranks the candidates of a walk by coarse codes again by their codes, and leaves those in
    /// `refined` that may be among the `limit` closest, closest first. False if the coarse codes
    /// cannot tell the candidates apart. That is so, too, if the ranks of a full beam (of `size`
    /// candidates) beyond the `limit`-th lie within half of the margin of their error: then closer points
    /// may have been dropped from it. The margin of [`rescore`](Self::rescore) would ask too
    /// much here, since a beam of small breadth is hardly wider on any set.
    fn refine(&mut self, coarse: ByCoarse, codes: ByCode, size: usize, limit: usize) -> bool {
        let Scratch { beam, refined, .. } = self;
        let surely = limit.max(SAMPLE);
        let mut candidates = beam.neighbors();
        refined.clear();
        refined.extend(candidates.by_ref().take(surely));
        let error = CodeError::of(refined, codes);
        refined.sort_unstable();
        let nearest = beam.neighbors().take(surely.saturating_mul(2));
        if !error.is_small_for(nearest, OF_COARSE_CODES) {
            return false;
        }
        if let Some(&last) = refined.get(limit.saturating_sub(1)) {
            let margin = coarse.margin(last.slot).at(last.rank);
            let mut beyond = beam.neighbors().skip(limit.saturating_sub(1));
            let spread = beyond.next().zip(beyond.next_back());
            let is_narrow =
                spread.is_some_and(|(near, far)| far.rank - near.rank < margin / NARROW);
            if beam.neighbors().len() >= size && is_narrow {
                return false;
            }
            let bound = error.bound(last, margin);
            let ranked = refined.len();
            refined.extend(candidates.take_while(|candidate| candidate.rank <= bound));
            codes.fetch_and_rank_all(&mut refined[ranked..]);
            refined.sort_unstable();
        }
        true
    }

    /// Whether codes tell the candidates in `refined` apart, which are ranked by code, closest first. If
    /// not, a walk by codes would be in vain.
    fn codes_tell_apart<R: Ranks>(&mut self, ranks: R) -> bool {
        let Scratch {
            refined, results, ..
        } = self;
        results.clear();
        results.extend(refined.iter().take(SAMPLE));
        let error = CodeError::of(results, ranks);
        error.is_small_for(refined.iter().copied(), OF_CODES)
    }

    /// Ranks the candidates in `refined`, closest first by codes, again by their vectors, and puts
    /// the `limit` closest into the results. False if the codes cannot tell the candidates apart:
    /// then the results are not to be used.
    ///
    /// The closest candidates by code are ranked first. Their ranks by code are the most favourable
    /// ones, so the differences to their ranks by vector, together with the rounding steps of the
    /// codes, bound the error of the other candidates. A farther candidate is ranked by its vector
    /// only if its rank by code is within this error of the last result. If even the farthest
    /// of `size` candidates is within the error, closer points may have been dropped from a beam of
    /// this breadth, and the answer is false. Only the closest candidates decide whether codes tell
    /// points apart.
    fn rescore<R: Ranks>(&mut self, codes: ByCode, ranks: R, size: usize, limit: usize) -> bool {
        let Scratch {
            refined, results, ..
        } = self;
        let surely = limit.max(SAMPLE).min(refined.len());
        let (first, others) = refined.split_at(surely);
        results.clear();
        results.extend_from_slice(first);
        let error = CodeError::of(results, ranks);
        // Farther candidates may be of another cluster, which any code tells apart.
        let nearest = refined.iter().take(surely.saturating_mul(2)).copied();
        if !error.is_small_for(nearest, OF_CODES) {
            return false;
        }
        results.sort_unstable();
        results.truncate(limit);
        let Some(&last) = results.last() else {
            return true;
        };
        let bound = error.bound(last, codes.margin(last.slot).at(last.rank));
        if refined.len() >= size && refined.last().is_some_and(|last| last.rank < bound) {
            return false;
        }
        let within = others.partition_point(|candidate| candidate.rank <= bound);
        ranks.prefetch_all(&others[..within]);
        for &Neighbor { slot, .. } in &others[..within] {
            let neighbor = Neighbor {
                rank: ranks.rank(slot),
                slot,
            };
            if neighbor < last {
                results.push(neighbor);
            }
        }
        // Most are in order already, which a stable sort makes use of.
        results.sort();
        results.truncate(limit);
        true
    }
}
