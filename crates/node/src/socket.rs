//! What the system knows of a socket and node does not tell; each is given by its file descriptor.

use napi_derive::napi;

/// Bytes that have arrived and wait to be read; 0 where the system does not say.
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

/// The peer has sent its last byte: Linux alone tells of that before all have been read.
#[cfg(target_os = "linux")]
const ENDED: libc::c_short = libc::POLLRDHUP;
#[cfg(not(target_os = "linux"))]
const ENDED: libc::c_short = 0;

/// Whether the peer has closed the connection, with bytes of it still to be read or not.
#[napi(catch_unwind)]
pub fn has_left(descriptor: i32) -> bool {
    let mut asked = libc::pollfd {
        fd: descriptor,
        events: ENDED,
        revents: 0,
    };
    // SAFETY: it is one structure, as is said, of which nobody else knows, and no wait.
    let result = unsafe { libc::poll(&raw mut asked, 1, 0) };
    result == 1 && asked.revents & (ENDED | libc::POLLHUP | libc::POLLERR) != 0
}
