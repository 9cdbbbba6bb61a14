//! What a call asks for.

use serde_json::{Map, Value};

/// What a model asks for.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::mcp) struct Asked {
    /// For whom, if it says so.
    pub(in crate::mcp) user: Option<String>,
    pub(in crate::mcp) call: Call,
}

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::mcp) enum Call {
    /// Make a reminder.
    Add(New),
    /// Show reminders.
    List(List),
    /// Change a reminder.
    Update {
        which: String,
        change: New,
        /// Whether it is to be paused, or to go on.
        paused: Option<bool>,
    },
    /// Cancel a reminder.
    Remove { which: String },
    /// Answer a reminder: `ack`, `snooze` or `dismiss`. Without a name it is the one that waits for an answer.
    Answer { verb: Verb, which: Option<String>, answer: Map<String, Value> },
}

/// A reminder, or what changes about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::mcp) struct New {
    /// The fields that the API takes as they are.
    pub(in crate::mcp) fields: Map<String, Value>,
    /// A sentence that says when, and what.
    pub(in crate::mcp) text: Option<String>,
    pub(in crate::mcp) when: Option<When>,
}

/// When a reminder is due.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::mcp) enum When {
    /// As the API takes it.
    Schedule(Value),
    /// In words.
    Words(String),
}

/// Which reminders to show.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::mcp) struct List {
    pub(in crate::mcp) words: Option<String>,
    pub(in crate::mcp) status: Option<String>,
    pub(in crate::mcp) from: Option<String>,
    pub(in crate::mcp) to: Option<String>,
    pub(in crate::mcp) tag: Option<String>,
    pub(in crate::mcp) limit: Option<u32>,
    pub(in crate::mcp) cursor: Option<String>,
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum Verb {
    Ack,
    Snooze,
    Dismiss,
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum Action {
    Add,
    List,
    Update,
    Remove,
    Snooze,
    Ack,
    Dismiss,
}

impl Verb {
    pub(in crate::mcp) fn word(self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::Snooze => "snooze",
            Self::Dismiss => "dismiss",
        }
    }
}

impl Action {
    pub(in crate::mcp) const ALL: [Self; 7] =
        [Self::Add, Self::List, Self::Update, Self::Remove, Self::Snooze, Self::Ack, Self::Dismiss];

    pub(in crate::mcp) fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::List => "list",
            Self::Update => "update",
            Self::Remove => "remove",
            Self::Snooze => "snooze",
            Self::Ack => "ack",
            Self::Dismiss => "dismiss",
        }
    }

    /// A call that does it, for a model to copy.
    pub(in crate::mcp) fn example(self) -> &'static str {
        match self {
            Self::Add => {
                r#"{"action":"add","message":"Take your medicine","schedule":{"type":"once","at":"5m"}} or {"action":"add","text":"call mom tomorrow at 8"}"#
            }
            Self::List => r#"{"action":"list","from":"today","to":"today"}"#,
            Self::Update => r#"{"action":"update","job_id":"medicine","schedule":{"type":"daily","time":"08:30"}}"#,
            Self::Remove => r#"{"action":"remove","job_id":"medicine"}"#,
            Self::Snooze => r#"{"action":"snooze","job_id":"medicine","snooze_minutes":10}"#,
            Self::Ack => r#"{"action":"ack","job_id":"medicine"}"#,
            Self::Dismiss => r#"{"action":"dismiss","job_id":"medicine"}"#,
        }
    }

    /// The action that `word` names, also by another word for it.
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "add" | "create" | "new" | "set" | "schedule" | "remind" | "insert" => Self::Add,
            "list" | "show" | "get" | "find" | "search" | "read" | "query" => Self::List,
            "update" | "edit" | "change" | "modify" | "reschedule" | "patch" => Self::Update,
            "remove" | "delete" | "cancel" | "unschedule" => Self::Remove,
            "snooze" | "postpone" | "delay" | "defer" => Self::Snooze,
            "ack" | "acknowledge" | "done" | "complete" | "confirm" => Self::Ack,
            "dismiss" | "skip" | "decline" => Self::Dismiss,
            _ => return None,
        })
    }
}
