//! The beam of a walk: the closest points found so far, and which of them are still to be expanded
//! (their links are still to be followed).

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, TryReserveError},
};

use crate::{
    Error, Result,
    hnsw::stop_rule::StopRule,
    vectors::{margin::Margin, neighbor::Neighbor},
};

/// A neighbour packed into one number that orders like it: the rank, the slot and, in the lowest
/// bit, whether the candidate is expanded already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PackedNeighbor(u64);

impl PackedNeighbor {
    fn new(neighbor: Neighbor, expanded: bool) -> Self {
        PackedNeighbor(
            order(neighbor.rank) << 32 | u64::from(neighbor.slot) << 1 | u64::from(expanded),
        )
    }

    fn neighbor(self) -> Neighbor {
        let order = (self.0 >> 32) as u32;
        let mask = if order & SIGN == 0 { u32::MAX } else { SIGN };
        Neighbor {
            rank: f32::from_bits(order ^ mask),
            slot: self.0 as u32 >> 1,
        }
    }

    fn is_expanded(self) -> bool {
        self.0 & 1 == 1
    }
}

const SIGN: u32 = 1 << 31;

/// The bits of a rank, changed so that they order like the numbers.
#[inline]
fn order(rank: f32) -> u64 {
    let bits = rank.to_bits();
    let mask = if bits & SIGN == 0 { SIGN } else { u32::MAX };
    u64::from(bits ^ mask)
}

/// The beam of one walk.
///
/// Accepted points are candidates that the caller of the walk can use. The `ef` closest are kept in
/// a sorted array, which is faster than a heap at these sizes: an insertion is one search and one
/// short move, and a cursor finds the next candidate. Rejected points only show the way to others.
/// They wait in a heap: there can be any number of them, and they never take one of the `ef`
/// places.
#[derive(Debug)]
pub(super) struct Beam {
    ef: usize,
    /// At most `ef` points, closest first.
    accepted: Vec<PackedNeighbor>,
    /// The position in `accepted` of the closest candidate that is not expanded.
    cursor: usize,
    stop_rule: StopRule,
    /// How far the ranks of the walk may be off.
    margin: Margin,
    /// The greatest rank that is admitted. It only shrinks. A full beam admits points that are closer
    /// than its farthest one. No beam admits points so far away that the walk would never expand
    /// them, with the margin added for ranks that are off.
    reach: f32,
    rejected: BinaryHeap<Reverse<PackedNeighbor>>,
    /// The number of rejected points that may still be expanded.
    patience: usize,
    /// The walk does not give up while fewer points than this are accepted.
    least: usize,
    gave_up: bool,
    /// The number of rejected points that the walk has passed.
    passed: usize,
}

impl Default for Beam {
    fn default() -> Self {
        Beam {
            ef: 0,
            accepted: Vec::new(),
            cursor: 0,
            stop_rule: StopRule::NONE,
            margin: Margin::NONE,
            reach: f32::INFINITY,
            rejected: BinaryHeap::new(),
            patience: usize::MAX,
            least: 0,
            gave_up: false,
            passed: 0,
        }
    }
}

impl Beam {
    /// Empties the beam for a new walk, which ends by its breadth alone and never gives up until
    /// the caller sets other rules. The breadth is `ef` candidates, or `points`, the number of
    /// points that exist, if that is less; at least 1.
    pub fn begin(&mut self, ef: usize, points: usize) -> Result<()> {
        self.ef = ef.clamp(1, points.max(1));
        self.accepted.clear();
        self.rejected.clear();
        self.cursor = 0;
        self.stop_rule = StopRule::NONE;
        self.reach = f32::INFINITY;
        self.patience = usize::MAX;
        self.gave_up = false;
        self.passed = 0;
        self.accepted
            .try_reserve(self.ef + 1)
            .map_err(|error| out_of_memory(&error))
    }

    /// Sets the rule by which the walk ends, and how far its ranks may be off. The beam must be empty.
    pub fn set_stop_rule(&mut self, rule: StopRule, margin: Margin) {
        debug_assert!(self.accepted.is_empty(), "the rule comes first");
        self.stop_rule = rule;
        self.margin = margin;
    }

