//! A vector: an array of numbers, or the base64 of its floats.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::de::{MapAccess, SeqAccess};

use crate::{
    append::append,
    named::{Named, twice},
    refusal::{Found, Wrong},
    value::{Container, Next, Way},
    vector::Vector,
};

const EXPECTED: &str = "an array of numbers, or base64 of little-endian 32-bit floats";

/// With padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Characters that are decoded at a time: a multiple of four, whose bytes are whole floats.
const PIECE: usize = 4096;

/// Reads a vector to the end of a list.
struct AnyVector<'v>(Vector<'v>);

impl<'v> AnyVector<'v> {
    fn new(values: &'v mut Vec<f32>, way: Way) -> AnyVector<'v> {
        AnyVector(Vector::new(values, way))
    }

    /// What is wrong with the vector, if something is.
    fn finish(self) -> Result<(), Wrong> {
        self.0.outcome
    }

    /// The floats of a text; None if it is not their base64.
    fn decode(&mut self, text: &[u8]) -> Option<()> {
        for piece in text.chunks(PIECE) {
            let mut bytes = [0; PIECE];
            let length = BASE64.decode_slice(piece, &mut bytes).ok()?;
            let (floats, rest) = bytes[..length].as_chunks::<4>();
            let is_last = piece.len() < PIECE;
            if !rest.is_empty() || (length != PIECE / 4 * 3 && !is_last) {
                return None;
            }
            for &float in floats {
                append::<_, serde_json::Error>(self.0.values, &[f32::from_le_bytes(float)]).ok()?;
            }
        }
        Some(())
    }
}

/// Reads the vector of an item to the end of `values`, and what is wrong with it into `vector`. The
/// other fields of the item are told of a second one.
pub fn read_vector<'de, A: MapAccess<'de>, const N: usize>(
    values: &mut Vec<f32>,
    vector: &mut Option<Result<(), Wrong>>,
    named: &mut Named<'de, N>,
    members: &mut A,
    way: Way,
) -> Result<(), A::Error> {
    if vector.is_some() {
        named.refuse(twice("vector"));
    }
    let mut container = AnyVector::new(values, way);
    let next = Next {
        container: &mut container,
        way,
    };
    members.next_value_seed(next)?;
    *vector = Some(container.finish());
    Ok(())
}

/// Whether null stands in the place of a vector.
pub fn is_null(vector: &Result<(), Wrong>) -> bool {
    vector.as_ref().is_err_and(|wrong| wrong.is_null("vector"))
}

/// A vector that is not there.
pub fn missing() -> Wrong {
    Wrong::new("vector", Found::Missing, EXPECTED)
}

impl<'de> Container<'de> for AnyVector<'_> {
    fn array<A: SeqAccess<'de>>(&mut self, items: A) -> Result<(), A::Error> {
        self.0.array(items)
    }

    fn text(&mut self, text: &[u8]) {
        if self.decode(text).is_none() {
            self.other(Found::text(text));
        }
    }

    fn other(&mut self, found: Found) {
        self.0.outcome = Err(Wrong::new("vector", found, EXPECTED));
    }
}
