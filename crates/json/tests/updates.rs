//! What bodies that change payloads say, and why they are refused.

use vectord_json::{ContentFault, Found, Points, Refusal, Updates, Wrong};

const ID: &str = "00112233-4455-6677-8899-aabbccddeeff";

fn read(body: &str) -> Result<Updates, Refusal> {
    vectord_json::updates(body.as_bytes(), 5, 10)
}

/// A body of one point with its id and these fields.
fn point(fields: &str) -> String {
    format!(r#"{{"points":[{{"id":"{ID}"{fields}}}]}}"#)
}

#[test]
fn what_is_given_replaces_and_null_clears_metadata_alone() {
    let items = [
        r#","content":"new""#,
        r#","content_type":"Image","content":"""#,
        r#","metadata":{"a" : 1},"content":null"#,
        r#","metadata":null"#,
        "",
    ];
    let items = items.map(|fields| format!(r#"{{"id":"{ID}"{fields}}}"#));
    let id: Vec<u8> = (0..16).map(|digit| digit * 0x11).collect();
    let expected = Updates {
        points: Points {
            content_types: vec![1, 0, 1, 1, 1],
            contents: b"new".to_vec(),
            content_ends: vec![3; 5],
            ..Points::default()
        },
        ids: id.repeat(5),
        given: vec![2, 3, 4, 4, 0],
        metadata: br#"{"a":1}"#.to_vec(),
        metadata_ends: vec![0, 0, 7, 7, 7],
    };
    let body = format!(
        r#"{{"collection":"default","points":[{}]}}"#,
        items.join(",")
    );
    assert_eq!(read(&body), Ok(expected));
}

#[test]
fn what_is_not_as_it_should_be_is_named() {
    let fields = "only id, content, content_type and metadata";
    for (body, path, found, expected) in [
        (
            r#"{"points":[{}]}"#.to_owned(),
            "points[0].id",
            Found::Missing,
            "the id of a point",
        ),
        (
            point(r#","vector":[1]"#),
            "points[0].vector",
            Found::Unknown,
            fields,
        ),
        (
            point(r#","metadata":[]"#),
            "points[0].metadata",
            Found::Array,
            "an object",
        ),
        (
            r#"{"points":[],"if_absent":true}"#.to_owned(),
            "if_absent",
            Found::Unknown,
            "only points and collection",
        ),
    ] {
        let wrong = Wrong {
            path: path.to_owned(),
            found,
            expected,
        };
        assert_eq!(read(&body), Err(Refusal::Wrong(wrong)), "{body}");
    }
    let fault = ContentFault {
        item: 0,
        bytes: Some(11),
    };
    let long = read(&point(r#","content":"12345678901""#)).unwrap();
    assert_eq!(long.points.content_fault, Some(fault));
}
