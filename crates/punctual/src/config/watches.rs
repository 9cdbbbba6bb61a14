//! The watches of the config file: which tables of applications are looked into.
//!
//! ```toml
//! [watches.tasks]
//! database = "postgres://app@db/app"
//! table = "tasks"
//! key = "id"
//! due = "due_date"
//! sent = "reminder_sent_at"
//! user = "owner"
//! message = "{title} is due {due}"
//! ```
//!
//! The database, which may hold a password, also from the environment: `PUNCTUAL_WATCH_TASKS_DATABASE`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::{AckPolicy, Address};
use punctual_core::schedule::{Anchor, CronExpr, Rule, Schedule};
use punctual_core::step::{self, Step};
use punctual_core::tag;
use punctual_core::watch::{Asks, BATCH_MAX, Rows, Text, To, Watch};
use punctual_core::zone::Zone;
use punctual_store::watched;
use toml::{Table, Value};

use super::keys::nearest;
use super::layers::{duration, kind};
use super::{ConfigError, Env, Secret};

/// Every variable of a watch begins with this.
pub(super) const PREFIX: &str = "PUNCTUAL_WATCH_";
/// What can be said of a watch.
const FIELDS: [&str; 27] = [
    "database",
    "database_file",
    "table",
    "query",
    "key",
    "due",
    "sent",
    "user",
    "to",
    "message",
    "cron",
    "every",
    "timezone",
    "window",
    "again_after",
    "batch",
    "where",
    "name",
    "priority",
    "tags",
    "require_ack",
    "ack_prompt",
    "ack_timeout",
    "max_ack_reminders",
    "escalate",
    "max_retries",
    "on_unknown",
];
/// How long a name may be.
const NAME_BYTES_MAX: usize = 64;
/// The longest window, and the longest wait before a row is reminded of again.
const SPAN_MAX: Duration = Duration::from_secs(366 * 86_400);
/// A day.
const DAY: Duration = Duration::from_secs(86_400);

/// A watch, and its database with the password.
#[derive(Debug, Clone)]
pub(crate) struct WatchConfig {
    /// As it was defined.
    pub(crate) watch: Watch,
    /// The application's database.
    pub(crate) url: Secret,
}

/// Reads the file's `watches`, in the order of their names. `retries_max` is for those that do not say.
pub(super) fn read(value: Option<&Value>, env: Env<'_>, retries_max: u32) -> Result<Vec<WatchConfig>, ConfigError> {
    let tables = match value {
        None => return Ok(Vec::new()),
        Some(Value::Table(tables)) => tables,
        Some(other) => {
            return Err(ConfigError(format!("watches: must be tables such as [watches.tasks], not {}", kind(other))));
        }
    };
    let tables: BTreeMap<&String, &Value> = tables.iter().collect();
    let one = |(name, value): (&String, &Value)| {
        let Value::Table(table) = value else {
            return Err(ConfigError(format!("watches.{name}: must be a table, not {}", kind(value))));
        };
        one(name, table, env, retries_max)
            .map_err(|Invalid { field, problem, .. }| ConfigError(format!("watches.{name}.{field}: {problem}")))
    };
    tables.into_iter().map(one).collect()
}

/// A watch of a program that punctual is embedded in.
pub(crate) fn watch_of(name: &str, table: &Table) -> Result<WatchConfig, Invalid> {
    one(name, table, &|_| None, 3)
}

