//! The parts of the resident memory.
//!
//! Linux reports sums. This module computes their parts from the layout of the tables, which it
//! repeats on purpose, so that the two check each other: the difference between a sum and its parts
//! is a line of its own, the rest. A table that grows shows there.

use vectord_engine::{Metric, Params, layers::vectors::quantize::Codes};

use crate::set::Set;
use vectord_bench::{
    report::{Cell, Row, Table},
    smaps::Resident,
};

/// Bytes in the content of each point.
pub const CONTENT_BYTES: usize = 64;

/// The row of a slot: the place of its record, the sequences of its insert and delete, its norm.
const SLOT_BYTES: usize = 32;

/// The id of each slot.
const ID_BYTES: usize = 16;

/// The id table: a slot and a control byte for each entry.
const ID_PLACE_BYTES: usize = 4 + 1;

/// A hash map fills at most 7 of 8 entries, and their number is a power of two.
const TAKEN_OF_8: usize = 7;

/// The level of each slot, and where its upper rows begin. Duplicates are few.
const GRAPH_TABLE_BYTES: usize = 1 + 4;

const LINK_BYTES: usize = 4;

/// The measurements of one set.
pub struct Memory {
    pub set: Set,
    pub params: Params,
    /// After all points were inserted, before any graph.
    pub filled: Resident,
    /// What the graph of each metric added.
    pub graphs: Vec<(Metric, Resident)>,
}

/// Bytes a point.
struct Part {
    name: String,
    bytes: f64,
}

impl Memory {
    pub fn raw(&self) -> usize {
        4 * self.set.dimension
    }

    fn a_point(&self, bytes: u64) -> f64 {
        bytes as f64 / self.set.points as f64
    }

    /// Everything, with the graph of one metric, in bytes a point.
    pub fn with_one_metric(&self) -> f64 {
        let (_, graph) = self.graphs[0];
        self.a_point(self.filled.sum() + graph.sum())
    }

    /// The same without what is mapped from files.
    pub fn anonymous_with_one_metric(&self) -> f64 {
        let (_, graph) = self.graphs[0];
        self.a_point(self.filled.anonymous + graph.anonymous)
    }

    /// What each metric after the first adds.
    pub fn further_metrics(&self) -> impl Iterator<Item = (Metric, f64)> {
        let further = self.graphs.iter().skip(1);
        further.map(|&(metric, added)| (metric, self.a_point(added.sum())))
    }

    fn parts(&self) -> Vec<Part> {
        let part = |name: &str, bytes: f64| Part {
            name: name.into(),
            bytes,
        };
        let (points, dimension) = (self.set.points, self.set.dimension);
        let files = self.a_point(self.filled.files);
        let codes = if Codes::pay(dimension) {
            Codes::bytes(dimension)
        } else {
            0
        };
        let ids = self.a_point(id_table(points) as u64);
        let known = (codes + SLOT_BYTES) as f64 + ids;
        let mut parts = vec![
            part("vectors, mapped", self.raw() as f64),
            part("headers and contents, mapped", files - self.raw() as f64),
            part("codes", codes as f64),
            part("slot table", SLOT_BYTES as f64),
            part("ids and their table", ids),
            part(
                "rest: writing, stacks, the allocator",
                self.a_point(self.filled.anonymous) - known,
            ),
        ];
        for &(metric, added) in &self.graphs {
            let m = self.params.m;
            let ground = (2 * m * LINK_BYTES) as f64;
            // Layer by layer, 1 point in 2 m has another row.
            let upper = (m * LINK_BYTES) as f64 / (2 * m - 1) as f64;
            let tables = GRAPH_TABLE_BYTES as f64;
            let added = self.a_point(added.sum());
            parts.push(part(&format!("{metric:?}: links, layer 0"), ground));
            parts.push(part(&format!("{metric:?}: links above"), upper));
            parts.push(part(&format!("{metric:?}: levels"), tables));
            parts.push(part(
                &format!("{metric:?}: rest: visited lists, buffers"),
                added - ground - upper - tables,
            ));
        }
        parts
    }

    pub fn print(&self) {
        let Set { points, dimension } = self.set;
        println!(
            "\n{points} points of {dimension} values, contents of {CONTENT_BYTES} bytes, M={}: \
             bytes a point",
            self.params.m
        );
        for Part { name, bytes } in self.parts() {
            println!(
                "  {name:44} {bytes:8.1} {:7.2} x raw",
                bytes / self.raw() as f64
            );
        }
    }

    pub fn table(&self) -> Table {
        let Set { points, dimension } = self.set;
        let row = |part: Part| -> Row {
            let ratio = part.bytes / self.raw() as f64;
            vec![
                ("part", Cell::Text(part.name)),
                ("bytes a point", Cell::Number(part.bytes, 1)),
                ("x raw", Cell::Number(ratio, 2)),
            ]
        };
        Table {
            title: format!("{points} points of {dimension} values"),
            rows: self.parts().into_iter().map(row).collect(),
        }
    }
}

/// Bytes of `count` ids and of the hash table of their slots.
fn id_table(points: usize) -> usize {
    let places = (points * 8).div_ceil(TAKEN_OF_8).next_power_of_two();
    points * ID_BYTES + places * ID_PLACE_BYTES
}
