//! Reads a JSON value into a wire type, with errors that name the field and say what would be right.
//!
//! serde_json's own errors name a byte. This reader walks a value that was parsed already, so it knows where it is, and speaks of text and
//! lists instead of strings and sequences. serde stops at the first mistake. So that a caller is told of all of them, the value is read again
//! without what was wrong, until nothing more is.

use std::collections::HashMap;
use std::fmt;

use punctual_core::invalid::{Fault, Faults, Invalid};
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Value, map};

use crate::config::keys::nearest;

/// The field that stands for the whole body.
pub(crate) const WHOLE: &str = "body";
/// How many mistakes of a kind or a name are looked for in one body: each takes another reading of it.
const MISTAKES_MAX: usize = 32;

/// Reads `value`. The answer's fields that only the server sets are `made_here`; `whole` names the value where no field of it is to blame.
pub(crate) fn read<T: DeserializeOwned>(value: Value, whole: &str, made_here: &[&str]) -> Result<T, Invalid> {
    let (read, faults) = partly(&value, whole, made_here)?;
    faults.finish()?;
    Ok(read)
}

/// Reads `value` without what is wrong with it, and says what that is: so a caller can look for what else is wrong. The error is everything
/// that is wrong with a value of which nothing can be read.
pub(crate) fn partly<T: DeserializeOwned>(
    value: &Value,
    whole: &str,
    made_here: &[&str],
) -> Result<(T, Faults), Invalid> {
    let (mut faults, mut wrong) = (Faults::default(), Left::default());
    if let Value::Object(map) = value {
        for name in made_here.iter().filter(|name| map.contains_key(**name)) {
            faults.add(Invalid::new(*name, "is set by the server; leave it out").of(Fault::ReadOnly));
            wrong.leave(&[Place::Member((*name).to_owned())]);
        }
    }
    for _ in 0..MISTAKES_MAX {
        match T::deserialize(Given { value, left: Some(&wrong) }) {
            Ok(read) => {
                faults.settle();
                return Ok((read, faults));
            }
            Err(Wrong { mut places, problem, fault }) => {
                places.reverse();
                let is_new = wrong.leave(&places);
                if is_new {
                    faults.add(Invalid::new(named(&places, whole), problem).of(fault));
                }
                // A field that must be there is still missed: what it belongs to is left out with it.
                let mut rest = &places[..];
                while !is_new && !rest.is_empty() {
                    rest = &rest[..rest.len() - 1];
                    if wrong.leave(rest) {
                        break;
                    }
                }
                if rest.is_empty() {
                    break;
                }
            }
        }
    }
    faults.finish()?;
    // Every way out of the loop has noted something.
    Err(Invalid::new(whole, "cannot be read"))
}

/// A step on the way to a value within another.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Member(String),
    Item(usize),
}

/// The name of a field: `to[1].channel`.
fn named(places: &[Place], whole: &str) -> String {
    let mut name = String::new();
    for place in places {
        match place {
            Place::Item(index) => name.push_str(&format!("[{index}]")),
            Place::Member(member) if name.is_empty() => name.push_str(member),
            Place::Member(member) => {
                name.push('.');
                name.push_str(member);
            }
        }
    }
    if name.is_empty() { whole.to_owned() } else { name }
}

/// What is left out of a reading, because it is wrong.
#[derive(Debug, Default)]
struct Left {
    itself: bool,
    members: HashMap<String, Left>,
    items: HashMap<usize, Left>,
}

impl Left {
    /// Leaves out what is at `places`; returns whether it was not left out before.
    fn leave(&mut self, places: &[Place]) -> bool {
        match places.split_first() {
            None => !std::mem::replace(&mut self.itself, true),
            Some((Place::Member(name), rest)) => self.members.entry(name.clone()).or_default().leave(rest),
            Some((Place::Item(index), rest)) => self.items.entry(*index).or_default().leave(rest),
        }
    }
}

