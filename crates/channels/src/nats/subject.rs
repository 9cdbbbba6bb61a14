//! Which subjects a reminder may go to.

use punctual_core::channel::AddressRule;

use crate::common::pattern::beyond_ascii;

/// How long a subject may be, in bytes.
const BYTES_MAX: usize = 255;

/// Says what is wrong with `subject`, if anything is.
///
/// Subjects that begin with `$` or `_` are the server's own: a message to `$JS.API.STREAM.DELETE.ORDERS` deletes a stream, so a caller who may
/// choose an address must not be able to choose that.
pub(super) fn check(subject: &str) -> Result<(), String> {
    if subject.is_empty() {
        return Err("is empty; write a subject such as game.reminder_due".into());
    }
    if subject.len() > BYTES_MAX {
        return Err(format!("is longer than {BYTES_MAX} bytes"));
    }
    if subject.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return Err("has a space or a control character, which no subject can have".into());
    }
    if subject.contains(['*', '>']) {
        return Err("has a wildcard; a message goes to one subject, such as game.reminder_due".into());
    }
    if subject.split('.').any(str::is_empty) {
        return Err("has an empty part; write parts with one dot between, such as game.reminder_due".into());
    }
    if subject.starts_with(['$', '_']) {
        return Err("begins with $ or _, which are the server's own subjects".into());
    }
    Ok(())
}

/// The same rule for a database; where the address is not `used`, there may be none.
pub(super) fn rule(used: bool) -> AddressRule {
    let blanks = beyond_ascii(|character| character.is_whitespace() || character.is_control());
    let part = format!(r"[^\u0001-\u0020\u007F{blanks}*>.]+");
    let subject = format!(r"(?![$_]){part}(\.{part})*");
    let pattern = if used { format!("^{subject}$") } else { format!("^({subject})?$") };
    let problem = format!(
        "is no subject that a message can go to; write up to {BYTES_MAX} bytes without spaces and wildcards such as game.reminder_due"
    );
    AddressRule::Text { pattern, bytes_max: BYTES_MAX, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_and_bad_subjects() {
        for good in ["a", "game.reminder_due", "a.b.c-d.E_f", "päckchen.da", "a.$b._c", &"x".repeat(255)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", " ", "a b", "a\r\nPUB x 0", "a\tb", ".", ".a", "a.", "a..b", "*", "a.*", "a.>", ">"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        for server in ["$JS.API.STREAM.DELETE.ORDERS", "$SYS.x", "_INBOX.x", "$KV.b.k"] {
            assert!(check(server).unwrap_err().contains("server's own"), "{server}");
        }
        assert!(check(&"x".repeat(256)).is_err());
    }
}
