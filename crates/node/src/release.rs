//! Memory that is given back before the garbage collector finds it.

use napi::{Result, bindgen_prelude::ArrayBuffer};
use napi_derive::napi;

/// Frees the memory of arrays that nobody reads any more. They are empty from now on.
#[napi(catch_unwind)]
pub fn release(buffer: ArrayBuffer) -> Result<()> {
    buffer.detach()
}