/// Takes the list `name` out of an object that has nothing else, without reading its items.
pub(crate) fn list(value: Value, name: &'static str) -> Result<Vec<Value>, Invalid> {
    let Value::Object(mut map) = value else {
        return Err(Invalid::new(WHOLE, format!("must be an object, not {}", kind(&value))).of(Fault::WrongType));
    };
    if let Some(other) = map.keys().find(|key| *key != name) {
        return Err(unknown(other, &[name]));
    }
    match map.remove(name) {
        None | Some(Value::Null) => Err(Invalid::missing(name, "send a list")),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(Invalid::new(name, format!("must be a list, not {}", kind(&other))).of(Fault::WrongType)),
    }
}

/// Says that `name` is none of the fields that are `known`, and which of them may be meant.
pub(crate) fn unknown(name: &str, known: &[&'static str]) -> Invalid {
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", known.join(", ")),
    };
    Invalid::new(name, format!("is not a known field; {hint}")).of(Fault::Unknown)
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

/// A value that is being read, and what of it is left out.
#[derive(Clone, Copy)]
struct Given<'a> {
    value: &'a Value,
    left: Option<&'a Left>,
}

/// What is wrong with it, and where, the innermost place first.
#[derive(Debug)]
struct Wrong {
    places: Vec<Place>,
    problem: String,
    fault: Fault,
}

impl Wrong {
    fn new(problem: String, fault: Fault) -> Self {
        Self { places: Vec::new(), problem, fault }
    }

    /// The same, seen from one level further out.
    fn within(mut self, outer: Place) -> Self {
        self.places.push(outer);
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new(problem.to_string(), Fault::Invalid)
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
        Self::new(format!("must be {expected}, not {found}"), Fault::WrongType)
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        // Where it is, is said by whoever asks for the name.
        Self::new(unknown(name, known).problem, Fault::Unknown)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new("is missing".to_owned(), Fault::Missing).within(Place::Member(field.to_owned()))
    }
}

impl Given<'_> {
    fn must_be<T>(self, what: &str) -> Result<T, Wrong> {
        Err(Wrong::new(format!("must be {what}, not {}", kind(self.value)), Fault::WrongType))
    }
}

impl<'de> de::Deserializer<'de> for Given<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                // JSON has no number that is none of these.
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => visitor.visit_str(text),
            Value::Array(items) => {
                visitor.visit_seq(Items { items: items.iter(), index: 0, left: self.left.map(|left| &left.items) })
            }
            Value::Object(map) => {
                let left = self.left.map(|left| &left.members);
                visitor.visit_map(Members { members: map.iter(), value: None, left })
            }
        }
    }

    /// Null counts as not there.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.value.is_boolean() { self.deserialize_any(visitor) } else { self.must_be("true or false") }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value.as_u64().map(u32::try_from) {
            Some(Ok(number)) => visitor.visit_u32(number),
            _ => {
                let fault = if self.value.is_number() { Fault::Invalid } else { Fault::WrongType };
                Err(Wrong::new(format!("must be a whole number from 0 up, not {}", self.value), fault))
            }
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.value.is_string() { self.deserialize_any(visitor) } else { self.must_be("text") }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.value.is_array() { self.deserialize_any(visitor) } else { self.must_be("a list") }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.value.is_object() { self.deserialize_any(visitor) } else { self.must_be("an object") }
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

struct Items<'a> {
    items: std::slice::Iter<'a, Value>,
    index: usize,
    left: Option<&'a HashMap<usize, Left>>,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        loop {
            let Some(value) = self.items.next() else { return Ok(None) };
            let index = self.index;
            self.index += 1;
            let left = self.left.and_then(|left| left.get(&index));
            if !left.is_some_and(|left| left.itself) {
                let read = seed.deserialize(Given { value, left });
                return read.map(Some).map_err(|wrong| wrong.within(Place::Item(index)));
            }
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Members<'a> {
    members: map::Iter<'a>,
    value: Option<(&'a String, Given<'a>)>,
    left: Option<&'a HashMap<String, Left>>,
}

