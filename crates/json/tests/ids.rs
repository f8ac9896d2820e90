//! What bodies say that name points or read all page by page, and why they are refused.

use std::fmt::Debug;

use vectord_json::{
    Deletes, EXPECTED_COLLECTION, EXPECTED_ID, Found, Gets, Refusal, Scroll, Wrong,
};

const FIRST: &str = "00112233-4455-6677-8899-aabbccddeeff";
const SECOND: &str = "FFEEDDCC-BBAA-9988-7766-554433221100";
const MAX_ITEMS: usize = 3;

fn gets(body: &str) -> Result<Gets, Refusal> {
    vectord_json::gets(body.as_bytes(), MAX_ITEMS)
}

fn deletes(body: &str) -> Result<Deletes, Refusal> {
    vectord_json::deletes(body.as_bytes(), MAX_ITEMS)
}

fn scroll(body: &str) -> Result<Scroll, Refusal> {
    vectord_json::scroll(body.as_bytes())
}

/// The bytes of both ids.
fn both() -> Vec<u8> {
    let first = (0..16).map(|digit| digit * 0x11);
    first.clone().chain(first.rev()).collect()
}

fn text(text: &str) -> Found {
    Found::Text(text.to_owned())
}

/// Checks what is refused: the place, what is found there, and what is expected.
fn refuse<T: Debug + PartialEq>(
    read: impl Fn(&str) -> Result<T, Refusal>,
    body: &str,
    path: &str,
    found: Found,
    expected: &'static str,
) {
    let wrong = Wrong {
        path: path.to_owned(),
        found,
        expected,
    };
    assert_eq!(read(body), Err(Refusal::Wrong(wrong)), "{body}");
}

