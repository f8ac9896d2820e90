//! Vectors out of a JSON text: the part of it that is nearly all of its bytes, and of one form.

/// The arrays of numbers that were the values of keys, and the text without them.
#[derive(Debug, Default, PartialEq)]
pub struct Lifted {
    /// The numbers of all arrays, one array after the other.
    pub values: Vec<f32>,
    /// Where each array ends in `values`.
    pub ends: Vec<u32>,
    /// The text with the index of each array in its place.
    pub rest: Vec<u8>,
}

impl Lifted {
    /// Takes out the value of every key that is spelled like this, in the place of what was here
    /// before. Nothing if one of them is not an array of numbers within the range of a float, or
    /// where that cannot be told with certainty: then the text says what it says to a parser of all
    /// of JSON, and so it does in every other respect.
    pub fn lift(&mut self, text: &[u8], key: &[u8]) -> Option<()> {
        let Lifted { values, ends, rest } = self;
        values.clear();
        ends.clear();
        rest.clear();
        let mut reader = Reader { text, at: 0 };
        let mut copied = 0;
        while let Some(byte) = reader.peek() {
            reader.at += 1;
            if byte != b'"' {
                continue;
            }
            let found = reader.string()?;
            reader.skip_space();
            if reader.peek() != Some(b':') {
                continue;
            }
            if found.contains(&b'\\') {
                // It may be the key in other letters.
                return None;
            }
            if found != key {
                continue;
            }
            reader.at += 1;
            reader.skip_space();
            append(rest, &text[copied..reader.at])?;
            reader.numbers(values)?;
            copied = reader.at;
            // The space keeps what follows from becoming a part of the number.
            append(rest, format!("{} ", ends.len()).as_bytes())?;
            append(ends, &[u32::try_from(values.len()).ok()?])?;
        }
        append(rest, &text[copied..])
    }

    /// Copies everything into memory that is there already, as words of four bytes: how many values,
    /// ends and bytes of the rest there are, the ends, the bits of the values; and behind them the
    /// rest. Nothing if it does not fit.
    pub fn copy_into(&self, memory: &mut [u8]) -> Option<()> {
        let counts = [self.values.len(), self.ends.len(), self.rest.len()];
        let words = counts.len() + self.ends.len() + self.values.len();
        let (words, rest) = memory.split_at_mut_checked(words * size_of::<u32>())?;
        let rest = rest.get_mut(..self.rest.len())?;
        let (words, _) = words.as_chunks_mut();
        let counts = counts.into_iter().map(|count| (count as u32).to_le_bytes());
        let ends = self.ends.iter().map(|end| end.to_le_bytes());
        let values = self.values.iter().map(|value| value.to_le_bytes());
        for (word, bytes) in words.iter_mut().zip(counts.chain(ends).chain(values)) {
            *word = bytes;
        }
        rest.copy_from_slice(&self.rest);
        Some(())
    }
}

/// Lists grow with the text, which is a client's: where there is no memory for it, nothing is taken.
fn append<T: Copy>(list: &mut Vec<T>, items: &[T]) -> Option<()> {
    list.try_reserve(items.len()).ok()?;
    list.extend_from_slice(items);
    Some(())
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// What stands between the quote before this place and the next one that is not escaped.
    fn string(&mut self) -> Option<&'t [u8]> {
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(&self.text[start..self.at - 1])
    }

    /// Reads an array of numbers.
    fn numbers(&mut self, values: &mut Vec<f32>) -> Option<()> {
        self.expect(b'[')?;
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Some(());
        }
        loop {
            append(values, &[self.number()?])?;
            self.skip_space();
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b',' => self.skip_space(),
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads a number as JSON writes it: to a double, and from that to the nearest float.
    fn number(&mut self) -> Option<f32> {
        let start = self.at;
        let mut decimal = Decimal::default();
        if self.peek() == Some(b'-') {
            decimal.is_negative = true;
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits(&mut decimal)?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            let point = self.at;
            self.digits(&mut decimal)?;
            decimal.exponent = -i64::try_from(self.at - point).ok()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let is_negative = self.peek() == Some(b'-');
            if is_negative || self.peek() == Some(b'+') {
                self.at += 1;
            }
            let mut exponent = Decimal::default();
            self.digits(&mut exponent)?;
            let exponent = i64::try_from(exponent.integer()?).ok()?;
            decimal.exponent += if is_negative { -exponent } else { exponent };
        }
        let value = decimal.to_float().map_or_else(
            || {
                let text = str::from_utf8(&self.text[start..self.at]).ok()?;
                Some(text.parse::<f64>().ok()? as f32)
            },
            Some,
        )?;
        value.is_finite().then_some(value)
    }

    /// Appends the digits that follow, of which there is at least one, to those of a number.
    fn digits(&mut self, decimal: &mut Decimal) -> Option<()> {
        let start = self.at;
        while let Some(eight) = self.text.get(self.at..).and_then(<[u8]>::first_chunk)
            && let Some(value) = eight_digits(*eight)
        {
            decimal.append(value, 8, 100_000_000);
            self.at += 8;
        }
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            decimal.append(u64::from(byte - b'0'), 1, 10);
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        let is_there = self.peek() == Some(byte);
        self.at += 1;
        is_there.then_some(())
    }
}