fn one(name: &str, table: &Table, env: Env<'_>, retries_max: u32) -> Result<WatchConfig, Invalid> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
        let problem =
            format!("is no name of a watch; it has 1 to {NAME_BYTES_MAX} small letters, digits, -, _ and full stops");
        return Err(Invalid::new("name", problem));
    }
    if let Some(unknown) = table.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        let hint = match nearest(unknown, FIELDS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", FIELDS.join(", ")),
        };
        return Err(Invalid::new(unknown, format!("is no setting of a watch; {hint}")));
    }
    let url = database(name, table, env)?;
    // The error of a URL does not repeat it: it may hold a password.
    let shown = watched::shown(url.expose()).map_err(|problem| Invalid::new("database", problem))?;
    let rows = match (text(table, "table")?, text(table, "query")?) {
        (Some(table), None) => Rows::Table(table),
        (None, Some(query)) => Rows::Query(query),
        (Some(_), Some(_)) => return Err(Invalid::new("query", "stands beside `table`; write one of them")),
        (None, None) => {
            return Err(Invalid::new("table", "is missing; write the table's name, or `query` with a SELECT"));
        }
    };
    let need = |field: &str, right: &str| {
        text(table, field)?.ok_or_else(|| Invalid::new(field, format!("is missing; {right}")))
    };
    let message = need("message", "write what to say, such as \"{title} is due {due}\"")?;
    let message = Text::parse(&message).map_err(|problem| Invalid::new("message", problem))?;
    let (user, to) = (text(table, "user")?, to(table)?);
    if user.is_none() && to.is_none() {
        return Err(Invalid::new(
            "user",
            "is missing; name the column that says whom to remind, or write to = \"CHANNEL:ADDRESS\"",
        ));
    }
    let zone = match text(table, "timezone")? {
        Some(name) => Zone::named(&name)?,
        None => Zone::utc(),
    };
    let watch = Watch {
        name: name.to_owned(),
        database: shown,
        rows,
        key: need("key", "name the column that tells rows apart, such as \"id\"")?,
        due: need("due", "name the column that says when a row is due")?,
        sent: text(table, "sent")?,
        user,
        to,
        message,
        schedule: schedule(table)?,
        zone,
        window: span(table, "window")?.unwrap_or(DAY),
        again_after: span(table, "again_after")?.unwrap_or(DAY),
        batch: whole(table, "batch", 1, BATCH_MAX as i64)?.map_or(1000, |n| n as usize),
        only: text(table, "where")?,
        asks: asks(table, retries_max)?,
    };
    Ok(WatchConfig { watch, url })
}

/// The database: from the environment, else from the file.
fn database(name: &str, table: &Table, env: Env<'_>) -> Result<Secret, Invalid> {
    let variable = format!("{PREFIX}{}_DATABASE", name.to_uppercase().replace(['-', '.'], "_"));
    if let Some(url) = env(&variable) {
        return Ok(Secret::new(url));
    }
    match (text(table, "database")?, text(table, "database_file")?) {
        (Some(url), None) => Ok(Secret::new(url)),
        (None, Some(path)) => {
            let read = std::fs::read_to_string(&path);
            let read = read.map_err(|error| Invalid::new("database_file", format!("cannot read {path}: {error}")))?;
            Ok(Secret::new(read.trim().to_owned()))
        }
        (Some(_), Some(_)) => Err(Invalid::new("database_file", "stands beside `database`; write one of them")),
        (None, None) => {
            let problem =
                format!("is missing; write postgres://USER:PASSWORD@HOST/DATABASE or sqlite:PATH, or set {variable}");
            Err(Invalid::new("database", problem))
        }
    }
}

fn to(table: &Table) -> Result<Option<To>, Invalid> {
    let Some(text) = text(table, "to")? else { return Ok(None) };
    // The error does not repeat the address: it may be a secret.
    let wrong = |problem: &str| {
        Invalid::new("to", format!("{problem}; write CHANNEL:ADDRESS, such as webhook:https://app.example/{{id}}"))
    };
    let Address { channel, address } = text.parse().map_err(|_| wrong("is no address"))?;
    let address = Text::parse(&address).map_err(|problem| wrong(&problem))?;
    Ok(Some(To { channel, address }))
}

fn schedule(table: &Table) -> Result<Schedule, Invalid> {
    let rule = match (text(table, "cron")?, span(table, "every")?) {
        (Some(_), Some(_)) => return Err(Invalid::new("every", "stands beside `cron`; write one of them")),
        (Some(expr), None) => {
            Rule::Cron(CronExpr::parse(&expr).map_err(|invalid| Invalid::new("cron", invalid.problem))?)
        }
        // Counted from the same instant on every node.
        (None, Some(every)) => Rule::Interval { every, anchor: Anchor::Start, origin: Timestamp::UNIX_EPOCH },
        (None, None) => Rule::Cron(CronExpr::parse("0 * * * *")?),
    };
    Ok(Schedule::new(rule))
}