    /// Sets the number of rejected points after which the walk gives up, and the number of accepted
    /// points before which it does not.
    pub fn bound_rejected(&mut self, patience: usize, least: usize) {
        self.patience = patience;
        self.least = least;
    }

    /// Ends the walk before it has begun.
    pub fn give_up(&mut self) {
        self.gave_up = true;
    }

    /// Whether the walk ended because it had passed too many rejected points.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// The number of rejected points that were expanded, or were duplicates without links.
    pub fn passed(&self) -> usize {
        self.passed
    }

    /// Counts a rejected point that has no links to expand. False if that is one too many: the walk
    /// gives up.
    pub fn pass_leaf(&mut self) -> bool {
        if self.patience == 0 {
            self.gave_up = true;
            return false;
        }
        self.pass();
        true
    }

    fn pass(&mut self) {
        self.patience = self.patience.saturating_sub(1);
        self.passed += 1;
    }

    /// Begins the walk of the next layer down: the accepted points are to be expanded again there.
    pub fn restart(&mut self) {
        self.cursor = 0;
        self.rejected.clear();
        for candidate in &mut self.accepted {
            candidate.0 &= !1;
        }
    }

    /// The breadth of the beam.
    #[inline]
    pub fn breadth(&self) -> usize {
        self.ef
    }

    /// Whether a point of this rank would get a place in the beam: if it is within
    /// [reach](Self::reach).
    #[inline]
    pub fn admits(&self, rank: f32) -> bool {
        rank <= self.reach
    }

    /// The greatest rank that is admitted until the beam changes: all that are less than that of the
    /// farthest accepted point, if the beam is full.
    #[inline]
    pub fn reach(&self) -> f32 {
        self.reach
    }

    /// Adds a point that the walk should keep and expand, and which the beam
    /// [`admits`](Self::admits). Returns how many candidates at most come before it, unless closer
    /// ones are found meanwhile.
    #[inline]
    pub fn accept(&mut self, neighbor: Neighbor) -> usize {
        let at = self.insert(PackedNeighbor::new(neighbor, false));
        self.cursor = self.cursor.min(at);
        at - self.cursor
    }

    /// Adds a point that the walk should keep and that has no links to expand: a duplicate.
    pub fn accept_leaf(&mut self, neighbor: Neighbor) {
        let at = self.insert(PackedNeighbor::new(neighbor, true));
        if at <= self.cursor {
            self.cursor += 1;
        }
    }

    /// Puts a candidate in its position, which it returns. The farthest drops out of a full beam.
    #[inline]
    fn insert(&mut self, candidate: PackedNeighbor) -> usize {
        if self.accepted.len() < self.ef {
            self.accepted.push(candidate);
        }
        let last = self.accepted.len() - 1;
        let at = self.accepted[..last].partition_point(|held| *held < candidate);
        self.accepted.copy_within(at..last, at + 1);
        self.accepted[at] = candidate;
        self.shrink_reach(at);
        at
    }

    /// Takes an insertion at this position into account.
    #[inline]
    fn shrink_reach(&mut self, at: usize) {
        if self.accepted.len() == self.ef {
            let farthest = self.accepted[self.ef - 1].neighbor().rank;
            self.reach = self.reach.min(farthest.next_down());
        }
        let StopRule { place, least, .. } = self.stop_rule;
        if at > place.max(least) {
            return;
        }
        if let (Some(found), Some(least)) = (self.accepted.get(place), self.accepted.get(least)) {
            let found = found.neighbor().rank;
            let reach = self.stop_rule.reach(found) + self.margin.at(found);
            // The closest candidates are expanded whatever the rule says.
            self.reach = self.reach.min(reach.max(least.neighbor().rank));
        }
    }

    /// Adds a point that the walk may expand and must not keep.
    pub fn reject(&mut self, neighbor: Neighbor) -> Result<()> {
        self.rejected
            .try_reserve(1)
            .map_err(|error| out_of_memory(&error))?;
        self.rejected
            .push(Reverse(PackedNeighbor::new(neighbor, false)));
        Ok(())
    }

