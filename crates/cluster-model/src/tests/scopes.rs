//! What the checks are about. `SHORT` takes seconds, `WIDE` minutes.

use crate::scope::{
    Call::{Delete, Get, Put, SessionGet},
    Client, Scope,
};

const fn client(node: usize, calls: &'static [crate::scope::Call]) -> Client {
    Client { node, calls }
}

/// One write and one read.
pub const WRITE_AND_READ: Scope = Scope {
    clients: &[client(0, &[Put]), client(1, &[Get])],
    ..Scope::QUIET
};

/// One write, and two reads through one node.
pub const WRITE_AND_TWO_READS: Scope = Scope {
    clients: &[client(0, &[Put]), client(1, &[Get, Get])],
    ..Scope::QUIET
};

/// One write, and reads through two nodes.
pub const WRITE_AND_READERS: Scope = Scope {
    clients: &[client(0, &[Put]), client(1, &[Get]), client(2, &[Get])],
    ..Scope::QUIET
};

/// A point is stored and deleted, and read through two nodes, with a stream that loses its tail.
pub const LOST_TAIL: Scope = Scope {
    clients: &[
        client(0, &[Put, Delete]),
        client(1, &[Get]),
        client(2, &[Get]),
    ],
    losses: 1,
    ..Scope::QUIET
};

/// A point is stored twice through one node, and read through the others.
pub const LOST_TAIL_OF_PUTS: Scope = Scope {
    clients: &[client(0, &[Put, Put]), client(1, &[Get]), client(2, &[Get])],
    losses: 1,
    ..Scope::QUIET
};

/// Three writes and no read.
pub const LOST_TAIL_OF_WRITERS: Scope = Scope {
    clients: &[client(0, &[Put, Put]), client(1, &[Put])],
    losses: 1,
    ..Scope::QUIET
};

/// A point is stored and deleted, and a copy of either comes when the stream has forgotten it.
pub const LATE_COPIES: Scope = Scope {
    clients: &[client(0, &[Put, Delete]), client(1, &[Get])],
    copies: 2,
    ticks: 3,
    ..Scope::QUIET
};

/// The same within the time of a message, and the stream loses its tail.
pub const COPIES_AND_LOST_TAIL: Scope = Scope {
    clients: &[client(0, &[Put, Delete]), client(1, &[Put])],
    copies: 2,
    losses: 1,
    ..Scope::QUIET
};

/// A copy takes the sequence of the original, which is lost, but later.
pub const LATE_COPY_AND_LOST_TAIL: Scope = Scope {
    copies: 2,
    losses: 1,
    ticks: 2,
    ..WRITE_AND_READERS
};

/// The servers of the stream have different clocks.
pub const WRONG_CLOCKS: Scope = Scope {
    clients: &[client(0, &[Put]), client(1, &[Put])],
    copies: 2,
    ticks: 3,
    wrong_clocks: true,
    ..Scope::QUIET
};

/// The same, and the stream loses its tail.
pub const WRONG_CLOCKS_AND_LOST_TAIL: Scope = Scope {
    clients: WRITE_AND_READ.clients,
    losses: 1,
    ..WRONG_CLOCKS
};

/// A node writes and reads what it wrote, another one writes, too.
pub const SESSION_AND_LOST_TAIL: Scope = Scope {
    clients: &[client(0, &[Put, SessionGet]), client(1, &[Put])],
    losses: 1,
    ..Scope::QUIET
};

/// The node crashes in between.
pub const SESSION_AND_CRASH: Scope = Scope {
    crashes: 1,
    ..SESSION_AND_LOST_TAIL
};

/// A node loses its log.
pub const LOST_DISK: Scope = Scope {
    lost_disks: 1,
    ..WRITE_AND_READERS
};

/// All that take seconds.
pub const SHORT: &[(&str, Scope)] = &[
    ("one write and one read", WRITE_AND_READ),
    ("one write and two reads", WRITE_AND_TWO_READS),
    ("one write and two readers", WRITE_AND_READERS),
    ("a lost tail", LOST_TAIL),
    ("a lost tail of two puts", LOST_TAIL_OF_PUTS),
    ("a lost tail of three writes", LOST_TAIL_OF_WRITERS),
    ("late copies", LATE_COPIES),
    ("a late copy and a lost tail", LATE_COPY_AND_LOST_TAIL),
    (
        "wrong clocks",
        Scope {
            clients: WRITE_AND_READ.clients,
            ..WRONG_CLOCKS
        },
    ),
    ("wrong clocks and a lost tail", WRONG_CLOCKS_AND_LOST_TAIL),
    ("a session and a lost tail", SESSION_AND_LOST_TAIL),
    ("a session and a crash", SESSION_AND_CRASH),
    ("a lost disk", LOST_DISK),
];

const WRITERS_AND_READER: &[Client] = &[client(0, &[Put]), client(1, &[Put]), client(2, &[Get])];

/// All that take minutes.
pub const WIDE: &[(&str, Scope)] = &[
    ("copies and a lost tail", COPIES_AND_LOST_TAIL),
    ("wrong clocks and two writers", WRONG_CLOCKS),
    (
        "wrong clocks, two writers and a lost tail",
        Scope {
            losses: 1,
            ticks: 2,
            ..WRONG_CLOCKS
        },
    ),
    (
        "two lost tails and copies",
        Scope {
            clients: WRITERS_AND_READER,
            copies: 2,
            losses: 2,
            ..Scope::QUIET
        },
    ),
    (
        "a lost disk and a lost tail",
        Scope {
            clients: WRITERS_AND_READER,
            lost_disks: 1,
            losses: 1,
            ..Scope::QUIET
        },
    ),
    (
        "two lost disks",
        Scope {
            clients: WRITERS_AND_READER,
            lost_disks: 2,
            ..Scope::QUIET
        },
    ),
    (
        "crashes, copies and a lost tail",
        Scope {
            clients: &[
                client(0, &[Put, SessionGet]),
                client(1, &[Delete]),
                client(2, &[Get]),
            ],
            copies: 2,
            losses: 1,
            crashes: 1,
            ..Scope::QUIET
        },
    ),
    (
        "a delete, copies, a lost tail and readers",
        Scope {
            clients: LOST_TAIL.clients,
            copies: 2,
            losses: 1,
            ..Scope::QUIET
        },
    ),
];
