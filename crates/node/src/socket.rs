//! What the system knows of a socket and node does not tell.

use napi_derive::napi;

/// Bytes that have arrived on a socket, given by its file descriptor, and wait to be read; 0 where
/// the system does not say.
#[napi(catch_unwind)]
pub fn unread_bytes(descriptor: i32) -> u32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int, of which nobody else knows, and fails with what is no
    // descriptor of anything that can be read.
    let result = unsafe { libc::ioctl(descriptor, libc::FIONREAD, &raw mut bytes) };
    if result == 0 {
        u32::try_from(bytes).unwrap_or(0)
    } else {
        0
    }
}
