//! Errors on their way to TypeScript, where `src/native.ts` reads them.

use vectord_engine::Error;

/// An engine's error as a JavaScript error. N-API leaves one text for it, so the text carries three
/// fields between tabs: the stable code, the index of the item that is at fault (empty where there
/// is none), and the message.
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
