//! Instants, with the zone of the reminder beside where it differs.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_time::zone::Zone;

use crate::manner::Manner;
use crate::texts::time as t;

/// An instant where the viewer is, such as `20:05` today or `Sun 15 Nov 20:05`. Everything about it is one hover away.
pub(crate) fn instant(m: &Manner, at: Timestamp) -> Markup {
    html! { time datetime=(at) title=(m.whole(at)) { (m.instant(at)) } }
}

/// The same, and beside it the time in `zone` where that is another.
pub(crate) fn with_zone(m: &Manner, at: Timestamp, zone: &str) -> Markup {
    html! { (instant(m, at)) (there(m, at, zone)) }
}

/// The time in `zone`, to stand beside the viewer's own; nothing where the clocks of both show the same.
pub(crate) fn there(m: &Manner, at: Timestamp, zone: &str) -> Markup {
    let there = Zone::named(zone).ok().filter(|zone| zone.rules().to_offset(at) != m.zone.rules().to_offset(at));
    html! {
        @if let Some(there) = there {
            small.zone { (m.say(t::THERE, &[("time", &m.time_in(at, there.rules())), ("zone", there.name())])) }
        }
    }
}

/// How late something was, such as `0.3 ms late`.
pub(crate) fn lateness(m: &Manner, due_at: Timestamp, at: Timestamp) -> String {
    let ms = (at.as_nanosecond() - due_at.as_nanosecond()) as f64 / 1e6;
    m.say(t::LATE, &[("span", &m.millis(ms.max(0.0)))])
}
