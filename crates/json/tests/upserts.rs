//! What bodies that upsert points say, and why they are refused.

use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, Engine};
use proptest::prelude::*;
use vectord_json::{
    ContentFault, EXPECTED_COLLECTION, EXPECTED_ID, Found, Points, Refusal, Upserts, Wrong,
};

const MAX_ITEMS: usize = 3;
const MAX_CONTENT: usize = 10;
const ID: &str = "00112233-4455-6677-8899-AABBCCDDEEFF";

fn read(body: &str) -> Result<(Upserts, bool), Refusal> {
    vectord_json::upserts(body.as_bytes(), MAX_ITEMS, MAX_CONTENT)
}

/// A body of one point with a vector and these fields.
fn point(fields: &str) -> String {
    format!(r#"{{"points":[{{"vector":[1]{fields}}}]}}"#)
}

/// What a message says of a body: the place, and what is expected there.
fn wrong(body: &str) -> (String, Found, &'static str) {
    match read(body) {
        Err(Refusal::Wrong(Wrong {
            path,
            found,
            expected,
        })) => (path, found, expected),
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn points_are_taken_apart() {
    let body = format!(
        r#"{{"if_absent":true,"collection":"default","points":[
            {{"metadata":{{"n" : 1}},"content":"é","content_type":"Image","id":"{ID}","vector":[1,2]}},
            {{"vector":"AAAAAAAAgD8="}},
            {{"vector":[],"id":null,"content":null,"content_type":null,"metadata":null}}]}}"#
    );
    let id: Vec<u8> = (0..16).map(|digit| digit * 0x11).collect();
    let expected = Upserts {
        points: Points {
            vectors: vec![1.0, 2.0, 0.0, 1.0],
            vector_ends: vec![2, 4, 4],
            content_types: vec![0, 1, 1],
            contents: "é".as_bytes().to_vec(),
            content_ends: vec![2, 2, 2],
            content_fault: None,
        },
        ids: [id, vec![0; 32]].concat(),
        metadata: br#"{"n":1}"#.to_vec(),
        metadata_ends: vec![7, 7, 7],
    };
    assert_eq!(read(&body), Ok((expected, true)));
    let none = (Upserts::default(), false);
    assert_eq!(
        read(r#"{"points":[],"if_absent":false,"collection":null}"#),
        Ok(none)
    );
}

#[test]
fn what_is_unknown_or_given_twice_is_named() {
    let points = "only points, if_absent and collection";
    let point_fields = "only id, vector, content, content_type and metadata";
    let unknown = |path: &str, expected| (path.to_owned(), Found::Unknown, expected);
    let twice = |path: &str| (path.to_owned(), Found::Twice, "it once");
    for (body, expected) in [
        (r#"{"points":[],"x":1}"#.to_owned(), unknown("x", points)),
        (
            r#"{"points":[],"\u0078y":{}}"#.to_owned(),
            unknown("xy", points),
        ),
        (
            point(r#","payload":{}"#),
            unknown("points[0].payload", point_fields),
        ),
        (
            format!(r#"{{"points":[],"{}":0}}"#, "y".repeat(1000)),
            unknown(&"y".repeat(64), points),
        ),
        (
            r#"{"if_absent":true,"if_absent":true,"points":[]}"#.to_owned(),
            twice("if_absent"),
        ),
        (r#"{"points":[],"points":[]}"#.to_owned(), twice("points")),
        (point(r#","vector":[1]"#), twice("points[0].vector")),
        (
            point(r#","content":"","content":"""#),
            twice("points[0].content"),
        ),
    ] {
        assert_eq!(wrong(&body), expected, "{body}");
    }
}

#[test]
fn what_is_not_as_it_should_be_is_named() {
    let vector = "an array of numbers, or base64 of little-endian 32-bit floats";
    let id = EXPECTED_ID;
    let text = |text: &str| Found::Text(text.to_owned());
    for (body, path, found, expected) in [
        (
            "{}".to_owned(),
            "points",
            Found::Missing,
            "an array of objects",
        ),
        (
            r#"{"points":[{}]}"#.to_owned(),
            "points[0].vector",
            Found::Missing,
            vector,
        ),
        (
            r#"{"points":[{"vector":{}}]}"#.to_owned(),
            "points[0].vector",
            Found::Object,
            vector,
        ),
        (
            r#"{"points":[{"vector":"AAA"}]}"#.to_owned(),
            "points[0].vector",
            text("AAA"),
            vector,
        ),
        (
            r#"{"points":[{"vector":"AAAA"}]}"#.to_owned(),
            "points[0].vector",
            text("AAAA"),
            vector,
        ),
        (
            r#"{"points":[{"vector":"AA=AAAAA"}]}"#.to_owned(),
            "points[0].vector",
            text("AA=AAAAA"),
            vector,
        ),
        (
            r#"{"points":[{"vector":[1,"x"]}]}"#.to_owned(),
            "points[0].vector[1]",
            text("x"),
            "a number",
        ),
        (point(r#","id":7"#), "points[0].id", Found::Number(7.0), id),
        (point(r#","id":"x""#), "points[0].id", text("x"), id),
        (
            point(r#","id":"00000000-0000-0000-0000-000000000000""#),
            "points[0].id",
            text("00000000-0000-0000-0000-000000000000"),
            id,
        ),
        (
            point(r#","id":"00112233445566778899aabbccddeeff""#),
            "points[0].id",
            text("00112233445566778899aabbccddeeff"),
            id,
        ),
        (
            point(r#","content":[]"#),
            "points[0].content",
            Found::Array,
            "a string",
        ),
        (
            point(r#","content_type":"text""#),
            "points[0].content_type",
            text("text"),
            "\"Image\" or \"Text\"",
        ),
        (
            point(r#","metadata":[]"#),
            "points[0].metadata",
            Found::Array,
            "an object",
        ),
        (
            r#"{"points":[],"if_absent":1}"#.to_owned(),
            "if_absent",
            Found::Number(1.0),
            "true or false",
        ),
        (
            r#"{"points":[],"collection":"other"}"#.to_owned(),
            "collection",
            text("other"),
            EXPECTED_COLLECTION,
        ),
    ] {
        assert_eq!(wrong(&body), (path.to_owned(), found, expected), "{body}");
    }
    let (path, ..) = wrong(&point(r#","metadata":{"a":{}}"#));
    assert_eq!(path, "points[0].metadata.a");
}

#[test]
fn contents_and_items_beyond_their_limits_are_told() {
    let body = point(r#","content":"12345678901""#);
    let fault = ContentFault {
        item: 0,
        bytes: Some(11),
    };
    assert_eq!(read(&body).unwrap().0.points.content_fault, Some(fault));
    let many = format!(r#"{{"points":[{}0]}}"#, r#"{"vector":[1]},"#.repeat(3));
    let refused = Refusal::TooMany {
        field: "points",
        count: 4,
    };
    assert_eq!(read(&many), Err(refused));
}

proptest! {
    #[test]
    fn a_vector_in_base64_is_the_same_bit_for_bit(
        vectors in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..2000), 1..3),
        is_padded in any::<bool>(),
    ) {
        let text_of = |vector: &Vec<u32>| {
            let bytes: Vec<u8> = vector.iter().flat_map(|bits| bits.to_le_bytes()).collect();
            let base64 = if is_padded { BASE64_STANDARD } else { BASE64_STANDARD_NO_PAD };
            format!(r#"{{"vector":"{}"}}"#, base64.encode(bytes))
        };
        let texts: Vec<String> = vectors.iter().map(text_of).collect();
        let (read, _) = read(&format!(r#"{{"points":[{}]}}"#, texts.join(","))).unwrap();
        let bits: Vec<u32> = read.points.vectors.iter().map(|value| value.to_bits()).collect();
        prop_assert_eq!(bits, vectors.concat());
    }
}
