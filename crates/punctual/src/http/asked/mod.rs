//! Requests turned into what they ask for. Each mistake names its field.

mod event;
mod patch;
mod reminder;
mod sentence;
mod user;

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_core::channel::Channel;
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::phrase::Lang;
use punctual_core::reminder::Address;
use punctual_core::span;
use punctual_core::step::Step;
use punctual_core::zone::Zone;

pub(crate) use event::{AskedEvent, Unsaid as UnsaidOfEvent, event};
pub(super) use event::{event_partly, instance, offsets};
pub(super) use patch::patch;
pub(super) use reminder::{Asked, Made, Unsaid, is_heavy};
pub(super) use sentence::Speaker;
pub(super) use user::user;

use crate::config::keys::nearest;
use crate::wire::{self, AddressInput};

/// The zone that `field` names.
pub(super) fn zone(name: Option<String>, field: &str) -> Result<Option<Zone>, Invalid> {
    name.map(|name| Zone::named(&name)).transpose().map_err(|invalid| Invalid::new(field, invalid.problem))
}

/// The language that `field` names.
pub(super) fn lang(tag: Option<String>, field: &str) -> Result<Option<Lang>, Invalid> {
    tag.map(|tag| tag.parse()).transpose().map_err(|problem: String| Invalid::new(field, problem))
}

/// A plan of who is asked next.
fn steps(given: Vec<wire::StepInput>, name: &str) -> Result<Vec<Step>, Invalid> {
    let (mut steps, mut faults) = (Vec::with_capacity(given.len()), Faults::default());
    for (index, wire::StepInput { after, to }) in given.into_iter().enumerate() {
        let wrong = |field: &str, problem: String| Invalid::new(format!("{name}[{index}].{field}"), problem);
        let after = faults.note(span::parse(&after.0).map_err(|problem| wrong("after", problem)));
        let to = faults.note(to.parse().map_err(|invalid: Invalid| wrong("to", invalid.problem)));
        steps.extend(after.zip(to).map(|(after, to)| Step { after, to }));
    }
    faults.finish()?;
    Ok(steps)
}

/// Addresses, each with the name of a channel.
fn addresses(given: Vec<AddressInput>, name: &str) -> Result<Vec<Address>, Invalid> {
    let (mut addresses, mut faults) = (Vec::with_capacity(given.len()), Faults::default());
    for (index, AddressInput { channel, address }) in given.into_iter().enumerate() {
        let missing = || Invalid::missing(format!("{name}[{index}].channel"), "name a channel such as webhook");
        let channel = faults.note(channel.ok_or_else(missing));
        addresses.extend(channel.map(|channel| Address { channel, address: address.unwrap_or_default() }));
    }
    faults.finish()?;
    Ok(addresses)
}

/// Refuses addresses that no channel could reach.
pub(super) fn check_addresses(
    addresses: &[Address],
    name: &str,
    channels: &BTreeMap<String, Arc<dyn Channel>>,
) -> Result<(), Invalid> {
    let mut faults = Faults::default();
    for (index, address) in addresses.iter().enumerate() {
        let at = format!("{name}[{index}]");
        faults.note(match channels.get(&address.channel) {
            None => Err(Invalid::new(format!("{at}.channel"), unknown_channel(&address.channel, channels))),
            Some(channel) => channel.check_address(&address.address).map_err(|invalid| invalid.within(&at)),
        });
    }
    faults.finish()
}

fn unknown_channel(name: &str, channels: &BTreeMap<String, Arc<dyn Channel>>) -> String {
    let known = || channels.keys().map(String::as_str);
    match nearest(name, known()) {
        Some(near) => format!("unknown channel `{name}`; did you mean `{near}`?"),
        None => format!("unknown channel `{name}`; known are {}", known().collect::<Vec<_>>().join(", ")),
    }
}
