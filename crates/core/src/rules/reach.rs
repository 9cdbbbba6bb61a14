//! Where a reminder goes, and whether anybody can receive it.
//!
//! A reminder goes to its own addresses, in their order, and then to its user's other ones, unless it says `only`. Where there are
//! none, it goes to the default channel if somebody chose one. The server's console is nobody's choice: a message there counts as
//! delivered though nobody may ever see it. Only the person at the keyboard, [`ME`], and alerts fall back to it.

use crate::alert;
use crate::invalid::Invalid;
use crate::reminder::{Address, Reminder};
use crate::store::DeadAddress;

/// The user that a door without a name for its user acts for: the person who sits at the machine.
pub const ME: &str = "me";

/// Where a reminder goes that has no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultChannel {
    /// Where.
    pub address: Address,
    /// Whether somebody chose it. If not, it is only for [`ME`] and for alerts.
    pub is_chosen: bool,
}

impl DefaultChannel {
    /// An address that somebody chose.
    pub fn chosen(address: Address) -> Self {
        Self { address, is_chosen: true }
    }

    fn of(&self, reminder: &Reminder) -> Option<&Address> {
        let may = self.is_chosen || reminder.user == ME || reminder.created_via == alert::VIA;
        may.then_some(&self.address)
    }
}

impl Default for DefaultChannel {
    /// The server's console, which nobody chose.
    fn default() -> Self {
        Self { address: Address::new("console", ""), is_chosen: false }
    }
}

/// All addresses to try for a reminder, in order, each once. None: nobody can receive it.
pub fn route(reminder: &Reminder, users: &[Address], default_channel: &DefaultChannel) -> Vec<Address> {
    let others = if reminder.only { &[] } else { users };
    let mut route: Vec<Address> = Vec::with_capacity(reminder.to.len() + others.len());
    for address in reminder.to.iter().chain(others) {
        if !route.contains(address) {
            route.push(address.clone());
        }
    }
    if route.is_empty() {
        route.extend(default_channel.of(reminder).cloned());
    }
    route
}

/// Whether the addresses of its user decide if anybody can receive `reminder`.
pub fn depends_on_user(reminder: &Reminder, dead: impl Fn(&Address) -> Option<DeadAddress>) -> bool {
    !reminder.only && reminder.to.iter().all(|address| dead(address).is_some())
}

/// Refuses a reminder that nobody can receive: its user has these addresses, and `dead` knows those that their platform calls dead.
pub fn check(
    reminder: &Reminder,
    users: &[Address],
    default_channel: &DefaultChannel,
    dead: impl Fn(&Address) -> Option<DeadAddress>,
) -> Result<(), Invalid> {
    let route = route(reminder, users, default_channel);
    if route.iter().any(|address| dead(address).is_none()) {
        return Ok(());
    }
    let user = &reminder.user;
    if let Some(first) = warnings(reminder, &dead).into_iter().next() {
        return Err(first);
    }
    if let Some(known) = route.first().and_then(&dead) {
        let problem = format!(
            "nobody can receive it: every address of `{user}` is dead, the first since {}: {}; give another in `to` or in \
             the user's `addresses`",
            known.since, known.reason
        );
        return Err(Invalid::new("to", problem));
    }
    Err(Invalid::new("to", nobody(user)))
}

/// Refuses a user whom no reminder could reach that has no addresses of its own.
pub fn check_user(
    user: &str,
    addresses: &[Address],
    default_channel: &DefaultChannel,
    dead: impl Fn(&Address) -> Option<DeadAddress>,
) -> Result<(), String> {
    if addresses.iter().any(|address| dead(address).is_none()) {
        return Ok(());
    }
    if !addresses.is_empty() {
        return Err(format!("every address of `{user}` is dead; give the user another"));
    }
    let has_default = default_channel.is_chosen || user == ME;
    if has_default { Ok(()) } else { Err(format!("the user `{user}` has no addresses; give the user some first")) }
}

/// Problems with a reminder's own addresses that do not keep it from being made: one is dead, and another lives.
pub fn warnings(reminder: &Reminder, dead: impl Fn(&Address) -> Option<DeadAddress>) -> Vec<Invalid> {
    let of_one = |(index, address): (usize, &Address)| {
        let known = dead(address)?;
        let problem = format!(
            "has been dead since {}: {}; if it lives again, `punctual channels revive {} ADDRESS` brings it back",
            known.since, known.reason, address.channel
        );
        Some(Invalid::new(format!("to[{index}].address"), problem))
    };
    reminder.to.iter().enumerate().filter_map(of_one).collect()
}

/// Why a reminder that has no address cannot be received, and what would help.
pub(crate) fn nobody(user: &str) -> String {
    format!(
        "nobody can receive it: it has no `to` and the user `{user}` has no addresses; write `to`, such as \
         [{{\"channel\":\"webhook\",\"address\":\"https://example.org/hook\"}}], or give the user `addresses`, or set `default_channel` \
         (`console` is the server's own output)"
    )
}
