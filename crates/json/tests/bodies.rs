//! What bodies say, and why they are refused.

use vectord_json::{ContentFault, Found, Points, Queries, Refusal, Wrong};

const MAX_CONTENT: usize = 10;

fn point(text: &str) -> Result<Points, Refusal> {
    vectord_json::point(text.as_bytes(), MAX_CONTENT)
}

fn points(text: &str) -> Result<Points, Refusal> {
    vectord_json::points(text.as_bytes(), 3, MAX_CONTENT)
}

fn query(text: &str) -> Result<Queries, Refusal> {
    vectord_json::query(text.as_bytes())
}

fn wrong<T>(path: &str, found: Found, expected: &'static str) -> Result<T, Refusal> {
    Err(Refusal::Wrong(Wrong {
        path: path.to_owned(),
        found,
        expected,
    }))
}

/// A good point with this vector.
fn with_vector(vector: &str) -> String {
    format!(r#"{{"vector":{vector},"payload":{{"content_type":"Text","content":"a"}}}}"#)
}

fn with_content(content: &str) -> String {
    format!(r#"{{"vector":[1],"payload":{{"content_type":"Image","content":{content}}}}}"#)
}

#[test]
fn points_are_taken_apart() {
    let [first, second] = [
        with_vector("[1, -0.5 ]"),
        with_content(r#""é\n\ud83d\ude00""#),
    ];
    let expected = Points {
        vectors: vec![1.0, -0.5, 1.0],
        vector_ends: vec![2, 3],
        content_types: vec![1, 0],
        contents: "aé\n😀".as_bytes().to_vec(),
        content_ends: vec![1, 8],
        content_fault: None,
    };
    let body = format!(r#"{{"x":[[{{}}]],"vectors":[{first} , {second}],"y":"\ud800"}}"#);
    assert_eq!(points(&body), Ok(expected));
    assert_eq!(points(r#"{"vectors":[]}"#), Ok(Points::default()));
}

#[test]
fn queries_are_taken_apart() {
    let body = r#"{"queries":[{"vector":[1],"similarity":"Cosine","limit":1e300},
        {"ef":7.0,"vector":[],"similarity":"\u0045uclidean","limit":18446744073709551615}]}"#;
    let expected = Queries {
        vectors: vec![1.0],
        vector_ends: vec![1, 1],
        similarities: vec![3, 0],
        limits: vec![1e300, 18_446_744_073_709_551_615.0],
        efs: vec![0.0, 7.0],
    };
    assert_eq!(vectord_json::queries(body.as_bytes(), 2), Ok(expected));
}

#[test]
fn the_last_of_a_name_counts_and_no_other() {
    let good = with_vector("[1]");
    let rest = &good[1..];
    for before in [
        r#""vector":[5,"#,
        r#""vector":["x",5,"#,
        r#""vector":[1e999,"#,
    ] {
        let body = format!("{{{before}0],{rest}");
        assert_eq!(point(&body), point(&good), "{body}");
    }
    for value in [
        "1e999",
        r#""\ud800""#,
        "null",
        "[]",
        "{}",
        "[[5]]",
        r#"{"content":5}"#,
    ] {
        let body = format!(r#"{{"vector":{value},"p\u0061yload":{value},{rest}"#);
        assert_eq!(point(&body), point(&good), "{body}");
        let body = format!(r#"{{"vectors":{value},"vectors":[{value}],"\u0076ectors":[{good}]}}"#);
        assert_eq!(points(&body), point(&good), "{body}");
    }
    let body = format!(r#"{{{},"vector":[2,3]}}"#, &good[1..good.len() - 1]);
    assert_eq!(point(&body).unwrap().vectors, [2.0, 3.0]);
    let body = format!(r#"{{"vectors":[{good}],"vectors":5}}"#);
    assert_eq!(
        points(&body),
        wrong("vectors", Found::Number(5.0), "an array of objects")
    );
}

#[test]
fn a_wrong_value_is_named() {
    let numbers = "an array of numbers";
    let text = |text: &str| Found::Text(text.to_owned());
    for (vector, path, found, expected) in [
        ("null", "vector", Found::Null, numbers),
        ("true", "vector", Found::Bool(true), numbers),
        ("1e999", "vector", Found::Number(f64::INFINITY), numbers),
        (
            r#""\ud800x""#,
            "vector",
            text("\u{fffd}\u{fffd}\u{fffd}x"),
            numbers,
        ),
        (r#"{"":[]}"#, "vector", Found::Object, numbers),
        (r#"[1,"2",3]"#, "vector[1]", text("2"), "a number"),
        ("[[1]]", "vector[0]", Found::Array, "a number"),
        ("[1,2,false]", "vector[2]", Found::Bool(false), "a number"),
        (
            "[1e39]",
            "vector[0]",
            Found::Number(1e39),
            "a number within ±3.4028235e38",
        ),
    ] {
        assert_eq!(
            point(&with_vector(vector)),
            wrong(path, found, expected),
            "{vector}"
        );
    }
    let missing = || Found::Missing;
    assert_eq!(point("{}"), wrong("vector", missing(), numbers));
    assert_eq!(
        point(r#"{"vector":[]}"#),
        wrong("payload", missing(), "an object")
    );
    let body = r#"{"vector":[],"payload":"x"}"#;
    assert_eq!(point(body), wrong("payload", text("x"), "an object"));
    let body = r#"{"vector":[],"payload":{"content":"x","content_type":"text"}}"#;
    let types = "\"Image\" or \"Text\"";
    assert_eq!(
        point(body),
        wrong("payload.content_type", text("text"), types)
    );
    assert_eq!(
        point(&with_content("{}")),
        wrong("payload.content", Found::Object, "a string")
    );
    assert_eq!(query("[1]"), wrong("", Found::Array, "an object"));
    assert_eq!(
        query("1e999"),
        wrong("", Found::Number(f64::INFINITY), "an object")
    );
}

#[test]
fn the_first_wrong_item_is_named_and_too_many_before_it() {
    let good = with_vector("[1]");
    let body = format!(r#"{{"vectors":[{good},{{"vector":[]}},5]}}"#);
    assert_eq!(
        points(&body),
        wrong("vectors[1].payload", Found::Missing, "an object")
    );
    for (item, found) in [("5", Found::Number(5.0)), ("[{}]", Found::Array)] {
        let body = format!(r#"{{"vectors":[{good},{item}]}}"#);
        assert_eq!(points(&body), wrong("vectors[1]", found, "an object"));
    }
    let too_many = Err(Refusal::TooMany {
        field: "vectors",
        count: 4,
    });
    assert_eq!(points(r#"{"vectors":[null,1e999,"\ud800",[]]}"#), too_many);
}

#[test]
fn broken_json_is_told_before_anything_else() {
    for body in [
        " ",
        "\u{feff}{}",
        "{",
        "{}x",
        "{},",
        "[1,]",
        "{\"vectors\":[1,],}",
        "{'a':1}",
        "{\"vectors\":[{\"vector\":[\"x\",01]}]}",
        "{\"vectors\":[5],\"a\":\"\u{1}\"}",
        "{\"a\nb\":1}",
        "{\"vectors\":[{},{},{},{},{]}",
        "{\"a\":\"\\u12g4\"}",
        "[NaN]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[-]",
        "[1e]",
        "[tru]",
        "{\"a\" 1}",
        "{1:1}",
        "[1 2]",
    ] {
        for found in [point(body), points(body)] {
            assert!(
                matches!(found, Err(Refusal::Broken(_))),
                "{body}: {found:?}"
            );
        }
    }
    let body = vectord_json::query(b"{\"vector\":\"\xff\"}");
    assert_eq!(body, Err(Refusal::NotUtf8));
    assert_eq!(point(""), Err(Refusal::Empty));
}

#[test]
fn depth_is_no_danger() {
    let depth = 1_000_000;
    for (open, close) in [("[", "]"), ("{\"\":", "}")] {
        let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(matches!(points(&deep), Err(Refusal::Wrong(_))));
        for body in [
            with_vector(&deep),
            format!("{{\"payload\":{deep},\"vector\":[1]}}"),
        ] {
            assert!(matches!(point(&body), Err(Refusal::Wrong(_))));
        }
        let cut = format!("{{\"vectors\":{}", open.repeat(depth));
        assert!(matches!(points(&cut), Err(Refusal::Broken(_))));
    }
}

#[test]
fn contents_that_are_refused_are_not_kept() {
    let [good, long, broken] = [r#""1234567890""#, r#""ééééé\u00e9""#, r#""\udc00\ud800""#];
    for (content, bytes) in [(long, Some(12)), (broken, None)] {
        let items = [good, content, long].map(with_content).join(",");
        let found = points(&format!(r#"{{"vectors":[{items}]}}"#)).unwrap();
        assert_eq!(found.content_fault, Some(ContentFault { item: 1, bytes }));
        assert_eq!(found.contents, b"1234567890");
        assert_eq!(found.content_ends, [10, 10, 10]);
    }
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
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..100_000 {
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
            format!("{}{digits:016}{digits:016}.{digits}", random() % 1000 + 1),
        ]);
    }
    for text in texts {
        let expected = text.parse::<f64>().map(|value| value as f32);
        let Ok(expected) = expected.map(|value| value.is_finite().then_some(value)) else {
            continue;
        };
        let found = point(&with_vector(&format!("[{text}]"))).ok();
        let found = found.map(|points| points.vectors.map_bits());
        assert_eq!(found, expected.map(|value| vec![value.to_bits()]), "{text}");
    }
}

#[test]
fn a_number_is_rounded_from_the_double_that_it_is() {
    // Halfway between two floats but for what a double does not hold.
    let body = with_vector("[1.00000005960464477539062500001,-0,1e-400,3.4028235677973362e38]");
    let bits = [1.0, -0.0, 0.0, f32::MAX].map(f32::to_bits);
    assert_eq!(point(&body).unwrap().vectors.map_bits(), bits);
    let body = with_vector("[3.4028235677973366e38]");
    assert!(matches!(point(&body), Err(Refusal::Wrong(_))));
}

trait MapBits {
    fn map_bits(&self) -> Vec<u32>;
}

impl MapBits for Vec<f32> {
    fn map_bits(&self) -> Vec<u32> {
        self.iter().map(|value| value.to_bits()).collect()
    }
}
