//! The columns in a snapshot: the words of the points of its graphs, and the texts and arrays that
//! they stand for. Other points have words that are not read yet after a start.

use std::{
    io::{self, Read, Write},
    ops::Range,
    sync::Arc,
};

use vectord_filter::{Dictionary, Field, ReadDictionary, slices, words};

use super::super::columns::{Column, List};
use crate::error::invalid_data;

/// The length of the key of a field that is none of the metadata: the content type.
const CONTENT_TYPE: u32 = u32::MAX;

/// Writes the columns that are read: the words of the slots `0..slots` in which `has_point` says
/// that there is a point of a graph.
pub(super) fn save(
    list: &List,
    slots: u32,
    has_point: impl Fn(u32) -> bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let columns = list.columns().iter().filter(|column| column.is_read());
    let columns: Vec<&Arc<Column>> = columns.collect();
    write_word(columns.len(), out)?;
    for column in columns {
        match column.field() {
            Field::ContentType => out.write_all(&CONTENT_TYPE.to_le_bytes())?,
            Field::Metadata(key) => write_text(key, out)?,
        }
        for slot in 0..slots {
            let word = if has_point(slot) {
                column.word(slot)
            } else {
                words::UNREAD
            };
            out.write_all(&word.to_le_bytes())?;
        }
        // Later than the words, so that it has all that they stand for.
        write_dictionary(&|look| column.with_dictionary(look), out)?;
    }
    Ok(())
}

/// Reads what [`save`] wrote for this number of slots; nothing from a snapshot without columns.
pub(super) fn load(source: &mut impl Read, slots: u32) -> io::Result<Vec<Arc<Column>>> {
    let mut first = [0];
    if source.read(&mut first)? == 0 {
        return Ok(Vec::new());
    }
    let mut source = first.chain(source);
    let count = read_word(&mut source)?;
    let mut columns: Vec<Arc<Column>> = Vec::new();
    for _ in 0..count {
        let field = match read_word(&mut source)? {
            CONTENT_TYPE => Field::ContentType,
            length => Field::Metadata(read_text(length, &mut source)?.into()),
        };
        if columns.iter().any(|column| *column.field() == field) {
            return Err(invalid_data("two columns of one field"));
        }
        let mut found = Vec::new();
        for _ in 0..slots {
            found.push(read_long(&mut source)?);
        }
        let dictionary = read_dictionary(&mut source)?;
        let is_known = |&word: &u64| word == words::UNREAD || dictionary.knows(word);
        if !found.iter().all(is_known) {
            return Err(invalid_data("a word of a column that stands for nothing"));
        }
        let column = Column::restored(field, &found, dictionary);
        columns.push(Arc::new(column.map_err(io::Error::other)?));
    }
    Ok(columns)
}

/// Writes a dictionary, copied in slices: so the writer waits neither for the disk nor for a copy of
/// the whole.
fn write_dictionary(read: ReadDictionary, out: &mut impl Write) -> io::Result<()> {
    let mut counts = [0, 0];
    read(&mut |dictionary| counts = dictionary.counts());
    let [texts, arrays] = counts;
    write_word(texts, out)?;
    write_slices(texts, read, out, |dictionary, codes, bytes| {
        dictionary
            .texts(codes)
            .try_for_each(|text| write_text(text, bytes))
    })?;
    write_word(arrays, out)?;
    write_slices(arrays, read, out, |dictionary, codes, bytes| {
        for items in dictionary.arrays(codes) {
            write_word(items.len(), bytes)?;
            bytes.extend(items.iter().flat_map(|item| item.to_le_bytes()));
        }
        Ok(())
    })
}

