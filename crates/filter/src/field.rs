//! The fields of a point that tests are of.

use std::collections::HashMap;

use crate::{
    metadata::{self, Stored},
    values::Value,
};

/// A point that a filter is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'p> {
    /// The id.
    pub id: &'p [u8; 16],
    /// The number of the content type.
    pub content_type: u8,
    /// The metadata as they are stored, a flat object in JSON; empty where there are none.
    pub metadata: &'p [u8],
}

/// A field of a point.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// The number of the content type.
    ContentType,
    /// What is in the metadata under this key.
    Metadata(Box<str>),
}

/// A list of fields that are read from a point together, whatever their number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// The places in the list that have the content type.
    content_type: Vec<usize>,
    /// By key, the places in the list that have it.
    keys: HashMap<Box<str>, Vec<usize>>,
}

impl Fields {
    /// A list of no fields.
    #[must_use]
    pub fn new() -> Fields {
        Fields::default()
    }

    /// Adds a field as the one at `place`.
    pub fn add(&mut self, place: usize, field: &Field) {
        match field {
            Field::ContentType => self.content_type.push(place),
            Field::Metadata(key) => self.keys.entry(key.clone()).or_default().push(place),
        }
    }

    /// Calls `take` for each field that the point has, with its place in the list and what is
    /// stored there.
    pub fn read<'p>(&self, subject: &Subject<'p>, mut take: impl FnMut(usize, &Stored<'p>)) {
        let content_type = Stored::Scalar(Value::Number(subject.content_type.into()));
        for &place in &self.content_type {
            take(place, &content_type);
        }
        if !self.keys.is_empty() {
            metadata::read(subject.metadata, &self.keys, |&place, stored| {
                take(place, stored);
            });
        }
    }
}
