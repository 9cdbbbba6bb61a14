//! The Redis timer.

use std::sync::Arc;
use std::time::Duration;

use punctual_core::clock::Clock;
use punctual_engine::SystemClock;

use super::Check;
use crate::config::RedisConfig;
use crate::redis::Timers;

/// How long it may take until events are heard.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// How often it is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(20);

pub(super) async fn check(redis: Option<&RedisConfig>) -> Option<Check> {
    let redis = redis?;
    let timers = match Timers::open(redis.url.expose()) {
        Ok(builder) => builder,
        Err(error) => return Some(Check::wrong("redis", error.to_string(), "mend redis_url")),
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let timers = timers.clock(clock.clone()).start();
    let mut waited = Duration::ZERO;
    while !timers.has_heard() && waited < WAIT_MAX {
        clock.pause(ASK_EVERY).await;
        waited += ASK_EVERY;
    }
    let status = timers.status();
    Some(match status.problem {
        None if timers.has_heard() => {
            Check::good("redis", format!("rings at {}; {} timers are set", redis.shown, status.armed))
        }
        problem => {
            let problem = problem.unwrap_or_else(|| "nothing that expires is heard".into());
            let advice =
                "nothing is late without it, because our own timer runs beside it; mend it, or leave redis_url out";
            Check::note("redis", format!("{}: {problem}", redis.shown), advice)
        }
    })
}
