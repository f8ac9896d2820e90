//! Columns: which there are, what is in them, and that filters answer alike with and without them.

use std::{cell::Cell, collections::HashSet, time::Duration};

use vectord_filter::{
    Bound, Condition, Expression, Field, Filter, Side, Span, Stored, Test, Value, words,
};

use super::support::{id, index_with_metadata, work_on};
use crate::{
    Error, Metric,
    hnsw::Params,
    index::{Index, columns::Column},
    store::{DEFAULT_SEGMENT_BYTES, OpenOptions, Opened, Store, Write},
};

const POINTS: usize = 3_000;

fn field(key: &str) -> Field {
    Field::Metadata(key.into())
}

fn filter(key: &str, test: Test) -> Filter {
    Filter::new(Expression::Condition(Condition::Metadata(key.into(), test)))
}

fn is(key: &str, value: &'static str) -> Filter {
    filter(
        key,
        Test::In([Value::Text(value.into())].into_iter().collect()),
    )
}

fn below(key: &str, number: f64) -> Filter {
    let bound = Bound {
        value: Value::Number(number),
        side: Side::Below,
    };
    filter(key, Test::Within(bound))
}

fn count(index: &Index, filter: &Filter) -> usize {
    let view = index.view();
    let matching = view.matching(filter, &|| true).unwrap();
    let probe = view.probe(filter, &|| true).unwrap();
    let alone = (0..view.slots()).filter(|&slot| view.contains(slot) && probe.passes(slot));
    assert!(matching.slots().eq(alone), "together and one by one");
    if let Some(few) = probe.few(usize::MAX) {
        assert!(few.slots().eq(matching.slots()), "by their words");
        assert_eq!(few.count(), matching.count());
    }
    matching.count()
}

