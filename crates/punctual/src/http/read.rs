//! Reads a JSON value into a wire type, with errors that name the field and say what would be right.
//!
//! serde_json's own errors name a byte. This reader walks a value that was parsed already, so it knows where it is, and speaks of text and
//! lists instead of strings and sequences.

use std::fmt;

use punctual_core::invalid::Invalid;
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::config::keys::nearest;

/// The field that stands for the whole body.
pub(crate) const WHOLE: &str = "body";

/// Reads `value`. The answer's fields that only the server sets are `made_here`; `whole` names the value where no field of it is to blame.
pub(crate) fn read<T: DeserializeOwned>(value: Value, whole: &str, made_here: &[&str]) -> Result<T, Invalid> {
    if let Value::Object(map) = &value
        && let Some(name) = made_here.iter().find(|name| map.contains_key(**name))
    {
        return Err(Invalid::new(*name, "is set by the server; leave it out"));
    }
    T::deserialize(Given(value)).map_err(|Wrong(Invalid { field, problem })| {
        let field = if field.is_empty() { whole.to_owned() } else { field };
        Invalid { field, problem }
    })
}

/// Takes the list `name` out of an object that has nothing else, without reading its items.
pub(crate) fn list(value: Value, name: &'static str) -> Result<Vec<Value>, Invalid> {
    let Value::Object(mut map) = value else {
        return Err(Invalid::new(WHOLE, format!("must be an object, not {}", kind(&value))));
    };
    if let Some(other) = map.keys().find(|key| *key != name) {
        return Err(unknown(other, &[name]));
    }
    match map.remove(name) {
        None | Some(Value::Null) => Err(Invalid::new(name, "is missing; send a list")),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(Invalid::new(name, format!("must be a list, not {}", kind(&other)))),
    }
}

/// Says that `name` is none of the fields that are `known`, and which of them may be meant.
pub(crate) fn unknown(name: &str, known: &[&'static str]) -> Invalid {
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", known.join(", ")),
    };
    Invalid::new(name, format!("is not a known field; {hint}"))
}

/// The kind of a value in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A value that is being read.
struct Given(Value);

/// What is wrong with it, and where, as seen from inside.
#[derive(Debug)]
struct Wrong(Invalid);

impl Wrong {
    fn new(problem: String) -> Self {
        Self(Invalid::new("", problem))
    }

    /// The same, seen from one level further out.
    fn within(self, outer: String) -> Self {
        let Self(Invalid { field, problem }) = self;
        let field = match field.as_str() {
            "" => outer,
            inner if inner.starts_with('[') => format!("{outer}{inner}"),
            inner => format!("{outer}.{inner}"),
        };
        Self(Invalid { field, problem })
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new(problem.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Bool(_) => "true or false",
            Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
            Unexpected::Str(_) => "text",
            Unexpected::Seq => "a list",
            Unexpected::Map => "an object",
            _ => "null",
        };
        Self::new(format!("must be {expected}, not {found}"))
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self(unknown(name, known))
    }

    fn missing_field(field: &'static str) -> Self {
        Self(Invalid::new(field, "is missing"))
    }
}

impl Given {
    fn must_be<T>(self, what: &str) -> Result<T, Wrong> {
        Err(Wrong::new(format!("must be {what}, not {}", kind(&self.0))))
    }
}

impl<'de> de::Deserializer<'de> for Given {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                // JSON has no number that is none of these.
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visitor.visit_seq(Items { items: items.into_iter(), index: 0 }),
            Value::Object(map) => visitor.visit_map(Members { members: map.into_iter(), value: None }),
        }
    }

    /// Null counts as not there.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.0.is_boolean() { self.deserialize_any(visitor) } else { self.must_be("true or false") }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0.as_u64().map(u32::try_from) {
            Some(Ok(number)) => visitor.visit_u32(number),
            _ => Err(Wrong::new(format!("must be a whole number from 0 up, not {}", self.0))),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.0.is_string() { self.deserialize_any(visitor) } else { self.must_be("text") }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.0.is_array() { self.deserialize_any(visitor) } else { self.must_be("a list") }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.0.is_object() { self.deserialize_any(visitor) } else { self.must_be("an object") }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u64 u128 f32 f64 char str bytes byte_buf unit unit_struct tuple tuple_struct enum identifier ignored_any
    }
}

