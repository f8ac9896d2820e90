//! Which links a point should have: the neighbour selection of the paper.

use super::Neighbor;
use crate::{Metric, measure::Measure, points::Points};

/// Chooses up to `count` of the candidates for the links of a point, closest candidate first: those
/// that lead elsewhere than the ones chosen before, then the closest of the rest (algorithm 4 of
/// the paper, which keeps pruned connections).
pub(super) fn choose<P: Points>(
    points: &P,
    metric: Metric,
    candidates: &[Neighbor],
    count: usize,
    chosen: &mut Vec<Neighbor>,
) {
    chosen.clear();
    for &candidate in candidates {
        if chosen.len() == count {
            return;
        }
        if leads_elsewhere(points, metric, candidate, chosen) {
            chosen.push(candidate);
        }
    }
    let diverse = chosen.len();
    for candidate in candidates {
        if chosen.len() == count {
            return;
        }
        if !chosen[..diverse].contains(candidate) {
            chosen.push(*candidate);
        }
    }
}

/// Of the links of a point, closest first, the one to give up: the farthest that leads nowhere
/// else than a closer one, or else the farthest. Links for which `is_kept` holds stay.
pub(super) fn least_useful<P: Points>(
    points: &P,
    metric: Metric,
    links: &[Neighbor],
    is_kept: impl Fn(u32) -> bool,
) -> Option<u32> {
    let mut farthest = None;
    for (index, &link) in links
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, link)| !is_kept(link.slot))
    {
        if !leads_elsewhere(points, metric, link, &links[..index]) {
            return Some(link.slot);
        }
        farthest = farthest.or(Some(link.slot));
    }
    farthest
}

/// Whether none of the `others` is closer to a candidate than the point it was ranked against: a
/// walk reaches it just as well by way of a closer one. Ties count for the candidate, which matters
/// where ranks are small integers: under Hamming, recall at equal effort rises with it.
fn leads_elsewhere<P: Points>(
    points: &P,
    metric: Metric,
    candidate: Neighbor,
    others: &[Neighbor],
) -> bool {
    let measure = Measure::of_slot(metric, points, candidate.slot);
    others
        .iter()
        .all(|other| candidate.rank <= measure.rank(points, other.slot))
}
