//! The running server, asked about itself.

use jiff::Timestamp;
use punctual_client::{Client, Failure};
use punctual_core::store::Shared;
use punctual_engine::SystemClock;

use super::Check;
use crate::wire::{Channel, Ready, Receives, Subscription};

/// More than this between two clocks makes "in 5 minutes" mean two things.
const DRIFT_SECONDS_MAX: f64 = 2.0;

/// `asked` says whether a server was named: then it must be there.
pub(super) async fn check(client: &Client, asked: bool) -> Vec<Check> {
    let before = SystemClock::read();
    let ready = client.ready().await;
    let after = SystemClock::read();
    let mut checks = match ready {
        Ok(answer) => {
            let mut checks = vec![Check::good("server", format!("ready at {}", client.url()))];
            checks.extend(drift(&answer, before, after));
            checks.extend(answer.disagrees.iter().flat_map(|names| disagrees(names)));
            if answer.shadow {
                let advice = "start it without --shadow, or PUNCTUAL_SHADOW, when it shall send";
                checks.push(Check::note("shadow", "everything is done but the send".to_owned(), advice));
            }
            checks
        }
        Err(error @ Failure::Refused(_)) => {
            let advice = "see the server's log; most often the disk is full or the file is locked";
            return vec![Check::wrong("server", format!("{} is not ready: {error:#}", client.url()), advice)];
        }
        Err(error) if asked => return vec![Check::wrong("server", format!("{error:#}"), "start it, or check the URL")],
        Err(_) => {
            let detail = format!("none runs at {}", client.url());
            return vec![Check::note("server", detail, "start one with `punctual serve`")];
        }
    };
    let page = client.channels().await;
    if let Ok(page) = &page {
        checks.extend(page.warnings.iter().map(|warning| super::links(warning)));
        checks.extend(page.channels.iter().filter_map(answers));
    }
    checks.push(match page {
        Ok(page) => {
            let names: Vec<&str> = page.channels.iter().map(|channel| channel.name.as_str()).collect();
            Check::good("channels", names.join(", "))
        }
        Err(error) => Check::wrong("channels", format!("{error:#}"), "set PUNCTUAL_API_KEY to a key of this server"),
    });
    // A key that is bound to a user sees none.
    if let Ok(page) = client.subscriptions().await {
        checks.extend(page.subscriptions.iter().filter_map(told));
    }
    checks
}

/// The settings in which the node that answers and another one differ.
fn disagrees(names: &[String]) -> Vec<Check> {
    let (receive, secrets): (Vec<&str>, Vec<&str>) =
        names.iter().map(String::as_str).partition(|name| Shared::is_receive(name));
    let check = |name, differing: Vec<&str>, advice: &str| {
        let detail = format!("this node and another one use a different {}", differing.join(" and "));
        (!differing.is_empty()).then(|| Check::wrong(name, detail, advice))
    };
    let of_secrets = "give all nodes the same setting, or none: then they use the one in the database";
    let of_receive = "give all nodes the same setting: a platform hands its answers over in one way";
    [check("secrets", secrets, of_secrets), check("answers", receive, of_receive)].into_iter().flatten().collect()
}

/// Why no answers come by a channel, where that is so.
fn answers(channel: &Channel) -> Option<Check> {
    let Receives { state, error, .. } = channel.receives.as_ref()?;
    let name = &channel.name;
    match (&**state, error) {
        ("refused", error) => {
            let why = error.as_deref().unwrap_or("the platform refuses");
            let advice = "mend the channel's settings; until then nobody's answers come by it";
            Some(Check::wrong("answers", format!("{name}: {why}"), advice))
        }
        (_, Some(error)) => {
            Some(Check::note("answers", format!("{name}: {error}"), "the server tries again by itself"))
        }
        (_, None) => None,
    }
}

/// What the operator of a subscription should know.
fn told(subscription: &Subscription) -> Option<Check> {
    let note = subscription.note.as_ref()?;
    let advice = "`punctual subscriptions` shows how far each was told";
    Some(Check::note("told", format!("{}: {note}", subscription.name), advice))
}

/// How far the server's clock is from ours, as far as the time of the request lets us know.
fn drift(answer: &Ready, before: Timestamp, after: Timestamp) -> Option<Check> {
    let theirs = answer.now?;
    let early = before.duration_since(theirs).as_secs_f64();
    let late = theirs.duration_since(after).as_secs_f64();
    let seconds = early.max(late).max(0.0);
    (seconds > DRIFT_SECONDS_MAX).then(|| {
        let detail = format!("the server's clock is {seconds:.1} s away from this machine's");
        Check::wrong("drift", detail, "let both follow a time server (chrony, systemd-timesyncd)")
    })
}
