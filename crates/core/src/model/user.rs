//! The people reminders are for.

use jiff::Timestamp;
use jiff::civil::Time;
use punctual_time::words;

use super::step::{self, Step};
use super::version::Version;
use crate::habits::Habits;
use crate::invalid::{Faults, Invalid};
use crate::phrase::Lang;
use crate::reminder::{ADDRESSES_MAX, Address, TEXT_BYTES_MAX};
use crate::zone::Zone;

/// A person reminders are for.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// The application's name for them.
    pub id: String,
    /// Their zone; without it the server's.
    pub timezone: Option<Zone>,
    /// Their language, such as `de`.
    pub language: Option<String>,
    /// Where they can be reached, in order of preference.
    pub addresses: Vec<Address>,
    /// When they do not want to be disturbed.
    pub quiet_hours: Option<QuietHours>,
    /// Until when nothing at all is sent to them.
    pub paused_until: Option<Timestamp>,
    /// Who is asked when they do not answer a reminder that has no plan of its own.
    pub escalate: Vec<Step>,
    /// What they mean by words that leave something open.
    pub habits: Habits,
    /// Whether they are told when a critical reminder fails.
    pub admin: bool,
    /// When the entry was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

impl User {
    /// Its version: every time that their entry is written makes it another.
    pub fn version(&self) -> Version {
        Version::of(self)
    }

    /// Whether `other` may be disturbed at other times: a run that waits for the one would not wait for the other.
    pub fn is_disturbed_unlike(&self, other: &Self) -> bool {
        (&self.timezone, &self.quiet_hours, &self.paused_until)
            != (&other.timezone, &other.quiet_hours, &other.paused_until)
    }

    /// Checks what the types cannot: lengths and emptiness.
    pub fn validate(&self) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        if self.id.is_empty() || self.id.len() > 256 {
            faults.add(Invalid::new("user", "must be 1 to 256 bytes long"));
        }
        if self.addresses.len() > ADDRESSES_MAX {
            let problem = format!("has {} entries; at most {ADDRESSES_MAX}", self.addresses.len());
            faults.add(Invalid::new("addresses", problem));
        }
        for (index, address) in self.addresses.iter().enumerate().take(ADDRESSES_MAX) {
            if address.channel.is_empty() {
                let problem = "is empty; name a channel such as webhook";
                faults.add(Invalid::new(format!("addresses[{index}].channel"), problem));
            }
            if address.address.len() > TEXT_BYTES_MAX {
                let problem = format!("is longer than {TEXT_BYTES_MAX} bytes");
                faults.add(Invalid::new(format!("addresses[{index}].address"), problem));
            }
        }
        if let Some(quiet) = &self.quiet_hours
            && quiet.from == quiet.to
        {
            faults.add(Invalid::new("quiet_hours", "begins and ends at the same time; leave it out for none"));
        }
        faults.note(step::check("escalate", &self.escalate));
        if self.language.as_ref().is_some_and(|language| language.is_empty() || language.len() > 16) {
            faults.add(Invalid::new("language", "must be a short code such as en, de or hr"));
        }
        faults.finish()
    }
}

/// A stretch of local time, every day; it may pass midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    /// When it begins.
    pub from: Time,
    /// When it ends; at this time they may be disturbed again.
    pub to: Time,
    /// The priorities that may disturb them all the same.
    pub except: Except,
    /// Whether runs that waited go out in one message at the end.
    pub digest: bool,
}

/// The priorities that quiet hours do not hold back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Except {
    /// `critical` alone.
    #[default]
    Critical,
    /// `high`, and `critical`.
    High,
}

words!(Except as "except" { "critical" => Critical, "high" => High });

/// The part of a user that decides how and when they are told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Person {
    /// Their language, if it is one that is spoken here.
    pub language: Option<Lang>,
    /// Their zone.
    pub timezone: Option<Zone>,
    /// When they do not want to be disturbed.
    pub quiet: Option<QuietHours>,
    /// Until when nothing at all is sent to them.
    pub paused_until: Option<Timestamp>,
    /// Who is asked when they do not answer.
    pub escalate: Vec<Step>,
}
