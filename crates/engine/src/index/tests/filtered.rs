//! Searches with filters, whatever the share of points that pass, near to the query or far from it.

use std::sync::Arc;

use vectord_filter::{Bound, Condition, Expression, Filter, Side, Test, Value};

use super::support::{id, index_of_points, link_all, vectors};
use crate::{
    Metric,
    hnsw::Scratch,
    index::{Index, Request},
    vectors::points::Points,
};

const POINTS: usize = 12_000;
const DIMENSION: usize = 6;
const LIMIT: usize = 10;
const EF: usize = 100;

/// A point as the test knows it: what its metadata say, as numbers.
struct Known {
    vector: Vec<f32>,
    /// Says nothing of where the point is, from 0 to 999.
    random: i32,
    /// Where the point is, by its first value, from 0 to 99.
    place: i32,
    is_live: bool,
}

fn known(count: usize, dimension: usize) -> Vec<Known> {
    let point = |(number, vector): (usize, Vec<f32>)| Known {
        random: i32::try_from(number * 7_919 % 1_000).unwrap_or_default(),
        place: (vector[0] * 100.0) as i32,
        is_live: true,
        vector,
    };
    let points = vectors(count, dimension);
    points.into_iter().enumerate().map(point).collect()
}

fn within(key: &str, side: Side, number: i32) -> Expression {
    let bound = Bound {
        value: Value::Number(number.into()),
        side,
    };
    Expression::Condition(Condition::Metadata(key.into(), Test::Within(bound)))
}

/// A filter, and the same as a function of a point.
type Rule = (&'static str, Filter, Box<dyn Fn(&Known) -> bool>);

/// Filters that pass points around `place` or none of them, and those that pass some anywhere.
fn rules(place: i32) -> Vec<Rule> {
    let random = |most: i32| -> Box<dyn Fn(&Known) -> bool> {
        Box::new(move |point: &Known| point.random < most)
    };
    let below = |most| Filter::new(within("random", Side::Below, most));
    let near = || {
        Expression::All(vec![
            within("place", Side::AtLeast, place - 10),
            within("place", Side::AtMost, place + 10),
        ])
    };
    let is_near = move |point: &Known| point.place.abs_diff(place) <= 10;
    vec![
        ("half", below(500), random(500)),
        ("a tenth", below(100), random(100)),
        ("one in a hundred", below(10), random(10)),
        ("twelve", below(1), random(1)),
        ("none", below(0), random(0)),
        ("those near", Filter::new(near()), Box::new(is_near)),
        (
            "those far",
            Filter::new(Expression::Not(Box::new(near()))),
            Box::new(move |point| !is_near(point)),
        ),
    ]
}

/// Searches by each filter, and returns by name how many of the closest points were found, of how
/// many. Each answer holds points that pass alone, and as many as are wanted or there are.
fn check(index: &Index, points: &[Known]) -> Vec<(&'static str, usize, usize)> {
    let mut scratch = Scratch::new();
    let mut counts: Vec<(&str, usize, usize)> = Vec::new();
    let dimension = points[0].vector.len();
    for query in vectors(points.len() + 20, dimension).split_off(points.len()) {
        for (name, filter, passes) in rules((query[0] * 100.0) as i32) {
            let passing = points.iter().zip(1..);
            let passing = passing.filter(|(point, _)| point.is_live && passes(point));
            let distance = |point: &Known| {
                let pairs = point.vector.iter().zip(&query);
                pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
            };
            let mut exact: Vec<(f32, usize)> = passing
                .map(|(point, number)| (distance(point), number))
                .collect();
            exact.sort_by(|a, b| a.0.total_cmp(&b.0));
            let numbers: Vec<[u8; 16]> = exact.iter().map(|&(_, number)| id(number)).collect();

            let view = index.view();
            let selection = view.select(&filter, &|| true).unwrap();
            let request = Request {
                metric: Metric::Euclidean,
                query: &query,
                limit: LIMIT,
                ef: EF,
                within: Some(&selection),
            };
            let hits = view.prepare(request).run(&mut scratch).unwrap();
            assert_eq!(hits.len(), LIMIT.min(exact.len()), "{name}");
            assert!(hits.iter().all(|hit| numbers.contains(&hit.id)), "{name}");
            let closest = &numbers[..hits.len()];
            let found = hits.iter().filter(|hit| closest.contains(&hit.id)).count();
            match counts.iter_mut().find(|count| count.0 == name) {
                Some(count) => (count.1, count.2) = (count.1 + found, count.2 + hits.len()),
                None => counts.push((name, found, hits.len())),
            }
        }
    }
    counts
}

/// An index of these points, all of them linked.
fn index_of(points: &[Known]) -> Arc<Index> {
    let all: Vec<Vec<f32>> = points.iter().map(|point| point.vector.clone()).collect();
    let text = |number: usize| {
        let Known { random, place, .. } = points[number - 1];
        format!(r#"{{"random":{random},"place":{place}}}"#)
    };
    let index = Arc::new(index_of_points(&all, usize::MAX, text));
    link_all(&index);
    index
}

#[test]
fn a_filtered_search_finds_the_closest_points_that_pass_whatever_their_share() {
    let mut points = known(POINTS, DIMENSION);
    let index = index_of(&points);
    let good = |counts: Vec<(&str, usize, usize)>| {
        for (name, found, of) in counts {
            assert!(found * 100 >= of * 95, "{name}: {found} of {of}");
        }
    };
    good(check(&index, &points));
    index.build_columns();
    good(check(&index, &points));
    // Later a third are gone, and the slots are not free yet.
    for number in (1..=POINTS).step_by(3) {
        index.delete(&id(number), (POINTS + number) as u64);
        points[number - 1].is_live = false;
    }
    index.publish(3 * POINTS as u64);
    good(check(&index, &points));
}

#[test]
fn the_closest_of_few_points_are_found_by_their_codes() {
    let points = known(3_000, 96);
    let index = index_of(&points);
    assert!(index.arena.codes().is_some());
    index.build_columns();
    let few = ["a tenth", "one in a hundred", "twelve"];
    for (name, found, of) in check(&index, &points) {
        assert!(
            found == of || !few.contains(&name),
            "{name}: {found} of {of}"
        );
    }
}
