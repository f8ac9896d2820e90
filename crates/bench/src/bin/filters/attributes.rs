//! What filters can ask of the points: a random number, a tag and a cluster for each.

use vectord_bench::synthetic::mix;
use vectord_engine::layers::vectors::{kernels, measure::Measure, points::Points};

use crate::{
    kind::{Kind, SHARES, count_of},
    set::Set,
};

/// The number of clusters. A point belongs to the nearest of this many random points.
pub const CLUSTERS: usize = 512;

/// The attributes of each point of a set, by its row.
pub struct Attributes {
    /// Below 1: the numbers 0, 1, 2 and so on over the number of points, in random order.
    pub random: Vec<f64>,
    /// A text that a share of the points has.
    pub tag: Vec<String>,
    /// The number of the cluster.
    pub cluster: Vec<usize>,
    /// The rows of the points that the clusters are around.
    centres: Vec<u32>,
}

impl Attributes {
    pub fn new(set: &Set) -> Self {
        let points = set.points();
        let mut random = vec![0.0; points];
        for (place, row) in shuffled(points, 1).into_iter().enumerate() {
            random[row as usize] = place as f64 / points as f64;
        }
        let mut tag = vec!["none".to_owned(); points];
        let mut untagged = shuffled(points, 2).into_iter();
        for share in SHARES.into_iter().filter(|&share| Kind::Tag.has(share)) {
            for row in untagged.by_ref().take(count_of(share, points)) {
                tag[row as usize] = tag_of(share);
            }
        }
        let mut centres = shuffled(points, 3);
        centres.truncate(CLUSTERS);
        Attributes {
            random,
            tag,
            cluster: clusters(set, &centres),
            centres,
        }
    }

    /// The metadata of a point, as the service stores them. `version` is another one each time that
    /// it is written, and no filter asks for it.
    pub fn metadata(&self, row: usize, version: usize) -> String {
        format!(
            r#"{{"r":{},"tag":"{}","c":{},"version":{version}}}"#,
            self.random[row], self.tag[row], self.cluster[row]
        )
    }

    /// The clusters by the distance of their centres from a query, nearest first.
    pub fn nearest_clusters(&self, set: &Set, query: &[f32]) -> Vec<usize> {
        let distance =
            |&centre: &u32| kernels::distance(set.metric, query, set.base.vector(centre));
        let distances: Vec<f64> = self.centres.iter().map(distance).collect();
        let mut clusters: Vec<usize> = (0..distances.len()).collect();
        clusters.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]));
        clusters
    }
}

/// The metadata of a point that no filter matches.
pub fn metadata_of_nobody(version: usize) -> String {
    format!(r#"{{"c":{CLUSTERS},"version":{version}}}"#)
}

/// The tag that a share in percent of the points has.
pub fn tag_of(share: f64) -> String {
    format!("t{share}")
}

/// The numbers of `points` rows in a random order, the same for the same seed.
pub fn shuffled(points: usize, seed: u64) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..points as u32).collect();
    rows.sort_by_key(|&row| mix(mix(seed) ^ u64::from(row)));
    rows
}

/// For each point the nearest of some others, as a place in their list.
fn clusters(set: &Set, centres: &[u32]) -> Vec<usize> {
    let mut nearest = vec![(f32::INFINITY, 0); set.points()];
    for (cluster, &centre) in centres.iter().enumerate() {
        let measure = Measure::new(set.metric, set.base.vector(centre));
        for (row, (least, of)) in (0..).zip(&mut nearest) {
            let rank = measure.rank(&set.base, row);
            if rank < *least {
                (*least, *of) = (rank, cluster);
            }
        }
    }
    nearest.into_iter().map(|(_, cluster)| cluster).collect()
}
