//! Accepts connections for several event loops, and hands each to the loop that has the fewest.
//!
//! Few connections live for hours and carry all requests, as those of gRPC do: a kernel that
//! distributes them by chance leaves loops idle.

mod connection;

use std::sync::Arc;
use std::{
    io::{self, ErrorKind, PipeReader, PipeWriter},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::listen,
};

pub use connection::Connection;
use connection::Place;

/// Connections that the kernel completes before they are accepted.
const BACKLOG: i32 = 511;

/// The pause after a failed accept: without descriptors or memory the next attempt fails as well.
const PAUSE_AFTER_FAULT: Duration = Duration::from_millis(100);

/// What happens to connections that no loop gets. Called on the thread of the acceptor.
pub trait Watch: Send + 'static {
    /// A connection from this address was closed, because as many as allowed are open.
    fn refused(&self, address: IpAddr);
    /// Accepting failed, for example because the process has no file descriptor left.
    fn failed(&self, error: &io::Error);
}

/// One port, and the loops that its connections go to.
pub struct Acceptor {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// The listening socket until the thread has it.
    listener: Mutex<Option<TcpListener>>,
    /// Dropped to end the thread.
    stop: Mutex<Option<PipeWriter>>,
}

struct Shared {
    most: usize,
    open: Arc<AtomicUsize>,
    loops: Mutex<Vec<Loop>>,
}

struct Loop {
    open: Arc<AtomicUsize>,
    deliver: Box<dyn Fn(Connection) + Send>,
}

impl Acceptor {
    /// Binds `host:port`, where port 0 is any free one. `most` connections may be open at a time.
    /// Nothing is accepted before `start`: until then the kernel queues connections.
    pub fn bind(host: &str, port: u16, most: usize) -> io::Result<Acceptor> {
        let listener = TcpListener::bind((host, port))?;
        listen(&listener, BACKLOG)?;
        // A client may have gone between `poll` and `accept`.
        listener.set_nonblocking(true)?;
        Ok(Acceptor {
            address: listener.local_addr()?,
            shared: Arc::new(Shared {
                most,
                open: Arc::default(),
                loops: Mutex::default(),
            }),
            listener: Mutex::new(Some(listener)),
            stop: Mutex::default(),
        })
    }

    /// The address and the port that are bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds a loop. `deliver` is called on the thread of the acceptor.
    pub fn add_loop(&self, deliver: impl Fn(Connection) + Send + 'static) {
        lock(&self.shared.loops).push(Loop {
            open: Arc::default(),
            deliver: Box::new(deliver),
        });
    }

    /// Begins to accept, on a thread of its own. Does nothing once closed or begun.
    pub fn start(&self, watch: impl Watch) -> io::Result<()> {
        let Some(listener) = lock(&self.listener).take() else {
            return Ok(());
        };
        let (stopped, stop) = io::pipe()?;
        *lock(&self.stop) = Some(stop);
        let shared = Arc::clone(&self.shared);
        thread::Builder::new()
            .name("vectord-accept".to_owned())
            .spawn(move || accept_until(&stopped, &listener, &shared, &watch))?;
        Ok(())
    }

    /// Whether as many connections are open as may be: one more would be refused.
    pub fn is_full(&self) -> bool {
        self.shared.is_full()
    }

    /// Accepts nothing more and closes the port. Connections that loops have stay open.
    pub fn close(&self) {
        lock(&self.listener).take();
        lock(&self.stop).take();
        lock(&self.shared.loops).clear();
    }
}

impl Shared {
    fn is_full(&self) -> bool {
        self.open.load(Ordering::Relaxed) >= self.most
    }

    /// Hands the connection to the loop that has the fewest.
    fn place(&self, stream: TcpStream, peer: SocketAddr, watch: &impl Watch) {
        if self.is_full() {
            drop(stream);
            watch.refused(peer.ip());
            return;
        }
        let loops = lock(&self.loops);
        // Of equals the last: the first loop has other work besides.
        let fewest = loops
            .iter()
            .rev()
            .min_by_key(|one| one.open.load(Ordering::Relaxed));
        // Without a loop the acceptor is closed.
        let Some(fewest) = fewest else { return };
        let place = Place::take([Arc::clone(&self.open), Arc::clone(&fewest.open)]);
        (fewest.deliver)(Connection::new(stream, peer.ip(), place));
    }
}

/// Accepts until the other end of `stopped` is closed.
fn accept_until(stopped: &PipeReader, listener: &TcpListener, shared: &Shared, watch: &impl Watch) {
    loop {
        let mut ready = [
            PollFd::new(stopped, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
        ];
        match poll(&mut ready, None) {
            Ok(_) if !ready[0].revents().is_empty() => return,
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => {
                watch.failed(&errno.into());
                thread::sleep(PAUSE_AFTER_FAULT);
            }
        }
        match accept(listener) {
            Ok((stream, peer)) => shared.place(stream, peer, watch),
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                watch.failed(&error);
                thread::sleep(PAUSE_AFTER_FAULT);
            }
        }
    }
}

/// A connection that an event loop can read, and that sends small answers at once.
fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, peer) = listener.accept()?;
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    Ok((stream, peer))
}

/// Whether only this connection failed: its client has gone, and others can be accepted.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::InvalidInput
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change under a lock is one assignment, which a panic cannot leave half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
