//! The arguments of a tool call, as models really write them, turned into one call.
//!
//! A model that follows the schema is understood as it is. Weaker models put the fields of a schedule beside `action` instead of into `schedule`,
//! write numbers, truth values, lists and objects as text, name days by numbers, and use other names for fields. All of that is understood here,
//! where it can mean only one thing; what could mean two is refused with a sentence that says what to write.

/// What a call asks for.
mod call;

/// Values read as the kind that a field wants.
mod coerce;

/// Days of the week.
mod days;

/// Names of fields, and other names for them.
mod names;

/// When: nested or flat.
mod schedule;

#[cfg(test)]
mod tests;

use punctual_core::invalid::Invalid;
use serde_json::{Map, Value};

pub(super) use self::call::{Action, Asked, Call, List, New, Verb, When};
use self::names::Fields;

/// The action of `arguments`, also where the rest of them is wrong.
pub(super) fn action_of(arguments: &Map<String, Value>) -> Option<Action> {
    let (_, word) = arguments.iter().find(|(name, _)| names::canonical(name) == Some("action"))?;
    Action::of(&word.as_str()?.trim().to_lowercase())
}

/// Reads the arguments of a call. `only`: the tool does nothing else.
pub(super) fn read(arguments: Map<String, Value>, only: Option<Action>) -> Result<Asked, Invalid> {
    let mut fields = Fields::of(arguments)?;
    let action = match (fields.text("action")?, only) {
        (_, Some(only)) => only,
        (Some(word), None) => Action::of(&word.trim().to_lowercase()).ok_or_else(|| unknown_action(&word))?,
        (None, None) => {
            let all = Action::ALL.map(Action::word).join(", ");
            return Err(Invalid::new("action", format!("is missing; say one of {all}")));
        }
    };
    let user = fields.text("user")?;
    let call = match action {
        Action::Add => add(&mut fields)?,
        Action::List => list(&mut fields)?,
        Action::Update => update(&mut fields)?,
        Action::Remove => Call::Remove { which: needed(which(&mut fields)?, action)? },
        Action::Snooze => snooze(&mut fields)?,
        Action::Ack => answer(&mut fields, Verb::Ack)?,
        Action::Dismiss => answer(&mut fields, Verb::Dismiss)?,
    };
    fields.refuse_rest(action.word())?;
    Ok(Asked { user, call })
}

fn unknown_action(word: &str) -> Invalid {
    let words = Action::ALL.map(Action::word);
    let hint = match crate::config::keys::nearest(word, words) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("say one of {}", words.join(", ")),
    };
    Invalid::new("action", format!("`{word}` is no action; {hint}"))
}

fn add(fields: &mut Fields) -> Result<Call, Invalid> {
    let mut new = new(fields)?;
    if new.fields.get("message").is_none() && new.when.is_some() {
        // The time is said elsewhere, so the words are what to be reminded of.
        if let Some(text) = new.text.take() {
            new.fields.insert("message".into(), text.into());
        }
    }
    let has_message = new.fields.contains_key("message");
    match (&new.text, &new.when) {
        // The person's own words beside what was made of them.
        (Some(_), Some(_)) => {
            let text = new.text.take().map(Value::from).unwrap_or_default();
            new.fields.entry("original_text").or_insert(text);
        }
        (None, None) if has_message => {
            let problem = "is missing: say when, as \"schedule\":{\"type\":\"once\",\"at\":\"5m\"}, or put it all into one sentence as \
                           \"text\":\"call mom tomorrow at 8\"";
            return Err(Invalid::new("schedule", problem));
        }
        (None, Some(_)) if !has_message => {
            return Err(Invalid::new(
                "message",
                "is missing; say what to be reminded of, such as \"Take your medicine\"",
            ));
        }
        (None, None) => {
            let problem =
                "is missing: write a sentence such as \"call mom tomorrow at 8\", or `message` and `schedule`";
            return Err(Invalid::new("text", problem));
        }
        _ => {}
    }
    Ok(Call::Add(new))
}

