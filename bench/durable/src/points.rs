//! The points that are stored: what a number stands for, so that none has to be kept.

use vectord_bench::synthetic::Family;

/// Values of a vector.
pub const DIMENSION: usize = 384;

/// The content of every point.
pub const CONTENT: &str = "sixty-four bytes of text, about as much as a short note might be";

/// `Text`, as the engine numbers content types.
pub const CONTENT_TYPE: u8 = 1;

/// Points of a batch.
pub const BATCH: usize = 1_000;

/// A UUID, in the order in which it is written.
pub type Id = [u8; 16];

/// What a caller hands over for each point: vector, content and id.
pub const POINT_BYTES: usize = DIMENSION * size_of::<f32>() + CONTENT.len() + size_of::<Id>();

/// Points to insert together, by ascending number.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The number of the first one.
    pub first: u64,
    /// The vectors one after the other.
    pub vectors: &'a [f32],
}

impl<'a> Rows<'a> {
    pub fn count(&self) -> usize {
        self.vectors.len() / DIMENSION
    }

    pub fn iter(&self) -> impl Iterator<Item = (Id, &'a [f32])> + use<'a> {
        let vectors = self.vectors.chunks_exact(DIMENSION);
        (self.first..)
            .zip(vectors)
            .map(|(number, vector)| (id(number), vector))
    }
}

/// The id of the point with this number: a UUID of version 4, which the service draws too, but the
/// same in every run.
pub fn id(number: u64) -> Id {
    let mixed = (u128::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let mut id = (mixed ^ (mixed >> 67)).to_be_bytes();
    id[6] = 0x40 | id[6] & 0x0f;
    id[8] = 0x80 | id[8] & 0x3f;
    id
}

/// The query with this number, from 0.
pub fn query(family: &Family, number: usize) -> Vec<f32> {
    family.queries(number + 1).split_off(number * DIMENSION)
}
