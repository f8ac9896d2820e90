//! Errors for TypeScript; `src/engine/native.ts` reads them.

use napi::{Env, JsValue, bindgen_prelude::JsObjectValue};
use vectord_engine::Error;

/// An error of the engine as a JavaScript error: `code` is its stable code, and `item` the index of
/// the faulty item, if there is one. Both are properties of an object that the error keeps, because
/// an error of napi alone can carry no more than a message through a promise.
pub fn to_js(env: Env, error: &Error) -> napi::Error {
    object_of(env, error).unwrap_or_else(|failure| failure)
}

fn object_of(env: Env, error: &Error) -> napi::Result<napi::Error> {
    let mut object = env.create_error(fault(&error.to_string()))?;
    object.set_named_property("code", error.code())?;
    if let Error::NotFinite { item, .. } = error {
        object.set_named_property("item", *item as u32)?;
    }
    Ok(object.to_unknown().into())
}

/// The error for a call that the TypeScript side should never make. It has no code of the engine.
pub fn fault(message: &str) -> napi::Error {
    napi::Error::from_reason(message)
}
