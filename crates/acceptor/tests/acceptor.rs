//! What clients and loops see of an acceptor.
#![allow(clippy::unwrap_used)]

use std::{
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use vectord_acceptor::{Acceptor, Connection, Watch};

/// How long a busy machine may take for what a test waits for.
const PATIENCE: Duration = Duration::from_secs(20);

struct Told(Sender<IpAddr>);

impl Watch for Told {
    fn refused(&self, address: IpAddr) {
        self.0.send(address).unwrap();
    }

    fn failed(&self, error: &io::Error) {
        panic!("accepting failed: {error}");
    }
}

/// An acceptor with so many loops, the connections of each, and who was refused.
fn started(most: usize, loops: usize) -> (Acceptor, Vec<Receiver<Connection>>, Receiver<IpAddr>) {
    let acceptor = Acceptor::bind("127.0.0.1", 0, most).unwrap();
    let received = (0..loops).map(|_| {
        let (sender, receiver) = channel();
        acceptor.add_loop(move |connection| sender.send(connection).unwrap());
        receiver
    });
    let received = received.collect();
    let (sender, refused) = channel();
    acceptor.start(Told(sender)).unwrap();
    (acceptor, received, refused)
}

fn next<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(PATIENCE).unwrap()
}

/// Whether the other side has closed it.
fn is_closed(mut client: TcpStream) -> bool {
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    match client.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "it did not come to that");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_connection_goes_to_the_loop_with_the_fewest() {
    let (acceptor, loops, _refused) = started(100, 3);
    let connect = || TcpStream::connect(acceptor.address()).unwrap();
    let clients = (0..6).map(|_| connect()).collect::<Vec<_>>();
    let mut kept = loops
        .iter()
        .map(|one| vec![next(one), next(one)])
        .collect::<Vec<_>>();
    assert!(loops.iter().all(|one| one.try_recv().is_err()));
    // One loop has lost both of its connections: it gets the next two.
    kept[1].clear();
    let more = [connect(), connect()];
    drop([next(&loops[1]), next(&loops[1])]);
    drop((clients, more));
}

#[test]
fn a_connection_carries_bytes_and_tells_where_it_comes_from() {
    let (acceptor, loops, _refused) = started(1, 1);
    let mut client = TcpStream::connect(acceptor.address()).unwrap();
    let mut connection = next(&loops[0]);
    assert_eq!(connection.address(), client.local_addr().unwrap().ip());
    let mut taken = connection.take().unwrap();
    assert!(connection.take().is_none());
    assert!(taken.nodelay().unwrap());
    // An event loop must not be blocked.
    assert_eq!(
        taken.read(&mut [0]).unwrap_err().kind(),
        io::ErrorKind::WouldBlock
    );
    taken.write_all(b"x").unwrap();
    let mut found = [0];
    client.read_exact(&mut found).unwrap();
    assert_eq!(&found, b"x");
}

#[test]
fn one_more_than_allowed_is_closed_and_told_of_until_a_place_is_free() {
    let (acceptor, loops, refused) = started(2, 2);
    let connect = || TcpStream::connect(acceptor.address()).unwrap();
    let clients = [connect(), connect()];
    let kept = [next(&loops[0]), next(&loops[1])];
    assert!(acceptor.is_full());
    let third = connect();
    assert_eq!(next(&refused), third.local_addr().unwrap().ip());
    assert!(is_closed(third));
    let [first, second] = kept;
    drop(first);
    assert!(!acceptor.is_full());
    let fourth = connect();
    let connection = next(&loops[0]);
    assert!(acceptor.is_full());
    // A connection whose socket was taken counts until it is dropped.
    let mut second = second;
    drop(second.take());
    assert!(acceptor.is_full());
    drop((second, connection, fourth, clients));
}

#[test]
fn what_nobody_takes_is_closed() {
    let (acceptor, loops, _refused) = started(10, 1);
    let client = TcpStream::connect(acceptor.address()).unwrap();
    drop(next(&loops[0]));
    assert!(is_closed(client));
}

#[test]
fn connections_wait_until_it_starts_and_the_port_is_free_once_it_is_closed() {
    let acceptor = Acceptor::bind("localhost", 0, 10).unwrap();
    let early = TcpStream::connect(acceptor.address()).unwrap();
    let (sender, received) = channel();
    acceptor.add_loop(move |connection| sender.send(connection).unwrap());
    let (sender, _refused) = channel();
    acceptor.start(Told(sender)).unwrap();
    let mut kept = next(&received);
    acceptor.close();
    let address = acceptor.address();
    until(|| TcpStream::connect(address).is_err());
    // What a loop has goes on.
    kept.take().unwrap().write_all(b"x").unwrap();
    let mut client = early;
    client.read_exact(&mut [0]).unwrap();
    let again = Acceptor::bind("127.0.0.1", address.port(), 1).unwrap();
    assert_eq!(
        again.address(),
        SocketAddr::new(address.ip(), address.port())
    );
}

#[test]
fn a_taken_port_is_refused_as_such() {
    let first = Acceptor::bind("127.0.0.1", 0, 1).unwrap();
    let second = Acceptor::bind("127.0.0.1", first.address().port(), 1);
    assert_eq!(
        second.err().map(|error| error.kind()),
        Some(io::ErrorKind::AddrInUse)
    );
}
