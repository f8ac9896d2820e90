//! What happens at most in one check. A check tries every order of it.

use crate::{
    point::{Operation, Write},
    stream::Request,
};

/// The times that there are, in seconds. Messages are valid from each to the next, void from the
/// first to the third, and the last is beyond the window for duplicates of the first two.
pub const TIMES: [u16; 4] = [0, 20, 50, 150];

/// A call of a client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Call {
    /// An upsert.
    Put,
    /// A delete.
    Delete,
    /// A strong read.
    Get,
    /// A session read.
    SessionGet,
}

/// A client of one node. It makes one call after the other.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Its gateway.
    pub node: usize,
    /// Its calls.
    pub calls: &'static [Call],
}

/// Clients and faults.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// All clients.
    pub clients: &'static [Client],
    /// How often each message may come to the stream.
    pub copies: u8,
    /// How often the stream may lose its tail.
    pub losses: u8,
    /// How often time passes, to the next of `TIMES`.
    pub ticks: usize,
    /// By how many seconds the clocks of the stream may be wrong.
    pub wrong_clocks: u16,
    /// Whether the clocks of nodes may be wrong: any of the times up to `ticks`.
    pub wrong_node_clocks: bool,
    /// Whether a loss of the tail ends all subscriptions. Then a replica that subscribes again gets
    /// what the stream has. Otherwise it may be given lost messages at any time.
    pub ends_subscriptions: bool,
    /// How often a node may crash. It starts again at once.
    pub crashes: u8,
    /// How often a node may lose its disk.
    pub lost_disks: usize,
}

impl Scope {
    /// No faults.
    pub const QUIET: Self = Self {
        clients: &[],
        copies: 1,
        losses: 0,
        ticks: 0,
        wrong_clocks: 0,
        wrong_node_clocks: false,
        ends_subscriptions: false,
        crashes: 0,
        lost_disks: 0,
    };

    /// The times that a server of the stream may store a message at, as places in `TIMES`.
    pub fn clocks(&self, time: usize) -> impl Iterator<Item = usize> {
        let wrong = self.wrong_clocks;
        (0..=self.ticks).filter(move |clock| TIMES[*clock].abs_diff(TIMES[time]) <= wrong)
    }

    /// The times that a node may send a message at.
    pub fn node_clocks(&self, time: usize) -> impl Iterator<Item = usize> {
        let is_wrong = self.wrong_node_clocks;
        (0..=self.ticks).filter(move |clock| is_wrong || *clock == time)
    }

    /// All calls by request: the node that takes it, the call, and the request that must end before it.
    #[must_use]
    pub fn calls(&self) -> Vec<(usize, Call, Option<Request>)> {
        let mut calls = Vec::new();
        for client in self.clients {
            for (at, call) in client.calls.iter().enumerate() {
                let before = (at > 0).then(|| calls.len() - 1);
                calls.push((client.node, *call, before));
            }
        }
        calls
    }
}

impl Call {
    /// What a single machine would be asked; nothing for a read that need not be linearizable.
    #[must_use]
    pub fn operation(self, request: Request) -> Option<Operation> {
        match self {
            Self::Put => Some(Operation::Write(Write::Put(request as u8))),
            Self::Delete => Some(Operation::Write(Write::Delete)),
            Self::Get => Some(Operation::Get),
            Self::SessionGet => None,
        }
    }
}
