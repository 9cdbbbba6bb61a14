//! The subscriptions of the config file: which applications are told what.
//!
//! ```toml
//! [[subscriptions]]
//! kinds = ["reminder.failed", "reminder.acknowledged"]
//! to = "webhook:https://app.example/hooks"
//! ```

use punctual_core::id::fingerprint;
use punctual_core::invalid::Invalid;
use punctual_core::journal::Kind;
use punctual_core::reminder::Address;
use punctual_core::tag;
use punctual_core::words::Words;
use punctual_engine::Subscription;
use toml::{Table, Value};

use super::ConfigError;
use super::keys::nearest;
use super::layers::kind;

/// What can be said of a subscription.
const FIELDS: [&str; 5] = ["name", "kinds", "user", "tag", "to"];
/// How long a name may be.
const NAME_BYTES_MAX: usize = 64;

/// Reads the file's `subscriptions`, in their order.
pub(super) fn read(value: Option<&Value>) -> Result<Vec<Subscription>, ConfigError> {
    let tables = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(tables)) => tables,
        Some(other) => {
            let problem = format!("must be tables, each under [[subscriptions]], not {}", kind(other));
            return Err(ConfigError(format!("subscriptions: {problem}")));
        }
    };
    let mut subscriptions: Vec<Subscription> = Vec::new();
    for (index, value) in tables.iter().enumerate() {
        let at = |field: &str, problem: String| ConfigError(format!("subscriptions[{index}]{field}: {problem}"));
        let Value::Table(table) = value else {
            return Err(at("", format!("must be a table under [[subscriptions]], not {}", kind(value))));
        };
        let subscription = one(table).map_err(|Invalid { field, problem, .. }| at(&format!(".{field}"), problem))?;
        if subscriptions.iter().any(|other| other.name == subscription.name) {
            let problem = "another subscription has the same name, under which it is kept how far each was told; give each its own";
            return Err(at(".name", problem.to_owned()));
        }
        subscriptions.push(subscription);
    }
    Ok(subscriptions)
}

fn one(table: &Table) -> Result<Subscription, Invalid> {
    if let Some(unknown) = table.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        let hint = match nearest(unknown, FIELDS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", FIELDS.join(", ")),
        };
        return Err(Invalid::new(unknown, format!("is no setting of a subscription; {hint}")));
    }
    let to = to(table)?;
    let users =
        texts(table, "user", "write a user such as \"alice\", or several in a list; leave it out for everybody")?;
    let kinds = kinds(table)?;
    let tag = tag(table)?;
    let name = name(table, &to, &users, tag.as_deref())?;
    Ok(Subscription { name, kinds, users, tag, to })
}

fn to(table: &Table) -> Result<Address, Invalid> {
    let right = "write CHANNEL:ADDRESS, such as webhook:https://app.example/hooks";
    match table.get("to") {
        // The error does not repeat the address: it may be a secret.
        Some(Value::String(text)) => text.parse().map_err(|_| Invalid::new("to", format!("is no address; {right}"))),
        Some(other) => Err(Invalid::new("to", format!("must be a text, not {}; {right}", kind(other)))),
        None => Err(Invalid::new("to", format!("is missing; {right}"))),
    }
}

fn tag(table: &Table) -> Result<Option<String>, Invalid> {
    match table.get("tag") {
        None => Ok(None),
        Some(Value::String(text)) => tag::check_one("tag", text).map(|()| Some(tag::one(text))),
        Some(other) => Err(Invalid::new("tag", format!("must be a text such as \"health\", not {}", kind(other)))),
    }
}

fn kinds(table: &Table) -> Result<Vec<Kind>, Invalid> {
    let right = "write a list such as [\"reminder.failed\", \"reminder.acknowledged\"]; leave it out for all results of reminders";
    let words = texts(table, "kinds", right)?;
    if words.is_empty() && !table.contains_key("kinds") {
        return Ok(Subscription::RESULTS.to_vec());
    }
    let known = |word: &String| {
        word.parse().map_err(|invalid: Invalid| match nearest(word, Kind::WORDS.iter().copied()) {
            Some(near) => Invalid::new("kinds", format!("`{word}` is no kind of entry; did you mean `{near}`?")),
            None => Invalid::new("kinds", invalid.problem),
        })
    };
    words.iter().map(known).collect()
}

/// The name under which it is kept how far the receiver was told. The address is not shown in it: it may be a secret.
fn name(table: &Table, to: &Address, users: &[String], tag: Option<&str>) -> Result<String, Invalid> {
    let name = match table.get("name") {
        Some(Value::String(name)) => name,
        Some(other) => return Err(Invalid::new("name", format!("must be a text, not {}", kind(other)))),
        None => {
            let about = tag.map(|tag| format!("\n\n{tag}")).unwrap_or_default();
            let whose = Address::new(to.channel.clone(), format!("{}\n{}{about}", to.address, users.join("\n")));
            return Ok(format!("{}-{}", to.channel, &fingerprint(&whose)[..8]));
        }
    };
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
        let problem =
            format!("`{name}` is no name; it has 1 to {NAME_BYTES_MAX} small letters, digits, -, _ and full stops");
        return Err(Invalid::new("name", problem));
    }
    Ok(name.clone())
}

