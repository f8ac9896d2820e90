//! Where a replica is in the stream that orders its writes.

use crc32fast::Hasher;

/// A place in the stream of a shard, and the history up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPosition {
    /// The sequence in the stream of the last message that was applied; 0 before the first.
    pub sequence: u64,
    /// A checksum of all messages up to it and their sequences. Histories that differ have equal
    /// chains at equal sequences by chance alone, once in 2^32.
    pub chain: u32,
}

impl StreamPosition {
    /// The position behind the next message, which has this CRC-32.
    #[must_use]
    pub fn after(self, message_crc: u32) -> StreamPosition {
        let sequence = self.sequence + 1;
        let mut hasher = Hasher::new();
        hasher.update(&self.chain.to_le_bytes());
        hasher.update(&sequence.to_le_bytes());
        hasher.update(&message_crc.to_le_bytes());
        StreamPosition {
            sequence,
            chain: hasher.finalize(),
        }
    }

    /// The position as the header of a group holds it. The sequence 0 stands for none, as no group is
    /// written before the first message.
    #[must_use]
    pub fn fields(position: Option<StreamPosition>) -> (u64, u32) {
        position.map_or((0, 0), |position| (position.sequence, position.chain))
    }

    /// The position that a header holds.
    #[must_use]
    pub fn from_fields(sequence: u64, chain: u32) -> Option<StreamPosition> {
        (sequence > 0).then_some(StreamPosition { sequence, chain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_that_differ_in_a_message_or_in_the_order_differ_for_ever() {
        let of = |messages: &[u32]| {
            let start = StreamPosition::default();
            messages.iter().fold(start, |at, &crc| at.after(crc))
        };
        let histories = [of(&[1, 2, 3, 4]), of(&[2, 1, 3, 4]), of(&[1, 5, 3, 4])];
        assert!(histories.iter().all(|history| history.sequence == 4));
        let mut chains = histories.map(|history| history.chain);
        chains.sort_unstable();
        assert!(chains.is_sorted_by(|a, b| a < b));
    }
}
