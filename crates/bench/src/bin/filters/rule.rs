//! What a filter asks, as its text and as a plain check of a point's attributes. The check is
//! independent of the engine.

use std::sync::Arc;

use vectord_bench::Result;
use vectord_filter::Filter;
use vectord_json::filter_of;

use crate::attributes::{Attributes, CLUSTERS};

pub enum Rule {
    /// The random number is less.
    Below(f64),
    /// The tag is equal.
    Tag(String),
    /// The cluster is one of these, which is noted for each, and the random number is less.
    In { clusters: Vec<bool>, below: f64 },
    /// The cluster is none of these.
    NotIn(Vec<bool>),
}

impl Rule {
    /// Whether a point matches.
    pub fn admits(&self, attributes: &Attributes, row: usize) -> bool {
        match self {
            Rule::Below(least) => attributes.random[row] < *least,
            Rule::Tag(tag) => attributes.tag[row] == *tag,
            Rule::In { clusters, below } => {
                clusters[attributes.cluster[row]] && attributes.random[row] < *below
            }
            Rule::NotIn(clusters) => !clusters[attributes.cluster[row]],
        }
    }

    /// The filter in JSON.
    pub fn text(&self) -> String {
        match self {
            Rule::Below(number) => format!(r#"{{"r":{{"$lt":{number}}}}}"#),
            Rule::Tag(tag) => format!(r#"{{"tag":"{tag}"}}"#),
            Rule::In { clusters, below } => {
                let list = numbers(clusters).join(",");
                if below.is_infinite() {
                    format!(r#"{{"c":{{"$in":[{list}]}}}}"#)
                } else {
                    format!(r#"{{"c":{{"$in":[{list}]}},"r":{{"$lt":{below}}}}}"#)
                }
            }
            Rule::NotIn(clusters) => {
                let mut list = numbers(clusters);
                // The points that no filter matches.
                list.push(CLUSTERS.to_string());
                format!(r#"{{"c":{{"$nin":[{}]}}}}"#, list.join(","))
            }
        }
    }

    /// The filter as the engine takes it.
    pub fn filter(&self) -> Result<Arc<Filter>> {
        let text = self.text();
        let wrong = |wrong| format!("{text}: {wrong:?}");
        Ok(Arc::new(Filter::new(filter_of(&text).map_err(wrong)?)))
    }
}

/// The numbers of the clusters that are noted.
fn numbers(clusters: &[bool]) -> Vec<String> {
    let noted = clusters.iter().enumerate().filter(|(_, noted)| **noted);
    noted.map(|(cluster, _)| cluster.to_string()).collect()
}