/// The digits of a number, and by which power of ten they are to be multiplied.
#[derive(Default)]
struct Decimal {
    is_negative: bool,
    digits: u64,
    /// How many there are, those before the first that counts included.
    count: usize,
    exponent: i64,
}

impl Decimal {
    /// Appends `count` digits that are `value` together; `scale` is ten to the power of `count`.
    fn append(&mut self, value: u64, count: usize, scale: u64) {
        self.digits = self.digits.wrapping_mul(scale).wrapping_add(value);
        self.count += count;
    }

    /// The digits as one number, if they fit into it.
    fn integer(&self) -> Option<u64> {
        (self.count <= SAFE_DIGITS).then_some(self.digits)
    }

    /// The float next to the double next to this, where the quick way tells: the digits become a
    /// double and are multiplied or divided by another that is exact, so that at most the last two
    /// bits are wrong. That matters only if the double is about halfway between two floats.
    fn to_float(&self) -> Option<f32> {
        let digits = self.integer()? as f64;
        let power = *POWERS_OF_TEN.get(usize::try_from(self.exponent.unsigned_abs()).ok()?)?;
        let scaled = if self.exponent < 0 {
            digits / power
        } else {
            digits * power
        };
        let value = if self.is_negative { -scaled } else { scaled };
        let dropped = scaled.to_bits() & (HALFWAY * 2 - 1);
        let is_certain = dropped.abs_diff(HALFWAY) > 8;
        let is_normal = scaled >= f64::from(f32::MIN_POSITIVE) && scaled < f64::from(f32::MAX);
        ((is_certain && is_normal) || scaled == 0.0).then_some(value as f32)
    }
}

/// As many digits as always fit into 64 bits.
const SAFE_DIGITS: usize = 19;

/// The bits that a double has and a float has not, when it is halfway between two floats.
const HALFWAY: u64 = 1 << 28;

