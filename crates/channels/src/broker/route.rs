//! Where in the broker a message goes: a text with fields such as `{address}`.

use punctual_core::channel::Message;
use punctual_core::invalid::Invalid;

/// What may stand between braces.
const FIELDS: [&str; 5] = ["address", "user", "priority", "reminder_id", "channel"];

/// Refuses a template with a field that does not exist or a brace that does not close.
pub(crate) fn check(setting: &str, template: &str) -> Result<(), Invalid> {
    walk(template, |_| Some(String::new())).map(drop).map_err(|problem| Invalid::new(setting, problem))
}

/// Whether `template` asks for `field`.
pub(crate) fn uses(template: &str, field: &str) -> bool {
    template.contains(&format!("{{{field}}}"))
}

/// `template` with the fields of `message`.
pub(crate) fn fill(template: &str, message: &Message) -> String {
    let value = |field: &str| {
        Some(match field {
            "address" => message.to.address.clone(),
            "user" => message.reminder.user.clone(),
            "priority" => message.reminder.priority.as_str().to_owned(),
            "reminder_id" => message.reminder.id.to_string(),
            _ => message.to.channel.clone(),
        })
    };
    // It was checked when the channel was made.
    walk(template, value).unwrap_or_default()
}

fn walk(template: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((field, after)) = after.split_once('}') else {
            return Err("has a { that is not closed".into());
        };
        let known = FIELDS.contains(&field).then(|| value(field)).flatten();
        let Some(value) = known else {
            return Err(format!("has no field {{{field}}}; there are {{{}}}", FIELDS.join("}, {")));
        };
        text.push_str(&value);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn fields_are_filled_and_wrong_ones_refused() {
        let message = sample::message("games");
        assert_eq!(fill("{address}", &message), "games");
        assert_eq!(fill("x.{address}.{user}.{priority}!", &message), "x.games.alice.high!");
        assert_eq!(fill("game.reminder_due", &message), "game.reminder_due");
        assert!(check("subject", "a.{channel}.{reminder_id}").is_ok());
        let invalid = check("subject", "a.{adress}").unwrap_err();
        assert!(invalid.to_string().contains("{adress}") && invalid.to_string().contains("{address}"), "{invalid}");
        assert!(check("subject", "a.{address").is_err());
        assert!(uses("a.{address}", "address") && !uses("a.address", "address"));
    }
}
