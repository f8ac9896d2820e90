//! Numbers as text.

/// Longest text of a float and the comma behind it.
const MAX_VALUE_BYTES: usize = 17;

/// A JSON array of the shortest decimals that read back as the same floats; -0 stays -0.
#[must_use]
pub fn json_array(values: &[f32]) -> String {
    let mut text = String::with_capacity(2 + values.len() * MAX_VALUE_BYTES);
    let mut buffer = ryu::Buffer::new();
    text.push('[');
    for (index, &value) in values.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(buffer.format_finite(value));
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back_bit_for_bit_in_their_shortest_form() {
        let values = [
            0.1,
            -0.0,
            0.0,
            1.0,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e-45,
            16_777_216.0,
        ];
        let text = json_array(&values);
        assert!(text.starts_with("[0.1,-0.0,0.0,1.0,"), "{text}");
        let read: Vec<f32> = text[1..text.len() - 1]
            .split(',')
            .map(|value| value.parse().unwrap())
            .collect();
        assert_eq!(read.map_bits(), values.map_bits());
    }

    #[test]
    fn an_empty_vector_is_an_empty_array() {
        assert_eq!(json_array(&[]), "[]");
    }

    trait Bits {
        fn map_bits(&self) -> Vec<u32>;
    }

    impl<T: AsRef<[f32]>> Bits for T {
        fn map_bits(&self) -> Vec<u32> {
            self.as_ref().iter().map(|value| value.to_bits()).collect()
        }
    }
}
