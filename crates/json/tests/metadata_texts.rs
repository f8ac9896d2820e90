//! Metadata that come as texts of their own.

use vectord_json::{Found, MetadataList, Wrong, metadata_texts};

fn read(texts: &[&str]) -> Result<MetadataList, Wrong> {
    let ends: Vec<u32> = texts
        .iter()
        .scan(0, |end, text| {
            *end += text.len() as u32;
            Some(*end)
        })
        .collect();
    metadata_texts(&texts.concat(), &ends)
}

#[test]
fn are_kept_without_spaces_and_an_empty_one_is_none() {
    let list = read(&["{ \"a\" : [1, 2.50] }", "", "{}", "{\"é\":null}"]).unwrap();
    assert_eq!(
        String::from_utf8(list.metadata).unwrap(),
        "{\"a\":[1,2.50]}{}{\"é\":null}"
    );
    assert_eq!(list.ends, [14, 14, 16, 27]);
}

#[test]
fn what_is_wrong_is_told_with_the_point() {
    let wrong = |texts: &[&str]| read(texts).unwrap_err();
    let broken = wrong(&["{}", "{\"a\":}"]);
    assert_eq!(broken.path, "points[1].metadata");
    assert_eq!(broken.found, Found::Text("{\"a\":}".to_owned()));
    assert_eq!(broken.expected, "an object in JSON");
    assert_eq!(wrong(&["[1]"]).found, Found::Array);
    assert_eq!(wrong(&["{} {}"]).path, "points[0].metadata");
    assert_eq!(wrong(&["{\"a\":{}}"]).path, "points[0].metadata.a");
}
