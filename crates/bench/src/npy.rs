//! The array files of numpy: two dimensions, version 1 of the format.

use std::{ops::Range, path::Path};

use super::Result;

pub struct Npy {
    /// The type of the values, as numpy writes it.
    pub kind: String,
    pub columns: usize,
    pub data: Vec<u8>,
}

impl Npy {
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs_err::read(path)?;
        Npy::parse(bytes).ok_or_else(|| format!("{}: not a 2-d .npy", path.display()).into())
    }

    /// The values of an array of `u8` or `f16`.
    pub fn floats(&self) -> Result<Vec<f32>> {
        self.floats_of(&self.data)
    }

    /// The values of some rows, as [`floats`](Self::floats) gives those of all.
    pub fn rows(&self, rows: Range<usize>) -> Result<Vec<f32>> {
        let row_bytes = self.columns * if self.kind == "|u1" { 1 } else { 2 };
        let bytes = rows.start * row_bytes..rows.end * row_bytes;
        let bytes = self.data.get(bytes);
        self.floats_of(bytes.ok_or_else(|| format!("fewer than {} rows", rows.end))?)
    }

    fn floats_of(&self, bytes: &[u8]) -> Result<Vec<f32>> {
        match self.kind.as_str() {
            "|u1" => Ok(bytes.iter().map(|&byte| f32::from(byte)).collect()),
            "<f2" => {
                let (pairs, _) = bytes.as_chunks();
                Ok(pairs
                    .iter()
                    .map(|&pair| half::f16::from_le_bytes(pair).to_f32())
                    .collect())
            }
            kind => Err(format!("{kind} values, expected u1 or f2").into()),
        }
    }

    fn parse(mut bytes: Vec<u8>) -> Option<Self> {
        let rest = bytes.strip_prefix(b"\x93NUMPY\x01\x00")?;
        let (length, rest) = rest.split_first_chunk()?;
        let (header, data) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        let header = str::from_utf8(header).ok()?;
        let kind = header
            .split_once("'descr': '")?
            .1
            .split('\'')
            .next()?
            .to_owned();
        let shape = header.split_once("'shape': (")?.1.split(')').next()?;
        let columns = shape.split_once(',')?.1.trim().parse().ok()?;
        let start = bytes.len() - data.len();
        bytes.drain(..start);
        Some(Npy {
            kind,
            columns,
            data: bytes,
        })
    }
}
