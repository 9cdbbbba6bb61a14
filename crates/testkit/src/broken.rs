//! Guarantees, broken on purpose, to prove that every checker notices.
//!
//! The product has no switch for these breaks: each saboteur stands between the engine and the parts it is handed.

/// Breaks that one node is enough for.
mod alone;

/// Breaks that take two nodes.
mod together;

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_core::store::Store;
use punctual_engine::Runtime;

use crate::sim::check::{
    ANSWERED, CANCELLED, COUNTED_ONCE, ESCALATED, HOLD, JOURNAL, LEFT_IN_PEACE, NEVER_EARLY, NEVER_LOST, NO_LIMBO,
    ON_TIME, SENT_ONCE, SERIES, TOLD, TOLD_OUTSIDE, TRAIL,
};
use crate::sim::{Options, Sabotage};
use crate::tap::{Tap, Tapped};

/// A guarantee that is broken on purpose.
pub struct Break {
    /// What is done.
    pub name: &'static str,
    /// Who does it.
    pub sabotage: Arc<dyn Sabotage>,
    /// The world in which it matters, and in which nothing is wrong without it.
    pub world: Options,
    /// The checker whose business it is.
    pub noticed_by: &'static str,
}

/// Stands before every store with a tap of its own.
struct Before<F>(F);

impl<T: Tap, F: Fn() -> T + Send + Sync> Sabotage for Before<F> {
    fn store(&self, store: Arc<dyn Store>, _clock: Arc<dyn Clock>, _runtime: Arc<dyn Runtime>) -> Arc<dyn Store> {
        Tapped::before(store, (self.0)())
    }
}

/// The same for a tap that needs the clock, and a place for tasks that die with the engine.
struct Beside<F>(F);

impl<T: Tap, F: Fn(Arc<dyn Clock>, Arc<dyn Runtime>) -> T + Send + Sync> Sabotage for Beside<F> {
    fn store(&self, store: Arc<dyn Store>, clock: Arc<dyn Clock>, runtime: Arc<dyn Runtime>) -> Arc<dyn Store> {
        Tapped::before(store, (self.0)(clock, runtime))
    }
}

/// All of them: at least one for every checker.
pub fn all() -> Vec<Break> {
    let calm = Options::calm;
    let of = |name, sabotage, world, noticed_by| Break { name, sabotage, world, noticed_by };
    fn tap<T: Tap>(make: fn() -> T) -> Arc<dyn Sabotage> {
        Arc::new(Before(make))
    }
    let settling = |change| -> Arc<dyn Sabotage> { Arc::new(Before(move || alone::Settling(change))) };
    let two = || Options { busy_for: SignedDuration::from_mins(12), ..Options::calm_for(2) };
    vec![
        of(
            "an answer is acknowledged before its commit",
            Arc::new(Beside(|clock, runtime| alone::AnswerLater { clock, runtime })),
            Options { crashes: true, presses: true, ..calm() },
            COUNTED_ONCE,
        ),
        of(
            "an event that comes again is not recognised",
            tap(|| alone::ForgottenEvent),
            Options { presses: true, ..calm() },
            COUNTED_ONCE,
        ),
        of("the clock is ahead", Arc::new(alone::EarlyClock(SignedDuration::from_millis(200))), calm(), NEVER_EARLY),
        of("a claim is late", tap(|| alone::LateClaim), calm(), ON_TIME),
        of(
            "a create is acknowledged before its commit",
            Arc::new(Beside(|clock, runtime| alone::WriteLater { clock, runtime })),
            Options { crashes: true, ..calm() },
            NEVER_LOST,
        ),
        of("a retry is dropped", settling(alone::drop_retry), Options { receivers_fail: true, ..calm() }, NEVER_LOST),
        of("a cancel is ignored", tap(|| alone::IgnoredCancel), calm(), CANCELLED),
        of(
            "a lease does not end",
            tap(|| together::EndlessLease),
            Options { crashes: true, receivers_hang: true, ..two() },
            NO_LIMBO,
        ),
        of("an attempt is not written", settling(alone::lose_attempt), calm(), TRAIL),
        of("the next run is planned from another instant", settling(alone::move_series), calm(), SERIES),
        of("an undo is acknowledged and forgotten", tap(|| alone::ForgottenUndo), calm(), SERIES),
        of(
            "what may have arrived is sent again",
            tap(|| alone::AlwaysResend),
            Options { receivers_hang: true, ..calm() },
            HOLD,
        ),
        of("quiet hours are not written", tap(|| alone::NoQuiet), Options { people: true, ..calm() }, LEFT_IN_PEACE),
        of("silences are not written", tap(|| alone::NoSilence), Options { people: true, ..calm() }, LEFT_IN_PEACE),
        of(
            "the end of a silence is not written",
            tap(|| alone::EndlessSilence),
            Options { people: true, ..calm() },
            ON_TIME,
        ),
        of("nobody is told", settling(alone::tell_nobody), Options { receivers_fail: true, ..calm() }, TOLD),
        of("a page of the journal leaves out an entry", tap(together::HoledPage::default), two(), JOURNAL),
        of("a claim takes what another node has leased", tap(|| together::ClaimsLeased), two(), SENT_ONCE),
        of(
            "a result is taken under an old lease",
            tap(|| together::ForgedLease),
            Options { stalls: Some(15), receivers_hang: true, ..two() },
            TRAIL,
        ),
        of(
            "a claim is late where there are calls",
            tap(|| alone::LateClaim),
            Options { calls: true, ..two() },
            ON_TIME,
        ),
        of("a recall is ignored", tap(|| together::IgnoredRecall), two(), CANCELLED),
        of(
            "the recall of what was answered is ignored",
            tap(|| together::IgnoredRecall),
            Options { questions: true, ..two() },
            ANSWERED,
        ),
        of(
            "an application is told of a page with a hole",
            tap(together::HoledPage::default),
            Options { subscribed: true, ..two() },
            TOLD_OUTSIDE,
        ),
        of("nobody follows who does not answer", settling(alone::ask_nobody_else), calm(), ESCALATED),
        of("an answer is ignored", tap(|| alone::IgnoredAnswer), calm(), ANSWERED),
        of(
            "a takeover sends again what can be asked about",
            tap(|| together::ForgottenNote),
            Options { crashes: true, calls: true, ..two() },
            SENT_ONCE,
        ),
    ]
}
