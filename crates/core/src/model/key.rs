//! Keys that may use the API: what each may do, and for whom and by which channels.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use punctual_time::words;

use crate::channel::Rate;
use crate::invalid::{Faults, Invalid};
use crate::reminder::Reminder;
use crate::version::Version;

/// The id of every node's admin key. Ids of other keys begin with `key_`.
pub const ADMIN_ID: &str = "admin";
/// The most channels that a key can be bound to.
pub const CHANNELS_MAX: usize = 100;
/// The longest name of a key, of its user and of a channel.
const TEXT_BYTES_MAX: usize = 256;

/// One thing that a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// See what there is.
    Read,
    /// Change it; also see it, hand in answers and send tests.
    Write,
    /// Hand in what people wrote.
    Inbound,
    /// Send a test message.
    SendTest,
    /// Make, show, rotate and delete keys that may do no more than itself.
    Keys,
    /// Everything.
    Admin,
}

words!(Scope as "scopes" {
    "read" => Read, "write" => Write, "inbound" => Inbound, "send-test" => SendTest, "keys" => Keys, "admin" => Admin,
});

impl Scope {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] = [Self::Read, Self::Write, Self::Inbound, Self::SendTest, Self::Keys, Self::Admin];

    /// The scopes that a key with this one has as well.
    fn includes(self) -> &'static [Self] {
        match self {
            Self::Read | Self::Inbound | Self::SendTest | Self::Keys => &[],
            Self::Write => &[Self::Read, Self::Inbound, Self::SendTest],
            Self::Admin => &[Self::Read, Self::Write, Self::Inbound, Self::SendTest, Self::Keys],
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// Everything.
    pub const ADMIN: Self = Self(1 << Scope::Admin as u8);

    /// These, and reading where writing is among them.
    pub fn of(scopes: impl IntoIterator<Item = Scope>) -> Self {
        let bits = scopes.into_iter().fold(0, |bits, scope| bits | scope.bit());
        Self(if bits & Scope::Write.bit() > 0 { bits | Scope::Read.bit() } else { bits })
    }

    /// What a key may do that was made when there were only `read` and `write`: one that could write and was bound to nobody was an admin's.
    pub fn of_old(write: bool, is_bound: bool) -> Self {
        match (write, is_bound) {
            (true, false) => Self::ADMIN,
            (true, true) => Self::of([Scope::Write]),
            (false, _) => Self::of([Scope::Read]),
        }
    }

    /// Whether a key with these may do this.
    pub fn allow(self, scope: Scope) -> bool {
        self.said().any(|said| said == scope || said.includes().contains(&scope))
    }

    /// Whether a key with these may do all that one with `others` may.
    pub fn cover(self, others: Self) -> bool {
        others.said().all(|scope| self.allow(scope))
    }

    /// Those that were asked for, without what they include.
    pub fn said(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() > 0)
    }
}

impl fmt::Display for Scopes {
    /// Such as `read,write`, as it is stored.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.said().map(|scope| scope.as_str()).collect();
        f.write_str(&words.join(","))
    }
}

impl FromStr for Scopes {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let scopes: Vec<Scope> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self::of(scopes))
    }
}

/// A key that may use the API. Its secret is never kept, only the hash.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiKey {
    /// Its name for machines. It stays the same when the secret is rotated.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The secret's first characters, by which a person recognises it; `None` of a key from before they were kept.
    pub prefix: Option<String>,
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    /// The only user it sees, if it is bound to one.
    pub user: Option<String>,
    /// The only channels it sends by and sees; none: all of them.
    pub channels: Vec<String>,
    /// What it may do.
    pub scopes: Scopes,
    /// How often it may ask, on each node; `None`: as often as the server's settings say.
    pub rate: Option<Rate>,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to the minute or so.
    pub used_at: Option<Timestamp>,
    /// The secret before the last rotation.
    pub replaced: Option<Replaced>,
}

/// A secret that was replaced, and works for a while beside the new one.
#[derive(Debug, Clone, PartialEq)]
pub struct Replaced {
    /// SHA-256 of it.
    pub hash: [u8; 32],
    /// Its first characters.
    pub prefix: Option<String>,
    /// When it stops working.
    pub until: Timestamp,
}

/// A new secret for a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotation {
    /// SHA-256 of the new secret.
    pub hash: [u8; 32],
    /// Its first characters.
    pub prefix: String,
    /// Until when the secret before it works as well.
    pub until: Timestamp,
    /// When this happens.
    pub now: Timestamp,
}

impl ApiKey {
    /// Its version: every rotation makes it another, and its use does not.
    pub fn version(&self) -> Version {
        Version::of(&Self { used_at: None, ..self.clone() })
    }

    /// Whether it is bound to a user or to channels.
    pub fn is_bound(&self) -> bool {
        self.user.is_some() || !self.channels.is_empty()
    }

    /// Until when the secret with this hash opens it; `None`: without an end.
    pub fn works_until(&self, hash: &[u8; 32]) -> Option<Timestamp> {
        let replaced = self.replaced.as_ref().filter(|_| self.hash != *hash).map(|replaced| replaced.until);
        [self.expires_at, replaced].into_iter().flatten().min()
    }

    /// The same key with another secret. The secret it has now works until the rotation says; one before that works no more.
    #[must_use]
    pub fn rotated(self, rotation: &Rotation) -> Self {
        let replaced = Replaced { hash: self.hash, prefix: self.prefix, until: rotation.until };
        Self {
            hash: rotation.hash,
            prefix: Some(rotation.prefix.clone()),
            replaced: Some(replaced).filter(|replaced| replaced.until > rotation.now),
            ..self
        }
    }

