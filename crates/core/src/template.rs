//! Texts with `{fields}` in them.
//!
//! There is no logic in a template. Whoever reads one says which fields it may have, so that a misspelt field is an error when the template is
//! written and not in a message. A value is never read as a template: braces in it stay braces.

use std::convert::Infallible;

use serde_json::Value;

/// A text with fields in it. `F` is what a field's name was read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template<F = String> {
    parts: Vec<Part<F>>,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<F> {
    /// Text that stays as it is; never empty.
    Text(String),
    /// The place of a value.
    Field(F),
}

impl<F> Template<F> {
    /// Reads a template; `{{` and `}}` are braces. `field` says what a name stands for, or what is wrong with it.
    pub fn parse(text: &str, mut field: impl FnMut(&str) -> Result<F, String>) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if from.starts_with("{{") || from.starts_with("}}") {
                plain.push_str(&from[..1]);
                rest = &from[2..];
                continue;
            }
            let Some((name, after)) = from.strip_prefix('{').and_then(|inner| inner.split_once('}')) else {
                return Err("has a single { or }; write {{ or }} for a brace".into());
            };
            let named = field(name.trim())?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Field(named));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// Its parts, in order.
    pub fn parts(&self) -> &[Part<F>] {
        &self.parts
    }

    /// Its fields, in order, each as often as it stands there.
    pub fn fields(&self) -> impl Iterator<Item = &F> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Field(field) => Some(field),
        })
    }

    /// The text with each field as `value` says it.
    pub fn fill<V: AsRef<str>>(&self, mut value: impl FnMut(&F) -> V) -> String {
        let filled: Result<String, Infallible> = self.try_fill(|field| Ok(value(field)));
        filled.unwrap_or_else(|never| match never {})
    }

    /// The same where a field may have no value: the first such field's problem.
    pub fn try_fill<V: AsRef<str>, E>(&self, mut value: impl FnMut(&F) -> Result<V, E>) -> Result<String, E> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Field(field) => filled.push_str(value(field)?.as_ref()),
            }
        }
        Ok(filled)
    }
}

/// A JSON value as a text shows it: a text without its quotes, null as nothing, everything else as JSON.
pub fn said(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Result<Template, String> {
        Template::parse(text, |name| match name {
            "user" | "title" => Ok(name.to_owned()),
            _ => Err(format!("has the unknown field {{{name}}}; known are user and title")),
        })
    }

    #[test]
    fn fields_are_filled_in_and_values_are_not_read() {
        let table = [
            ("", ""),
            ("plain", "plain"),
            ("{user}", "ann"),
            ("{ user }: {title}", "ann: {user}"),
            ("{user}{user}", "annann"),
            ("{{user}}", "{user}"),
            ("{{{user}}}", "{ann}"),
            ("a }} b {{ c", "a } b { c"),
            ("ü{user}ü", "üannü"),
        ];
        for (text, expect) in table {
            let template = parse(text).unwrap();
            let filled = template.fill(|field| if field == "user" { "ann" } else { "{user}" });
            assert_eq!(filled, expect, "{text}");
        }
    }

    #[test]
    fn a_wrong_template_is_refused_when_it_is_read() {
        let brace = "has a single { or }; write {{ or }} for a brace";
        let table = [
            ("a { b", brace),
            ("a } b", brace),
            ("{user", brace),
            ("{user}}", brace),
            ("{}", "has the unknown field {}; known are user and title"),
            ("{usr}", "has the unknown field {usr}; known are user and title"),
            ("{a {user}", "has the unknown field {a {user}; known are user and title"),
        ];
        for (text, expect) in table {
            assert_eq!(parse(text), Err(expect.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_template_knows_its_fields_and_the_first_without_a_value_is_named() {
        let template = parse("{title} for {user}, {title}").unwrap();
        assert_eq!(template.fields().collect::<Vec<_>>(), ["title", "user", "title"]);
        assert_eq!(template.parts()[1], Part::Text(" for ".into()));
        let filled = template.try_fill(|field| if field == "user" { Err(field.clone()) } else { Ok("x") });
        assert_eq!(filled, Err("user".to_owned()));
    }

    #[test]
    fn json_is_said_as_people_write_it() {
        let table = [(json!("a \"b\""), "a \"b\""), (json!(7), "7"), (json!(null), ""), (json!([1, "x"]), "[1,\"x\"]")];
        for (value, expect) in table {
            assert_eq!(said(&value), expect);
        }
    }
}
