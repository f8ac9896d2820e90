//! The end of the process.

use napi_derive::napi;

/// Ends the process at once with this exit code: nothing is closed, and no exit handler runs.
///
/// `process.exit` waits for the JavaScript threads one after the other, and aborts where it stops one
/// in the middle of HTTP/2.
#[napi]
pub fn exit_now(code: i32) {
    // SAFETY: `_exit` takes any code and touches no memory of the process.
    unsafe { libc::_exit(code) }
}