fn update(fields: &mut Fields) -> Result<Call, Invalid> {
    let paused = match (fields.truth("paused")?, fields.truth("enabled")?) {
        (Some(paused), Some(enabled)) if paused == enabled => {
            return Err(Invalid::new("enabled", "contradicts `paused`; leave one of them out"));
        }
        (Some(paused), _) => Some(paused),
        (None, enabled) => enabled.map(|enabled| !enabled),
    };
    // A name beside an id is the new name; alone it says which one is meant.
    let id = match fields.text("job_id")? {
        Some(id) => Some(id),
        None => fields.text("name")?,
    };
    let which = needed(id, Action::Update)?;
    let change = new(fields)?;
    if change == New::default() && paused.is_none() {
        let problem =
            "is all there is: say also what to change, such as \"schedule\", \"message\", \"priority\" or \"paused\"";
        return Err(Invalid::new("job_id", problem));
    }
    Ok(Call::Update { which, change, paused })
}

/// The fields of a reminder.
fn new(fields: &mut Fields) -> Result<New, Invalid> {
    let mut new = New { when: schedule::read(fields)?, ..New::default() };
    new.text = fields.text("text")?;
    for name in ["message", "name", "timezone", "lang", "ack_prompt", "ack_timeout", "original_text", "on_unknown"] {
        if let Some(text) = fields.text(name)? {
            new.fields.insert(name.into(), text.into());
        }
    }
    if let Some(word) = fields.text("priority")? {
        let word = match word.trim().to_lowercase().as_str() {
            "medium" | "default" | "standard" => "normal".to_owned(),
            "urgent" | "emergency" => "critical".to_owned(),
            other => other.to_owned(),
        };
        new.fields.insert("priority".into(), word.into());
    }
    for name in ["require_ack", "snooze_allowed", "only"] {
        if let Some(truth) = fields.truth(name)? {
            new.fields.insert(name.into(), truth.into());
        }
    }
    for name in ["max_ack_reminders", "max_retries"] {
        if let Some(number) = fields.number(name)? {
            new.fields.insert(name.into(), number.into());
        }
    }
    if let Some(tags) = fields.texts("tags")? {
        new.fields.insert("tags".into(), tags.into());
    }
    if let Some(object) = fields.object("metadata")? {
        new.fields.insert("metadata".into(), object.into());
    }
    for name in ["escalate", "misfire"] {
        if let Some(value) = fields.any(name) {
            new.fields.insert(name.into(), value);
        }
    }
    if let Some(to) = addresses(fields)? {
        new.fields.insert("to".into(), to);
    }
    Ok(new)
}

/// Where to send: a list, one address, or a channel and an address beside each other.
fn addresses(fields: &mut Fields) -> Result<Option<Value>, Invalid> {
    let to = match fields.any("to") {
        Some(Value::Array(list)) => Some(Value::Array(list)),
        Some(one @ (Value::String(_) | Value::Object(_))) => Some(Value::Array(vec![one])),
        None => None,
        Some(_) => {
            let example = r#"write [{"channel":"webhook","address":"https://example.org/hook"}], or leave it out"#;
            return Err(Invalid::new("to", format!("is no list of addresses; {example}")));
        }
    };
    let (channel, address) = (fields.text("channel")?, fields.text("address")?);
    match (to, channel, address) {
        (Some(_), Some(_), _) => Err(Invalid::new("channel", "says the same as `to`; leave one of them out")),
        (to, Some(channel), address) if channel.contains(':') && address.is_none() => {
            Ok(to.or_else(|| Some(Value::Array(vec![channel.into()]))))
        }
        (None, Some(channel), Some(address)) => {
            Ok(Some(serde_json::json!([{ "channel": channel, "address": address }])))
        }
        (None, Some(channel), None) => {
            let problem = format!(
                "names no address; leave it out to use the user's own addresses, or write \"to\":[{{\"channel\":\"{channel}\",\"address\":\"…\"}}]"
            );
            Err(Invalid::new("channel", problem))
        }
        (_, None, Some(_)) => {
            Err(Invalid::new("address", "has no `channel`; name it, such as \"channel\":\"webhook\""))
        }
        (to, None, None) => Ok(to),
    }
}