/// A text, or several in a list; none where the field is left out.
fn texts(table: &Table, field: &str, right: &str) -> Result<Vec<String>, Invalid> {
    let wrong = |problem: String| Invalid::new(field, format!("{problem}; {right}"));
    let values = match table.get(field) {
        None => return Ok(Vec::new()),
        Some(Value::Array(values)) if values.is_empty() => return Err(wrong("is empty".into())),
        Some(Value::Array(values)) => values.clone(),
        Some(value) => vec![value.clone()],
    };
    let text = |value: Value| match value {
        Value::String(text) if text.is_empty() => Err(wrong("has an empty text".into())),
        Value::String(text) => Ok(text),
        other => Err(wrong(format!("must be texts, not {}", kind(&other)))),
    };
    values.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(file: &str) -> Result<Vec<Subscription>, String> {
        let table: Table = file.parse().unwrap();
        read(table.get("subscriptions")).map_err(|error| error.0)
    }

    #[test]
    fn a_subscription_says_what_whose_and_where() {
        let file = "
            [[subscriptions]]
            to = 'webhook:https://app.example/hook?token=hush'
            [[subscriptions]]
            name = 'app.ann'
            kinds = ['user.changed', 'key.created']
            user = ['ann', 'bob']
            to = 'bus:results'
            [[subscriptions]]
            user = 'ann'
            to = 'webhook:https://app.example/hook?token=hush'
            [[subscriptions]]
            user = 'ann'
            tag = ' Health'
            to = 'webhook:https://app.example/hook?token=hush'";
        let [all, some, ann, health] = from(file).unwrap().try_into().unwrap();
        assert_eq!(all.kinds, Subscription::RESULTS, "the results of reminders, unless it says otherwise");
        assert_eq!((&all.users[..], all.to.address.as_str()), (&[][..], "https://app.example/hook?token=hush"));
        assert!(all.name.starts_with("webhook-") && !all.name.contains("hush") && all.name != ann.name, "{}", all.name);
        assert_eq!(some.name, "app.ann");
        assert_eq!(some.kinds, [Kind::UserChanged, Kind::KeyCreated]);
        assert_eq!((some.users, some.to), (vec!["ann".into(), "bob".into()], Address::new("bus", "results")));
        assert_eq!((ann.users, ann.tag), (vec!["ann".to_owned()], None));
        assert_eq!(health.tag.as_deref(), Some("health"), "as tags are kept");
        assert!(health.name != ann.name, "each has a place of its own");
        assert_eq!(from("").unwrap(), []);
    }

    #[test]
    fn a_wrong_setting_is_refused_with_what_would_be_right() {
        let hook = "to = 'webhook:https://hush.example'";
        for (file, words) in [
            ("subscriptions = 'x'", &["subscriptions: must be tables", "[[subscriptions]]"][..]),
            ("subscriptions = ['x']", &["subscriptions[0]: must be a table"]),
            ("[[subscriptions]]", &["subscriptions[0].to: is missing", "webhook:https://app.example/hooks"]),
            ("[[subscriptions]]\nto = 3", &["subscriptions[0].to: must be a text, not a number"]),
            (&format!("[[subscriptions]]\n{hook}\nkind = ['x']"), &[".kind: is no setting", "did you mean `kinds`"]),
            (
                &format!("[[subscriptions]]\n{hook}\nkinds = ['reminder.send']"),
                &[".kinds:", "`reminder.send`", "`reminder.sent`"],
            ),
            (&format!("[[subscriptions]]\n{hook}\nkinds = ['z']"), &[".kinds:", "`z` is not one of reminder.created"]),
            (&format!("[[subscriptions]]\n{hook}\nkinds = []"), &[".kinds: is empty", "leave it out"]),
            (&format!("[[subscriptions]]\n{hook}\nuser = ''"), &[".user: has an empty text", "everybody"]),
            (&format!("[[subscriptions]]\n{hook}\nuser = 7"), &[".user: must be texts, not a number"]),
            (&format!("[[subscriptions]]\n{hook}\ntag = 'a,b'"), &[".tag: has a comma", "health"]),
            (&format!("[[subscriptions]]\n{hook}\ntag = 7"), &[".tag: must be a text", "not a number"]),
            (&format!("[[subscriptions]]\n{hook}\nname = 'A b'"), &[".name: `A b` is no name"]),
            (
                &format!("[[subscriptions]]\n{hook}\n[[subscriptions]]\n{hook}"),
                &["subscriptions[1].name: another subscription"],
            ),
        ] {
            let error = from(file).unwrap_err();
            for word in words {
                assert!(error.contains(word), "{file}: {error}");
            }
            assert!(!error.contains("hush"), "{error}");
        }
    }
}
