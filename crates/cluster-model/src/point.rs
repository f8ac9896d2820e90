//! One point as a client sees it: what a linearizable shard behaves like.

use stateright::semantics::SequentialSpec;

/// The value that a request stores. Each request has another one.
pub type Value = u8;

/// A change of the point.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Write {
    /// An upsert.
    Put(Value),
    /// Its answer says whether there was a point.
    Delete,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Operation {
    /// A change.
    Write(Write),
    /// A strong read.
    Get,
}

/// What a client is told.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Answer {
    /// The value of a put is stored.
    Stored,
    /// The point was there, and is deleted.
    Deleted,
    /// There was no point to delete.
    Missing,
    /// Nothing was written, as the message was void.
    Refused,
    /// What a read found.
    Found(Option<Value>),
}

/// The point, on one machine without faults.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Point(pub Option<Value>);

impl SequentialSpec for Point {
    type Op = Operation;
    type Ret = Answer;

    fn is_valid_step(&mut self, operation: &Operation, answer: &Answer) -> bool {
        *answer == Answer::Refused || self.invoke(operation) == *answer
    }

    fn invoke(&mut self, operation: &Operation) -> Answer {
        match operation {
            Operation::Get => Answer::Found(self.0),
            Operation::Write(Write::Put(value)) => {
                self.0 = Some(*value);
                Answer::Stored
            }
            Operation::Write(Write::Delete) => match self.0.take() {
                Some(_) => Answer::Deleted,
                None => Answer::Missing,
            },
        }
    }
}