impl<'de> de::MapAccess<'de> for Members<'_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        loop {
            let Some((name, value)) = self.members.next() else { return Ok(None) };
            let left = self.left.and_then(|left| left.get(name));
            if left.is_some_and(|left| left.itself) {
                continue;
            }
            let key: StrDeserializer<'_, Wrong> = name.as_str().into_deserializer();
            let key = seed.deserialize(key).map_err(|wrong| wrong.within(Place::Member(name.clone())))?;
            self.value = Some((name, Given { value, left }));
            return Ok(Some(key));
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        // serde asks for a value only after its key.
        let Some((name, given)) = self.value.take() else { return Err(de::Error::custom("has no value")) };
        seed.deserialize(given).map_err(|wrong| wrong.within(Place::Member(name.clone())))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Map, json};

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

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        #[expect(dead_code, reason = "the test looks at what is wrong")]
        after: String,
        #[expect(dead_code, reason = "the test looks at what is wrong")]
        steps: Option<Vec<Strict>>,
    }

    #[track_caller]
    fn check_all<T: DeserializeOwned + fmt::Debug>(value: Value, expect: &[&str]) {
        let error = read::<T>(value.clone(), WHOLE, &["id", "status"]).unwrap_err();
        let all: Vec<String> = error.each().map(|one| format!("{one} ({})", one.fault.as_str())).collect();
        assert_eq!(all, expect, "{value}");
    }

    #[test]
    fn everything_that_does_not_fit_is_named() {
        let given = json!({
            "name": 5, "n": -1, "list": [{ "at": 1 }, 5, { "at": "x", "att": 2 }, { "at": [] }], "inner": { "b": 1, "c": 2 }, "id": "a", "status": null,
        });
        check_all::<Outer>(
            given,
            &[
                "id: is set by the server; leave it out (read_only)",
                "status: is set by the server; leave it out (read_only)",
                "inner.b: is not a known field; known are at (unknown_field)",
                "inner.c: is not a known field; known are at (unknown_field)",
                "list[0].at: must be text, not a number (wrong_type)",
                "list[1]: must be an object, not a number (wrong_type)",
                "list[2].att: is not a known field; did you mean `at`? (unknown_field)",
                "list[3].at: must be text, not a list (wrong_type)",
                "n: must be a whole number from 0 up, not -1 (invalid)",
                "name: must be text, not a number (wrong_type)",
            ],
        );
    }

    #[test]
    fn a_field_that_must_be_there_is_missed_once() {
        check_all::<Strict>(
            json!({ "steps": 1 }),
            &["steps: must be a list, not a number (wrong_type)", "after: is missing (missing)"],
        );
        check_all::<Strict>(
            json!({ "after": "1m", "steps": [{}, { "after": 1 }, { "after": "x", "y": 1 }] }),
            &[
                "steps[0].after: is missing (missing)",
                "steps[1].after: must be text, not a number (wrong_type)",
                "steps[2].y: is not a known field; known are after, steps (unknown_field)",
            ],
        );
        check_all::<Strict>(json!(3), &["body: must be an object, not a number (wrong_type)"]);
    }

    #[test]
    fn the_rest_is_read_without_what_is_wrong() {
        let given = json!({ "name": "a", "n": "x", "list": [{ "at": 1 }, { "at": "b" }] });
        let (outer, faults) = partly::<Outer>(&given, WHOLE, &[]).unwrap();
        let list = Some(vec![Inner::default(), Inner { at: Some("b".into()) }]);
        assert_eq!(outer, Outer { name: Some("a".into()), list, ..Outer::default() });
        assert_eq!(faults.finish().unwrap_err().each().count(), 2);
        // Of thousands of mistakes, some are named, and it does not take for ever.
        let many: Map<String, Value> = (0..5000).map(|n| (format!("f{n}"), json!(n))).collect();
        let error = read::<Outer>(Value::Object(many), WHOLE, &[]).unwrap_err();
        assert_eq!(error.each().count(), MISTAKES_MAX);
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