/// A number, a text or an array by turns; every seventh has nothing there.
fn mixed(number: usize) -> String {
    match number % 7 {
        0 => "{}".into(),
        1..3 => format!(r#"{{"a":{number}}}"#),
        3..5 => format!(r#"{{"a":"{}"}}"#, number % 10),
        _ => format!(r#"{{"a":[{number},"{}",true]}}"#, number % 10),
    }
}

#[test]
fn a_field_that_is_asked_for_gets_a_column_and_answers_stay_the_same() {
    let index = index_with_metadata(POINTS, usize::MAX, mixed);
    let filters = [
        filter("a", Test::Exists),
        is("a", "3"),
        below("a", 100.0),
        is("a", "no such text"),
        is("b", "3"),
    ];
    assert_eq!(index.column_status(), []);
    let before: Vec<usize> = filters.iter().map(|filter| count(&index, filter)).collect();
    let numbers = (1..=POINTS).filter(|number| number % 7 != 0);
    assert_eq!(before[0], numbers.clone().count());
    assert_eq!(
        before[1],
        numbers.clone().filter(|n| n % 7 > 2 && n % 10 == 3).count()
    );
    assert_eq!(
        before[2],
        numbers
            .filter(|n| ![3, 4].contains(&(n % 7)) && *n < 100)
            .count()
    );
    assert_eq!(before[3..], [0, 0]);
    let is_read = |key| {
        let list = index.columns().list();
        let column = list.find(&field(key)).unwrap();
        (0..POINTS as u32).all(|slot| column.word(slot) != words::UNREAD)
    };
    assert!(!is_read("a"));
    index.build_columns();
    assert!(is_read("a") && is_read("b"));
    let after: Vec<usize> = filters.iter().map(|filter| count(&index, filter)).collect();
    assert_eq!(after, before);
    assert!(index.column_status().iter().all(|column| column.is_read));
}

#[test]
fn points_are_found_by_their_words_where_a_filter_says_which_may_pass() {
    let index = index_with_metadata(POINTS, usize::MAX, |number| match number % 7 {
        0 => "{}".into(),
        1 => r#"{"a":"a text"}"#.into(),
        _ => format!(r#"{{"a":{number}}}"#),
    });
    let small = |key: &str, number| {
        let bound = Bound {
            value: Value::Number(number),
            side: Side::Below,
        };
        let test = Test::Within(bound);
        Expression::Condition(Condition::Metadata(key.into(), test))
    };
    let not = |one| Expression::Not(Box::new(one));
    let all = |list: [Expression; 2]| Filter::new(Expression::All(list.into()));
    let any = |list: [Expression; 2]| Filter::new(Expression::Any(list.into()));
    let found = [
        (all([small("a", 500.0), not(small("a", 200.0))]), true),
        (any([small("a", 200.0), small("a", 100.0)]), true),
        (any([small("a", 200.0), not(small("a", 100.0))]), false),
        (Filter::new(not(small("a", 100.0))), false),
    ];
    let counts = || found.each_ref().map(|(filter, _)| count(&index, filter));
    let before = counts();
    assert!(before.iter().all(|&count| count > 20));
    index.build_columns();
    assert_eq!(counts(), before);
    let view = index.view();
    for (at, (filter, is_found)) in found.iter().enumerate() {
        let few = view.probe(filter, &|| true).unwrap().few(POINTS / 3);
        assert_eq!(few.map(|few| few.count()), is_found.then_some(before[at]));
    }
    assert!(
        view.probe(&found[0].0, &|| true)
            .unwrap()
            .few(before[0] - 1)
            .is_none()
    );
}

#[test]
fn a_million_distinct_numbers_take_at_most_16_bytes_each_and_are_found_by_their_words() {
    const MILLION: u32 = 1_000_000;
    let time = |place: u32| f64::from(place) + 1.7e9;
    let column = Column::new(field("time"), Duration::ZERO);
    let store = |slot: u32, place| {
        let stored = Stored::Scalar(Value::Number(time(place)));
        column.store(slot, column.word_of(&stored));
    };
    // The stride has no divisor in common with a million.
    (0..MILLION).for_each(|slot| store(slot, (u64::from(slot) * 618_033 % 1_000_000) as u32));
    assert!(!column.wants_order(MILLION), "it is not read");
    column.note_read();
    assert!(column.wants_order(MILLION));
    let sorted = column.begin_order(MILLION);
    // A slot that gets another word while the others are sorted.
    store(7, MILLION + 1);
    column.finish_order(&sorted);
    assert!(!column.wants_order(MILLION));
    assert!(column.bytes(MILLION) <= 16 * MILLION as usize);
    let word = |place| column.word_of(&Stored::Scalar(Value::Number(time(place))));
    let found = |from: u32, to: u32| {
        let span = Span {
            from: word(from),
            to: word(to),
            is_known: true,
        };
        let is_inside = |&slot: &u32| (span.from..=span.to).contains(&column.word(slot));
        let found = column.find(&[span]).unwrap();
        let unsure: HashSet<u32> = found.unsure().collect();
        let sure = found.sure().filter(|slot| !unsure.contains(slot));
        let sure: Vec<u32> = sure.collect();
        assert!(sure.iter().all(is_inside));
        let others = unsure.iter().copied().filter(is_inside);
        let mut slots: Vec<u32> = sure.into_iter().chain(others).collect();
        slots.sort_unstable();
        assert!(
            slots.iter().copied().eq((0..MILLION).filter(is_inside)),
            "{from} to {to}"
        );
        assert!(found.count() <= slots.len() + 64);
        slots
    };
    for (from, to, expected) in [
        (0, 0, 1),
        (5, 9, 5),
        (400, 699_999, 699_600),
        (999_990, 999_999, 10),
    ] {
        // The number that slot 7 had is gone.
        assert!([expected, expected - 1].contains(&found(from, to).len()));
    }
    assert!(found(MILLION, 2 * MILLION).contains(&7));
    store(8, MILLION + 2);
    assert_eq!(found(MILLION + 2, MILLION + 2), [8]);
}

#[test]
fn points_that_come_later_are_in_the_columns_that_there_are() {
    let index = index_with_metadata(POINTS, usize::MAX, |number| {
        let text = if number % 2 == 0 { "even" } else { "odd" };
        format!(r#"{{"parity":"{text}","number":{number}}}"#)
    });
    let even = is("parity", "even");
    assert_eq!(count(&index, &even), POINTS / 2);
    index.build_columns();
    // Each odd point becomes a copy of the even one behind it.
    for number in (1..POINTS).step_by(2) {
        let location = index.find(&id(number + 1)).unwrap().location;
        index
            .replace(id(number), location, (POINTS + number) as u64)
            .unwrap();
    }
    let old_view = index.view();
    index.publish(2 * POINTS as u64);
    let old = old_view.matching(&even, &|| true).unwrap();
    assert_eq!(old.count(), POINTS / 2, "in a view from before");
    drop(old_view);
    assert_eq!(count(&index, &even), POINTS);
    assert_eq!(count(&index, &is("parity", "odd")), 0);
    let list = index.columns().list();
    let column = list.find(&field("parity")).unwrap();
    let words: Vec<u64> = (0..index.view().slots())
        .map(|slot| column.word(slot))
        .collect();
    assert!(!words.contains(&words::UNREAD));
}

#[test]
fn a_point_that_came_after_a_view_is_asked_by_its_record() {
    let text = |number| format!(r#"{{"number":{number}}}"#);
    let index = index_with_metadata(POINTS, usize::MAX, text);
    let small = below("number", 10.0);
    assert_eq!(count(&index, &small), 9);
    index.build_columns();
    let view = index.view();
    let probe = view.probe(&small, &|| true).unwrap();
    let location = index.find(&id(3)).unwrap().location;
    index.replace(id(3), location, POINTS as u64 + 1).unwrap();
    index.publish(POINTS as u64 + 1);
    let slot = view.slots();
    assert!(view.id(slot) == id(3) && !view.contains(slot));
    // As in a column that the writer has lost sight of, whose slot had another point.
    let list = index.columns().list();
    let column = list.find(&field("number")).unwrap();
    let large = Stored::Scalar(Value::Number(1e9));
    column.store(slot, column.word_of(&large));
    assert!(probe.passes_now(slot));
}

#[test]
fn beyond_their_bound_fields_get_no_column_and_are_answered_from_the_records() {
    let index = index_with_metadata(POINTS, 2 * POINTS * 13 + 20_000, |number| {
        format!(r#"{{"a":{number},"b":{number},"c":{number},"text":"a longer text {number}"}}"#)
    });
    let exists = |key| index.columns().list().find(&field(key)).is_some();
    for key in ["a", "b", "c"] {
        assert_eq!(count(&index, &below(key, 100.0)), 99);
    }
    index.build_columns();
    assert!(
        exists("a") && exists("b") && !exists("c"),
        "the oldest stay"
    );
    assert_eq!(count(&index, &below("c", 100.0)), 99);
    let status = index.column_status();
    let refused: Vec<_> = status.iter().filter(|column| !column.exists).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].field, field("c"));
    assert!(refused[0].bytes >= POINTS * 13);
}

#[test]
fn the_fields_without_a_column_that_are_told_of_are_few_and_their_keys_short() {
    let index = index_with_metadata(100, 1, |_| "{}".into());
    for number in 0..1_000 {
        assert_eq!(count(&index, &below(&format!("key {number}"), 1.0)), 0);
    }
    let status = index.column_status();
    assert_eq!(status.len(), 256);
    assert!(status.iter().all(|column| !column.exists));
    let latest = &status.last().unwrap().field;
    assert_eq!(latest, &field("key 999"), "the latest");
    let long = "k".repeat(1_025);
    assert_eq!(count(&index, &below(&long, 1.0)), 0);
    assert_eq!(count(&index, &below(&long[1..], 1.0)), 0);
    let status = index.column_status();
    assert_eq!(status.len(), 256);
    let is_told_of = |key: &str| status.iter().any(|column| column.field == field(key));
    assert!(is_told_of(&long[1..]) && !is_told_of(&long));
}

#[test]
fn fields_that_no_point_has_make_room_for_others() {
    let index = index_with_metadata(POINTS, usize::MAX, |number| {
        format!(r#"{{"a":{number},"b":{number}}}"#)
    });
    let exists = |key| index.columns().list().find(&field(key)).is_some();
    assert_eq!(count(&index, &below("a", 100.0)), 99);
    for number in 0..300 {
        assert_eq!(count(&index, &below(&format!("none {number}"), 1.0)), 0);
    }
    index.build_columns();
    assert!(exists("a") && !exists("none 299"), "there are 256");
    assert_eq!(count(&index, &below("b", 100.0)), 99);
    assert!(exists("a") && exists("b"));
    assert!(!exists("none 0"));
    index.build_columns();
    assert_eq!(count(&index, &below("none 299", 1.0)), 0);
    assert!(exists("a") && exists("b") && exists("none 299"));
}

#[test]
fn a_field_that_was_refused_gets_a_column_once_there_is_room() {
    let texts = |max_bytes| {
        index_with_metadata(POINTS * 2, max_bytes, |number| {
            format!(r#"{{"text":"{number}","number":{number}}}"#)
        })
    };
    let of_text = |index: &Index| {
        assert_eq!(count(index, &is("text", "7")), 1);
        index.build_columns();
        index.column_status()[0].bytes
    };
    let index = texts(of_text(&texts(usize::MAX)));
    of_text(&index);
    let below = below("number", 8.0);
    assert_eq!(count(&index, &below), 7);
    let states = || {
        let status = index.column_status();
        let kept = status.iter().map(|one| (one.field.clone(), one.exists));
        kept.collect::<Vec<_>>()
    };
    let (text, number) = (field("text"), field("number"));
    assert_eq!(states(), [(text, true), (number.clone(), false)]);
    // The column of the texts goes with most of them.
    for number in 8..=2 * POINTS {
        index.delete(&id(number), (2 * POINTS + number) as u64);
    }
    index.publish(5 * POINTS as u64);
    index.bound_columns();
    assert_eq!(states(), [(number.clone(), false)]);
    assert_eq!(count(&index, &below), 7);
    assert_eq!(states(), [(number, true)]);
}

#[test]
fn a_field_whose_texts_take_too_much_memory_loses_its_column_and_gets_no_other() {
    let index = index_with_metadata(POINTS, 50_000, |number| {
        format!(r#"{{"text":"a longer text {number}"}}"#)
    });
    let wanted = is("text", "a longer text 7");
    for _ in 0..3 {
        assert_eq!(count(&index, &wanted), 1);
        index.build_columns();
        index.bound_columns();
        let [status] = &index.column_status()[..] else {
            panic!("one field was asked for");
        };
        assert_eq!((status.exists, &status.field), (false, &field("text")));
        assert!(status.bytes > 50_000);
    }
}

#[test]
fn a_column_that_grows_beyond_the_bound_while_it_is_built_goes_before_the_others_and_at_once() {
    const BOUND: usize = 100_000;
    let index = index_with_metadata(POINTS, BOUND, |number| {
        format!(
            r#"{{"number":{number},"text":"{}"}}"#,
            number.to_string().repeat(100)
        )
    });
    assert_eq!(count(&index, &below("number", 8.0)), 7);
    index.build_columns();
    assert_eq!(count(&index, &is("text", "no such text")), 0);
    index.build_columns();
    let status = index.column_status();
    let kept: Vec<_> = status.iter().map(|one| (&one.field, one.exists)).collect();
    assert_eq!(kept, [(&field("number"), true), (&field("text"), false)]);
    // All texts would take a million bytes.
    assert!(status[1].bytes < 4 * BOUND, "{}", status[1].bytes);
}

#[test]
fn what_is_given_up_ends_before_all_points_are_asked_about() {
    // Each condition on each of the arrays.
    let index = index_with_metadata(POINTS, 1, |number| format!(r#"{{"list":[{number},0.5]}}"#));
    let conditions = (0..100).map(|number| {
        let test = Test::In([Value::Number(f64::from(number))].into_iter().collect());
        Expression::Condition(Condition::Metadata("list".into(), test))
    });
    let filter = Filter::new(Expression::Any(conditions.collect()));
    assert_eq!(count(&index, &filter), 99);
    let view = index.view();
    for most in [0, 1, 50, 200, 1_000] {
        let asked = Cell::new(0);
        let goes_on = || asked.replace(asked.get() + 1) < most;
        let given_up = view.matching(&filter, &goes_on);
        assert!(matches!(given_up, Err(Error::Abandoned)), "{given_up:?}");
        assert!(asked.get() < most + 2_000, "{} of {most}", asked.get());
    }
}

#[test]
fn texts_that_no_point_has_any_more_go_with_their_column() {
    let index = index_with_metadata(POINTS * 2, usize::MAX, |number| {
        format!(r#"{{"text":"{number}"}}"#)
    });
    let wanted = is("text", "7");
    assert_eq!(count(&index, &wanted), 1);
    index.build_columns();
    for number in 8..=2 * POINTS {
        index.delete(&id(number), (2 * POINTS + number) as u64);
    }
    index.publish(5 * POINTS as u64);
    index.bound_columns();
    assert_eq!(index.column_status(), []);
    assert_eq!(count(&index, &wanted), 1);
    index.build_columns();
    let status = index.column_status();
    assert!(status[0].is_read);
    index.bound_columns();
    assert_eq!(index.column_status(), status, "the new one holds few");
}

fn opened(folder: &std::path::Path) -> Opened {
    Store::open(&OpenOptions {
        path: folder.to_owned(),
        dimension: Some(1),
        default_dimension: 1,
        segment_bytes: DEFAULT_SEGMENT_BYTES,
    })
    .unwrap()
}

/// Writes a point of each of these numbers, whose metadata is `parity` of it, and enters it.
fn write(store: &mut Store, index: &Index, numbers: &[usize], parity: fn(usize) -> usize) {
    let first = store.last_sequence() + 1;
    let metadata = |number: &usize| format!(r#"{{"parity":"{}"}}"#, parity(*number));
    let metadata: Vec<String> = numbers.iter().map(metadata).collect();
    let point = |(&number, metadata)| Write::Insert {
        id: id(number),
        vector: &[1.5],
        content_type: 0,
        content: &[],
        metadata: String::as_bytes(metadata),
        replaced: index.find(&id(number)),
    };
    let writes: Vec<Write> = numbers.iter().zip(&metadata).map(point).collect();
    let locations = store.commit(&writes).unwrap();
    for ((&number, location), sequence) in numbers.iter().zip(locations).zip(first..) {
        if index.find(&id(number)).is_some() {
            index.replace(id(number), location, sequence).unwrap();
        } else {
            index.insert(id(number), location, sequence).unwrap();
        }
    }
    index.publish(store.last_sequence());
}

#[test]
fn a_start_takes_the_words_of_the_snapshot_for_the_points_that_are_still_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = opened(folder.path()).store;
    let index = Index::new(store.segments(), 1, Params::default());
    let numbers: Vec<usize> = (1..=200).collect();
    write(&mut store, &index, &numbers, |number| number % 2);
    index.want_graph(Metric::Euclidean);
    work_on(&index);
    let odd = is("parity", "1");
    assert_eq!(count(&index, &odd), 100);
    let changes = index.changes();
    index.build_columns();
    assert!(index.changes() > changes, "a snapshot is due");
    index.snapshot(&store.snapshots()).unwrap();
    // Later the first 50 change their parity, and 50 more come.
    write(&mut store, &index, &numbers[..50], |number| {
        (number + 1) % 2
    });
    let more: Vec<usize> = (201..=250).collect();
    write(&mut store, &index, &more, |_| 1);
    assert_eq!(count(&index, &odd), 150);
    drop(index);
    store.close().unwrap();

    let Opened {
        store,
        points,
        dead,
        last_sequence,
        ..
    } = opened(folder.path());
    let index = Index::new(store.segments(), 1, Params::default());
    let notes = index.restore(&points, &dead, last_sequence, &store.snapshots());
    assert_eq!(notes.unwrap(), Vec::<String>::new());
    let read = || {
        let list = index.columns().list();
        let column = list.find(&field("parity")).unwrap();
        let view = index.view();
        let known = |&slot: &u32| view.contains(slot) && column.word(slot) != words::UNREAD;
        (0..view.slots()).filter(known).count()
    };
    assert_eq!(read(), 150, "those that did not change");
    assert_eq!(count(&index, &odd), 150);
    index.build_columns();
    assert_eq!(read(), 250);
    assert_eq!(count(&index, &odd), 150);
}
