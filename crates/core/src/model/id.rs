//! Names of things.
//!
//! A reminder has a UUID of version 7, so ids sort by creation and can be made on any node. An occurrence
//! is named by its reminder and run number: there cannot be two of the same run, whoever plans it.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::reminder::Address;

/// Makes an id that is a UUID of version 7.
macro_rules! uuid {
    ($(#[$doc:meta])+ $name:ident) => {
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Makes an id from the instant of creation and ten random bytes.
            pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
                // A clock before 1970 still yields a valid id; it only loses its place in the order.
                let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
            }

            /// The sixteen bytes stores keep.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// The id kept as these bytes.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The last eight hex digits: what tables show, and enough to name one among a user's own.
            pub fn short(&self) -> String {
                let hex = self.0.simple().to_string();
                hex[24..].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                Uuid::try_parse(text).map(Self).map_err(|_| BadId(text.to_owned()))
            }
        }
    };
}

uuid!(
    /// Names one reminder.
    ReminderId
);
uuid!(
    /// Names one silence.
    SilenceId
);
uuid!(
    /// Names one run of a watch.
    WatchRunId
);

impl ReminderId {
    /// The id of what another system, `source`, knows as `key` and created at `created_at`: the same whenever it is asked for,
    /// so that importing something twice finds it there.
    pub fn imported(source: &str, key: &str, created_at: Timestamp) -> Self {
        let mut hash = Sha256::new();
        hash.update(source.as_bytes());
        hash.update([0]);
        hash.update(key.as_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        let mut ten = [0; 10];
        ten.copy_from_slice(&digest[..10]);
        Self::new(created_at, ten)
    }
}

/// Names one occurrence: the reminder and which run of it, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OccurrenceId {
    /// The reminder this is a run of.
    pub reminder: ReminderId,
    /// Which run, counted from 1.
    pub run: u32,
}

impl OccurrenceId {
    /// The key a receiver can rely on to see this occurrence once.
    ///
    /// It depends on the occurrence and the address, so every retry, node and restart sends the same one.
    /// Only what is meant to be said again (asking once more, or after a snooze) gets a new one: `reached`
    /// counts how often the person was reached before. It contains no full stop, because Standard Webhooks
    /// signs `id.timestamp.body`.
    pub fn idempotency_key(&self, address: &Address, reached: u32) -> String {
        let mut key = format!("{self}-{}", short_hash(address));
        if reached > 0 {
            key.push_str(&format!("-{reached}"));
        }
        key
    }

    /// The occurrence that a key was made for.
    pub fn of_key(key: &str) -> Option<Self> {
        // A UUID has 36 characters; the run ends at the hash of the address.
        let run_at = 37;
        let end = key.get(run_at..)?.find('-').map_or(key.len(), |end| run_at + end);
        key.get(..end)?.parse().ok()
    }

    /// The key of one attempt: for a platform that is told each try apart, such as a phone call that may be made again.
    pub fn attempt_key(&self, address: &Address, attempt: u32) -> String {
        format!("{self}-{attempt}-{}", short_hash(address))
    }
}

/// Eight hex digits that tell the addresses of one occurrence apart.
fn short_hash(address: &Address) -> String {
    hex(&digest(address)[..4])
}

/// Names an address where it must not be shown: 64 hex digits.
pub fn fingerprint(address: &Address) -> String {
    hex(&digest(address))
}

fn digest(address: &Address) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(address.channel.as_bytes());
    hash.update([0]);
    hash.update(address.address.as_bytes());
    hash.finalize().into()
}

/// Two hex digits for each byte. Every message has two of these in its keys, so the formatter is too slow for it.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |bits: u8| DIGITS[usize::from(bits & 15)];
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

impl fmt::Display for OccurrenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.reminder, self.run)
    }
}

impl fmt::Debug for OccurrenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for OccurrenceId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId(text.to_owned());
        let (reminder, run) = text.rsplit_once('-').ok_or_else(bad)?;
        Ok(Self { reminder: reminder.parse().map_err(|_| bad())?, run: run.parse().map_err(|_| bad())? })
    }
}

/// A text that is no id.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not an id; ids look like 0198c0de-0000-7000-8000-000000000000")]
pub struct BadId(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_creation_and_read_back() {
        let earlier = ReminderId::new(Timestamp::from_second(1).unwrap(), [255; 10]);
        let later = ReminderId::new(Timestamp::from_second(2).unwrap(), [0; 10]);
        assert!(earlier < later);
        assert_eq!(earlier.to_string().parse::<ReminderId>().unwrap(), earlier);
        let occurrence = OccurrenceId { reminder: later, run: 12 };
        assert_eq!(occurrence.to_string().parse::<OccurrenceId>().unwrap(), occurrence);
        assert!("nonsense".parse::<OccurrenceId>().is_err());
    }

    #[test]
    fn what_is_imported_again_has_the_same_id_and_its_place_in_the_order() {
        let (earlier, later) = (Timestamp::from_second(1).unwrap(), Timestamp::from_second(2).unwrap());
        let id = ReminderId::imported("bot", "12", earlier);
        assert_eq!(id, ReminderId::imported("bot", "12", earlier));
        assert_ne!(id, ReminderId::imported("bot", "13", earlier));
        assert_ne!(id, ReminderId::imported("bot1", "2", earlier));
        assert!(id < ReminderId::imported("bot", "11", later));
    }

    #[test]
    fn the_key_differs_by_run_and_by_address_and_by_nothing_else() {
        let reminder = ReminderId::new(Timestamp::from_second(1).unwrap(), [7; 10]);
        let (first, second) = (OccurrenceId { reminder, run: 1 }, OccurrenceId { reminder, run: 2 });
        let (home, work) = (Address::new("webhook", "https://a.example"), Address::new("webhook", "https://b.example"));
        assert_eq!(first.idempotency_key(&home, 0), first.idempotency_key(&home.clone(), 0));
        assert_ne!(first.idempotency_key(&home, 0), first.idempotency_key(&work, 0));
        assert_ne!(first.idempotency_key(&home, 0), second.idempotency_key(&home, 0));
        assert_ne!(first.idempotency_key(&home, 0), first.idempotency_key(&home, 1));
        assert!(!first.idempotency_key(&home, 0).contains('.'));
        for key in [first.idempotency_key(&home, 0), first.idempotency_key(&home, 3), first.attempt_key(&home, 2)] {
            assert_eq!(OccurrenceId::of_key(&key), Some(first), "{key}");
        }
        for other in ["", "x", "0190163d-8694-739b-aea5-966c26f8ad91", "0190163d-8694-739b-aea5-966c26f8ad9é-1-x"] {
            assert_eq!(OccurrenceId::of_key(other), None, "{other}");
        }
    }

    #[test]
    fn the_key_of_an_attempt_differs_by_attempt_and_address() {
        let reminder = ReminderId::new(Timestamp::from_second(1).unwrap(), [7; 10]);
        let occurrence = OccurrenceId { reminder, run: 3 };
        let (home, work) = (Address::new("vapi", "+491"), Address::new("vapi", "+492"));
        let key = occurrence.attempt_key(&home, 2);
        assert_eq!(key, occurrence.attempt_key(&home, 2));
        assert_ne!(key, occurrence.attempt_key(&home, 1));
        assert_ne!(key, occurrence.attempt_key(&work, 2));
        let stable = occurrence.idempotency_key(&home, 0);
        assert_eq!(key, format!("{occurrence}-2-{}", &stable[stable.len() - 8..]), "the same hash of the address");
    }
}
