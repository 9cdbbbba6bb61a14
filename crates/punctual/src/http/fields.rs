//! Fields of a JSON object, each checked by hand.
//!
//! Deriving would be shorter, and its errors would name a byte and not a field. Here each mistake
//! is answered with the field's name and what would be right.

use std::time::Duration;

use punctual_core::invalid::Invalid;
use punctual_core::span;
use punctual_core::zone::Zone;
use serde_json::{Map, Value};

use crate::config::keys::nearest;

/// A JSON object whose fields are taken out one by one.
pub(super) struct Fields(Map<String, Value>);

/// What is written in a field, in words.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

impl Fields {
    /// Takes an object that has no fields but the `known` ones. `made_here` are those that only the
    /// server sets.
    pub(super) fn of(value: Value, what: &str, known: &[&str], made_here: &[&str]) -> Result<Self, Invalid> {
        let map = match value {
            Value::Object(map) => map,
            other => return Err(Invalid::new(what, format!("must be an object, not {}", kind(&other)))),
        };
        for name in map.keys() {
            if known.contains(&name.as_str()) {
                continue;
            }
            if made_here.contains(&name.as_str()) {
                return Err(Invalid::new(name, "is set by the server; leave it out"));
            }
            let hint = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are {}", known.join(", ")),
            };
            return Err(Invalid::new(name, format!("is not a known field; {hint}")));
        }
        Ok(Self(map))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the field is there, and not null.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Whether the field is there and not null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    /// Whether the field is there, null or not.
    pub(super) fn mentions(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The field as it is; null counts as not there.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// Refuses null in every field that is left, but for `clearable` ones.
    pub(super) fn refuse_null(&self, clearable: &[&str]) -> Result<(), Invalid> {
        match self.0.iter().find(|(name, value)| value.is_null() && !clearable.contains(&name.as_str())) {
            Some((name, _)) => Err(Invalid::new(name, "cannot be null; leave it out to keep it as it is")),
            None => Ok(()),
        }
    }

    /// A text that may also be cleared: `Some(None)` when the field is null.
    pub(super) fn clearable(&mut self, name: &str) -> Result<Option<Option<String>>, Invalid> {
        match self.0.get(name) {
            Some(Value::Null) => {
                self.0.remove(name);
                Ok(Some(None))
            }
            _ => Ok(self.text(name)?.map(Some)),
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Invalid> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Invalid::new(name, format!("must be text, not {}", kind(&other)))),
        }
    }

    pub(super) fn boolean(&mut self, name: &str) -> Result<Option<bool>, Invalid> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(Invalid::new(name, format!("must be true or false, not {}", kind(&other)))),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<u32>, Invalid> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.as_u64().map(u32::try_from) {
            Some(Ok(number)) => Ok(Some(number)),
            _ => Err(Invalid::new(name, format!("must be a whole number from 0 up, not {value}"))),
        }
    }

    pub(super) fn span(&mut self, name: &str) -> Result<Option<Duration>, Invalid> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => span::parse(&text).map(Some).map_err(|problem| Invalid::new(name, problem)),
            Some(Value::Number(number)) => {
                Err(Invalid::new(name, format!("`{number}` has no unit; write text such as \"10m\"")))
            }
            Some(other) => Err(Invalid::new(name, format!("must be a span such as \"10m\", not {}", kind(&other)))),
        }
    }

    /// One of a set of words.
    pub(super) fn word<T: std::str::FromStr<Err = Invalid>>(&mut self, name: &str) -> Result<Option<T>, Invalid> {
        let Some(word) = self.text(name)? else { return Ok(None) };
        word.parse().map(Some).map_err(|invalid: Invalid| Invalid::new(name, invalid.problem))
    }

    pub(super) fn zone(&mut self, name: &str) -> Result<Option<Zone>, Invalid> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        Zone::named(&text).map(Some).map_err(|invalid| Invalid::new(name, invalid.problem))
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, Invalid> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(Invalid::new(name, format!("must be a list, not {}", kind(&other)))),
        }
    }

    pub(super) fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, Invalid> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(other) => Err(Invalid::new(name, format!("must be an object, not {}", kind(&other)))),
        }
    }
}
