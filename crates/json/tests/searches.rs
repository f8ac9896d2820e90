//! What bodies that search for neighbours say, and why they are refused.

use vectord_json::{EXPECTED_ID, Found, Refusal, SearchForm, Searches, Wrong};

const ID: &str = "00112233-4455-6677-8899-aabbccddeeff";

fn read(body: &str) -> Result<(Searches, SearchForm), Refusal> {
    vectord_json::searches(body.as_bytes(), 3)
}

fn id() -> Vec<u8> {
    (0..16).map(|digit| digit * 0x11).collect()
}

/// What a message says of a body: the place, what is found there, and what is expected.
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
fn one_query_is_taken_apart() {
    let body = r#"{"collection":"default","vector":[1,2],"similarity":"Cosine","limit":3,"ef":4,
        "max_distance":0.5,"filter":{"a": 1},"include":["content","distance","content"],"vector_format":"base64"}"#;
    let expected = Searches {
        vectors: vec![1.0, 2.0],
        vector_ends: vec![2],
        likes: vec![0; 16],
        similarities: vec![3],
        limits: vec![3.0],
        efs: vec![4.0],
        max_distances: vec![0.5],
        filters: br#"{"a": 1}"#.to_vec(),
        filter_ends: vec![8],
        includes: vec![4 + 16],
    };
    let form = SearchForm {
        is_list: false,
        base64: true,
    };
    assert_eq!(read(body), Ok((expected, form)));
}

#[test]
fn several_queries_are_taken_apart() {
    let body = format!(
        r#"{{"vector_format":"array","queries":[
            {{"like":"{ID}","similarity":"Euclidean","limit":1,"exact":true,"ef":7}},
            {{"vector":"AACAPw==","similarity":"Hamming","limit":2,"exact":false,"filter":{{}},"include":[]}},
            {{"vector":[],"similarity":"Manhattan","limit":0,"max_distance":null,"filter":null,
              "include":["vector","content_type","metadata"]}}]}}"#
    );
    let expected = Searches {
        vectors: vec![1.0],
        vector_ends: vec![0, 1, 1],
        likes: [id(), vec![0; 32]].concat(),
        similarities: vec![0, 2, 1],
        limits: vec![1.0, 2.0, 0.0],
        efs: vec![f64::INFINITY, 0.0, 0.0],
        max_distances: vec![f64::INFINITY; 3],
        filters: b"{}".to_vec(),
        filter_ends: vec![0, 2, 2],
        includes: vec![16, 0, 1 + 2 + 8],
    };
    let form = SearchForm {
        is_list: true,
        base64: false,
    };
    assert_eq!(read(&body), Ok((expected, form)));
    let none = read(r#"{"queries":[]}"#).unwrap();
    assert_eq!(none, (Searches::default(), form));
}

