//! The channels of the config file and the environment.
//!
//! ```toml
//! [channels.mybot]
//! kind = "telegram"
//! token_file = "/run/secrets/telegram"
//! ```
//!
//! The same from the environment: `PUNCTUAL_CHANNEL_MYBOT_KIND=telegram` and `PUNCTUAL_CHANNEL_MYBOT_TOKEN=…`. A variable beats the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use toml::Value;

use super::ConfigError;
use super::layers::kind;

/// Every variable of a channel begins with this.
pub(super) const PREFIX: &str = "PUNCTUAL_CHANNEL_";
/// Names that there are without any setting.
const BUILT_IN: [&str; 3] = ["console", "webhook", "webpush"];

/// A channel as it was asked for.
#[derive(Clone)]
pub(crate) struct ChannelConfig {
    /// The name that reminders call it by.
    pub(crate) name: String,
    /// Its kind, such as `telegram`.
    pub(crate) kind: String,
    /// Whether people can make, list and cancel reminders by writing to it.
    pub(crate) commands: bool,
    /// The settings of that kind, secrets among them.
    pub(crate) fields: BTreeMap<String, String>,
}

impl fmt::Debug for ChannelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<_> = self.fields.keys().collect();
        f.debug_struct("ChannelConfig")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("fields", &fields)
            .finish()
    }
}

/// Reads the channels of the file's `channels` table and of `variables`, in the order of their names.
pub(super) fn read(
    table: Option<&Value>,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<ChannelConfig>, ConfigError> {
    let mut channels: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    match table {
        None => {}
        Some(Value::Table(table)) => {
            for (name, value) in table {
                channels.insert(name.clone(), of_file(name, value)?);
            }
        }
        Some(other) => {
            return Err(ConfigError(format!("channels: must be tables such as [channels.mybot], not {}", kind(other))));
        }
    }
    let variables: BTreeMap<String, String> = variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?.to_lowercase(), value)))
        .collect();
    let of_variables = variables.keys().filter_map(|rest| rest.strip_suffix("_kind")).map(str::to_owned);
    let names: BTreeSet<String> = channels.keys().cloned().chain(of_variables).collect();
    let mut of_environment: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (rest, value) in variables {
        // A name may have an underline in it, and so may another: the longest that fits is meant.
        let spelt =
            |name: &&String| rest.strip_prefix(&name.replace('-', "_")).is_some_and(|field| field.starts_with('_'));
        let Some(name) = names.iter().filter(spelt).max_by_key(|name| name.len()) else {
            let variable = format!("{PREFIX}{}", rest.to_uppercase());
            return Err(ConfigError(format!(
                "{variable}: there is no such channel; {PREFIX}NAME_KIND makes one, or [channels.NAME] in the config file"
            )));
        };
        let field = rest[name.len() + 1..].to_owned();
        of_environment.entry(name.clone()).or_default().insert(field, value);
    }
    for (name, fields) in of_environment {
        let of_file = channels.entry(name).or_default();
        // A secret and the file that holds it are the same setting.
        of_file.retain(|known, _| {
            let other = known.strip_suffix("_file").map_or_else(|| format!("{known}_file"), str::to_owned);
            !fields.contains_key(&other)
        });
        of_file.extend(fields);
    }
    channels.into_iter().map(|(name, fields)| channel(name, fields)).collect()
}

fn of_file(name: &str, value: &Value) -> Result<BTreeMap<String, String>, ConfigError> {
    let Value::Table(fields) = value else {
        return Err(ConfigError(format!("channels.{name}: must be a table with a kind, not {}", kind(value))));
    };
    let text = |(field, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(yes) => yes.to_string(),
            other => {
                let problem = format!("must be a text, a number, or true or false, not {}", kind(other));
                return Err(ConfigError(format!("channels.{name}.{field}: {problem}")));
            }
        };
        Ok((field.clone(), text))
    };
    fields.iter().map(text).collect()
}

