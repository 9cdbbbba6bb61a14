//! The behaviour every store must show, written once.
//!
//! A store's own tests call `exercise` with a way to make an empty store. A new rule about stores starts here.

mod addresses;
mod alerts;
mod answers;
mod claims;
mod commands;
mod creates;
mod desk;
mod keeping;
mod leases;
mod misfires;
mod poison;
mod quiet;
mod reads;
mod settles;

use std::future::Future;
use std::sync::Arc;

use punctual_core::clock::BoxFuture;
use punctual_core::store::Store;

use desk::Desk;
pub use poison::exercise_poison;

/// One rule: its name, and what shows it on an empty store.
type Rule = (&'static str, fn(Desk) -> BoxFuture<()>);

/// Makes a table of rules out of async functions.
macro_rules! rules {
    ($($rule:ident),+ $(,)?) => {
        pub(super) const RULES: &[super::Rule] = &[$((stringify!($rule), |desk| Box::pin($rule(desk)))),+];
    };
}
use rules;

/// Shows every rule, each on a store of its own.
///
/// # Panics
/// When a store breaks a rule; what was printed last names it.
pub async fn exercise<F, M>(mut make: M)
where
    M: FnMut() -> F,
    F: Future<Output = Arc<dyn Store>>,
{
    let files = [
        creates::RULES,
        reads::RULES,
        claims::RULES,
        leases::RULES,
        settles::RULES,
        misfires::RULES,
        answers::RULES,
        commands::RULES,
        keeping::RULES,
        addresses::RULES,
        quiet::RULES,
        alerts::RULES,
    ];
    for (name, rule) in files.into_iter().flatten() {
        println!("rule: {name}");
        rule(Desk::new(make().await)).await;
    }
}