    /// Takes the closest point that is not expanded yet, accepted or rejected, and counts it as
    /// expanded. None ends the walk: all accepted points are expanded, or the stop rule excludes
    /// the rest.
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        if !self.rejected.is_empty()
            && let Some(slot) = self.next_rejected()
        {
            return Some(slot);
        }
        let Neighbor { rank, slot } = self.accepted.get(self.cursor)?.neighbor();
        if self.is_excluded(rank) {
            return None;
        }
        self.accepted[self.cursor].0 |= 1;
        self.advance();
        Some(slot)
    }

    /// Whether the [`StopRule`] excludes a candidate of this rank, which is the next to be
    /// expanded.
    #[inline]
    fn is_excluded(&self, rank: f32) -> bool {
        self.cursor >= self.stop_rule.least
            && self
                .accepted
                .get(self.stop_rule.place)
                .is_some_and(|found| self.stop_rule.excludes(rank, found.neighbor().rank))
    }

    /// The accepted points that are expanded next, unless closer ones are found.
    #[inline]
    pub fn upcoming(&self) -> impl Iterator<Item = u32> {
        let rest = self.accepted.iter().skip(self.cursor);
        rest.filter(|candidate| !candidate.is_expanded())
            .map(|candidate| candidate.neighbor().slot)
    }

    /// Moves the cursor to the next candidate that is not expanded.
    fn advance(&mut self) {
        let rest = &self.accepted[self.cursor..];
        self.cursor += rest
            .iter()
            .take_while(|candidate| candidate.is_expanded())
            .count();
    }

    /// Takes the closest rejected point if it is closer than every accepted one that is not
    /// expanded yet. Drops all rejected points if none of them will be expanded any more.
    fn next_rejected(&mut self) -> Option<u32> {
        let Reverse(closest) = *self.rejected.peek()?;
        if self.patience == 0 && self.accepted.len() >= self.least {
            self.gave_up = true;
            self.rejected.clear();
            return None;
        }
        let rank = closest.neighbor().rank;
        if !self.admits(rank) || self.is_excluded(rank) {
            // The reach and the distance at which the walk ends only shrink, so no rejected point will
            // be expanded any more.
            self.rejected.clear();
            return None;
        }
        if self
            .accepted
            .get(self.cursor)
            .is_some_and(|&rival| rival < closest)
        {
            return None;
        }
        self.rejected.pop();
        self.pass();
        Some(closest.neighbor().slot)
    }

    /// The accepted points, closest first.
    pub fn neighbors(&self) -> impl ExactSizeIterator<Item = Neighbor> + DoubleEndedIterator {
        self.accepted.iter().map(|candidate| candidate.neighbor())
    }
}

