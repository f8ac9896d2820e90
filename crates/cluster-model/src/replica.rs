//! A replica: its own durable log, applied strictly in order.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::{
    point::{Answer, Operation, Point, Value, Write},
    rules::{Compare, REPLICAS, Rules, VOID_AFTER},
    stream::{Message, Request, Stream},
};
use stateright::semantics::SequentialSpec;

/// How far a log goes, and which history it has.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Position {
    /// The stream sequence of the last message.
    pub sequence: usize,
    /// A hash over the chain before, the sequence and the change.
    pub chain: u64,
}

/// A message in the log of a replica.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Entry {
    /// The request.
    pub request: Request,
    /// The time of the log with it, in seconds: the latest at which the stream stored a message
    /// that is not void. It never goes back, whatever the clocks of the stream do.
    pub time: u16,
    /// What it did here; nothing if it was remembered.
    pub outcome: Option<Answer>,
    /// Whether gateways are told that.
    pub is_told: bool,
    /// The position with it.
    pub position: Position,
    /// The point with it.
    pub value: Option<Value>,
    /// The incarnations of all replicas that this one knew of when it applied the message.
    pub known: Incarnations,
}

/// How many logs each replica has lost.
pub type Incarnations = [u8; REPLICAS];

/// What survives a crash. A replica never takes back what it has applied.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Replica {
    log: Vec<Entry>,
    known: Incarnations,
    /// Its log is lost, so what it says would be no answer.
    needs_log: bool,
    /// How far the log has to go that it takes, once it has told the others that its own is lost.
    least: Option<Position>,
    /// Whether the stream has had the last message of its log in this epoch.
    epoch: usize,
    /// Since its process began, it may be given messages of this epoch or of later ones.
    first_epoch: usize,
    /// How long its log was when its process began.
    begun_at: usize,
}

impl Replica {
    /// Applies the message behind its last.
    pub fn apply(&mut self, rules: Rules, message: Message) {
        let mut point = Point(self.value());
        let before = self.log.last().map_or(0, |entry| entry.time);
        let latest = before.max(message.stored);
        let stored = if rules.log_time {
            latest
        } else {
            message.stored
        };
        let is_void = rules.void_late && stored.abs_diff(message.sent) > VOID_AFTER;
        let time = if is_void { before } else { latest };
        let is_remembered = time.saturating_sub(message.sent) <= rules.remembered_for
            && self.outcomes(message.request).any(|(_, outcome)| {
                rules.remember_requests && (rules.remember_void || outcome != Answer::Refused)
            });
        let outcome = if is_remembered {
            None
        } else if is_void {
            Some(Answer::Refused)
        } else {
            Some(point.invoke(&Operation::Write(message.write)))
        };
        let is_copy = self.log[self.begun_at..]
            .iter()
            .any(|entry| entry.request == message.request);
        let is_nothing = is_remembered || is_void;
        let change = (!is_nothing || !rules.chain_covers_void).then_some(message.write);
        self.log.push(Entry {
            request: message.request,
            time,
            outcome,
            is_told: outcome.is_some() && !(rules.first_outcome && is_copy),
            position: self.position().with(change),
            value: point.0,
            known: self.known,
        });
    }