#[test]
fn ids_are_read_in_their_order_each_as_often_as_it_comes() {
    let body = format!(r#"{{"ids":["{FIRST}" ,"{SECOND}"]}}"#);
    let plain = Gets {
        ids: both(),
        include: 2 + 4 + 8,
        base64: false,
    };
    assert_eq!(gets(&body), Ok(plain));
    let body = format!(
        r#"{{"include":["vector"],"vector_format":"base64","collection":"default",
             "ids":["{FIRST}","{FIRST}"]}}"#
    );
    let twice = Gets {
        ids: [&both()[..16], &both()[..16]].concat(),
        include: 1,
        base64: true,
    };
    assert_eq!(gets(&body), Ok(twice));
    assert_eq!(gets(r#"{"ids":[],"include":[]}"#).unwrap().include, 0);
}

#[test]
fn ids_that_are_none_or_too_many_are_refused() {
    let id = EXPECTED_ID;
    let bad = format!(r#"{{"ids":["{FIRST}",7,"x"]}}"#);
    refuse(gets, &bad, "ids[1]", Found::Number(7.0), id);
    refuse(gets, "{}", "ids", Found::Missing, "an array of ids");
    refuse(gets, r#"{"ids":"x"}"#, "ids", text("x"), "an array of ids");
    refuse(
        gets,
        r#"{"ids":[],"ids":[]}"#,
        "ids",
        Found::Twice,
        "it once",
    );
    refuse(gets, "[]", "", Found::Array, "an object");
    let known = "only ids, include, vector_format and collection";
    refuse(gets, r#"{"ids":[],"id":[]}"#, "id", Found::Unknown, known);
    let parts = "an array of \"vector\", \"content_type\", \"content\" and \"metadata\"";
    let include = r#"{"ids":[],"include":"vector"}"#;
    refuse(gets, include, "include", text("vector"), parts);
    let part = "\"vector\", \"content_type\", \"content\" or \"metadata\"";
    let distance = r#"{"ids":[],"include":["vector","distance"]}"#;
    refuse(gets, distance, "include[1]", text("distance"), part);
    let many = format!(
        r#"{{"ids":[{}"{FIRST}"]}}"#,
        format!(r#""{FIRST}","#).repeat(3)
    );
    let too_many = Refusal::TooMany {
        field: "ids",
        count: 4,
    };
    assert_eq!(gets(&many), Err(too_many));
}

#[test]
fn points_are_deleted_by_their_ids_or_all_of_them() {
    let body = format!(r#"{{"ids":["{FIRST}","{SECOND}"],"all":false,"confirm":null}}"#);
    assert_eq!(deletes(&body), Ok(Deletes::Ids(both())));
    let all = r#"{"all":true,"confirm":12,"collection":"default"}"#;
    assert_eq!(deletes(all), Ok(Deletes::All(12.0)));
    let matching = r#"{"filter":{"a":1}}"#;
    let expected = Deletes::Matching(r#"{"a":1}"#.to_owned());
    assert_eq!(deletes(matching), Ok(expected));
    let null = r#"{"ids":null,"all":true,"confirm":12}"#;
    assert_eq!(deletes(null), Ok(Deletes::All(12.0)));
    let either =
        "either an array of ids, a filter, or all: true with confirm: the number of points";
    refuse(deletes, "{}", "ids", Found::Missing, either);
    refuse(deletes, r#"{"all":false}"#, "ids", Found::Missing, either);
    refuse(
        deletes,
        r#"{"ids":[],"all":true,"confirm":0}"#,
        "ids",
        Found::Array,
        either,
    );
    refuse(
        deletes,
        r#"{"ids":[],"confirm":0}"#,
        "ids",
        Found::Array,
        either,
    );
    refuse(deletes, r#"{"confirm":0}"#, "all", Found::Missing, either);
    let whole = "a whole number, not negative";
    refuse(deletes, r#"{"all":true}"#, "confirm", Found::Missing, whole);
    refuse(
        deletes,
        r#"{"all":true,"confirm":1.5}"#,
        "confirm",
        Found::Number(1.5),
        whole,
    );
    refuse(
        deletes,
        r#"{"all":1}"#,
        "all",
        Found::Number(1.0),
        "true or false",
    );
}

#[test]
fn pages_are_asked_for_from_a_place_on() {
    let first = Scroll {
        limit: 10.0,
        after: None,
        newest_first: false,
        filter: None,
        include: 2 + 4 + 8,
        base64: false,
    };
    assert_eq!(scroll(r#"{"limit":10}"#), Ok(first));
    let next = Scroll {
        limit: 1.0,
        after: Some("é".to_owned()),
        newest_first: true,
        filter: Some("{ \"a\": 1 }".to_owned()),
        include: 1,
        base64: true,
    };
    let body = r#"{"after":"\u00e9","order":"newest","include":["vector"],"limit":1,
        "filter": { "a": 1 }, "vector_format":"base64","collection":"default"}"#;
    assert_eq!(scroll(body), Ok(next));
    assert!(
        !scroll(r#"{"limit":1,"order":"oldest"}"#)
            .unwrap()
            .newest_first
    );
    let whole = "a whole number, not negative";
    refuse(scroll, "{}", "limit", Found::Missing, whole);
    let order = "\"oldest\" or \"newest\"";
    refuse(
        scroll,
        r#"{"limit":1,"order":"id"}"#,
        "order",
        text("id"),
        order,
    );
    let after = "the next of the page before";
    refuse(
        scroll,
        r#"{"limit":1,"after":7}"#,
        "after",
        Found::Number(7.0),
        after,
    );
    let known = "only limit, after, order, filter, include, vector_format and collection";
    refuse(
        scroll,
        r#"{"limit":1,"ids":[]}"#,
        "ids",
        Found::Unknown,
        known,
    );
}

#[test]
fn points_are_counted_all_or_those_that_pass() {
    let counts = |body: &str| vectord_json::counts(body.as_bytes());
    assert_eq!(counts("{}"), Ok(None));
    assert_eq!(
        counts(r#"{"collection":"default","filter":null}"#),
        Ok(None)
    );
    let filter = r#"{"a":{"$in":[]}}"#;
    let body = format!(r#"{{"filter":{filter}}}"#);
    assert_eq!(counts(&body), Ok(Some(filter.to_owned())));
    assert_eq!(counts(""), Err(Refusal::Empty));
    let values = "an array of values";
    let bad = r#"{"filter":{"a":{"$in":1}}}"#;
    refuse(counts, bad, "filter.a.$in", Found::Number(1.0), values);
    refuse(
        counts,
        r#"{"x":1}"#,
        "x",
        Found::Unknown,
        "only filter and collection",
    );
    let other = EXPECTED_COLLECTION;
    refuse(
        counts,
        r#"{"collection":"x"}"#,
        "collection",
        text("x"),
        other,
    );
}
