//! With every rule, nothing goes wrong.

use std::time::Instant;

use stateright::{Checker, Model};

use super::scopes::{BUILT, BUILT_CLOCKS, BUILT_RESTART, SHORT, WIDE, WIDE_BUILT};
use crate::{
    rules::Rules,
    scope::Scope,
    shard::{ALL_ANSWERED, Shard},
};

#[test]
fn with_every_rule_nothing_goes_wrong() {
    for (name, scope) in SHORT {
        holds(name, Rules::WITH_MEMORY, *scope);
    }
    for (name, scope) in BUILT {
        holds(name, Rules::AS_BUILT, *scope);
    }
}

#[test]
fn while_clocks_of_the_stream_are_right_no_gateway_waits_for_a_copy() {
    let without = Rules {
        first_outcome: false,
        ..Rules::AS_BUILT
    };
    holds("any outcome", without, BUILT_CLOCKS);
}

#[test]
#[ignore = "takes minutes: npm run test:model"]
fn with_every_rule_nothing_goes_wrong_in_wide_scopes() {
    for (name, scope) in WIDE {
        holds(name, Rules::WITH_MEMORY, *scope);
    }
    for (name, scope) in WIDE_BUILT {
        holds(name, Rules::AS_BUILT, *scope);
    }
    let durable = Rules {
        compare_after_restart: true,
        ..Rules::AS_BUILT
    };
    let restarts = Scope {
        crashes: 2,
        ..BUILT_RESTART
    };
    holds("a last message that survives restarts", durable, restarts);
}

/// No order of what may happen breaks a property, and in some all calls are answered.
fn holds(name: &str, rules: Rules, scope: Scope) {
    let start = Instant::now();
    let checker = Shard::new(rules, scope).checker().spawn_dfs().join();
    let (states, seconds) = (checker.unique_state_count(), start.elapsed().as_secs_f32());
    println!("{name}: {states} states, {seconds:.1} s");
    let found = checker.discoveries();
    for (property, path) in &found {
        assert_eq!(
            *property,
            ALL_ANSWERED,
            "{name}: {:#?}",
            path.clone().into_actions()
        );
    }
    assert_eq!(found.len(), 1, "{name}: some call is never answered");
}
