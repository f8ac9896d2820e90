//! Whatever a body holds, it is read as the tree of all its values says.

use proptest::prelude::*;
use serde_json::Value;
use vectord_json::{Points, Refusal};

const MAX_ITEMS: usize = 4;

/// What a body that inserts points says, looked up in its tree: nothing if it is refused.
fn expected(body: &str) -> Option<Points> {
    let tree: Value = serde_json::from_str(body).ok()?;
    let items = tree.get("vectors")?.as_array()?;
    let mut points = Points::default();
    for item in items {
        for number in item.get("vector")?.as_array()? {
            points.vectors.push(number.as_f64()? as f32);
        }
        points.vector_ends.push(points.vectors.len() as u32);
        let payload = item.get("payload")?;
        let types = ["Image", "Text"];
        let name = payload.get("content_type")?.as_str()?;
        let number = types.iter().position(|known| *known == name)?;
        points.content_types.push(number as u8);
        points
            .contents
            .extend(payload.get("content")?.as_str()?.bytes());
        points.content_ends.push(points.contents.len() as u32);
    }
    (items.len() <= MAX_ITEMS).then_some(points)
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (-1000..1000_i32).prop_map(|number| number.to_string()),
        (-100..100_i32, 0..1000_i32).prop_map(|(whole, part)| format!("{whole}.{part:03}E-1")),
        any::<String>().prop_map(|text| Value::from(text).to_string()),
        prop::sample::select(vec![
            "null",
            "true",
            "\"Text\"",
            "\"Image\"",
            "01",
            "\"\\u0041\\\\\""
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|all: Vec<String>| array(&all)),
            members(inner),
        ]
    })
}

fn array(items: &[String]) -> String {
    format!("[{}]", items.join(" ,"))
}

fn members(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let names = [
        "vector",
        "\\u0076ector",
        "payload",
        "content",
        "content_type",
        "vectors",
        "x\\\"",
        "",
    ];
    let name = prop::sample::select(names.to_vec());
    let member = (name, value).prop_map(|(name, value)| format!("\"{name}\":{value}"));
    prop::collection::vec(member, 0..4).prop_map(|all| format!("{{{}}}", all.join(", ")))
}

/// An object with these members in any order, often with another one.
fn object(known: Vec<BoxedStrategy<String>>) -> impl Strategy<Value = String> {
    let other = prop_oneof![3 => Just("{}".to_owned()), 1 => members(value())];
    (known.prop_shuffle(), other, any::<bool>()).prop_map(|(known, other, is_first)| {
        let other = &other[1..other.len() - 1];
        let known = known.join(",");
        match (other.is_empty(), is_first) {
            (true, _) => format!("{{{known}}}"),
            (false, true) => format!("{{{other},{known}}}"),
            (false, false) => format!("{{{known},{other}}}"),
        }
    })
}

fn member(
    name: &'static str,
    value: impl Strategy<Value = String> + 'static,
) -> BoxedStrategy<String> {
    value
        .prop_map(move |value| format!("\"{name}\" : {value}"))
        .boxed()
}

fn mostly(good: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    prop_oneof![20 => good, 1 => value()].boxed()
}

fn body() -> impl Strategy<Value = String> {
    let number =
        (-1000..1000_i32, 0..100_i32).prop_map(|(whole, part)| format!("{whole}.{part:02}"));
    let vector = prop::collection::vec(number, 0..4).prop_map(|all| array(&all));
    let kind = prop::sample::select(vec!["\"Text\"", "\"Image\""]).prop_map(str::to_owned);
    let content = any::<String>().prop_map(|text| Value::from(text).to_string());
    let payload = object(vec![
        member("content_type", mostly(kind)),
        member("content", mostly(content)),
    ]);
    let item = object(vec![
        member("vector", mostly(vector)),
        member("payload", mostly(payload)),
    ]);
    let items = prop::collection::vec(mostly(item), 0..MAX_ITEMS + 2).prop_map(|all| array(&all));
    object(vec![member("vectors", items)])
}

/// The text, or one in which a part is missing.
fn damaged(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (text, any::<prop::sample::Index>(), 0..4_usize).prop_map(|(text, at, count)| {
        let characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        let kept = characters[..at]
            .iter()
            .chain(characters.iter().skip(at + count));
        kept.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_body_is_read_as_its_tree_says(text in prop_oneof![body(), damaged(body())]) {
        let found = vectord_json::points(text.as_bytes(), MAX_ITEMS, usize::MAX);
        let is_json = serde_json::from_str::<Value>(&text).is_ok();
        prop_assert_eq!(matches!(found, Err(Refusal::Broken(_))), !is_json);
        prop_assert_eq!(found.ok(), expected(&text));
    }
}
