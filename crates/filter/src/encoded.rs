//! Filters as bytes, in which they travel to the replicas of a shard. What is written here is read
//! by other versions of vectord: a number is never given another meaning.

use std::collections::HashSet;

use crate::{
    expression::{Condition, Expression, Test},
    values::{Bound, Side, Value, Values},
};

/// How deep an expression may lie within others. No filter that the service reads is deeper.
const MAX_DEPTH: usize = 256;

const ALL: u8 = 1;
const ANY: u8 = 2;
const NOT: u8 = 3;
const ID: u8 = 4;
const CONTENT_TYPE: u8 = 5;
const METADATA: u8 = 6;

const EXISTS: u8 = 1;
const IN: u8 = 2;
const WITHIN: u8 = 3;

const TEXT: u8 = 1;
const NUMBER: u8 = 2;
const BOOL: u8 = 3;

/// By their numbers.
const SIDES: [Side; 4] = [Side::Above, Side::AtLeast, Side::Below, Side::AtMost];

impl Expression {
    /// Appends the expression to `bytes`.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Expression::All(list) => encode_list(ALL, list, bytes),
            Expression::Any(list) => encode_list(ANY, list, bytes),
            Expression::Not(one) => {
                bytes.push(NOT);
                one.encode(bytes);
            }
            Expression::Condition(condition) => condition.encode(bytes),
        }
    }

    /// Reads an expression that takes all of `bytes`; None if they are not one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Expression> {
        let mut reader = Reader { bytes };
        let expression = reader.expression(0)?;
        reader.bytes.is_empty().then_some(expression)
    }
}

impl Condition {
    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Condition::Id(ids) => {
                encode_start(ID, ids.len(), bytes);
                bytes.extend(ids.iter().flatten());
            }
            Condition::ContentType(types) => {
                encode_start(CONTENT_TYPE, types.len(), bytes);
                bytes.extend(types);
            }
            Condition::Metadata(key, test) => {
                encode_start(METADATA, key.len(), bytes);
                bytes.extend(key.as_bytes());
                test.encode(bytes);
            }
        }
    }
}

impl Test {
    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Test::Exists => bytes.push(EXISTS),
            Test::In(values) => {
                let others: Vec<Value> = values.others().collect();
                encode_start(IN, values.texts().count() + others.len(), bytes);
                for text in values.texts() {
                    encode_text(text, bytes);
                }
                for value in others {
                    value.encode(bytes);
                }
            }
            Test::Within(Bound { value, side }) => {
                let number = SIDES.iter().position(|one| one == side).unwrap_or_default();
                bytes.extend([WITHIN, number as u8]);
                value.encode(bytes);
            }
        }
    }
}

impl Value<'_> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Value::Text(text) => encode_text(text, bytes),
            Value::Number(number) => {
                bytes.push(NUMBER);
                bytes.extend(number.to_le_bytes());
            }
            Value::Bool(bool) => bytes.extend([BOOL, u8::from(*bool)]),
        }
    }
}

fn encode_text(text: &str, bytes: &mut Vec<u8>) {
    encode_start(TEXT, text.len(), bytes);
    bytes.extend(text.as_bytes());
}

fn encode_list(kind: u8, list: &[Expression], bytes: &mut Vec<u8>) {
    encode_start(kind, list.len(), bytes);
    for one in list {
        one.encode(bytes);
    }
}

/// What begins a list: its kind, and how many items or bytes follow.
fn encode_start(kind: u8, count: usize, bytes: &mut Vec<u8>) {
    bytes.push(kind);
    bytes.extend((count as u64).to_le_bytes());
}

struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        self.bytes.split_off(..count)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }

    fn text(&mut self) -> Option<&'b str> {
        let length = self.count()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    /// As many items as the next count says. A wrong count ends at the last byte: each item takes
    /// one at least, so that it allocates no more than there is.
    fn list<T, L: Default + Extend<T>>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<L> {
        let mut list = L::default();
        for _ in 0..self.count()? {
            list.extend([item(self)?]);
        }
        Some(list)
    }

    fn expression(&mut self, depth: usize) -> Option<Expression> {
        if depth > MAX_DEPTH {
            return None;
        }
        let within = |reader: &mut Self| reader.expression(depth + 1);
        Some(match self.byte()? {
            ALL => Expression::All(self.list(within)?),
            ANY => Expression::Any(self.list(within)?),
            NOT => Expression::Not(Box::new(within(self)?)),
            ID => {
                let ids: HashSet<[u8; 16]> = self.list(Self::array)?;
                Expression::Condition(Condition::Id(ids))
            }
            CONTENT_TYPE => {
                let types: Vec<u8> = self.list(Self::byte)?;
                Expression::Condition(Condition::ContentType(types))
            }
            METADATA => {
                let key = self.text()?.into();
                Expression::Condition(Condition::Metadata(key, self.test()?))
            }
            _ => return None,
        })
    }

    fn test(&mut self) -> Option<Test> {
        Some(match self.byte()? {
            EXISTS => Test::Exists,
            IN => {
                let values: Vec<Value> = self.list(Self::value)?;
                Test::In(Values::from_iter(values))
            }
            WITHIN => {
                let side = *SIDES.get(usize::from(self.byte()?))?;
                let value = match self.value()? {
                    Value::Text(text) => Value::Text(text.into_owned().into()),
                    Value::Number(number) => Value::Number(number),
                    Value::Bool(_) => return None,
                };
                Test::Within(Bound { value, side })
            }
            _ => return None,
        })
    }

    fn value(&mut self) -> Option<Value<'b>> {
        Some(match self.byte()? {
            TEXT => Value::Text(self.text()?.into()),
            NUMBER => {
                Value::Number(Some(f64::from_le_bytes(self.array()?)).filter(|n| n.is_finite())?)
            }
            BOOL => match self.byte()? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                _ => return None,
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value<'static>> {
        prop_oneof![
            "\\PC{0,8}".prop_map(|text| Value::Text(text.into())),
            any::<f64>()
                .prop_filter("finite", |number| number.is_finite())
                .prop_map(Value::Number),
            any::<bool>().prop_map(Value::Bool),
        ]
    }

    fn condition() -> impl Strategy<Value = Condition> {
        let values = proptest::collection::vec(value(), 0..4);
        let ordered = value().prop_filter("ordered", |value| !matches!(value, Value::Bool(_)));
        let test = prop_oneof![
            Just(Test::Exists),
            values.prop_map(|values| Test::In(values.into_iter().collect())),
            (ordered, proptest::sample::select(SIDES.to_vec()))
                .prop_map(|(value, side)| Test::Within(Bound { value, side })),
        ];
        prop_oneof![
            proptest::collection::hash_set(any::<[u8; 16]>(), 0..3).prop_map(Condition::Id),
            proptest::collection::vec(0..2_u8, 0..3).prop_map(Condition::ContentType),
            ("\\PC{0,8}", test).prop_map(|(key, test)| Condition::Metadata(key.into(), test)),
        ]
    }

    fn expression() -> impl Strategy<Value = Expression> {
        let leaf = condition().prop_map(Expression::Condition);
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Expression::All),
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Expression::Any),
                inner.prop_map(|one| Expression::Not(Box::new(one))),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_expression_comes_back_as_it_was(expression in expression()) {
            let mut bytes = Vec::new();
            expression.encode(&mut bytes);
            prop_assert_eq!(Expression::decode(&bytes), Some(expression));
            bytes.push(0);
            prop_assert_eq!(Expression::decode(&bytes), None);
            bytes.truncate(bytes.len() - 2);
            prop_assert_eq!(Expression::decode(&bytes), None);
        }

        #[test]
        fn any_bytes_are_an_expression_or_none(bytes in proptest::collection::vec(0..8_u8, 0..64)) {
            if let Some(expression) = Expression::decode(&bytes) {
                let mut again = Vec::new();
                expression.encode(&mut again);
                prop_assert_eq!(Expression::decode(&again), Some(expression));
            }
        }
    }

    #[test]
    fn the_deepest_filter_comes_back_and_one_that_would_exhaust_the_stack_is_none() {
        let nested = |depth| {
            let leaf = Expression::All(Vec::new());
            (0..depth).fold(leaf, |one, _| Expression::Not(Box::new(one)))
        };
        let mut bytes = Vec::new();
        nested(MAX_DEPTH).encode(&mut bytes);
        assert_eq!(Expression::decode(&bytes), Some(nested(MAX_DEPTH)));
        bytes.splice(..0, std::iter::repeat_n(NOT, 1_000_000));
        assert_eq!(Expression::decode(&bytes), None);
    }
}
