//! The stream: it gives messages their order, and is not trusted.

use crate::{point::Write, rules::DUPLICATE_WINDOW};

/// A call of the scope. A write is known by it in the stream and in the logs.
pub type Request = usize;

/// A message as the stream stored it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Message {
    /// The request, by which a repetition is known.
    pub request: Request,
    /// What to do.
    pub write: Write,
    /// When the gateway sent it, in seconds. Every copy says the same.
    pub sent: u16,
    /// When the stream stored it, in seconds, by the clock of the server that did.
    pub stored: u16,
}

/// What the stream has, and what it had before each loss of its tail.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Stream {
    past: Vec<Epoch>,
    last: Epoch,
}

/// From one loss to the next.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Epoch {
    /// How many of its messages are from the epoch before. All others were stored in it, though they
    /// may be copies.
    kept: usize,
    /// By their sequences.
    messages: Vec<Message>,
}

impl Stream {
    /// Stores a message behind the last.
    pub fn store(&mut self, message: Message) {
        self.last.messages.push(message);
    }

    /// Whether it would drop this request as a repetition. A server whose clock once was ahead has
    /// forgotten what it should still know.
    #[must_use]
    pub fn drops(&self, request: Request, now: u16) -> bool {
        let ever = self.epochs().flat_map(|epoch| &epoch.messages);
        let latest = ever.map(|message| message.stored).fold(now, u16::max);
        self.last
            .messages
            .iter()
            .any(|message| message.request == request && latest < message.stored + DUPLICATE_WINDOW)
    }

    /// Whether a replica that follows it will still come to this request.
    #[must_use]
    pub fn holds(&self, request: Request) -> bool {
        self.last
            .messages
            .iter()
            .any(|message| message.request == request)
    }

    /// Loses all behind the first `length`. Other messages will take the sequences.
    pub fn lose(&mut self, length: usize) {
        let messages = self.last.messages[..length].to_vec();
        let next = Epoch {
            kept: length,
            messages,
        };
        self.past.push(std::mem::replace(&mut self.last, next));
    }

    /// How many messages it has.
    #[must_use]
    pub fn length(&self) -> usize {
        self.last.messages.len()
    }

    /// The number of the last epoch.
    #[must_use]
    pub fn epoch(&self) -> usize {
        self.past.len()
    }

    /// The message that an epoch has behind the first `position`.
    #[must_use]
    pub fn at(&self, epoch: usize, position: usize) -> Option<&Message> {
        self.epochs().nth(epoch)?.messages.get(position)
    }

    /// Whether the first `length` messages of the epoch `since` are still those of a later one.
    #[must_use]
    pub fn has_kept(&self, length: usize, since: usize, epoch: usize) -> bool {
        let later = self.epochs().skip(since + 1).take(epoch - since);
        later.fold(length, |kept, later| kept.min(later.kept)) == length
    }

    fn epochs(&self) -> impl Iterator<Item = &Epoch> {
        self.past.iter().chain([&self.last])
    }
}
