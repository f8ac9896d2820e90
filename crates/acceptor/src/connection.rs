//! A connection on its way to a loop, and the place that it takes.

use std::{
    net::{IpAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// An accepted connection. It counts as open until it is dropped, also after `take`.
pub struct Connection {
    stream: Option<TcpStream>,
    address: IpAddr,
    _place: Place,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, address: IpAddr, place: Place) -> Connection {
        Connection {
            stream: Some(stream),
            address,
            _place: place,
        }
    }

    /// The address of the client.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The socket, non-blocking, until it is taken.
    #[must_use]
    pub fn stream(&self) -> Option<&TcpStream> {
        self.stream.as_ref()
    }

    /// The socket, which the caller closes from now on. A socket that nobody takes is closed with the
    /// connection.
    pub fn take(&mut self) -> Option<TcpStream> {
        self.stream.take()
    }
}

/// Counts one connection among all of a port and among those of its loop.
pub(crate) struct Place([Arc<AtomicUsize>; 2]);

impl Place {
    pub(crate) fn take(counts: [Arc<AtomicUsize>; 2]) -> Place {
        for count in &counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Place(counts)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for count in &self.0 {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
