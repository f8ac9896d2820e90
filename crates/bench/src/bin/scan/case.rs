//! The measurements of one dimension and metric.

use vectord_engine::Metric;

use vectord_bench::{
    report::{Bound, Cell, Row, Verdict},
    rounds::Samples,
};

/// The target: the speed of the scan over that of a plain read.
const TARGET: f64 = 0.7;

pub struct Case {
    pub dimension: u32,
    pub metric: Metric,
    /// Gigabytes a second.
    pub read: Samples,
    pub scan: Samples,
    /// The scan's speed over that of the plain read.
    pub ratio: Samples,
    /// Ranks a second of many queries together over those of one.
    pub together: Samples,
}

impl Case {
    pub fn new(dimension: u32, metric: Metric) -> Self {
        let [read, scan, ratio, together] = [const { Samples::new() }; 4];
        Case {
            dimension,
            metric,
            read,
            scan,
            ratio,
            together,
        }
    }

    pub fn heading() {
        println!(
            "{:>5}  {:<9}  {:>20}  {:>20}  {:>16}  {:>16}",
            "dims", "metric", "plain read GB/s", "scan GB/s", "scan / read", "32 together"
        );
    }

    pub fn print(&self) {
        println!(
            "{:>5}  {:<9}  {:>20}  {:>20}  {:>16}  {:>16}",
            self.dimension,
            format!("{:?}", self.metric),
            self.read.cell(1),
            self.scan.cell(1),
            self.ratio.cell(2),
            self.together.cell(1)
        );
    }

    pub fn row(&self) -> Row {
        vec![
            ("dimensions", (self.dimension as usize).into()),
            ("metric", Cell::Text(format!("{:?}", self.metric))),
            ("plain read GB/s", self.read.cell(1)),
            ("scan GB/s", self.scan.cell(1)),
            ("scan / read", self.ratio.cell(2)),
            ("32 together / one", self.together.cell(1)),
        ]
    }

    pub fn verdict(&self) -> Verdict {
        Verdict {
            what: format!(
                "{} dimensions, {:?}, scan / read",
                self.dimension, self.metric
            ),
            found: self.ratio.cell(2),
            bound: Bound::AtLeast(TARGET),
        }
    }
}
