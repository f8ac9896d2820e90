//! With every rule, nothing goes wrong.

use std::time::Instant;

use stateright::{Checker, Model};

use super::scopes::{SHORT, WIDE};
use crate::{
    rules::Rules,
    scope::Scope,
    shard::{ALL_ANSWERED, Shard},
};

#[test]
fn with_every_rule_nothing_goes_wrong() {
    for (name, scope) in SHORT {
        holds(name, *scope);
    }
}

#[test]
#[ignore = "takes minutes: npm run test:model"]
fn with_every_rule_nothing_goes_wrong_in_wide_scopes() {
    for (name, scope) in WIDE {
        holds(name, *scope);
    }
}

/// No order of what may happen breaks a property, and in some all calls are answered.
fn holds(name: &str, scope: Scope) {
    let start = Instant::now();
    let checker = Shard::new(Rules::ALL, scope).checker().spawn_dfs().join();
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
