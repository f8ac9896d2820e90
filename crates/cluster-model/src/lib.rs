//! A model of the rules by which the three replicas of a shard write and read, checked by
//! [stateright](https://docs.rs/stateright) in every order of events within a scope. No part of the
//! product uses it.
//!
//! # The rules
//!
//! The stream orders messages and is not trusted. Each replica applies them in order to a durable log
//! of its own; a *position* is a sequence with a *chain*, a hash over all up to there.
//!
//! - **Write.** A gateway publishes. Replicas confirm what they applied: request, position, outcome.
//!   The write is acknowledged once a majority of different replicas sent equal confirmations.
//! - **Strong read**, a quorum read as of Charapko, Ailijiang and Demirbas, "Linearizable Quorum
//!   Reads in Paxos" (`HotStorage` 2019): the gateway asks a majority for positions, waits until its own
//!   replica has the greatest sequence, reads there, takes the position behind that, and answers once
//!   a majority holds this position. Of the paper's read, the first round finds what a majority
//!   may have acknowledged, and the second look is its rinse: what was read is acknowledged as well.
//! - **Session read.** The gateway waits until its replica has what it acknowledged itself.
//! - **Exactly once.** The stream drops a request that it knows. A message that was stored long after
//!   it was sent is void. A replica that subscribes again compares its last message with the stream,
//!   and follows no other history. (Or, with memory: it does nothing for a request that it remembers.)
//! - **A lost log** is replaced by that of another replica, after all others were asked. Other
//!   replicas tell of the loss in their confirmations, so that those of the lost log count no more: the crash vectors of Michael, Ports, Sharma and Szekeres, "Recovering Shared Objects
//!   Without Stable Storage" (DISC 2017).
//!
//! [`rules::Rules`] has a switch for each part of these, and two sets: `AS_BUILT`, what the service
//! does, and `WITH_MEMORY`, which relies on less. `tests::rules` finds nothing wrong with either;
//! `tests::mistakes` leaves out one at a time, and expects the checker to find what goes wrong.
//! [Decision 38](../../../docs/decisions/0038-rules-of-a-cluster.md) says what it found.
//!
//! # What may happen
//!
//! Messages and confirmations are late, are lost, or come twice. Nodes crash. The stream loses its tail,
//! others take the sequences, and replicas get the one or the other. Its servers and nodes have wrong
//! clocks.
//! Disks are lost. A [`scope::Scope`] bounds how often. Not in the model: moves of replicas and changes
//! of the map, more shards than one, more points than one (linearizability is local: a history is
//! linearizable if that of each point is), and chains that are equal by chance.
//!
//! `cargo test -p vectord-cluster-model -- --nocapture` prints the states of each scope, and of each
//! mistake the shortest way to a fault. `npm run test:model` checks wider scopes.

pub mod gateway;
pub mod point;
pub mod replica;
pub mod rules;
pub mod scope;
pub mod shard;
pub mod stream;
#[cfg(test)]
mod tests;
