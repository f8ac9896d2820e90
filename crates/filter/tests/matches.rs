//! Which points pass which filters.

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
};

use proptest::prelude::*;
use vectord_filter::{
    Bound, Condition, Dictionary, Expression, Field, Fields, Filter, Held, Passing, Side, Span,
    Stored, Subject, Test, Value, Values, within as words_within, words,
};

fn passes(expression: Expression, metadata: &str) -> bool {
    let subject = Subject {
        id: &[7; 16],
        content_type: 1,
        metadata: metadata.as_bytes(),
    };
    Filter::new(expression).matches(subject, &mut Held::default())
}

fn on(key: &str, test: Test) -> Expression {
    Expression::Condition(Condition::Metadata(key.into(), test))
}

fn is(value: Value<'static>) -> Test {
    Test::In(Values::from_iter([value]))
}

fn within(side: Side, value: Value<'static>) -> Test {
    Test::Within(Bound { value, side })
}

fn text(text: &'static str) -> Value<'static> {
    Value::Text(text.into())
}

#[test]
fn texts_come_into_a_dictionary_while_a_test_is_made_ready_by_it() {
    const TEXTS: usize = 1_000;
    let dictionary = RefCell::<Dictionary>::default();
    let add = |number: usize| {
        let (mut dictionary, text) = (dictionary.borrow_mut(), format!("{number:05}"));
        let scalar = Stored::Scalar(Value::Text(text.clone().into()));
        let array = Stored::Array(vec![Value::Text(text.into())]);
        [scalar, array].map(|stored| dictionary.add(&stored).unwrap())
    };
    let early: Vec<_> = (0..TEXTS).map(add).collect();
    let calls = Cell::new(0);
    let read = |look: &mut dyn FnMut(&Dictionary)| {
        look(&dictionary.borrow());
        // None of the lock that others take is held now.
        add(TEXTS + calls.get());
        calls.set(calls.get() + 1);
    };
    let passing = Passing::new(&within(Side::Above, text("00500")), &read);
    assert!(calls.get() > 2, "the texts and the arrays, each in slices");
    for (number, words) in early.into_iter().enumerate() {
        assert_eq!(words.map(|word| passing.of(word)), [Some(number > 500); 2]);
    }
    for number in 0..calls.get() {
        assert_eq!(add(TEXTS + number).map(|word| passing.of(word)), [None; 2]);
    }
}

#[test]
fn a_filter_tells_whether_it_asks_for_ids_anywhere() {
    let ids = || Expression::Condition(Condition::Id(HashSet::from([[7; 16]])));
    let test = || on("a", Test::Exists);
    let asks = |expression| Filter::new(expression).asks_for_ids();
    assert!(!asks(Expression::All(vec![test(), test()])));
    assert!(asks(Expression::All(vec![test(), ids()])));
    let not = Expression::Not(Box::new(ids()));
    assert!(asks(Expression::Any(vec![test(), not])));
}

#[test]
fn a_cover_has_the_tests_that_the_fewest_points_pass() {
    let test = |key: &str| on(key, Test::Exists);
    // The tests have the numbers of their letters.
    let points = |number: usize| [Some(50), Some(20), Some(30), None].get(number).copied()?;
    let cover = |expression| {
        let found = Filter::new(expression).cover(points)?;
        Some((found.tests, found.points, found.is_whole))
    };
    let all = || Expression::All(vec![test("a"), test("b"), test("c"), test("d")]);
    assert_eq!(cover(all()), Some((vec![1], 20, false)));
    let any = |list: Vec<Expression>| Expression::Any(list);
    assert_eq!(
        cover(any(vec![test("a"), test("b")])),
        Some((vec![0, 1], 70, true))
    );
    let any_of_all = any(vec![test("a"), test("b"), test("c"), test("d")]);
    assert_eq!(cover(any_of_all), None, "nothing is known of the last");
    let not = Expression::Not(Box::new(test("a")));
    assert_eq!(cover(not.clone()), None);
    assert_eq!(
        cover(Expression::All(vec![test("a"), not])),
        Some((vec![0], 50, false))
    );
    let either = any(vec![Expression::All(vec![test("a"), test("b")]), test("c")]);
    assert_eq!(cover(either), Some((vec![1, 2], 50, false)));
    assert_eq!(cover(Expression::All(Vec::new())), None);
}

#[test]
fn a_scalar_passes_by_its_own_type_and_value() {
    let tests: [(Test, &[&str]); 11] = [
        (Test::Exists, &["\"b\"", "1", "-0", "1.5", "true", "false"]),
        (is(text("b")), &["\"b\""]),
        (is(Value::Number(0.0)), &["-0"]),
        (is(Value::Number(1.0)), &["1"]),
        (is(Value::Bool(false)), &["false"]),
        (within(Side::Above, Value::Number(1.0)), &["1.5"]),
        (within(Side::AtLeast, Value::Number(1.0)), &["1", "1.5"]),
        (within(Side::Below, Value::Number(1.0)), &["-0"]),
        (within(Side::AtMost, Value::Number(1.0)), &["1", "-0"]),
        (within(Side::Above, text("a")), &["\"b\""]),
        (within(Side::Below, text("a")), &[]),
    ];
    for (test, passing) in tests {
        for stored in ["\"b\"", "1", "-0", "1.5", "true", "false", "null"] {
            let expected = passing.contains(&stored);
            let metadata = format!(r#"{{"other":"b","a":{stored},"last":1}}"#);
            assert_eq!(
                passes(on("a", test.clone()), &metadata),
                expected,
                "{test:?} {stored}"
            );
        }
        assert!(!passes(on("a", test.clone()), "{}"), "{test:?}");
        assert!(!passes(on("a", test.clone()), ""), "{test:?}");
    }
}

#[test]
fn an_array_passes_by_one_of_its_items() {
    let after = |number| on("a", within(Side::Above, Value::Number(number)));
    let before = |number| on("a", within(Side::Below, Value::Number(number)));
    assert!(passes(after(2.0), r#"{"a":[1,3]}"#));
    assert!(!passes(after(3.0), r#"{"a":[1,3]}"#));
    let both = || Expression::All(vec![after(1.5), before(2.5)]);
    assert!(
        passes(both(), r#"{"a":[1,3]}"#),
        "each by an item of its own"
    );
    assert!(!passes(on("a", is(text("x"))), r#"{"a":[]}"#));
    assert!(passes(on("a", Test::Exists), r#"{"a":[]}"#));
    assert!(passes(on("a", is(text("y"))), r#"{"a":["x","y"]}"#));
}

#[test]
fn strings_are_what_their_escapes_stand_for() {
    assert!(passes(
        on("é", is(text("\n\u{1f600}"))),
        r#"{"\u00e9":"\n\ud83d\ude00"}"#
    ));
    assert!(passes(
        on("a", within(Side::Above, text("\u{ffff}"))),
        "{\"a\":\"\u{10000}\"}"
    ));
    assert!(passes(on("a", is(text("\""))), r#"{"b":"\"","a":["\""]}"#));
}

#[test]
fn ids_and_content_types_are_fields_too() {
    let id = |id| Expression::Condition(Condition::Id(HashSet::from([id])));
    let content_type = |list| Expression::Condition(Condition::ContentType(list));
    assert!(passes(id([7; 16]), ""));
    assert!(!passes(id([8; 16]), ""));
    assert!(passes(content_type(vec![0, 1]), ""));
    assert!(!passes(content_type(vec![0]), ""));
}

#[test]
fn no_condition_is_met_by_all_and_no_alternative_by_none() {
    assert!(passes(Expression::All(vec![]), ""));
    assert!(!passes(Expression::Any(vec![]), ""));
}

/// Metadata as a list, of which the JSON is made.
#[derive(Clone, Debug)]
enum Item {
    Null,
    One(Value<'static>),
    Many(Vec<Value<'static>>),
}

fn json_of(value: &Value) -> String {
    match value {
        Value::Text(text) => serde_json::to_string(text).expect("a text"),
        Value::Number(number) => number.to_string(),
        Value::Bool(bool) => bool.to_string(),
    }
}

impl Item {
    fn json(&self) -> String {
        match self {
            Item::Null => "null".into(),
            Item::One(value) => json_of(value),
            Item::Many(list) => {
                let items: Vec<_> = list.iter().map(json_of).collect();
                format!("[{}]", items.join(","))
            }
        }
    }
}

/// The rules once more, without JSON.
fn holds(expression: &Expression, metadata: &[(&str, Item)]) -> bool {
    match expression {
        Expression::All(list) => list.iter().all(|one| holds(one, metadata)),
        Expression::Any(list) => list.iter().any(|one| holds(one, metadata)),
        Expression::Not(one) => !holds(one, metadata),
        Expression::Condition(Condition::Metadata(key, test)) => {
            let item = metadata.iter().find(|(name, _)| **key == **name);
            match item {
                None | Some((_, Item::Null)) => false,
                Some((_, Item::One(value))) => test.passes(value),
                Some((_, Item::Many(list))) => {
                    *test == Test::Exists || list.iter().any(|value| test.passes(value))
                }
            }
        }
        Expression::Condition(_) => false,
    }
}

const KEYS: [&str; 4] = ["a", "b", "c\"", "é"];

fn any_value() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        prop::sample::select(vec!["", "x", "\"y", "é\\"]).prop_map(text),
        (-2i8..3).prop_map(|number| Value::Number(f64::from(number) / 2.0)),
        any::<bool>().prop_map(Value::Bool),
    ]
}

fn any_item() -> impl Strategy<Value = Item> {
    prop_oneof![
        Just(Item::Null),
        any_value().prop_map(Item::One),
        prop::collection::vec(any_value(), 0..3).prop_map(Item::Many),
    ]
}

fn any_test() -> impl Strategy<Value = Test> {
    let side = prop::sample::select(vec![Side::Above, Side::AtLeast, Side::Below, Side::AtMost]);
    prop_oneof![
        Just(Test::Exists),
        prop::collection::vec(any_value(), 0..7)
            .prop_map(|list| Test::In(list.into_iter().collect())),
        (any_value(), side).prop_map(|(value, side)| within(side, value)),
    ]
}

fn any_expression() -> impl Strategy<Value = Expression> {
    let key = prop::sample::select(KEYS.to_vec());
    let condition = (key, any_test()).prop_map(|(key, test)| on(key, test));
    condition.prop_recursive(4, 16, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            list.clone().prop_map(Expression::All),
            list.prop_map(Expression::Any),
            inner.prop_map(|one| Expression::Not(Box::new(one))),
        ]
    })
}

/// The word of what is stored under `a`, which the dictionary takes if it is new.
fn word_of(item: Option<&Item>, dictionary: &mut Dictionary) -> u64 {
    let mut fields = Fields::new();
    fields.add(0, &Field::Metadata("a".into()));
    let stored = match item {
        Some(item) => format!(r#"{{"aa":1,"a":{}}}"#, item.json()),
        None => r#"{"aa":1}"#.into(),
    };
    let subject = Subject {
        id: &[0; 16],
        content_type: 0,
        metadata: stored.as_bytes(),
    };
    let mut word = words::MISSING;
    fields.read(&subject, |_, stored| {
        word = dictionary.add(stored).expect("there is memory");
        assert_eq!(dictionary.find(stored), Some(word));
    });
    word
}

proptest! {
    #[test]
    fn any_filter_passes_what_its_rules_say(
        expression in any_expression(),
        items in prop::collection::vec(prop::option::of(any_item()), KEYS.len()),
    ) {
        let metadata: Vec<_> = KEYS
            .into_iter()
            .zip(items)
            .filter_map(|(key, item)| Some((key, item?)))
            .collect();
        let members: Vec<_> = metadata
            .iter()
            .map(|(key, item)| format!("{}:{}", serde_json::to_string(key).unwrap(), item.json()))
            .collect();
        let expected = holds(&expression, &metadata);
        let stored = format!("{{{}}}", members.join(","));
        prop_assert_eq!(passes(expression, &stored), expected, "{}", stored);
    }

    #[test]
    fn a_test_of_many_on_a_long_array_passes_what_it_passes_alone(
        test in any_test(),
        items in prop::collection::vec(any_value(), 0..40),
    ) {
        let item = Item::Many(items);
        let stored = format!(r#"{{"a":{}}}"#, item.json());
        let expected = holds(&on("a", test.clone()), &[("a", item)]);
        let others = std::iter::repeat_n(on("a", Test::Exists), 20);
        let all = others.chain([on("a", test)]).collect();
        prop_assert_eq!(passes(Expression::All(all), &stored), expected, "{}", stored);
    }

    #[test]
    fn words_pass_the_tests_that_their_values_pass(
        test in any_test(),
        items in prop::collection::vec(prop::option::of(any_item()), 0..63),
        known in 0..64usize,
    ) {
        let mut dictionary = Dictionary::default();
        let (early, late) = items.split_at(known.min(items.len()));
        let mut stored: Vec<u64> = early.iter().map(|item| word_of(item.as_ref(), &mut dictionary)).collect();
        let known_words: HashSet<u64> = stored.iter().copied().collect();
        let passing = Passing::new(&test, &|look| look(&dictionary));
        stored.extend(late.iter().map(|item| word_of(item.as_ref(), &mut dictionary)));
        let mut block = [words::UNREAD; 64];
        block[..stored.len()].copy_from_slice(&stored);
        let outcome = passing.of_block(&block, words_within);
        for (at, &word) in block.iter().enumerate() {
            let is_known = outcome.unknown >> at & 1 == 0;
            let passes = outcome.passing >> at & 1 != 0;
            prop_assert_eq!(passing.of(word), is_known.then_some(passes), "{:x}", word);
            if let Some(spans) = passing.spans() {
                let is_in = |span: &&Span| (span.from..=span.to).contains(&word);
                let known = spans.iter().find(is_in).map(|span| span.is_known);
                let expected = (passes || !is_known).then_some(is_known);
                prop_assert_eq!(known, expected, "{:x}", word);
            }
        }
        prop_assert_eq!(outcome.unknown >> stored.len() & 1, 1, "unread words are unknown");
        for (at, item) in items.iter().enumerate() {
            let is = |bits: u64| bits >> at & 1 != 0;
            let metadata: Vec<_> = item.iter().map(|item| ("a", item.clone())).collect();
            let expected = holds(&on("a", test.clone()), &metadata);
            if is(outcome.unknown) {
                prop_assert!(at >= known && !known_words.contains(&stored[at]), "{:?}", item);
            } else {
                prop_assert_eq!(is(outcome.passing), expected, "{:?} {:x}", item, stored[at]);
            }
        }
    }
}
