//! A search for a stored vector finds it, whatever the metric, the data and the breadth.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{path::Path, sync::mpsc::channel};

use crate::driver::*;
use vectord_engine::{Engine, Metric, Query, layers::vectors::kernels};

const POINTS: usize = 4_000;
const DIMENSION: usize = 8;

/// Pseudo-random numbers from 0 to 1, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u64 << 24) as f32
    }

    fn vectors(&mut self, mut value: impl FnMut(&mut Random) -> f32) -> Vec<Vec<f32>> {
        let mut vector = |_| (0..DIMENSION).map(|_| value(self)).collect();
        (0..POINTS).map(&mut vector).collect()
    }
}

fn real() -> Vec<Vec<f32>> {
    Random(1).vectors(|random| random.next() * 2.0 - 1.0)
}

fn small_integers() -> Vec<Vec<f32>> {
    Random(2).vectors(|random| (random.next() * 6.0).floor())
}

/// One value is equal in all vectors and far larger than their differences.
fn behind_one_value() -> Vec<Vec<f32>> {
    let mut vectors = Random(3).vectors(Random::next);
    for vector in &mut vectors {
        vector[0] = 5_000.0;
    }
    vectors
}

/// Half of the points are duplicates of a few.
fn copies() -> Vec<Vec<f32>> {
    let mut vectors = real();
    for number in (0..POINTS).step_by(2) {
        let copied = vectors[number % 10 + 1].clone();
        vectors[number] = copied;
    }
    vectors
}

/// Zeros of both signs, and vectors that differ only in the sign of a zero.
fn zeros() -> Vec<Vec<f32>> {
    Random(4).vectors(|random| match random.next() {
        drawn if drawn < 0.25 => 0.0,
        drawn if drawn < 0.5 => -0.0,
        drawn => drawn,
    })
}

fn open_with_graphs(path: &Path) -> Engine {
    let mut options = options(path, Some(DIMENSION as u32));
    options.warm_metrics = Metric::ALL.to_vec();
    Engine::open(&options).unwrap()
}

/// Searches for every `step`-th stored vector.
fn assert_found(engine: &Engine, model: &Model, step: usize, what: &str) {
    wait_for_graphs(engine);
    for metric in Metric::ALL {
        for (limit, ef) in [(1, 1), (3, 20)] {
            let sought: Vec<_> = model.iter().step_by(step).collect();
            let (sender, receiver) = channel();
            engine.search_batch(
                sought
                    .iter()
                    .flat_map(|(_, vector)| vector.clone())
                    .collect(),
                vec![Query { metric, limit, ef }; sought.len()],
                Box::new(move |outcome| sender.send(outcome).unwrap()),
            );
            let answers = receiver.recv().unwrap().unwrap();
            for ((_, vector), hits) in sought.iter().zip(answers) {
                let own = kernels::distance(metric, vector, vector);
                assert!(
                    hits[0].rank <= own,
                    "{what}, {metric:?}, ef {ef}: {} instead of {own} for {vector:?}",
                    hits[0].rank
                );
            }
        }
    }
}

/// Every vector is found at first, after deletes and inserts of new and of old vectors, once slots
/// are used again, and after restarts with a snapshot and without.
fn lives(what: &str, vectors: &[Vec<f32>]) {
    let folder = tempfile::tempdir().unwrap();
    let engine = open_with_graphs(folder.path());
    let ids = insert(&engine, vectors).unwrap();
    let mut model: Model = ids.into_iter().zip(vectors.iter().cloned()).collect();
    assert_found(&engine, &model, 7, what);

    let again: Vec<Vec<f32>> = model.iter().step_by(6).map(|(_, v)| v.clone()).collect();
    let mut number = 0;
    model.retain(|(id, _)| {
        number += 1;
        let stays = number % 3 != 1;
        assert!(stays || delete(&engine, *id));
        stays
    });
    wait_until("giving slots back", || {
        let status = engine.status();
        status.dead < status.points / 20
    });
    let ids = insert(&engine, &again).unwrap();
    model.extend(ids.into_iter().zip(again));
    assert_found(&engine, &model, 5, &format!("{what}, some used again"));
    engine.close().unwrap();

    let engine = open_with_graphs(folder.path());
    assert!(engine.status().graphs.iter().all(|graph| graph.caught_up));
    assert_found(&engine, &model, 11, &format!("{what}, after a restart"));
    let more = vec![model[1].1.clone(), vec![0.25; DIMENSION]];
    let ids = insert(&engine, &more).unwrap();
    model.extend(ids.into_iter().zip(more));
    assert_found(&engine, &model, 13, &format!("{what}, grown after it"));
}

#[test]
fn real_values_are_found() {
    lives("real values", &real());
}

#[test]
fn small_integers_are_found() {
    lives("small integers", &small_integers());
}

#[test]
fn clusters_are_found() {
    lives("clusters", &clustered(POINTS, DIMENSION));
}

#[test]
fn what_is_behind_one_large_value_is_found() {
    lives("behind one value", &behind_one_value());
}

#[test]
fn copies_are_found() {
    lives("copies", &copies());
}

#[test]
fn zeros_of_either_sign_are_found() {
    lives("zeros", &zeros());
}
