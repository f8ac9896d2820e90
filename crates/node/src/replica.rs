//! Replicas: the messages of the stream that orders their writes, and where they are in it.

use napi::{
    Env, Result,
    bindgen_prelude::{Object, Uint8Array},
};
use napi_derive::napi;
use vectord_engine::{Batch, Message, Outcome, StreamPosition};

use crate::{
    NativeEngine, batch_of,
    error::{Failure, to_js},
    promise,
    records::{
        existing, expression_of, filter_of, flags, offsets, point_ids, slices, updates_of, whole,
    },
};

/// Where a replica is in its stream.
#[napi(object, object_from_js = false)]
pub struct NativePosition {
    /// The sequence of the last message that was applied; 0 before the first.
    pub sequence: f64,
    /// The checksum of all messages up to it.
    pub chain: u32,
}

impl From<StreamPosition> for NativePosition {
    fn from(position: StreamPosition) -> NativePosition {
        NativePosition {
            sequence: position.sequence as f64,
            chain: position.chain,
        }
    }
}

/// Why every replica refuses a message.
#[napi(object, object_from_js = false)]
pub struct NativeRefusal {
    /// The code of the error.
    pub code: String,
    /// What was found and what was expected.
    pub message: String,
}

/// What a message has done.
#[napi(object, object_from_js = false)]
pub struct NativeOutcome {
    /// The sequence of the message.
    pub sequence: f64,
    /// The checksum of all messages up to it.
    pub chain: u32,
    /// The number of points that were stored with a new id.
    pub stored: u32,
    /// The number of points that replaced another.
    pub replaced: u32,
    /// The number of points that were not stored, since there was one with their id.
    pub kept: u32,
    /// The number of points that passed the filter of a delete.
    pub deleted: f64,
    /// For each id of an update or a delete 1 if there was such a point, else 0.
    pub found: Uint8Array,
    /// Why nothing was changed.
    pub refused: Option<NativeRefusal>,
}

impl From<Outcome> for NativeOutcome {
    fn from(outcome: Outcome) -> NativeOutcome {
        NativeOutcome {
            sequence: outcome.position.sequence as f64,
            chain: outcome.position.chain,
            stored: outcome.counts.stored as u32,
            replaced: outcome.counts.replaced as u32,
            kept: outcome.counts.kept as u32,
            deleted: outcome.deleted as f64,
            found: flags(outcome.found),
            refused: outcome.refused.map(|error| NativeRefusal {
                code: Failure::code(&error).unwrap_or_default().to_owned(),
                message: error.to_string(),
            }),
        }
    }
}

#[napi]
impl NativeEngine {
    /// The message that stores points, of which the arrays hold one after the other, as those of
    /// `upsert` do. Throws what `upsert` would.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments)]
    pub fn message_of_points(
        &self,
        env: &Env,
        ids: &[u8],
        vectors: &[f32],
        content_types: &[u8],
        contents: &[u8],
        content_ends: &[u32],
        metadata: &[u8],
        metadata_ends: &[u32],
        keeps: bool,
    ) -> Result<Uint8Array> {
        let batch = Batch {
            metadata: metadata.to_vec(),
            metadata_ends: offsets(metadata_ends),
            ..batch_of(ids, vectors, content_types, contents, content_ends)
        };
        let checked = self.engine().check(&batch);
        checked.map_err(|error| to_js(*env, &error))?;
        Ok(encode(&Message::Store(&batch, existing(keeps))))
    }

    /// The message that changes payloads, with the arrays of `update`.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments)]
    pub fn message_of_update(
        &self,
        ids: &[u8],
        given: &[u8],
        content_types: &[u8],
        contents: &[u8],
        content_ends: &[u32],
        metadata: &[u8],
        metadata_ends: &[u32],
    ) -> Result<Uint8Array> {
        let contents = slices(contents, content_ends)?;
        let metadata = slices(metadata, metadata_ends)?;
        let updates = updates_of(&point_ids(ids), given, content_types, &contents, &metadata)?;
        Ok(encode(&Message::Update(&updates)))
    }

    /// The message that deletes points.
    #[napi(catch_unwind)]
    pub fn message_of_delete(&self, ids: &[u8]) -> Uint8Array {
        encode(&Message::Delete(&point_ids(ids)))
    }

    /// The message that deletes the points that pass the filter of this text.
    #[napi(catch_unwind)]
    pub fn message_of_delete_matching(&self, filter: String) -> Result<Uint8Array> {
        Ok(encode(&Message::DeleteMatching(&expression_of(&filter)?)))
    }

    /// Finds the points that pass the filter of this text before the message comes that deletes them.
    /// The promise resolves once they are found.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn find_to_delete<'env>(&self, env: &'env Env, filter: String) -> Result<Object<'env>> {
        let filter = filter_of(&filter)?;
        promise(
            env,
            |done| self.engine().find_to_delete(filter, done),
            |()| (),
        )
    }

    /// Gives back what was found with the filter of this text for a message that will not come.
    #[napi(catch_unwind)]
    pub fn give_back_found(&self, filter: String) -> Result<()> {
        let filter = filter_of(&filter)?;
        self.engine().give_back_found(&filter);
        Ok(())
    }

    /// The message that deletes all points if there are `expected`.
    #[napi(catch_unwind)]
    pub fn message_of_delete_all(&self, expected: f64) -> Result<Uint8Array> {
        Ok(encode(&Message::DeleteAll(whole(expected)?)))
    }

    /// Applies the next message of the stream; one of no bytes changes nothing. The promise resolves
    /// once the message is durable and visible.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn apply<'env>(
        &self,
        env: &'env Env,
        message: &[u8],
        sequence: f64,
    ) -> Result<Object<'env>> {
        let sequence = whole(sequence)?;
        promise(
            env,
            |done| self.engine().apply(message, sequence, done),
            NativeOutcome::from,
        )
    }

    /// Where the replica is in its stream with all that is durable and visible.
    #[napi(getter, catch_unwind)]
    pub fn position(&self) -> NativePosition {
        self.engine().position().unwrap_or_default().into()
    }

    /// The position beyond which nothing is visible.
    #[napi(getter, catch_unwind)]
    pub fn horizon(&self) -> NativePosition {
        self.engine().horizon().unwrap_or_default().into()
    }
}

fn encode(message: &Message<'_>) -> Uint8Array {
    Uint8Array::new(message.encode())
}