fn channel(name: String, mut fields: BTreeMap<String, String>) -> Result<ChannelConfig, ConfigError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let begins = name.chars().next().is_some_and(|c| c.is_ascii_lowercase());
    if !begins || name.len() > 32 || !name.chars().all(is_plain) {
        return Err(ConfigError(format!(
            "channels.{name}: a name has up to 32 small letters, digits, - and _, and begins with a letter"
        )));
    }
    if BUILT_IN.contains(&name.as_str()) {
        return Err(ConfigError(format!("channels.{name}: is there already; give it a name of its own")));
    }
    let commands = match fields.remove("commands").as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(other) => {
            return Err(ConfigError(format!("channels.{name}.commands: `{other}` is neither true nor false")));
        }
    };
    match fields.remove("kind") {
        Some(kind) => Ok(ChannelConfig { name, kind, commands, fields }),
        None => {
            let known = punctual_channels::setup::kinds().collect::<Vec<_>>().join(", ");
            Err(ConfigError(format!("channels.{name}.kind: is missing; write one of {known}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(file: &str, variables: &[(&str, &str)]) -> Result<Vec<ChannelConfig>, String> {
        let table: toml::Table = file.parse().unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        read(table.get("channels"), variables).map_err(|error| error.0)
    }

    #[test]
    fn a_channel_comes_from_the_file_or_from_variables_and_variables_win() {
        let file = "[channels.my-bot]\nkind = 'discord'\ntoken = 'old'\nconcurrency = 4\n[channels.my]\nkind = 'ntfy'";
        let variables = [
            ("PUNCTUAL_CHANNEL_MY_BOT_TOKEN", "new"),
            ("PUNCTUAL_CHANNEL_MY_URL", "https://ntfy.example"),
            ("PUNCTUAL_CHANNEL_OPS_KIND", "slack"),
            ("PUNCTUAL_CHANNEL_OPS_TOKEN_FILE", "/run/x"),
            ("PUNCTUAL_LISTEN", "127.0.0.1:1"),
        ];
        let channels = from(file, &variables).unwrap();
        let shown: Vec<_> = channels.iter().map(|channel| (channel.name.as_str(), channel.kind.as_str())).collect();
        assert_eq!(shown, [("my", "ntfy"), ("my-bot", "discord"), ("ops", "slack")]);
        assert_eq!(channels[1].fields["token"], "new");
        assert_eq!(channels[1].fields["concurrency"], "4");
        assert_eq!(channels[0].fields["url"], "https://ntfy.example");
        assert_eq!(channels[2].fields["token_file"], "/run/x");
        assert!(!format!("{channels:?}").contains("new"), "secrets are not shown");
        // Also where one gives a secret and the other a file with one.
        for (own, other) in [("token", "token_file"), ("token_file", "token")] {
            let file = format!("[channels.b]\nkind = 'discord'\n{own} = 'old'");
            let variable = format!("PUNCTUAL_CHANNEL_B_{}", other.to_uppercase());
            let fields = from(&file, &[(&variable, "new")]).unwrap().remove(0).fields;
            assert_eq!(fields.into_iter().collect::<Vec<_>>(), [(other.to_owned(), "new".to_owned())]);
        }
    }

    #[test]
    fn a_wrong_setting_is_refused_with_what_would_be_right() {
        let wrong = |file: &str, variables: &[(&str, &str)]| from(file, variables).unwrap_err();
        assert!(wrong("[channels.bot]", &[]).starts_with("channels.bot.kind: is missing; write one of "));
        assert!(wrong("[channels.Bot]\nkind='x'", &[]).starts_with("channels.Bot: a name has up to 32 small letters"));
        assert_eq!(
            wrong("[channels.webhook]\nkind='x'", &[]),
            "channels.webhook: is there already; give it a name of its own"
        );
        assert_eq!(
            wrong("[channels.bot]\nkind='x'\ncommands='maybe'", &[]),
            "channels.bot.commands: `maybe` is neither true nor false"
        );
        assert!(wrong("channels = 3", &[]).starts_with("channels: must be tables such as [channels.mybot]"));
        assert!(wrong("[channels.bot]\nkind='x'\ntoken=['a']", &[]).starts_with("channels.bot.token: must be a text"));
        let nobody = wrong("", &[("PUNCTUAL_CHANNEL_BOT_TOKEN", "secret")]);
        assert!(nobody.starts_with("PUNCTUAL_CHANNEL_BOT_TOKEN: there is no such channel; "), "{nobody}");
        assert!(!nobody.contains("secret"));
    }
}
