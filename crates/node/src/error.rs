//! Errors for TypeScript; `src/engine/native.ts` parses them.

use vectord_engine::Error;

/// An error of the engine as a JavaScript error. N-API carries one text, so the text holds three
/// fields separated by tabs: the stable code, the index of the faulty item (empty if there is
/// none), and the message.
pub fn to_js(error: Error) -> napi::Error {
    let item = match &error {
        Error::NotFinite { item, .. } => item.to_string(),
        _ => String::new(),
    };
    napi::Error::from_reason(format!("{}\t{item}\t{error}", error.code()))
}

/// The error for a call that the TypeScript side should never make.
pub fn fault(message: &str) -> napi::Error {
    to_js(Error::Internal(message.into()))
}