    /// Checks what the types cannot.
    pub fn validate(&self) -> Result<(), Invalid> {
        let bounded = |field: &str, text: &str| match text.len() {
            _ if text.trim().is_empty() => Err(Invalid::new(field, "is empty")),
            length if length > TEXT_BYTES_MAX => {
                Err(Invalid::new(field, format!("is {length} bytes long; at most {TEXT_BYTES_MAX} are accepted")))
            }
            _ => Ok(()),
        };
        let mut faults = Faults::default();
        faults.note(bounded("name", &self.name));
        faults.note(self.user.as_deref().map_or(Ok(()), |user| bounded("user", user)));
        if self.channels.len() > CHANNELS_MAX {
            let problem = format!("has {} entries; at most {CHANNELS_MAX}", self.channels.len());
            faults.add(Invalid::new("channels", problem));
        }
        for (index, channel) in self.channels.iter().enumerate().take(CHANNELS_MAX) {
            faults.note(bounded(&format!("channels[{index}]"), channel));
        }
        let beyond = [Scope::Keys, Scope::Admin].into_iter().find(|scope| self.scopes.allow(*scope));
        if let Some(scope) = beyond.filter(|_| self.is_bound()) {
            let problem = format!(
                "`{scope}` concerns everybody, and the key is bound to a user or to channels; leave out one of them"
            );
            faults.add(Invalid::new("scopes", problem));
        }
        faults.finish()
    }
}

/// Whether a key that is bound to `channels` sees a reminder: one that can be sent by these channels, and by no other.
pub fn sees_reminder(channels: &[String], reminder: &Reminder) -> bool {
    let is_of_them = |channel: &String| channels.contains(channel);
    reminder.only && !reminder.to.is_empty() && reminder.to.iter().all(|to| is_of_them(&to.channel))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a year that jiff knows")
    }

    fn key() -> ApiKey {
        ApiKey {
            id: "key_1".into(),
            name: "bot".into(),
            prefix: Some("pk_1".into()),
            hash: [1; 32],
            user: None,
            channels: Vec::new(),
            scopes: Scopes::of([Scope::Write]),
            rate: None,
            expires_at: None,
            created_at: at(0),
            used_at: None,
            replaced: None,
        }
    }

    #[test]
    fn each_scope_allows_what_the_page_about_keys_says() {
        use Scope::{Admin, Inbound, Keys, Read, SendTest, Write};
        let table: [(Scope, &[Scope]); 6] = [
            (Read, &[Read]),
            (Write, &[Read, Write, Inbound, SendTest]),
            (Inbound, &[Inbound]),
            (SendTest, &[SendTest]),
            (Keys, &[Keys]),
            (Admin, &[Read, Write, Inbound, SendTest, Keys, Admin]),
        ];
        for (scope, expect) in table {
            let scopes = Scopes::of([scope]);
            let allowed: Vec<Scope> = Scope::ALL.into_iter().filter(|other| scopes.allow(*other)).collect();
            assert_eq!(allowed, expect, "{scope}");
            assert_eq!(scopes.to_string().parse(), Ok(scopes));
        }
        assert_eq!(Scopes::of([Write]).to_string(), "read,write", "a key that may write may read");
        assert!("read,dance".parse::<Scopes>().is_err());
    }

    #[test]
    fn a_key_covers_no_key_that_may_do_more() {
        let (keys, write) = (Scopes::of([Scope::Keys, Scope::Read]), Scopes::of([Scope::Write]));
        assert!(Scopes::ADMIN.cover(keys) && Scopes::ADMIN.cover(Scopes::ADMIN) && keys.cover(keys));
        assert!(!keys.cover(write) && !keys.cover(Scopes::ADMIN) && !write.cover(keys));
    }

    #[test]
    fn a_key_from_before_scopes_may_do_what_it_could() {
        let table = [(true, false, "admin"), (true, true, "read,write"), (false, false, "read"), (false, true, "read")];
        for (write, is_bound, expect) in table {
            assert_eq!(Scopes::of_old(write, is_bound).to_string(), expect, "{write} {is_bound}");
        }
    }

    #[test]
    fn a_rotated_key_has_two_secrets_for_a_while_and_never_three() {
        let rotate = |key: ApiKey, byte: u8, until: i64| {
            key.rotated(&Rotation { hash: [byte; 32], prefix: format!("pk_{byte}"), until: at(until), now: at(100) })
        };
        let second = rotate(key(), 2, 200);
        assert_eq!((second.works_until(&[1; 32]), second.works_until(&[2; 32])), (Some(at(200)), None));
        let expiring = ApiKey { expires_at: Some(at(150)), ..second.clone() };
        assert_eq!((expiring.works_until(&[1; 32]), expiring.works_until(&[2; 32])), (Some(at(150)), Some(at(150))));
        let third = rotate(second, 3, 300);
        assert_eq!(third.replaced.as_ref().map(|replaced| replaced.hash), Some([2; 32]), "the first works no more");
        assert_eq!(rotate(third, 4, 100).replaced, None, "without an overlap the old secret ends at once");
    }

    #[test]
    fn a_bound_key_concerns_nobody_else() {
        for scope in Scope::ALL {
            let scopes = Scopes::of([scope]);
            let of_user = ApiKey { user: Some("ann".into()), scopes, ..key() };
            let of_channel = ApiKey { channels: vec!["family".into()], scopes, ..key() };
            let expect = !matches!(scope, Scope::Keys | Scope::Admin);
            assert_eq!((of_user.validate().is_ok(), of_channel.validate().is_ok()), (expect, expect), "{scope}");
            assert!(ApiKey { scopes, ..key() }.validate().is_ok());
        }
    }
}
