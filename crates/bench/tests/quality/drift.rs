//! Values of very different sizes: what any scale learned from some of the data gets wrong.

use vectord_engine::Metric;

use crate::{
    engines::Modelled,
    graphs::{Indexed, assert_recall},
    random::Random,
    sets::{self, Rows, Set},
};

const BY_LENGTH: [Metric; 2] = [Metric::Euclidean, Metric::Manhattan];
const BY_ANGLE_AND_LENGTH: [Metric; 3] = [Metric::Euclidean, Metric::Manhattan, Metric::Cosine];

/// Without codes and with them.
const DIMENSIONS: [usize; 2] = [16, 64];

/// Has graphs over sets of both dimensions reach a recall of 0.95 at a breadth of 100.
fn assert_recalls(name: &str, rows: impl Fn(usize, usize) -> Rows, metrics: &[Metric]) {
    for dimension in DIMENSIONS {
        let set = Set::split(rows(5_200, dimension), 200);
        let name = format!("{name}, {dimension} dimensions");
        assert_recall(&name, &set, metrics, 100, 0.95);
    }
}

#[test]
fn batches_that_drift_by_orders_of_magnitude_are_found_as_well_as_any() {
    let set = Set::split(sets::drifting(6_200, 32, 20), 200);
    assert_recall("drifting", &set, &BY_ANGLE_AND_LENGTH, 100, 0.95);
}

#[test]
fn a_coordinate_thousands_of_times_larger_than_the_others_hides_nothing() {
    assert_recalls("one large", sets::one_large_coordinate, &BY_LENGTH);
}

#[test]
fn a_few_points_far_out_do_not_blur_the_ordinary_ones_nor_get_lost() {
    assert_recalls("few outliers", sets::few_outliers, &BY_ANGLE_AND_LENGTH);
    let set = Set::split(sets::few_outliers(5_200, 64), 200);
    let indexed = Indexed::new(Metric::Euclidean, set.base.clone());
    let outliers: Vec<_> = set
        .base
        .iter()
        .filter(|row| row[0].abs() > 500.0)
        .cloned()
        .collect();
    assert!(outliers.len() >= 40, "{} outliers", outliers.len());
    let recall = indexed.recall(Metric::Euclidean, &outliers, &[100], |_| true)[0];
    println!("outliers, Euclidean, ef 100: {recall:.4}");
    assert!(recall >= 0.95, "outliers: {recall}");
}

#[test]
fn small_differences_behind_a_great_offset_are_told_apart() {
    assert_recalls("common offset", sets::common_offset, &BY_LENGTH);
}

/// Codes of such vectors differ little or not at all.
#[test]
fn small_differences_behind_one_great_pattern_are_told_apart() {
    for size in [300.0, 1_000.0, 10_000.0] {
        let rows = |count, dimension| sets::common_pattern(count, dimension, size);
        let name = format!("common pattern of {size}");
        assert_recalls(&name, rows, &BY_ANGLE_AND_LENGTH);
    }
}

/// Nearly parallel vectors: their angles differ, but 1 - cos is less than single precision can
/// take from 1.
#[test]
fn small_angles_are_told_apart() {
    assert_recalls("one large", sets::one_large_coordinate, &[Metric::Cosine]);
    assert_recalls("common offset", sets::common_offset, &[Metric::Cosine]);
}

#[test]
fn points_of_every_size_are_found_from_a_query_of_any_size() {
    for dimension in DIMENSIONS {
        let mut random = Random::new(30);
        let rows = sets::rows(5_200, |_| {
            let scale = 10.0_f64.powf(8.0 * random.uniform() - 4.0);
            sets::around(&vec![0.0; dimension], scale, &random.vector(dimension))
        });
        let set = Set::split(rows, 200);
        let name = format!("sizes, {dimension} dimensions");
        assert_recall(&name, &set, &BY_ANGLE_AND_LENGTH, 256, 0.95);
    }
}

#[test]
fn an_engine_ranks_drifting_batches_right_whichever_way_it_goes() {
    let rows = sets::drifting(3_000, 16, 10);
    let mut modelled = Modelled::new(16);
    for batch in rows.chunks(300) {
        modelled.insert(&batch.to_vec());
        for metric in Metric::ALL {
            let query = &batch[7];
            modelled.check(metric, query, 10, &modelled.search(metric, query, 10, 64));
        }
    }
}