fn asks(table: &Table, retries_max: u32) -> Result<Asks, Invalid> {
    let word = |field: &str| text(table, field);
    let tags = match table.get("tags") {
        None => Vec::new(),
        Some(value) => {
            let tags: Result<Vec<String>, _> = value.clone().try_into();
            let tags = tag::kept(tags.map_err(|_| Invalid::new("tags", "must be a list of texts such as [\"work\"]"))?);
            tag::check("tags", &tags)?;
            tags
        }
    };
    let escalate = match table.get("escalate") {
        None => Vec::new(),
        Some(value) => {
            let right = "write steps such as [{ after = \"5m\", to = \"bob\" }]";
            let steps: Result<Vec<Step>, _> = value.clone().try_into();
            let steps =
                steps.map_err(|error| Invalid::new("escalate", format!("{}; {right}", error.message().trim())))?;
            step::check("escalate", &steps)?;
            steps
        }
    };
    let wants_ack = match table.get("require_ack") {
        None => None,
        Some(Value::Boolean(wants)) => Some(*wants),
        Some(other) => return Err(Invalid::new("require_ack", format!("must be true or false, not {}", kind(other)))),
    };
    let (prompt, timeout) = (word("ack_prompt")?, span(table, "ack_timeout")?);
    let again = whole(table, "max_ack_reminders", 0, 1000)?;
    let says_how = prompt.is_some() || timeout.is_some() || again.is_some() || !escalate.is_empty();
    if says_how && wants_ack == Some(false) {
        return Err(Invalid::new(
            "require_ack",
            "is false, and other settings say how an answer is asked for; leave it out",
        ));
    }
    let usual = AckPolicy::default();
    let ack = (says_how || wants_ack == Some(true)).then(|| AckPolicy {
        prompt,
        timeout: timeout.unwrap_or(usual.timeout),
        reminders_max: again.map_or(usual.reminders_max, |n| n as u32),
    });
    Ok(Asks {
        name: word("name")?,
        priority: word("priority")?.map(|word| word.parse()).transpose()?.unwrap_or_default(),
        tags,
        ack,
        escalate,
        retries_max: whole(table, "max_retries", 0, 100)?.map_or(retries_max, |n| n as u32),
        on_unknown: word("on_unknown")?.map(|word| word.parse()).transpose()?.unwrap_or_default(),
    })
}

fn text(table: &Table, field: &str) -> Result<Option<String>, Invalid> {
    match table.get(field) {
        None => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Err(Invalid::new(field, "is empty")),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(Invalid::new(field, format!("must be a text, not {}", kind(other)))),
    }
}

fn span(table: &Table, field: &str) -> Result<Option<Duration>, Invalid> {
    let Some(value) = table.get(field) else { return Ok(None) };
    let span =
        duration(value).map_err(|problem| Invalid::new(field, format!("{problem}; write a span such as \"24h\"")))?;
    if span < Duration::from_secs(1) || span > SPAN_MAX {
        return Err(Invalid::new(field, "must be between 1s and 366d, such as \"24h\""));
    }
    Ok(Some(span))
}

