//! How far a node is with a call.

use crate::{
    point::{Answer, Value},
    replica::{Incarnations, Position},
    rules::Rules,
};

/// What a replica tells the gateway of a write: its own log has it there, and it did this.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Confirmation {
    /// Whose log.
    pub replica: usize,
    /// Where in the log.
    pub position: Position,
    /// What it did.
    pub outcome: Answer,
    /// The incarnations that the replica knew of, its own among them.
    pub known: Incarnations,
}

/// What a read found in its replica.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct View {
    /// The point.
    pub value: Option<Value>,
    /// Whether the replica had all that its node had acknowledged when the read began.
    pub has_acknowledged: bool,
}

/// A call at its gateway.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Progress {
    /// Not begun.
    Waiting,
    /// A write that was published.
    Writing(Vec<Confirmation>),
    /// A strong read that needs positions of a majority: the first round.
    Asking,
    /// A strong read that waits until its replica is there, and then takes a view of the point and
    /// a position that has all of the view.
    Viewing {
        /// The sequence to wait for.
        target: usize,
        /// The view.
        view: Option<View>,
        /// The position.
        position: Option<Position>,
    },
    /// A strong read whose position a majority has to hold: the second look.
    Looking(View, Position),
    /// A session read that waits for what its node had acknowledged when it began.
    Following(Option<Position>),
    /// Answered; an acknowledged write with its position.
    Answered(Option<Position>),
    /// The client was told that its write is certainly not stored.
    Refused,
    /// The client will never know: its node crashed, or gave up.
    Unknown,
}

impl Progress {
    /// Whether the client waits no longer.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Answered(_) | Self::Refused | Self::Unknown)
    }

    /// Whether the client waits.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        !self.is_over() && *self != Self::Waiting
    }
}

/// What a node remembers for session reads. A crash makes it forget.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Session {
    /// The greatest position that it has acknowledged.
    pub acknowledged: Option<Position>,
    /// Whether it may have acknowledged more, before it crashed.
    pub forgot: bool,
    /// The greatest sequence of the last first round; kept only to make a mistake with it.
    pub last_round: Option<usize>,
}

impl Session {
    /// Notes that a client was told of this.
    pub fn note(&mut self, position: Position) {
        if self
            .acknowledged
            .is_none_or(|known| known.sequence < position.sequence)
        {
            self.acknowledged = Some(position);
        }
    }
}

/// Whether the last of these confirmations acknowledges the write, with others.
#[must_use]
pub fn acknowledges(confirmations: &[Confirmation], rules: Rules) -> bool {
    let last = confirmations[confirmations.len() - 1];
    let others = confirmations.iter().filter(|one| {
        one.replica != last.replica
            && one.outcome == last.outcome
            && one.position.sequence == last.position.sequence
            && (!rules.confirm_chains || one.position.chain == last.position.chain)
            && (!rules.incarnations || one.counts_beside(&last) && last.counts_beside(one))
    });
    1 + others.count() >= rules.confirmations()
}

impl Confirmation {
    /// Whether the other does not know that the log which this one is about is lost.
    fn counts_beside(&self, other: &Self) -> bool {
        other.known[self.replica] <= self.known[self.replica]
    }
}
