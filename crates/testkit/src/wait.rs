//! Waiting for what nobody announces: a test looks, pauses and looks again, and fails when it takes too long. A loop without a
//! pause takes the processor from what it waits for.

use std::time::Duration;

/// How long anything may take before a test fails. Nothing takes this long when all is well, also on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(30);
/// The pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until `is_so` says yes.
///
/// # Panics
/// After [`DEADLINE`], with `what`.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    until_some(what, async || is_so().await.then_some(())).await;
}

/// Waits until `find` finds something, and returns it.
///
/// # Panics
/// After [`DEADLINE`], with `what`.
#[expect(clippy::disallowed_methods, reason = "a test that hangs must fail; this is its only clock")]
pub async fn until_some<T>(what: &str, mut find: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = find().await {
                return found;
            }
            pause().await;
        }
    };
    let found = tokio::time::timeout(DEADLINE, looking).await;
    found.unwrap_or_else(|_| panic!("it took too long until {what}"))
}

/// The pause between two looks, for a loop that has a deadline of its own.
#[expect(clippy::disallowed_methods, reason = "another process is waited for, and its time is real")]
pub async fn pause() {
    tokio::time::sleep(LOOK_EVERY).await;
}

/// The same as [`until`] for a test without a runtime, or one that blocks its thread on purpose.
///
/// # Panics
/// After [`DEADLINE`], with `what`.
#[expect(clippy::disallowed_methods, reason = "another process is waited for, and its time is real")]
pub fn until_blocking(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < DEADLINE, "it took too long until {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}
