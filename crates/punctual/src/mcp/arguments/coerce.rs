//! Values read as the kind that a field wants, also where a model wrote them as another kind.

use punctual_core::invalid::Invalid;
use serde_json::{Map, Value};

/// Whether a value says nothing: models fill in every field that a schema names.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "" | "null" | "none" | "undefined"),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.values().all(is_nothing),
        _ => false,
    }
}

/// A list or an object that was written as text.
pub(super) fn unpacked(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    let trimmed = text.trim();
    let looks_packed =
        trimmed.starts_with('{') && trimmed.ends_with('}') || trimmed.starts_with('[') && trimmed.ends_with(']');
    match serde_json::from_str::<Value>(trimmed) {
        Ok(unpacked) if looks_packed => unpacked,
        _ => value,
    }
}

/// A text. A number or a truth value is taken as it would be written.
pub(super) fn text(field: &str, value: Value) -> Result<String, Invalid> {
    match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Array(mut list) if list.len() == 1 => text(field, list.pop().unwrap_or_default()),
        other => Err(Invalid::new(field, format!("is {}; write text", kind(&other)))),
    }
}

pub(super) fn truth(field: &str, value: &Value) -> Result<bool, Invalid> {
    let word = match value {
        Value::Bool(truth) => return Ok(*truth),
        Value::String(text) => text.trim().to_lowercase(),
        Value::Number(number) => number.to_string(),
        other => return Err(Invalid::new(field, format!("is {}; write true or false", kind(other)))),
    };
    match word.as_str() {
        "true" | "yes" | "y" | "on" | "1" => Ok(true),
        "false" | "no" | "n" | "off" | "0" => Ok(false),
        _ => Err(Invalid::new(field, format!("`{word}` is neither true nor false; write true or false"))),
    }
}

/// A whole number from 0 up.
pub(super) fn number(field: &str, value: &Value) -> Result<u32, Invalid> {
    let wrong = |shown: &str| Invalid::new(field, format!("`{shown}` is no whole number; write one such as 10"));
    let read = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        other => return Err(Invalid::new(field, format!("is {}; write a number such as 10", kind(other)))),
    };
    let whole = read.filter(|number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number));
    // It is whole and in range.
    whole.map(|number| number as u32).ok_or_else(|| wrong(value.as_str().unwrap_or(&value.to_string())))
}

/// Texts: a list, a list that was written as text, or texts with commas between.
pub(super) fn texts(field: &str, value: Value) -> Result<Vec<String>, Invalid> {
    match unpacked(value) {
        Value::Array(list) => {
            let item = |(index, item): (usize, Value)| text(&format!("{field}[{index}]"), item);
            list.into_iter().enumerate().map(item).collect()
        }
        other => {
            let all = text(field, other)?;
            Ok(all.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect())
        }
    }
}

pub(super) fn object(field: &str, value: Value) -> Result<Map<String, Value>, Invalid> {
    match unpacked(value) {
        Value::Object(object) => Ok(object),
        other => Err(Invalid::new(field, format!("is {}; write an object", kind(&other)))),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
