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

/// The messages by their sequences, and also those that it has lost: a replica may still be given
/// these, since they were on their way, or another server has them.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Stream {
    /// All that ever had the sequence of the place, in the order in which they got it.
    slots: Vec<Vec<Message>>,
    /// How many sequences the stream knows to be taken.
    length: usize,
}

impl Stream {
    /// Stores a message behind the last.
    pub fn store(&mut self, message: Message) {
        if self.slots.len() == self.length {
            self.slots.push(Vec::new());
        }
        let slot = &mut self.slots[self.length];
        slot.retain(|old| *old != message);
        slot.push(message);
        self.length += 1;
    }

    /// Whether it would drop this request as a repetition. A server whose clock once was ahead has
    /// forgotten what it should still know.
    #[must_use]
    pub fn drops(&self, request: Request, now: u16) -> bool {
        let ever = self.slots.iter().flatten().map(|message| message.stored);
        let latest = ever.max().map_or(now, |stored| stored.max(now));
        self.messages()
            .any(|message| message.request == request && latest < message.stored + DUPLICATE_WINDOW)
    }

    /// Whether a replica that follows it will still come to this request.
    #[must_use]
    pub fn holds(&self, request: Request) -> bool {
        self.messages().any(|message| message.request == request)
    }

    /// Loses all behind the first `length`. Other messages will take the sequences.
    pub fn lose(&mut self, length: usize) {
        self.length = length;
    }

    /// How many messages it has.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// What a replica may be given as the message behind the first `position`.
    #[must_use]
    pub fn after(&self, position: usize) -> &[Message] {
        self.slots.get(position).map_or(&[], Vec::as_slice)
    }

    fn messages(&self) -> impl Iterator<Item = &Message> {
        self.slots[..self.length]
            .iter()
            .filter_map(|slot| slot.last())
    }
}