#[test]
fn a_field_that_is_null_counts_as_absent() {
    let whole = with("");
    let null = with(r#","like":null,"ef":null,"exact":null,"include":null,"queries":null"#);
    assert_eq!(read(&null), read(&whole));
    let like = format!(r#"{{"like":"{ID}","similarity":"Cosine","limit":1}}"#);
    let null = like.replacen('{', r#"{"vector":null,"#, 1);
    assert_eq!(read(&null), read(&like));
    assert!(read(&like).is_ok());
    let list = format!(r#"{{"queries":[{null}]}}"#);
    let null = list.replacen('{', r#"{"vector":null,"like":null,"limit":null,"#, 1);
    assert_eq!(read(&null), read(&list));
    assert!(read(&list).is_ok());
    for body in [r#"{"vector":null}"#, r#"{"queries":[{"vector":null}]}"#] {
        assert_eq!(wrong(body).1, Found::Null, "{body}");
    }
    let inner = format!(r#"{{"like":"{ID}","vector":[null]}}"#);
    assert_eq!(wrong(&inner).0, "vector[0]");
}

/// A query with a vector and these fields.
fn with(fields: &str) -> String {
    format!(r#"{{"vector":[1],"similarity":"Cosine","limit":1{fields}}}"#)
}

fn text(text: &str) -> Found {
    Found::Text(text.to_owned())
}

const WHOLE: &str = "a whole number, not negative";

#[test]
fn bodies_without_a_query_or_with_too_many_are_refused() {
    let vector = "an array of numbers, or base64 of little-endian 32-bit floats";
    for (body, path, found, expected) in [
        ("[]".to_owned(), "", Found::Array, "an object"),
        ("{}".to_owned(), "vector", Found::Missing, vector),
        (
            r#"{"queries":{}}"#.to_owned(),
            "queries",
            Found::Object,
            "an array of objects",
        ),
        (
            r#"{"queries":[{}]}"#.to_owned(),
            "queries[0].vector",
            Found::Missing,
            vector,
        ),
        (
            with(r#","queries":[]"#),
            "queries",
            Found::Array,
            "either it or the fields of one query",
        ),
        (
            with(&format!(r#","like":"{ID}""#)),
            "like",
            text(ID),
            "either it or a vector",
        ),
        (r#"{"like":"x"}"#.to_owned(), "like", text("x"), EXPECTED_ID),
        (
            r#"{"vector":[1],"limit":1}"#.to_owned(),
            "similarity",
            Found::Missing,
            "\"Euclidean\" or \"Manhattan\" or \"Hamming\" or \"Cosine\"",
        ),
        (
            r#"{"vector":[1],"similarity":"Cosine"}"#.to_owned(),
            "limit",
            Found::Missing,
            WHOLE,
        ),
    ] {
        assert_eq!(wrong(&body), (path.to_owned(), found, expected), "{body}");
    }
}

#[test]
fn fields_that_are_not_as_they_should_be_are_named() {
    let distance = "a finite number, not negative";
    let part = "\"vector\", \"content_type\", \"content\", \"metadata\" or \"distance\"";
    let parts =
        "an array of \"vector\", \"content_type\", \"content\", \"metadata\" and \"distance\"";
    for (body, path, found, expected) in [
        (with(r#","ef":-1"#), "ef", Found::Number(-1.0), WHOLE),
        (
            with(r#","exact":true,"ef":-1"#),
            "ef",
            Found::Number(-1.0),
            WHOLE,
        ),
        (
            with(r#","exact":1"#),
            "exact",
            Found::Number(1.0),
            "true or false",
        ),
        (
            with(r#","max_distance":-0.1"#),
            "max_distance",
            Found::Number(-0.1),
            distance,
        ),
        (
            with(r#","max_distance":1e999"#),
            "max_distance",
            Found::Number(f64::INFINITY),
            distance,
        ),
        (
            with(r#","include":"vector""#),
            "include",
            text("vector"),
            parts,
        ),
        (
            with(r#","include":["vector","payload"]"#),
            "include[1]",
            text("payload"),
            part,
        ),
        (with(r#","include":[[]]"#), "include[0]", Found::Array, part),
        (
            with(r#","vector_format":"hex""#),
            "vector_format",
            text("hex"),
            "\"array\" or \"base64\"",
        ),
        (with(r#","vector":[1]"#), "vector", Found::Twice, "it once"),
        (
            r#"{"queries":[],"queries":[]}"#.to_owned(),
            "queries",
            Found::Twice,
            "it once",
        ),
        (
            format!(r#"{{"queries":[{}]}}"#, with(r#","collection":"default""#)),
            "queries[0].collection",
            Found::Unknown,
            "only vector, like, similarity, limit, ef, exact, max_distance, filter and include",
        ),
        (
            with(r#","fliter":{}"#),
            "fliter",
            Found::Unknown,
            "only vector, like, similarity, limit, ef, exact, max_distance, filter and include, or \
             queries; vector_format and collection",
        ),
        (
            r#"{"queries":[{"vector":[],"similarity":"Cosine","limit":1,"filter":{"$or":1}}]}"#
                .to_owned(),
            "queries[0].filter.$or",
            Found::Number(1.0),
            "an array of at least one filter",
        ),
    ] {
        assert_eq!(wrong(&body), (path.to_owned(), found, expected), "{body}");
    }
}