fn whole(table: &Table, field: &str, min: i64, max: i64) -> Result<Option<i64>, Invalid> {
    match table.get(field) {
        None => Ok(None),
        Some(Value::Integer(number)) if (min..=max).contains(number) => Ok(Some(*number)),
        Some(Value::Integer(number)) => Err(Invalid::new(field, format!("is {number}; it must be {min} to {max}"))),
        Some(other) => {
            Err(Invalid::new(field, format!("must be a whole number from {min} to {max}, not {}", kind(other))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(file: &str, env: Env<'_>) -> Result<Vec<WatchConfig>, String> {
        let table: Table = file.parse().unwrap();
        read(table.get("watches"), env, 3).map_err(|error| error.0)
    }

    const TASKS: &str = "
        [watches.tasks]
        database = 'postgres://app:hush@db/app'
        table = 'tasks'
        key = 'id'
        due = 'due_date'
        sent = 'reminder_sent_at'
        user = 'owner'
        message = '{title} is due {due}'
    ";

    #[test]
    fn a_watch_is_what_the_file_says_and_the_rest_is_usual() {
        let [tasks] = from(TASKS, &|_| None).unwrap().try_into().unwrap();
        let watch = &tasks.watch;
        assert_eq!((watch.name.as_str(), watch.batch, watch.zone.name()), ("tasks", 1000, "UTC"));
        assert_eq!((watch.window, watch.again_after), (DAY, DAY));
        assert_eq!(watch.columns(), ["owner", "title"]);
        assert_eq!(tasks.url.expose(), "postgres://app:hush@db/app");
        assert!(!format!("{tasks:?}").contains("hush"), "{tasks:?}");
        let next = watch.next_after("2026-03-02T08:00:00Z".parse().unwrap());
        assert_eq!(next, Some("2026-03-02T09:00:00Z".parse().unwrap()), "at the full hour");
        assert!(from("", &|_| None).unwrap().is_empty());
    }

    #[test]
    fn a_watch_can_say_all_that_a_reminder_can() {
        let file = TASKS.to_owned()
            + "every = '30m'\nwindow = '2h'\nagain_after = '1d'\nbatch = 7\ntimezone = 'Europe/Berlin'\nwhere = \"status = 'open'\"\n\
               name = 'due tasks'\npriority = 'high'\ntags = ['Work']\nack_prompt = 'Done?'\nack_timeout = '5m'\nmax_ack_reminders = 1\n\
               escalate = [{ after = '5m', to = 'group:on-call' }]\nmax_retries = 9\non_unknown = 'hold'\nto = 'webhook:https://a.example/{id}'";
        let [tasks] = from(&file, &|name| (name == "PUNCTUAL_WATCH_TASKS_DATABASE").then(|| "sqlite:app.db".into()))
            .unwrap()
            .try_into()
            .unwrap();
        let watch = &tasks.watch;
        assert_eq!(
            (tasks.url.expose(), watch.database.as_str()),
            ("sqlite:app.db", "sqlite:app.db"),
            "a variable beats the file"
        );
        assert_eq!((watch.batch, watch.asks.retries_max, watch.asks.tags.join(" ")), (7, 9, "work".to_owned()));
        assert_eq!(watch.asks.ack.as_ref().unwrap().timeout, Duration::from_secs(300));
        assert_eq!(watch.asks.escalate.len(), 1);
        assert_eq!(
            watch.next_after("2026-03-02T08:00:01Z".parse().unwrap()),
            Some("2026-03-02T08:30:00Z".parse().unwrap())
        );
        assert_eq!(watch.columns(), ["owner", "title", "id"]);
    }

    #[test]
    fn a_wrong_setting_is_refused_with_what_would_be_right() {
        let without =
            |line: &str| TASKS.lines().filter(|kept| !kept.trim().starts_with(line)).collect::<Vec<_>>().join("\n");
        let with = |line: &str| format!("{TASKS}\n{line}");
        for (file, words) in [
            ("watches = 3".to_owned(), &["watches: must be tables such as [watches.tasks]"][..]),
            ("watches.tasks = 3".to_owned(), &["watches.tasks: must be a table"]),
            ("[watches.Tasks]".to_owned(), &["watches.Tasks.name: is no name of a watch"]),
            (without("database"), &["watches.tasks.database: is missing", "PUNCTUAL_WATCH_TASKS_DATABASE"]),
            (without("table"), &["watches.tasks.table: is missing", "SELECT"]),
            (without("key"), &[".key: is missing"]),
            (without("due"), &[".due: is missing"]),
            (without("user"), &[".user: is missing", "CHANNEL:ADDRESS"]),
            (without("message"), &[".message: is missing"]),
            (without("message") + "\nmessage = '{title'", &[".message: has a single"]),
            (with("colum = 'x'"), &[".colum: is no setting of a watch"]),
            (with("againafter = '1h'"), &[".againafter: is no setting", "did you mean `again_after`"]),
            (with("query = 'select 1'"), &[".query: stands beside `table`"]),
            (with("cron = '99 * * * *'"), &[".cron: "]),
            (with("cron = '0 * * * *'\nevery = '1h'"), &[".every: stands beside `cron`"]),
            (with("window = 'soon'"), &[".window: ", "24h"]),
            (with("again_after = '0s'"), &[".again_after: must be between 1s and 366d"]),
            (with("batch = 0"), &[".batch: is 0; it must be 1 to 10000"]),
            (with("priority = 'urgent'"), &[".priority: `urgent` is not one of"]),
            (with("require_ack = false\nack_prompt = 'x'"), &[".require_ack: is false"]),
            (with("escalate = [{ after = 'x', to = 'bob' }]"), &[".escalate: ", "such as"]),
            (with("timezone = 'Mars/Base'"), &[".timezone: "]),
            (TASKS.replace("postgres://app:hush@db/app", "mysql://app:hush@db/app"), &[".database: write postgres://"]),
        ] {
            let error = from(&file, &|_| None).unwrap_err();
            for word in words {
                assert!(error.contains(word), "{file}: {error}");
            }
            assert!(!error.contains("hush"), "{error}");
        }
    }
}
