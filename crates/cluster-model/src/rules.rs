//! The rules, each with a switch, so that a test can show what happens without it.

/// Replicas of a shard. Each node has one and reads from it.
pub const REPLICAS: usize = 3;

/// The smallest number of replicas such that any two sets of that size share one.
pub const MAJORITY: usize = REPLICAS / 2 + 1;

/// A message is void if the time of the log is more than this many seconds from when it was sent.
pub const VOID_AFTER: u16 = 30;

/// The stream drops a request that it stored less than this many seconds ago.
pub const DUPLICATE_WINDOW: u16 = 120;

/// A write whose outcome is not known after this many seconds is given up.
pub const GIVEN_UP_AFTER: u16 = 20;

/// A replica remembers a request until the time of its log is this many seconds past when it was
/// sent. All copies are void then, and no gateway waits: a log is at most `VOID_AFTER` ahead.
pub const REMEMBERED_FOR: u16 = 120;

/// What a shard does to be right: `AS_BUILT`, or `WITH_MEMORY`. Every other value leaves a rule out.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub struct Rules {
    /// A write is acknowledged by what replicas confirm from their own logs, not by the stream.
    pub own_logs: bool,
    /// As many replicas as `MAJORITY` have to confirm it, not one.
    pub majority: bool,
    /// Confirmations have to be equal in their chains, not in their sequences alone.
    pub confirm_chains: bool,
    /// The second look asks for the chain, not for the sequence alone.
    pub look_chains: bool,
    /// In the chain, a void message or a repetition is another one than that which takes effect.
    /// Which it is depends on when the stream stored it, so equal chains might be unequal states.
    pub chain_covers_void: bool,
    /// A strong read asks a majority for positions first, and waits for the greatest sequence.
    pub first_round: bool,
    /// These positions were sent after the read began.
    pub fresh_round: bool,
    /// The position that the second look asks for was taken after the view, not before it.
    pub position_after_view: bool,
    /// A strong read answers only once a majority holds its position: the second look.
    pub second_look: bool,
    /// A message that is void does nothing.
    pub void_late: bool,
    /// The time of a log never goes back. Without it, whether a message is void depends on the
    /// clock of the server that stored it alone.
    pub log_time: bool,
    /// A request that is in a log does nothing when it comes there again, be that late or not.
    pub remember_requests: bool,
    /// For how many seconds.
    pub remembered_for: u16,
    /// That holds for void requests as well. Otherwise another copy may take effect after the client
    /// was told that nothing was written.
    pub remember_void: bool,
    /// A replica tells what the first message of a request did, and of no copy. It knows the first as
    /// long as its process lives.
    pub first_outcome: bool,
    /// A void write is only refused if its gateway has sent it once. Otherwise nobody knows.
    pub refuse_if_sent_once: bool,
    /// Which message of the stream a replica that subscribes again compares with its last one.
    pub compare_last: Compare,
    /// It can do so after a restart as well.
    pub compare_after_restart: bool,
    /// A session read waits for the chain of what its node acknowledged, not for the sequence.
    pub session_chain: bool,
    /// A node that restarted knows not what it acknowledged: its session reads are strong until
    /// one has been answered.
    pub strong_after_restart: bool,
    /// A replica that lost its log asks all others where they are, and takes the log of the one
    /// that is furthest, if the logs of the others are the start of it. One other does not do: it
    /// may lack what the lost log had confirmed.
    pub seed_from_all: bool,
    /// What a replica said before it lost its log does not count beside what others say after it
    /// asked them for a new one.
    pub incarnations: bool,
}

/// What a replica compares when it subscribes to the stream again. If it differs, it does not follow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compare {
    /// Nothing.
    Nothing,
    /// The bytes of its last message, which a copy has as well.
    Bytes,
    /// Also when the stream stored it, which tells it from its copies.
    Stored,
}

impl Rules {
    /// What the service does. It relies on more than `WITH_MEMORY`: see `Scope::ends_subscriptions`.
    pub const AS_BUILT: Self = Self {
        log_time: false,
        remember_requests: false,
        remember_void: false,
        first_outcome: true,
        refuse_if_sent_once: true,
        compare_last: Compare::Stored,
        ..Self::WITH_MEMORY
    };

    /// Replicas remember requests, and trust the stream in nothing.
    pub const WITH_MEMORY: Self = Self {
        own_logs: true,
        majority: true,
        confirm_chains: true,
        look_chains: true,
        chain_covers_void: true,
        first_round: true,
        fresh_round: true,
        position_after_view: true,
        second_look: true,
        void_late: true,
        log_time: true,
        remember_requests: true,
        remembered_for: REMEMBERED_FOR,
        remember_void: true,
        first_outcome: false,
        refuse_if_sent_once: false,
        compare_last: Compare::Nothing,
        compare_after_restart: false,
        session_chain: true,
        strong_after_restart: true,
        seed_from_all: true,
        incarnations: true,
    };

    /// How many equal confirmations acknowledge a write.
    #[must_use]
    pub fn confirmations(self) -> usize {
        if self.majority { MAJORITY } else { 1 }
    }
}
