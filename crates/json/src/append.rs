//! Lists that grow with the text of a client.

use std::collections::TryReserveError;

use serde::de::Error;

/// Room for as many items is made at least, so that a short list grows but a few times.
const LEAST_ROOM: usize = 256;

/// Lists grow with the text, which is a client's: where there is no memory for it, that is an error.
pub fn append<T: Copy, E: Error>(list: &mut Vec<T>, items: &[T]) -> Result<(), E> {
    if list.capacity() - list.len() < items.len() {
        make_room(list, items.len()).map_err(E::custom)?;
    }
    list.extend_from_slice(items);
    Ok(())
}

#[cold]
fn make_room<T>(list: &mut Vec<T>, items: usize) -> Result<(), TryReserveError> {
    list.try_reserve(items.max(LEAST_ROOM))
}