fn list(fields: &mut Fields) -> Result<Call, Invalid> {
    let mut list = List {
        words: fields.text("q")?,
        status: fields.text("status")?.map(|word| word.trim().to_lowercase()),
        from: fields.text("from")?,
        to: fields.text("to")?,
        tag: fields.texts("tags")?.and_then(|tags| tags.into_iter().next()),
        limit: fields.number("limit")?,
        cursor: fields.text("cursor")?,
    };
    // A day that is named once is both ends.
    for name in ["when", "date", "at"] {
        if let Some(day) = fields.text(name)? {
            list.from.get_or_insert(day.clone());
            list.to.get_or_insert(day);
        }
    }
    for name in ["job_id", "name", "message", "text"] {
        if let Some(words) = fields.text(name)? {
            list.words.get_or_insert(words);
        }
    }
    Ok(Call::List(list))
}

fn snooze(fields: &mut Fields) -> Result<Call, Invalid> {
    let mut call = Map::new();
    match fields.any("snooze_minutes") {
        None => {}
        Some(value) => match coerce::number("snooze_minutes", &value) {
            Ok(minutes) => drop(call.insert("minutes".into(), minutes.into())),
            // Words such as `an hour`.
            Err(invalid) => match value {
                Value::String(words) if words.chars().any(char::is_alphabetic) => {
                    drop(call.insert("until".into(), words.into()));
                }
                _ => return Err(invalid),
            },
        },
    }
    let again = |name: &str| Invalid::new(name, "says again how long; leave it out, or leave `snooze_minutes` out");
    for (name, factor) in [("interval_minutes", 1), ("interval_hours", 60)] {
        // A zero was only filled in.
        let Some(number) = fields.number(name)?.filter(|number| *number > 0) else { continue };
        if !call.is_empty() {
            return Err(again(name));
        }
        call.insert("minutes".into(), number.saturating_mul(factor).into());
    }
    for name in ["until", "at", "when", "time", "every", "in"] {
        let Some(mut until) = fields.text(name)? else { continue };
        if !call.is_empty() {
            return Err(again(name));
        }
        if name == "in" {
            until = in_a_while(&until);
        }
        call.insert("until".into(), until.into());
    }
    let Call::Answer { which, answer, .. } = answer(fields, Verb::Snooze)? else {
        return Err(Invalid::new("action", "is no snooze"));
    };
    call.extend(answer);
    Ok(Call::Answer { verb: Verb::Snooze, which, answer: call })
}

/// A span as it follows the word `in`.
fn in_a_while(span: &str) -> String {
    let span = span.trim();
    match span.to_lowercase().starts_with("in ") {
        true => span.to_owned(),
        false => format!("in {span}"),
    }
}

fn answer(fields: &mut Fields, verb: Verb) -> Result<Call, Invalid> {
    let mut answer = Map::new();
    if let Some(run) = fields.number("run")? {
        answer.insert("run".into(), run.into());
    }
    let id = fields.text("job_id")?;
    // Beside an id, the text is what the person said.
    let which = match id {
        Some(id) => {
            if let Some(words) = fields.text("text")? {
                answer.insert("text".into(), words.into());
            }
            Some(id)
        }
        None => which(fields)?,
    };
    Ok(Call::Answer { verb, which, answer })
}

/// The reminder that is meant, by whatever names it.
fn which(fields: &mut Fields) -> Result<Option<String>, Invalid> {
    for name in ["job_id", "name", "message", "q", "text"] {
        if let Some(text) = fields.text(name)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

fn needed(which: Option<String>, action: Action) -> Result<String, Invalid> {
    let action = action.word();
    which.ok_or_else(|| {
        Invalid::new(
            "job_id",
            format!("is missing; say which reminder to {action}: its id, its name or a part of its message"),
        )
    })
}
