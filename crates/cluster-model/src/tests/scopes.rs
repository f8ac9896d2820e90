//! What the checks are about. `SHORT` and `BUILT` take seconds, `WIDE` and `WIDE_BUILT` minutes.

use crate::{
    rules::VOID_AFTER,
    scope::{
        Call::{Delete, Get, Put, SessionGet},
        Client, Scope,
    },
};

const fn client(node: usize, calls: &'static [crate::scope::Call]) -> Client {
    Client { node, calls }
}

/// Clocks of the stream that may be at any time.
pub const ANY: u16 = u16::MAX;

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
    wrong_clocks: ANY,
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

/// What the rules as built are for: a loss of the tail ends all subscriptions.
const ENDS: Scope = Scope {
    ends_subscriptions: true,
    ..Scope::QUIET
};

/// Copies come before and behind a loss of the tail.
pub const BUILT_LOST_TAIL: Scope = Scope {
    clients: WRITE_AND_READERS.clients,
    copies: 2,
    losses: 1,
    ..ENDS
};

/// The same, with a delete.
pub const BUILT_DELETE: Scope = Scope {
    clients: &[client(2, &[Put, Delete]), client(2, &[Put])],
    ..BUILT_LOST_TAIL
};

/// Clocks of nodes are wrong, those of the stream differ by less than messages are valid.
pub const BUILT_CLOCKS: Scope = Scope {
    clients: WRITE_AND_READ.clients,
    copies: 2,
    ticks: 3,
    wrong_clocks: VOID_AFTER,
    wrong_node_clocks: true,
    ..ENDS
};

/// Clocks of the stream that differ by more than they may.
pub const BUILT_WRONG_CLOCKS: Scope = Scope {
    clients: &[client(0, &[Put, Delete])],
    copies: 2,
    ticks: 3,
    wrong_clocks: ANY,
    ..ENDS
};

/// A node restarts, and the stream loses its tail, but nothing comes twice.
pub const BUILT_SESSION: Scope = Scope {
    clients: SESSION_AND_LOST_TAIL.clients,
    losses: 1,
    crashes: 1,
    ..ENDS
};

/// The same with copies, which is more than the rules as built are for.
pub const BUILT_RESTART: Scope = Scope {
    clients: &[client(0, &[Put]), client(1, &[Put])],
    copies: 2,
    losses: 1,
    crashes: 1,
    ..ENDS
};

/// A majority restarts, and what was deleted is read.
pub const BUILT_RESTARTS: Scope = Scope {
    clients: &[
        client(2, &[Put, Delete]),
        client(2, &[Put]),
        client(0, &[Get]),
    ],
    crashes: 2,
    ..BUILT_DELETE
};

/// A node loses its log.
pub const BUILT_LOST_DISK: Scope = Scope {
    clients: WRITE_AND_READERS.clients,
    lost_disks: 1,
    ..ENDS
};

/// All for the rules as built that take seconds.
pub const BUILT: &[(&str, Scope)] = &[
    ("as built, copies and a lost tail", BUILT_LOST_TAIL),
    ("as built, wrong clocks of nodes", BUILT_CLOCKS),
    (
        "as built, wrong clocks of nodes and a lost tail",
        Scope {
            losses: 1,
            ticks: 2,
            ..BUILT_CLOCKS
        },
    ),
    ("as built, a session", BUILT_SESSION),
    ("as built, a lost disk", BUILT_LOST_DISK),
];

/// All for the rules as built that take minutes.
pub const WIDE_BUILT: &[(&str, Scope)] = &[
    ("as built, a delete, copies and a lost tail", BUILT_DELETE),
    (
        "as built, a delete and wrong clocks of nodes",
        Scope {
            clients: BUILT_WRONG_CLOCKS.clients,
            ..BUILT_CLOCKS
        },
    ),
    (
        "as built, restarts and copies",
        Scope {
            clients: &[client(0, &[Put, SessionGet]), client(1, &[Delete])],
            crashes: 2,
            losses: 0,
            ..BUILT_LOST_TAIL
        },
    ),
    (
        "as built, restarts of a majority and a lost tail",
        Scope {
            clients: &[client(0, &[Put, Delete]), client(1, &[Get])],
            crashes: 2,
            losses: 1,
            ..ENDS
        },
    ),
    (
        "as built, a lost disk and copies",
        Scope {
            clients: &[client(0, &[Put, Delete]), client(1, &[Get])],
            copies: 2,
            ..BUILT_LOST_DISK
        },
    ),
    (
        "as built, two lost disks and a crash",
        Scope {
            clients: WRITE_AND_READ.clients,
            lost_disks: 2,
            crashes: 1,
            ..ENDS
        },
    ),
    (
        "as built, a lost disk and a lost tail",
        Scope {
            clients: &[client(0, &[Put]), client(1, &[Put]), client(1, &[Get])],
            losses: 1,
            ..BUILT_LOST_DISK
        },
    ),
    (
        "as built, two lost tails",
        Scope {
            clients: BUILT_RESTART.clients,
            losses: 2,
            ..BUILT_LOST_TAIL
        },
    ),
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
