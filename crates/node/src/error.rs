//! Errors for TypeScript; `src/engine` reads them.

use std::{fmt::Display, io};

use napi::{Env, JsValue, bindgen_prelude::JsObjectValue};
use vectord_engine::Error;

const PANICKED: &str = "the work panicked";

/// What can go wrong with work that TypeScript asks for.
pub trait Failure: Display + Send + 'static {
    /// The failure of work that panicked.
    fn panicked() -> Self;
    /// Its stable code, if it has one.
    fn code(&self) -> Option<&str>;
    /// The index of the faulty item of a batch, if there is one.
    fn item(&self) -> Option<usize> {
        None
    }
}

impl Failure for Error {
    fn panicked() -> Error {
        Error::Internal(PANICKED.to_owned())
    }

    fn code(&self) -> Option<&str> {
        Some(Error::code(self))
    }

    fn item(&self) -> Option<usize> {
        match self {
            Error::NotFinite { item, .. } | Error::NoSuchPoint { item, .. } => Some(*item),
            _ => None,
        }
    }
}

impl Failure for io::Error {
    fn panicked() -> io::Error {
        io::Error::other(PANICKED)
    }

    fn code(&self) -> Option<&str> {
        (self.kind() == io::ErrorKind::AddrInUse).then_some("EADDRINUSE")
    }
}

/// A failure as a JavaScript error with the properties `code` and `item`, as far as it has them.
/// They are properties of an object that the error keeps, because an error of napi alone can carry
/// no more than a message through a promise.
pub fn to_js(env: Env, error: &impl Failure) -> napi::Error {
    object_of(env, error).unwrap_or_else(|failure| failure)
}

fn object_of(env: Env, error: &impl Failure) -> napi::Result<napi::Error> {
    let mut object = env.create_error(fault(&error.to_string()))?;
    if let Some(code) = error.code() {
        object.set_named_property("code", code)?;
    }
    if let Some(item) = error.item() {
        object.set_named_property("item", item as u32)?;
    }
    Ok(object.to_unknown().into())
}

/// The error for a call that the TypeScript side should never make. It has no code of the engine.
pub fn fault(message: &str) -> napi::Error {
    napi::Error::from_reason(message)
}