/// Writes what `copy` makes of slices of a dictionary.
fn write_slices(
    count: usize,
    read: ReadDictionary,
    out: &mut impl Write,
    copy: impl Fn(&Dictionary, Range<usize>, &mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    for codes in slices(count) {
        let mut copied = Ok(());
        read(&mut |dictionary| copied = copy(dictionary, codes.clone(), &mut bytes));
        copied?;
        out.write_all(&bytes)?;
        bytes.clear();
    }
    Ok(())
}

fn read_dictionary(source: &mut impl Read) -> io::Result<Dictionary> {
    let mut dictionary = Dictionary::default();
    let none = || invalid_data("a dictionary that is none");
    for _ in 0..read_word(source)? {
        let length = read_word(source)?;
        let text = read_text(length, source)?;
        dictionary.restore_text(&text).ok_or_else(none)?;
    }
    let mut items = Vec::new();
    for _ in 0..read_word(source)? {
        items.clear();
        for _ in 0..read_word(source)? {
            items.push(read_long(source)?);
        }
        dictionary.restore_array(&items).ok_or_else(none)?;
    }
    Ok(dictionary)
}

fn write_word(number: usize, out: &mut impl Write) -> io::Result<()> {
    let number = u32::try_from(number).map_err(io::Error::other)?;
    out.write_all(&number.to_le_bytes())
}

fn write_text(text: &str, out: &mut impl Write) -> io::Result<()> {
    write_word(text.len(), out)?;
    out.write_all(text.as_bytes())
}

fn read_word(source: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    source.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn read_long(source: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    source.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn read_text(length: u32, source: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = source.take(length.into()).read_to_end(&mut bytes)?;
    if read < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    String::from_utf8(bytes).map_err(|_| invalid_data("a text that is not UTF-8"))
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use vectord_filter::{Fields, Subject};

    use super::*;

    const SLOTS: u32 = 3;

    /// A column with a text, an array and a number.
    fn column() -> Arc<Column> {
        let column = Column::new(Field::Metadata("key".into()), std::time::Duration::ZERO);
        let mut fields = Fields::new();
        fields.add(0, column.field());
        let points = [
            r#"{"key":"text"}"#,
            r#"{"key":["a","text",1]}"#,
            r#"{"key":1}"#,
        ];
        for (slot, metadata) in (0..).zip(points) {
            let subject = Subject {
                id: &[0; 16],
                content_type: 0,
                metadata: metadata.as_bytes(),
            };
            fields.read(&subject, |_, stored| {
                column.store(slot, column.word_of(stored));
            });
        }
        column.note_read();
        Arc::new(column)
    }

    fn saved(column: &Arc<Column>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let list = List::new(vec![Arc::clone(column)]);
        save(&list, SLOTS, |slot| slot != 2, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_column_comes_back_without_the_words_of_points_that_the_snapshot_lacks() {
        let column = column();
        let loaded = load(&mut saved(&column).as_slice(), SLOTS).unwrap();
        let [again] = &loaded[..] else {
            panic!("one column was saved");
        };
        assert_eq!(again.field(), column.field());
        assert!((0..2).all(|slot| again.word(slot) == column.word(slot)));
        assert_eq!(again.word(2), words::UNREAD);
        assert!(!again.is_read());
        let copied = |column: &Arc<Column>| {
            let mut bytes = Vec::new();
            write_dictionary(&|look| column.with_dictionary(look), &mut bytes).unwrap();
            bytes
        };
        assert_eq!(copied(again), copied(&column));
        assert!(load(&mut [].as_slice(), SLOTS).unwrap().is_empty());
    }

    #[test]
    fn what_is_cut_off_or_stands_for_nothing_is_refused() {
        let bytes = saved(&column());
        for length in 1..bytes.len() {
            assert!(load(&mut &bytes[..length], SLOTS).is_err(), "{length}");
        }
        // Behind the count and the key are the words, of which the first is the text 0.
        let words = 4 + 4 + 3;
        for (at, other) in [(words, 9), (words + 8, 0xF0), (0, 2), (bytes.len() - 8, 9)] {
            let mut changed = bytes.clone();
            changed[at] = other;
            assert!(load(&mut changed.as_slice(), SLOTS).is_err(), "byte {at}");
        }
    }
}