    /// The epochs whose next message it may be given, if a loss of the tail ends all subscriptions.
    pub fn epochs<'a>(
        &'a self,
        rules: Rules,
        stream: &'a Stream,
    ) -> impl Iterator<Item = usize> + 'a {
        (self.first_epoch..=stream.epoch()).filter(move |epoch| self.follows(rules, stream, *epoch))
    }

    /// Whether it follows the stream of this epoch, by what it compares as it subscribes.
    fn follows(&self, rules: Rules, stream: &Stream, epoch: usize) -> bool {
        let Some(last) = self.log.last() else {
            return true;
        };
        if self.log.len() == self.begun_at && !rules.compare_after_restart {
            return true;
        }
        let length = self.log.len();
        let is_last = |stored: &Message| stored.request == last.request;
        match rules.compare_last {
            Compare::Nothing => true,
            Compare::Bytes => stream.at(epoch, length - 1).is_some_and(is_last),
            Compare::Stored => stream.has_kept(length, self.epoch, epoch),
        }
    }

    /// Notes that its last message is one of this epoch.
    pub fn follow(&mut self, epoch: usize) {
        self.epoch = epoch;
        self.first_epoch = epoch;
    }

    /// Its process ends and begins again, when this is the epoch of the stream.
    pub fn restart(&mut self, epoch: usize) {
        self.first_epoch = epoch;
        self.begun_at = self.log.len();
    }

    /// Where its log ends.
    #[must_use]
    pub fn position(&self) -> Position {
        self.log
            .last()
            .map_or_else(Position::default, |entry| entry.position)
    }

    /// The point as it is now.
    #[must_use]
    pub fn value(&self) -> Option<Value> {
        self.log.last().and_then(|entry| entry.value)
    }

    /// Whether it has this history, or more.
    #[must_use]
    pub fn holds(&self, position: Position, compares_chains: bool) -> bool {
        position.sequence == 0
            || self
                .log
                .get(position.sequence - 1)
                .is_some_and(|entry| !compares_chains || entry.position.chain == position.chain)
    }

    /// Where a request took effect, and which.
    pub fn effects(&self, request: Request) -> impl Iterator<Item = (&Entry, Answer)> {
        self.outcomes(request)
            .filter(|(_, outcome)| *outcome != Answer::Refused)
    }

    /// What the messages of a request did.
    pub fn outcomes(&self, request: Request) -> impl Iterator<Item = (&Entry, Answer)> {
        self.log
            .iter()
            .filter(move |entry| entry.request == request)
            .filter_map(|entry| entry.outcome.map(|outcome| (entry, outcome)))
    }

    /// Whether a put that took effect before this position does so again behind it.
    #[must_use]
    pub fn repeats_put_behind(&self, position: Position) -> bool {
        let (before, behind) = self.log.split_at(position.sequence);
        let is_put = |entry: &&Entry| entry.outcome == Some(Answer::Stored);
        behind.iter().filter(is_put).any(|put| {
            before
                .iter()
                .filter(is_put)
                .any(|earlier| earlier.request == put.request)
        })
    }

    /// Whether it can answer for its log.
    #[must_use]
    pub fn has_log(&self) -> bool {
        !self.needs_log
    }

    /// Which replicas it knows to have lost their logs, and how often.
    #[must_use]
    pub fn known(&self) -> &Incarnations {
        &self.known
    }

    /// Replica `own` loses all but the number of its next incarnation.
    pub fn lose(&mut self, own: usize) {
        let incarnation = self.known[own] + 1;
        *self = Self {
            needs_log: true,
            ..Self::default()
        };
        self.known[own] = incarnation;
    }

    /// How far the log has to go that it takes, if it knows.
    #[must_use]
    pub fn least(&self) -> Option<Position> {
        self.least
    }

    /// Hears how far the log has to go.
    pub fn need(&mut self, least: Option<Position>) {
        self.least = least;
    }

    /// Takes the log of another, when this is the epoch of the stream. What it confirms of that, it
    /// confirms as what it is now; of what is before its end it remembers no more than after a restart.
    pub fn seed(&mut self, source: &Self, epoch: usize) {
        self.log.clone_from(&source.log);
        for entry in &mut self.log {
            entry.known = self.known;
        }
        self.needs_log = false;
        self.least = None;
        self.restart(epoch);
    }

    /// Hears from another replica what it knows.
    pub fn hear(&mut self, known: &Incarnations) {
        for (own, heard) in self.known.iter_mut().zip(known) {
            *own = (*own).max(*heard);
        }
    }
}

impl Position {
    /// The position behind a message with this change; none if it is to do nothing.
    fn with(self, change: Option<Write>) -> Self {
        let sequence = self.sequence + 1;
        let mut hasher = DefaultHasher::new();
        (self.chain, sequence, change).hash(&mut hasher);
        Self {
            sequence,
            chain: hasher.finish(),
        }
    }
}