struct Items {
    items: std::vec::IntoIter<Value>,
    index: usize,
}

impl<'de> de::SeqAccess<'de> for Items {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Given(item)).map(Some).map_err(|wrong| wrong.within(format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Members {
    members: <Map<String, Value> as IntoIterator>::IntoIter,
    value: Option<(String, Value)>,
}

impl<'de> de::MapAccess<'de> for Members {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some((name, value)) = self.members.next() else { return Ok(None) };
        let key: StrDeserializer<'_, Wrong> = name.as_str().into_deserializer();
        let key = seed.deserialize(key)?;
        self.value = Some((name, value));
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        // serde asks for a value only after its key.
        let (name, value) = self.value.take().unwrap_or_default();
        seed.deserialize(Given(value)).map_err(|wrong| wrong.within(name))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Outer {
        name: Option<String>,
        n: Option<u32>,
        wanted: Option<bool>,
        inner: Option<Inner>,
        list: Option<Vec<Inner>>,
        any: Option<Map<String, Value>>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Inner {
        at: Option<String>,
    }

    #[test]
    fn a_value_that_fits_is_read_and_null_counts_as_not_there() {
        let given = json!({ "name": "a", "n": 3, "wanted": null, "list": [{ "at": "x" }, {}], "any": { "deep": [1, -2, 0.5] } });
        let outer: Outer = read(given, WHOLE, &[]).unwrap();
        let list = Some(vec![Inner { at: Some("x".into()) }, Inner::default()]);
        let any = json!({ "deep": [1, -2, 0.5] }).as_object().cloned();
        assert_eq!(outer, Outer { name: Some("a".into()), n: Some(3), list, any, ..Outer::default() });
    }

    #[test]
    fn a_value_that_does_not_fit_is_named_with_what_would_be_right() {
        for (value, expect) in [
            (json!([1]), "body: must be an object, not a list"),
            (json!({ "name": 5 }), "name: must be text, not a number"),
            (json!({ "n": -1 }), "n: must be a whole number from 0 up, not -1"),
            (json!({ "n": 5_000_000_000_u64 }), "n: must be a whole number from 0 up, not 5000000000"),
            (json!({ "wanted": "yes" }), "wanted: must be true or false, not text"),
            (json!({ "inner": { "at": true } }), "inner.at: must be text, not true or false"),
            (json!({ "inner": { "att": "x" } }), "inner.att: is not a known field; did you mean `at`?"),
            (json!({ "list": [{}, { "at": [] }] }), "list[1].at: must be text, not a list"),
            (json!({ "list": [{}, 5] }), "list[1]: must be an object, not a number"),
            (json!({ "list": {} }), "list: must be a list, not an object"),
            (json!({ "any": [] }), "any: must be an object, not a list"),
            (json!({ "nmae": 1 }), "nmae: is not a known field; did you mean `name`?"),
            (json!({ "id": 1 }), "id: is set by the server; leave it out"),
        ] {
            let error = read::<Outer>(value.clone(), WHOLE, &["id"]).unwrap_err();
            assert_eq!(error.to_string(), expect, "{value}");
        }
    }

    #[test]
    fn a_list_is_taken_out_whole() {
        assert_eq!(list(json!({ "items": [1, "a"] }), "items").unwrap(), [json!(1), json!("a")]);
        for (value, expect) in [
            (json!([]), "body: must be an object, not a list"),
            (json!({}), "items: is missing; send a list"),
            (json!({ "items": 1 }), "items: must be a list, not a number"),
            (json!({ "item": [] }), "item: is not a known field; did you mean `items`?"),
        ] {
            assert_eq!(list(value, "items").unwrap_err().to_string(), expect);
        }
    }
}
