//! The answers to searches: ids, ranks and, where they are wanted, parts of the records.

use std::sync::Arc;

use vectord_filter::Filter;

use crate::{
    Result,
    engine::query::Query,
    index::{Include, Neighbour, PointId, Records, View},
    store::ReadAhead,
};

/// One neighbour of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The id of the point.
    pub id: PointId,
    /// Its rank under the metric: squared L2, L1, differing positions, or `1 - cos`.
    pub rank: f64,
}

/// What a query wants besides the ids of its neighbours.
#[derive(Clone, Debug)]
pub struct Want {
    /// The parts of their records.
    pub include: Include,
    /// The greatest distance of a neighbour, in the unit of [`Metric::distance_of`].
    pub max_distance: f64,
    /// The point whose vector is the query's. It is not among its own neighbours.
    pub like: Option<PointId>,
    /// What its neighbours have to pass. Queries with the same one share the work for it.
    pub filter: Option<Arc<Filter>>,
}

impl Default for Want {
    /// Ids alone, at any distance.
    fn default() -> Want {
        Want {
            include: Include::default(),
            max_distance: f64::INFINITY,
            like: None,
            filter: None,
        }
    }
}

/// The answer to a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The neighbours, closest first.
    pub hits: Vec<Hit>,
    /// The parts of their records that were wanted; without points if there are none.
    pub records: Records,
}

impl Want {
    /// The query as the index is asked: for one neighbour more where one is left out.
    pub(super) fn widened(&self, query: &Query) -> Query {
        let mut query = query.clone();
        if self.like.is_some() {
            query.limit = query.limit.saturating_add(1);
        }
        query
    }

    /// Drops the neighbours that the answer does not have: the point itself, what is too far, and
    /// what is more than the query asks for. They are sorted by their ranks.
    pub(super) fn cut(&self, query: &Query, neighbours: &mut Vec<Neighbour>) {
        if let Some(like) = self.like {
            neighbours.retain(|near| near.id != like);
        }
        neighbours.truncate(query.limit);
        let distance_of = |near: &Neighbour| query.metric.distance_of(near.rank);
        let is_near = |near: &Neighbour| distance_of(near) <= self.max_distance;
        neighbours.truncate(neighbours.partition_point(is_near));
    }

    /// The bytes of the wanted parts of these records.
    pub(super) fn bytes(&self, view: &View, neighbours: &[Neighbour]) -> usize {
        if self.include.is_empty() {
            return 0;
        }
        let mut ahead = ReadAhead::default();
        let bytes = |near: &Neighbour| view.bytes_in_answer(near.slot, self.include, &mut ahead);
        neighbours.iter().map(bytes).sum()
    }

    /// The answer of these neighbours, in whose view it is read.
    pub(super) fn read(&self, view: &View, neighbours: &[Neighbour]) -> Result<Found> {
        let mut records = Records::default();
        if !self.include.is_empty() {
            let slots: Vec<u32> = neighbours.iter().map(|near| near.slot).collect();
            records = view.records(&slots, self.include)?;
        }
        let hit = |near: &Neighbour| Hit {
            id: near.id,
            rank: near.rank,
        };
        Ok(Found {
            hits: neighbours.iter().map(hit).collect(),
            records,
        })
    }
}