fn out_of_memory(error: &TryReserveError) -> Error {
    Error::Internal(format!("beam: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;

    fn at(rank: f32, slot: u32) -> Neighbor {
        Neighbor { rank, slot }
    }

    fn offer(beam: &mut Beam, neighbor: Neighbor, accepted: bool) {
        if beam.admits(neighbor.rank) {
            if accepted {
                beam.accept(neighbor);
            } else {
                beam.reject(neighbor).unwrap();
            }
        }
    }

    #[test]
    fn a_full_pool_keeps_the_closest_and_refuses_what_is_not_closer() {
        let mut beam = Beam::default();
        beam.begin(2, 10).unwrap();
        for (rank, slot) in [(3.0, 1), (1.0, 2), (2.0, 3), (2.0, 0), (4.0, 4)] {
            offer(&mut beam, at(rank, slot), true);
        }
        assert!(beam.neighbors().eq([at(1.0, 2), at(2.0, 3)]));
        assert!(!beam.admits(2.0));
        assert!(!beam.admits(f32::NAN));
    }

    #[test]
    fn candidates_are_expanded_closest_first_even_when_a_closer_one_comes_late() {
        let mut beam = Beam::default();
        beam.begin(3, 10).unwrap();
        beam.accept(at(2.0, 2));
        beam.accept(at(3.0, 3));
        assert_eq!(beam.next(), Some(2));
        beam.accept(at(1.0, 1));
        beam.accept_leaf(at(1.5, 9));
        assert_eq!(beam.next(), Some(1));
        assert_eq!(beam.next(), None, "3 was pushed out and 9 has no links");
    }

    #[test]
    fn rejected_candidates_are_given_up_when_there_are_too_many_and_enough_is_found() {
        let mut beam = Beam::default();
        beam.begin(5, 10).unwrap();
        beam.bound_rejected(2, 1);
        for slot in 1..6 {
            beam.reject(at(slot as f32, slot)).unwrap();
        }
        let walked: Vec<_> = (0..3).map_while(|_| beam.next()).collect();
        assert_eq!(walked, [1, 2, 3], "nothing is found yet");
        assert!(!beam.gave_up());
        beam.accept(at(9.0, 9));
        assert_eq!(beam.next(), Some(9));
        assert_eq!(beam.next(), None);
        assert!(beam.gave_up());
    }

    #[test]
    fn rejected_candidates_take_no_place_and_are_dropped_beyond_the_reach() {
        let mut beam = Beam::default();
        beam.begin(1, 10).unwrap();
        for slot in 1..5 {
            offer(&mut beam, at(slot as f32, slot), false);
        }
        assert_eq!(beam.next(), Some(1));
        beam.accept(at(2.5, 9));
        assert_eq!(beam.next(), Some(2));
        assert_eq!(beam.next(), Some(9));
        assert_eq!(
            beam.next(),
            None,
            "3 and 4 are farther than the one accepted"
        );
        assert!(beam.neighbors().eq([at(2.5, 9)]));
    }

    #[test]
    fn candidates_out_of_reach_are_not_expanded_once_enough_are() {
        let mut beam = Beam::default();
        beam.begin(8, 10).unwrap();
        beam.set_stop_rule(StopRule::of_search(Metric::Euclidean, 4, 2), Margin::NONE);
        beam.accept(at(3.0, 1));
        beam.accept(at(9.0, 2));
        assert_eq!(beam.next(), Some(1));
        assert_eq!(beam.next(), Some(2), "it is one of the two looked for");
        for (rank, slot) in [(1.0, 3), (1.01, 4), (2.9, 5)] {
            beam.accept(at(rank, slot));
        }
        beam.reject(at(1.02, 6)).unwrap();
        beam.reject(at(2.8, 7)).unwrap();
        let walked: Vec<_> = (0..9).map_while(|_| beam.next()).collect();
        assert_eq!(walked, [3, 4, 6], "5 and 7 are more than twice as far");
        assert_eq!(beam.neighbors().len(), 5);
    }

    #[test]
    fn points_that_would_never_be_expanded_are_not_admitted() {
        let mut beam = Beam::default();
        let rule = StopRule::of_search(Metric::Euclidean, 8, 2);
        let reach = rule.reach(2.0);
        let admitted = |beam: &Beam| [reach, reach + 0.5, 100.0].map(|rank| beam.admits(rank));

        beam.begin(16, 100).unwrap();
        beam.set_stop_rule(rule, Margin::NONE);
        for (rank, slot) in [(1.0, 1), (2.0, 2), (2.1, 3), (2.2, 4)] {
            assert_eq!(admitted(&beam), [true; 3], "four are expanded in any case");
            beam.accept(at(rank, slot));
        }
        beam.accept(at(100.0, 5));
        assert_eq!(
            admitted(&beam),
            [true; 3],
            "the fifth may still be that far"
        );
        beam.accept(at(2.3, 6));
        assert_eq!(admitted(&beam), [true, false, false]);
        beam.accept(at(1.5, 7));
        assert_eq!(admitted(&beam), [false; 3], "the second is closer now");
        beam.accept(at(rule.reach(1.5), 8));

        let margin = Margin::of_steps(&[1.0], 0);
        beam.begin(16, 100).unwrap();
        beam.set_stop_rule(rule, margin);
        for slot in 1..=5 {
            beam.accept(at(2.0, slot));
        }
        let farthest = reach + margin.at(2.0);
        assert!(beam.admits(farthest), "its rank may be off by as much");
        assert!(!beam.admits(farthest + 0.01));
    }

    #[test]
    fn infinite_ranks_are_admitted_as_long_as_there_is_nothing_closer() {
        let mut beam = Beam::default();
        beam.begin(4, 100).unwrap();
        beam.set_stop_rule(StopRule::of_search(Metric::Euclidean, 2, 2), Margin::NONE);
        for slot in 0..4 {
            assert!(beam.admits(f32::INFINITY));
            beam.accept(at(f32::INFINITY, slot));
        }
        assert_eq!(beam.neighbors().len(), 4);
    }
}
