//! A process that opens a folder, gets one point, searches twice, and says what it has found as
//! soon as it knows: a line for each. [`crate::restart`] takes the time.

use std::{
    io::{Write, stdout},
    path::Path,
};

use rusqlite::Connection;
use vectord_engine::Engine;

use crate::{
    Result,
    nearest::Nearest,
    points::{DIMENSION, Id, id, query},
    stores::{SCANNED, connect, options, search},
};
use vectord_bench::synthetic::Family;

/// Which folder is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Vectord,
    Sqlite,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Vectord, Kind::Sqlite];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Vectord => "vectord",
            Kind::Sqlite => "SQLite",
        }
    }

    pub fn of(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn open(self, folder: &Path) -> Result<Box<dyn Started>> {
        Ok(match self {
            Kind::Vectord => Box::new(Engine::open(&options(folder, Vec::new()))?),
            Kind::Sqlite => Box::new(connect(folder, SCANNED.pages)?),
        })
    }
}

/// Opens a folder, gets the point of this number, and searches for the nearest of two queries.
pub fn answer(kind: Kind, folder: &Path, point: u64, queries: [usize; 2]) -> Result<()> {
    let mut started = kind.open(folder)?;
    // A line is handed over at its end.
    let mut lines = stdout().lock();
    writeln!(lines, "{}", point_line(&started.get(id(point))?))?;
    let family = Family::new(DIMENSION);
    for number in queries {
        let nearest = started.nearest(&query(&family, number))?;
        writeln!(lines, "{}", ids_line(&nearest))?;
    }
    started.close()
}

/// A vector and its content.
pub type Stored = (Vec<f32>, String);

pub fn point_line((vector, content): &Stored) -> String {
    let bits = vector
        .iter()
        .map(|value| format!("{:08x}", value.to_bits()));
    format!("{} {content}", bits.collect::<String>())
}

pub fn ids_line(ids: &[Id]) -> String {
    let ids = ids
        .iter()
        .map(|id| format!("{:032x}", u128::from_be_bytes(*id)));
    ids.collect::<Vec<_>>().join(" ")
}

trait Started {
    fn get(&mut self, id: Id) -> Result<Stored>;
    /// The ids of the nearest points, closest first.
    fn nearest(&mut self, query: &[f32]) -> Result<Vec<Id>>;
    fn close(self: Box<Self>) -> Result<()>;
}

impl Started for Engine {
    fn get(&mut self, id: Id) -> Result<Stored> {
        let point = Engine::get(self, &id)?.ok_or("the point is not there")?;
        Ok((point.vector, String::from_utf8(point.content)?))
    }

    fn nearest(&mut self, query: &[f32]) -> Result<Vec<Id>> {
        search(self, query)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(Engine::close(&self)?)
    }
}

/// Without an index of vectors there is no other way than to read them all.
impl Started for Connection {
    fn get(&mut self, id: Id) -> Result<Stored> {
        let select = "SELECT vector, content FROM points WHERE id = ?";
        Ok(self.query_row(select, [id], |row| {
            let mut vector = vec![0.0; DIMENSION];
            read_vector(row.get_ref(0)?.as_blob()?, &mut vector);
            Ok((vector, row.get(1)?))
        })?)
    }

    fn nearest(&mut self, query: &[f32]) -> Result<Vec<Id>> {
        let mut statement = self.prepare("SELECT id, vector FROM points")?;
        let mut rows = statement.query([])?;
        let mut nearest = Nearest::of(query);
        let mut vector = [0.0; DIMENSION];
        while let Some(row) = rows.next()? {
            read_vector(row.get_ref(1)?.as_blob()?, &mut vector);
            let id: Id = row.get(0)?;
            nearest.see(&vector, || id);
        }
        Ok(nearest.names())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Connection::close(*self).map_err(|(_, error)| error.into())
    }
}

/// The bytes of a row lie at any alignment.
fn read_vector(bytes: &[u8], vector: &mut [f32]) {
    bytemuck::cast_slice_mut(vector).copy_from_slice(bytes);
}
