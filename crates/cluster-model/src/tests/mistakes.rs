//! Each rule is needed: without it the checker finds what goes wrong, in a scope in which
//! `tests::rules` finds nothing with all of them.

use stateright::{Checker, HasDiscoveries, Model};

use super::scopes::{
    COPIES_AND_LOST_TAIL, LATE_COPIES, LATE_COPY_AND_LOST_TAIL, LOST_DISK, LOST_TAIL_OF_PUTS,
    LOST_TAIL_OF_WRITERS, SESSION_AND_CRASH, SESSION_AND_LOST_TAIL, WRITE_AND_READ,
    WRITE_AND_READERS, WRITE_AND_TWO_READS, WRONG_CLOCKS, WRONG_CLOCKS_AND_LOST_TAIL,
};
use crate::{
    rules::{Rules, VOID_AFTER},
    scope::Scope,
    shard::{Action, HELD, LINEARIZABLE, NOT_LOST, NOT_UNDONE, ONCE, REFUSED, SESSION, Shard},
};

const ALL: Rules = Rules::ALL;

#[test]
fn what_one_replica_has_is_not_acknowledged() {
    breaks(
        LINEARIZABLE,
        Rules {
            majority: false,
            ..ALL
        },
        WRITE_AND_READ,
    );
}

#[test]
fn what_the_stream_says_it_has_is_not_acknowledged() {
    let without = Rules {
        own_logs: false,
        ..ALL
    };
    let losing = Scope {
        losses: 1,
        ..WRITE_AND_READ
    };
    breaks(NOT_LOST, without, losing);
    breaks(LINEARIZABLE, without, WRITE_AND_READ);
}

#[test]
fn confirmations_compare_chains() {
    breaks(
        HELD,
        Rules {
            confirm_chains: false,
            ..ALL
        },
        LOST_TAIL_OF_WRITERS,
    );
}

#[test]
fn the_second_look_compares_chains() {
    breaks(
        LINEARIZABLE,
        Rules {
            look_chains: false,
            ..ALL
        },
        LOST_TAIL_OF_PUTS,
    );
}

#[test]
fn the_chain_covers_what_is_void() {
    breaks(
        LINEARIZABLE,
        Rules {
            chain_covers_void: false,
            ..ALL
        },
        LATE_COPY_AND_LOST_TAIL,
    );
}

#[test]
fn a_strong_read_asks_first() {
    breaks(
        LINEARIZABLE,
        Rules {
            first_round: false,
            ..ALL
        },
        WRITE_AND_READ,
    );
}

#[test]
fn a_strong_read_asks_after_it_began() {
    breaks(
        LINEARIZABLE,
        Rules {
            fresh_round: false,
            ..ALL
        },
        WRITE_AND_TWO_READS,
    );
}

#[test]
fn a_strong_read_looks_a_second_time() {
    breaks(
        LINEARIZABLE,
        Rules {
            second_look: false,
            ..ALL
        },
        WRITE_AND_READERS,
    );
}

#[test]
fn the_position_of_a_read_is_not_older_than_its_view() {
    breaks(
        LINEARIZABLE,
        Rules {
            position_after_view: false,
            ..ALL
        },
        WRITE_AND_READERS,
    );
}

#[test]
fn a_late_message_is_void() {
    let without = Rules {
        void_late: false,
        ..ALL
    };
    breaks(NOT_UNDONE, without, LATE_COPIES);
    breaks(LINEARIZABLE, without, LATE_COPIES);
}

#[test]
fn the_window_of_the_stream_does_not_replace_the_memory_of_a_replica() {
    let without = Rules {
        remember_requests: false,
        ..ALL
    };
    breaks(NOT_UNDONE, without, COPIES_AND_LOST_TAIL);
    // Of two copies the second may be void, if one of the clocks of the stream is wrong.
    let wrong_clocks = Scope {
        wrong_clocks: true,
        copies: 2,
        ticks: 3,
        ..WRITE_AND_READ
    };
    breaks(LINEARIZABLE, without, wrong_clocks);
}

#[test]
fn the_time_of_a_log_does_not_go_back() {
    breaks(
        ONCE,
        Rules {
            log_time: false,
            ..ALL
        },
        WRONG_CLOCKS,
    );
}

#[test]
#[ignore = "takes long: npm run test:model"]
fn a_request_is_remembered_while_its_gateway_waits() {
    let without = Rules {
        remembered_for: VOID_AFTER,
        ..ALL
    };
    breaks(REFUSED, without, WRONG_CLOCKS);
}

#[test]
fn a_refused_write_stays_refused() {
    let without = Rules {
        remember_void: false,
        ..ALL
    };
    breaks(LINEARIZABLE, without, WRONG_CLOCKS_AND_LOST_TAIL);
}

#[test]
fn a_session_read_compares_chains() {
    breaks(
        SESSION,
        Rules {
            session_chain: false,
            ..ALL
        },
        SESSION_AND_LOST_TAIL,
    );
}

#[test]
fn a_session_read_after_a_restart_is_strong() {
    breaks(
        SESSION,
        Rules {
            strong_after_restart: false,
            ..ALL
        },
        SESSION_AND_CRASH,
    );
}

#[test]
fn a_lost_log_is_not_taken_from_any_other() {
    breaks(
        LINEARIZABLE,
        Rules {
            seed_from_all: false,
            ..ALL
        },
        LOST_DISK,
    );
}

#[test]
fn what_a_lost_log_confirmed_counts_no_more() {
    let without = Rules {
        incarnations: false,
        ..ALL
    };
    breaks(HELD, without, LOST_DISK);
    breaks(LINEARIZABLE, without, LOST_DISK);
}

/// Prints the shortest way to break the property.
fn breaks(property: &'static str, rules: Rules, scope: Scope) {
    let trace = shortest(rules, scope, property);
    println!("{} steps until it is false that {property}", trace.len());
    for action in &trace {
        println!("    {action:?}");
    }
    assert!(
        !trace.is_empty(),
        "the checker does not notice that a rule is left out: {property}"
    );
}

/// The fewest actions that break the property; none if it holds.
fn shortest(rules: Rules, scope: Scope, property: &'static str) -> Vec<Action> {
    let mut shortest = Vec::new();
    loop {
        let all = Shard::new(rules, scope).only(property).checker();
        let any = all.finish_when(HasDiscoveries::AnyFailures);
        // Of the failures that it meets at about one depth, the checker reports the last. A depth
        // counts states, of which there is one more than actions, and the target is not reached.
        let checker = match shortest.len() {
            0 => any,
            length => any.target_max_depth(length + 1),
        };
        match checker.spawn_bfs().join().discovery(property) {
            Some(path) => shortest = path.into_actions(),
            None => return shortest,
        }
    }
}