/// Those that a double holds exactly.
#[rustfmt::skip]
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The number that eight digits are, if all of these bytes are digits: two neighbours at a time,
/// then four, then all, as Lemire describes in "Number parsing at a gigabyte per second" (2021).
fn eight_digits(bytes: [u8; 8]) -> Option<u64> {
    let text = u64::from_le_bytes(bytes);
    let high = text & 0xf0f0_f0f0_f0f0_f0f0;
    let carried = text.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0;
    if high != 0x3030_3030_3030_3030 || carried != high {
        return None;
    }
    let ones = text & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifted(text: &str) -> Option<(Vec<f32>, Vec<u32>, String)> {
        let mut lifted = Lifted::default();
        lifted.lift(text.as_bytes(), b"vector")?;
        let Lifted { values, ends, rest } = lifted;
        Some((values, ends, String::from_utf8(rest).unwrap()))
    }

    #[test]
    fn vectors_are_taken_out_and_numbered() {
        let text = r#"{"vectors":[{"vector":[1,-0.5],"a":{"b":"]"}}, {"vector" :
            [ 2e1 , 3 ] }],"vector":[]}"#;
        let (values, ends, rest) = lifted(text).unwrap();
        assert_eq!(values, [1.0, -0.5, 20.0, 3.0]);
        assert_eq!(ends, [2, 4, 4]);
        let whole = r#"{"vectors":[{"vector":0 ,"a":{"b":"]"}}, {"vector" :
            1  }],"vector":2 }"#;
        assert_eq!(rest, whole);
    }

    #[test]
    fn one_after_the_other_leave_nothing_of_each_other() {
        let mut lifted = Lifted::default();
        lifted.lift(br#"{"vector":[1,2],"b":[{"vector":[3]}]}"#, b"vector");
        lifted.lift(br#"{"vector":[-1]}"#, b"vector").unwrap();
        let mut memory = [b'-'; 33];
        lifted.copy_into(&mut memory).unwrap();
        let (words, rest) = memory.split_at(20);
        let expected = [1, 1, 13, 1, (-1_f32).to_bits()].map(u32::to_le_bytes);
        assert_eq!(words, expected.as_flattened());
        assert_eq!(rest, br#"{"vector":0 }"#);
        for length in 0..33 {
            assert_eq!(lifted.copy_into(&mut memory[..length]), None);
        }
    }

    #[test]
    fn what_is_no_key_stays() {
        for text in [
            r#"{"a":"vector","b":[1]}"#,
            r#"["\"vector\":",[1]]"#,
            "5",
            "",
        ] {
            assert_eq!(lifted(text).unwrap(), (vec![], vec![], text.to_owned()));
        }
    }

    #[test]
    fn what_is_no_vector_is_left_to_a_parser_of_all_of_json() {
        for value in [
            "5", "[1,]", "[,1]", "[01]", "[+1]", "[.5]", "[1.]", "[1e]", "[-]", "[NaN]", "[null]",
            "[[1]]", "[1 2]", "[1", "[1e39]", "[\"1\"]", "",
        ] {
            let text = format!("{{\"vector\":{value}}}");
            assert_eq!(lifted(&text), None, "{text}");
        }
        assert_eq!(lifted(r#"{"\u0076ector":5,"vector":[1]}"#), None);
        assert_eq!(lifted(r#"{"vector":[1],"a"#), None);
        assert_eq!(lifted(r#"{"vector":[1],"a\"#), None);
    }

    #[test]
    fn a_number_is_what_a_parser_of_doubles_makes_of_it() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 11
        };
        let mut texts: Vec<String> = ["0", "-0", "0.0e9", "12345678", "123456789.12345678"]
            .map(str::to_owned)
            .into();
        for _ in 0..200_000 {
            let float = f32::from_bits(random() as u32);
            if !float.is_finite() {
                continue;
            }
            let next = f32::from_bits(float.to_bits().wrapping_add(1));
            let (digits, power) = (random() % 10_u64.pow(random() as u32 % 16), random() % 60);
            texts.extend([
                float.to_string(),
                f64::from(float).to_string(),
                format!("{:e}", f64::midpoint(float.into(), next.into())),
                format!("{:.17e}", f64::from_bits(random() << 11 | random())),
                format!("{}.{digits}e{}", random() % 1000, power.cast_signed() - 30),
                format!("0.{digits:017}"),
            ]);
        }
        for text in texts {
            let Ok(expected) = text.parse::<f64>().map(|value| value as f32) else {
                continue;
            };
            let found = lifted(&format!("{{\"vector\":[{text}]}}")).map(|(values, ..)| values[0]);
            let expected = expected.is_finite().then(|| expected.to_bits());
            assert_eq!(found.map(f32::to_bits), expected, "{text}");
        }
    }

    #[test]
    fn a_number_is_rounded_from_the_double_that_it_is() {
        // Halfway between two floats but for what a double does not hold.
        let (values, ..) = lifted(r#"{"vector":[1.00000005960464477539062500001,-0]}"#).unwrap();
        assert_eq!(values[0].to_bits(), 1.0_f32.to_bits());
        assert_eq!(values[1].to_bits(), (-0.0_f32).to_bits());
    }
}
