//! Decides whether a person may answer a run.

use crate::channel::receive::Sender;
use crate::occurrence::Attempt;

/// Whether somebody at a platform may answer a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Yes, it is this user.
    User(String),
    /// Yes: the message was for everybody in the chat, and no user has this person's address.
    InGroup,
    /// No, it is another user.
    Stranger,
    /// No, and no user has this person's address.
    Unknown,
}

/// Whether `sender`, on `channel`, may answer a run of `user`'s with these attempts. `known` are the users who have one of the sender's
/// own addresses.
///
/// The reminder's own person may; so may a person who has the address that a message of the run went to; and, where it went to a group's
/// chat without calling one person, everybody in that chat.
pub fn may_answer(sender: &Sender, channel: &str, user: &str, attempts: &[Attempt], known: &[String]) -> Verdict {
    if known.iter().any(|known| known == user) {
        return Verdict::User(user.to_owned());
    }
    let went_to = |addresses: &[String]| {
        attempts.iter().any(|attempt| attempt.channel == channel && addresses.contains(&attempt.address))
    };
    if went_to(&sender.person) {
        return Verdict::User(known.first().map_or(user, String::as_str).to_owned());
    }
    if sender.is_group && went_to(&sender.chat) {
        return known.first().map_or(Verdict::InGroup, |known| Verdict::User(known.clone()));
    }
    if known.is_empty() { Verdict::Unknown } else { Verdict::Stranger }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::at;
    use crate::occurrence::AttemptStatus;

    fn sent_to(channel: &str, address: &str) -> Attempt {
        Attempt {
            number: 1,
            channel: channel.into(),
            address: address.into(),
            status: AttemptStatus::Sent,
            started_at: at(0),
            ended_at: Some(at(1)),
            error: None,
            message_id: None,
            key: None,
        }
    }

    /// Bob's press in `chat`, for a run of Alice's that went to `address`.
    fn check(address: &str, chat: &str, is_group: bool, known: &[&str], expect: Verdict) {
        let sender = Sender {
            person: vec!["22".into(), format!("{chat}@22")],
            chat: vec![chat.into()],
            is_group,
            name: "Bob".into(),
        };
        let known: Vec<String> = known.iter().map(|user| (*user).to_owned()).collect();
        let attempts = [sent_to("email", "a@example.org"), sent_to("chat", address)];
        let verdict = may_answer(&sender, "chat", "alice", &attempts, &known);
        assert_eq!(verdict, expect, "sent to {address}, pressed in {chat}, known as {known:?}");
    }

    fn user(name: &str) -> Verdict {
        Verdict::User(name.into())
    }

    #[test]
    fn the_person_may_whom_the_reminder_is_for() {
        check("11", "22", false, &["alice"], user("alice"));
        check("11", "22", false, &["bob", "alice"], user("alice"));
    }

    #[test]
    fn whoever_has_the_address_may_also_without_an_entry() {
        check("22", "22", false, &[], user("alice"));
        check("22", "22", false, &["bob"], user("bob"));
        check("-7@22", "-7", true, &[], user("alice"));
    }

    #[test]
    fn everybody_in_a_group_may_where_the_group_was_asked() {
        check("-7", "-7", true, &[], Verdict::InGroup);
        check("-7", "-7", true, &["bob"], user("bob"));
    }

    #[test]
    fn others_may_not() {
        check("11", "22", false, &["bob"], Verdict::Stranger);
        check("11", "22", false, &[], Verdict::Unknown);
        // In a group where one person was called, only that person is meant.
        check("-7@11", "-7", true, &["bob"], Verdict::Stranger);
        check("-7@11", "-7", true, &[], Verdict::Unknown);
        // The chat is another's own, whatever its number.
        check("-7", "-7", false, &[], Verdict::Unknown);
        check("-7", "-8", true, &[], Verdict::Unknown);
    }

    #[test]
    fn an_address_of_another_channel_says_nothing() {
        let sender = Sender { person: vec!["22".into()], chat: vec!["22".into()], is_group: true, name: String::new() };
        let attempts = [sent_to("other", "22")];
        assert_eq!(may_answer(&sender, "chat", "alice", &attempts, &[]), Verdict::Unknown);
    }
}
