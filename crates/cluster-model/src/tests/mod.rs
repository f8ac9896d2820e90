//! Checks with every rule, and with each left out.

mod mistakes;
mod rules;
mod scopes;
