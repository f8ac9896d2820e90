//! Each rule is needed: without it the checker finds what goes wrong, in a scope in which
//! `tests::rules` finds nothing with all of them.

use stateright::{Checker, HasDiscoveries, Model};

use super::scopes::{
    ANY, BUILT_CLOCKS, BUILT_DELETE, BUILT_RESTART, BUILT_RESTARTS, BUILT_SESSION,
    BUILT_WRONG_CLOCKS, COPIES_AND_LOST_TAIL, LATE_COPIES, LATE_COPY_AND_LOST_TAIL, LOST_DISK,
    LOST_TAIL_OF_PUTS, LOST_TAIL_OF_WRITERS, SESSION_AND_CRASH, SESSION_AND_LOST_TAIL,
    WRITE_AND_READ, WRITE_AND_READERS, WRITE_AND_TWO_READS, WRONG_CLOCKS,
    WRONG_CLOCKS_AND_LOST_TAIL,
};
use crate::{
    rules::{Compare, Rules, VOID_AFTER},
    scope::Scope,
    shard::{
        Action, HELD, LINEARIZABLE, NOT_LOST, NOT_UNDONE, ONCE, REFUSED, SESSION, Shard, State,
    },
};

const ALL: Rules = Rules::WITH_MEMORY;
const BUILT: Rules = Rules::AS_BUILT;

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
        wrong_clocks: ANY,
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

#[test]
#[ignore = "takes long: npm run test:model"]
fn as_built_the_outcome_of_a_copy_is_not_told() {
    let without = Rules {
        first_outcome: false,
        ..BUILT
    };
    breaks(LINEARIZABLE, without, BUILT_WRONG_CLOCKS);
}

#[test]
fn as_built_what_was_sent_twice_is_not_refused() {
    let without = Rules {
        refuse_if_sent_once: false,
        ..BUILT
    };
    breaks(REFUSED, without, BUILT_CLOCKS);
    breaks(LINEARIZABLE, without, BUILT_CLOCKS);
}

const COMPARES_NOTHING: Rules = Rules {
    compare_last: Compare::Nothing,
    ..BUILT
};

const COMPARES_BYTES: Rules = Rules {
    compare_last: Compare::Bytes,
    ..BUILT
};

#[test]
fn as_built_a_replica_compares_its_last_message() {
    let lost_tail = Scope {
        crashes: 0,
        ..BUILT_RESTART
    };
    breaks(ONCE, COMPARES_NOTHING, lost_tail);
}

#[test]
#[ignore = "takes long: npm run test:model"]
fn as_built_a_replica_compares_its_last_message_lest_a_delete_is_undone() {
    breaks(NOT_UNDONE, COMPARES_NOTHING, BUILT_DELETE);
    breaks(NOT_UNDONE, COMPARES_BYTES, BUILT_DELETE);
}

/// What is open: decision 38 says what it would take.
#[test]
fn as_built_a_replica_that_restarted_may_follow_what_it_should_not() {
    breaks(ONCE, BUILT, BUILT_RESTART);
}

/// The search for it takes long.
#[test]
fn as_built_restarts_of_a_majority_may_undo_a_delete() {
    let acknowledged = "Begin(0, 0, 2); Store(0, 0); Apply(0, 0); Apply(1, 0); \
        Confirm(0, Confirmation { replica: 0; Confirm(0, Confirmation { replica: 1; \
        Begin(1, 0, 2); Store(1, 0); Apply(0, 0); Apply(1, 0); \
        Confirm(1, Confirmation { replica: 0; Confirm(1, Confirmation { replica: 1";
    let others = "Lose(0); Begin(2, 0, 1); Store(2, 0); Store(1, 0); Store(0, 0)";
    let undone = "Apply(0, 1); Apply(1, 1)";
    let read = "Begin(3, 0, 0); Ask(3, 1); View(3); Mark(3); Look(3, 1)";
    let restarted = [acknowledged, others, "Crash(0); Crash(1)", undone, read].join("; ");
    let is_broken = |rules, steps| {
        let end = replay(rules, BUILT_RESTARTS, steps)?;
        let model = Shard::new(rules, BUILT_RESTARTS);
        let holds = |name| (model.property(name).condition)(&model, &end);
        Ok(!holds(NOT_UNDONE) && !holds(LINEARIZABLE))
    };
    assert_eq!(is_broken(BUILT, &restarted), Ok(true));
    let durable = Rules {
        compare_after_restart: true,
        ..BUILT
    };
    assert_eq!(is_broken(durable, &restarted), Err("Apply(0, 1)"));
    // Whoever lives follows no more, unless it compares bytes alone.
    let living = [acknowledged, others, undone, read].join("; ");
    assert_eq!(is_broken(BUILT, &living), Err("Apply(0, 1)"));
    assert_eq!(is_broken(COMPARES_BYTES, &living), Ok(true));
}

#[test]
fn as_built_a_session_read_compares_chains_and_is_strong_after_a_restart() {
    let without_chain = Rules {
        session_chain: false,
        ..BUILT
    };
    breaks(SESSION, without_chain, BUILT_SESSION);
    let without_strong = Rules {
        strong_after_restart: false,
        ..BUILT
    };
    breaks(SESSION, without_strong, BUILT_SESSION);
}

/// What there is after actions that begin like these; otherwise the first that cannot happen.
fn replay(rules: Rules, scope: Scope, steps: &str) -> Result<State, &str> {
    let model = Shard::new(rules, scope);
    let mut state = model.init_states().remove(0);
    for step in steps.split("; ") {
        let mut actions = Vec::new();
        model.actions(&state, &mut actions);
        let is_step = |action: &Action| format!("{action:?}").starts_with(step);
        let action = actions.into_iter().find(is_step).ok_or(step)?;
        state = model
            .next_state(&state, action)
            .expect("it is one of the actions");
    }
    Ok(state)
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
