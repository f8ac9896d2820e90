//! The filters of a kind that a share of the points matches, one filter for each query.

use std::sync::Arc;

use vectord_bench::Result;
use vectord_filter::Filter;

use crate::{
    attributes::{Attributes, CLUSTERS, tag_of},
    kind::{Kind, LEAST_ALL_BUT, count_of},
    rule::Rule,
    set::Set,
    truth::{self, Truth},
};

pub struct Workload {
    pub kind: Kind,
    /// The share of the points that is to match, in percent.
    pub share: f64,
    /// For each query.
    pub rules: Vec<Rule>,
    /// For each query.
    pub filters: Vec<Arc<Filter>>,
    /// For each query.
    pub truths: Vec<Truth>,
}

impl Workload {
    /// The mean number of points that match.
    pub fn matches(&self) -> f64 {
        let matches: usize = self.truths.iter().map(|truth| truth.matches).sum();
        matches as f64 / self.truths.len() as f64
    }
}

/// The workloads of some kinds and shares, and the truths of the queries without a filter.
pub fn all(
    set: &Set,
    attributes: &Attributes,
    kinds: &[Kind],
    shares: &[f64],
) -> Result<(Vec<Workload>, Vec<Truth>)> {
    let clusters = Clusters::new(set, attributes);
    let (mut cases, mut lists) = (Vec::new(), Vec::new());
    for &kind in kinds {
        for &share in shares.iter().filter(|&&share| kind.has(share)) {
            let rules = (0..set.queries.len() as usize).map(|at| clusters.rule(kind, share, at));
            lists.push(rules.collect());
            cases.push((kind, share));
        }
    }
    let mut truths = truth::find(set, attributes, &lists).into_iter();
    let all = truths.next().ok_or("there are no truths")?;
    let mut workloads = Vec::new();
    for (((kind, share), rules), truths) in cases.into_iter().zip(lists).zip(truths) {
        workloads.push(Workload {
            kind,
            share,
            filters: rules.iter().map(Rule::filter).collect::<Result<_>>()?,
            rules,
            truths,
        });
    }
    Ok((workloads, all))
}

/// The clusters, and what is near the queries.
struct Clusters {
    points: usize,
    /// The random numbers of the points of each cluster, ascending.
    random: Vec<Vec<f64>>,
    /// For each query the clusters that are not empty, nearest first.
    nearest: Vec<Vec<usize>>,
}

impl Clusters {
    fn new(set: &Set, attributes: &Attributes) -> Self {
        let mut random = vec![Vec::new(); CLUSTERS];
        for (&cluster, &number) in attributes.cluster.iter().zip(&attributes.random) {
            random[cluster].push(number);
        }
        for numbers in &mut random {
            numbers.sort_unstable_by(f64::total_cmp);
        }
        let nearest = |query| {
            let mut clusters = attributes.nearest_clusters(set, query);
            clusters.retain(|&cluster| !random[cluster].is_empty());
            clusters
        };
        Clusters {
            points: set.points(),
            nearest: set.queries().map(nearest).collect(),
            random,
        }
    }

    fn rule(&self, kind: Kind, share: f64, query: usize) -> Rule {
        let wanted = count_of(share, self.points);
        let nearest = self.nearest[query].iter().copied();
        match kind {
            Kind::Random => Rule::Below(wanted as f64 / self.points as f64),
            Kind::Tag => Rule::Tag(tag_of(share)),
            Kind::Correlated => self.first(nearest, wanted),
            Kind::Anti if share < LEAST_ALL_BUT => self.first(nearest.rev(), wanted),
            Kind::Alternate => Rule::In {
                clusters: (0..CLUSTERS).map(|cluster| cluster % 2 == 0).collect(),
                below: f64::INFINITY,
            },
            Kind::Anti => Rule::NotIn(noted(self.until(nearest, self.points - wanted))),
        }
    }

    /// A rule that about so many points of the first clusters match. Where one cluster has many
    /// more, its points with the least random numbers match.
    fn first(&self, clusters: impl Iterator<Item = usize>, wanted: usize) -> Rule {
        let clusters = self.until(clusters, wanted);
        let below = match clusters[..] {
            [only] if 2 * self.random[only].len() > 3 * wanted => self.random[only][wanted],
            _ => f64::INFINITY,
        };
        Rule::In {
            clusters: noted(clusters),
            below,
        }
    }

    /// The first clusters that together have at least so many points.
    fn until(&self, clusters: impl Iterator<Item = usize>, wanted: usize) -> Vec<usize> {
        let mut count = 0;
        let is_needed = |&cluster: &usize| {
            let is_needed = count < wanted;
            count += self.random[cluster].len();
            is_needed
        };
        clusters.take_while(is_needed).collect()
    }
}

/// The clusters of a list, noted in a list of all.
fn noted(list: Vec<usize>) -> Vec<bool> {
    let mut noted = vec![false; CLUSTERS];
    for cluster in list {
        noted[cluster] = true;
    }
    noted
}
