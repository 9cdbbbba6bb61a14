//! Facts about the platforms, in files of our own: `facts/NAME.toml` has the names, types, limits and enums that our requests
//! depend on, in the words of JSON Schema, and where the platform publishes each of them.
//!
//! Every request is checked against the facts, always. Where the platform's own file lies beside the checkout, the request is
//! checked against that file as well, and [`Facts::agree`] tries every fact on it: a member left out, a value of another type, a
//! text as long as it may be and one longer. Ours and theirs must take and refuse the same.

use serde_json::{Value, json};

use punctual_testkit::report;

use super::{assert_valid, close, published, published_schema, schema};

/// The facts about one platform.
pub(crate) struct Facts {
    name: &'static str,
    document: Value,
    /// Puts right what is wrong with the published files.
    mend: fn(&mut Value),
}

impl Facts {
    pub(crate) fn of(name: &'static str, mend: fn(&mut Value)) -> Self {
        let path = format!("{}/facts/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let document = toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { name, document, mend }
    }

    /// Fails unless `instance` is what the platform takes as `shape`: by our facts, and by its own file where that is here.
    #[track_caller]
    pub(crate) fn check(&self, shape: &str, instance: &Value) {
        assert_valid(&self.validator(shape, true), instance);
        let mut instance = instance.clone();
        for (name, member) in self.shape(shape)["properties"].as_object().into_iter().flatten() {
            if member.get("unpublished").is_some() {
                instance.as_object_mut().unwrap().remove(name);
            }
        }
        if let Some(theirs) = self.theirs(shape) {
            assert_valid(&theirs, &instance);
        }
    }

    /// Whether `instance` is what the platform takes as `shape`, by our facts.
    pub(crate) fn takes(&self, shape: &str, instance: &Value) -> bool {
        self.validator(shape, true).is_valid(instance)
    }

    /// The value in the file at `pointer`, such as `/values/statuses/is`.
    #[track_caller]
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.document.pointer(pointer).unwrap_or_else(|| panic!("{} has no {pointer}", self.name))
    }

    /// A number among the values.
    #[track_caller]
    pub(crate) fn number(&self, value: &str) -> usize {
        self.at(&format!("/values/{value}/is")).as_u64().unwrap() as usize
    }

    /// A list of texts among the values.
    #[track_caller]
    pub(crate) fn list(&self, value: &str) -> Vec<&str> {
        texts(self.at(&format!("/values/{value}/is")))
    }

    /// Fails where a fact is not what the platform's own file says. What is missing beside the checkout is left out, and said so.
    #[track_caller]
    pub(crate) fn agree(&self) {
        let (mut wrong, mut n_tried) = (Vec::new(), 0);
        for (name, shape) in self.document["shapes"].as_object().unwrap() {
            let Some(example) = shape.get("example") else { continue };
            let ours = self.validator(name, false);
            assert!(self.takes(name, example), "{name}: the example is not what its facts say");
            let Some(theirs) = self.theirs(name) else { continue };
            assert!(theirs.is_valid(example), "{name}: the example is not what the platform publishes");
            let mut probes = Vec::new();
            self.probes(shape, example, String::new(), &mut probes);
            n_tried += probes.len();
            for (pointer, value) in probes {
                let probe = replaced(example, &pointer, value.as_ref());
                let (we, they) = (ours.is_valid(&probe), theirs.is_valid(&probe));
                if we != they {
                    let shown: String =
                        value.map_or("left out".into(), |value| value.to_string()).chars().take(60).collect();
                    wrong.push(format!("{name}{pointer} {shown}: we say {we}, they say {they}"));
                }
            }
        }
        for (name, value) in self.document.get("values").and_then(Value::as_object).into_iter().flatten() {
            let Some((file, pointer)) = value["published"].as_str().and_then(|at| at.split_once('#')) else { continue };
            let Some(document) = published(file) else { continue };
            n_tried += 1;
            let theirs = document.pointer(pointer).unwrap_or_else(|| panic!("{file} has no {pointer}"));
            if sorted(theirs) != sorted(&value["is"]) {
                wrong.push(format!("{name}: we say {}, they say {theirs}", value["is"]));
            }
        }
        assert!(wrong.is_empty(), "{}: {wrong:#?}", self.name);
        if n_tried > 0 {
            report::ran(&format!("{n_tried} probes: facts/{}.toml agrees with ../shared/data/specs", self.name));
        }
    }

    fn shape(&self, name: &str) -> &Value {
        self.document["shapes"].get(name).unwrap_or_else(|| panic!("{} has no shape {name}", self.name))
    }

    /// Our facts about a shape. `with_words`: also those that the platform states in its documentation alone.
    fn validator(&self, shape: &str, with_words: bool) -> jsonschema::Validator {
        self.shape(shape);
        let mut definitions = self.document["shapes"].clone();
        merge_words(&mut definitions, with_words);
        close(&mut definitions);
        schema(json!({ "definitions": definitions }), &format!("#/definitions/{shape}"))
    }

    fn theirs(&self, shape: &str) -> Option<std::sync::Arc<jsonschema::Validator>> {
        let (file, pointer) = self.shape(shape)["published"].as_str()?.split_once('#').unwrap();
        published_schema(file, &format!("#{pointer}"), self.mend)
    }

    /// Everything that a fact about `part` of an example says: where, and what stands there instead; `None`: nothing does.
    fn probes(&self, facts: &Value, part: &Value, at: String, probes: &mut Vec<(String, Option<Value>)>) {
        if let Some(name) = facts["$ref"].as_str() {
            let shape = self.shape(name.rsplit('/').next().unwrap());
            return self.probes(shape, part, at, probes);
        }
        let mut tries = Vec::new();
        let kind = |value: &Value| std::mem::discriminant(value);
        tries.extend(
            [json!("a text"), json!(17), json!(true), json!([]), json!({})]
                .into_iter()
                .filter(|other| kind(other) != kind(part)),
        );
        if let Some(values) = facts["enum"].as_array() {
            tries.extend(values.iter().cloned());
            tries.push(if part.is_string() { json!("no-such-value") } else { json!(4711) });
        }
        let limit = |name: &str| facts[name].as_i64();
        for border in
            [limit("minLength").map(|n| (n, n - 1)), limit("maxLength").map(|n| (n, n + 1))].into_iter().flatten()
        {
            tries.extend([border.0, border.1].map(|n| json!("5".repeat(n as usize))));
        }
        for border in [limit("minimum").map(|n| (n, n - 1)), limit("maximum").map(|n| (n, n + 1))].into_iter().flatten()
        {
            tries.extend([json!(border.0), json!(border.1)]);
        }
        if facts["pattern"].is_string() {
            tries.extend([json!(""), json!("no such §")]);
        }
        if let Value::Array(items) = part {
            for border in
                [limit("minItems").map(|n| (n, n - 1)), limit("maxItems").map(|n| (n, n + 1))].into_iter().flatten()
            {
                tries.extend([border.0, border.1].map(|n| json!(vec![items[0].clone(); n as usize])));
            }
            if let Some(first) = items.first() {
                self.probes(&facts["items"], first, format!("{at}/0"), probes);
            }
        }
        if let Value::Object(members) = part {
            for (name, value) in members {
                probes.push((format!("{at}/{name}"), None));
                self.probes(&facts["properties"][name], value, format!("{at}/{name}"), probes);
            }
        }
        probes.extend(tries.into_iter().map(|value| (at.clone(), Some(value))));
    }
}

/// The texts of a list.
pub(crate) fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// A list in one order, whatever its own: an enum has none.
fn sorted(value: &Value) -> Value {
    let Value::Array(items) = value else { return value.clone() };
    let mut items = items.clone();
    items.sort_by_key(Value::to_string);
    Value::Array(items)
}

/// `example` with another value at `pointer`, or with none.
fn replaced(example: &Value, pointer: &str, value: Option<&Value>) -> Value {
    let mut changed = example.clone();
    match (value, pointer.rsplit_once('/')) {
        (Some(value), _) => *changed.pointer_mut(pointer).unwrap() = value.clone(),
        (None, Some((parent, name))) => {
            changed.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
        }
        (None, None) => unreachable!("only a member can be left out"),
    }
    changed
}

/// Puts what stands in `words` beside it, or forgets it.
fn merge_words(value: &mut Value, with_words: bool) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(words)) = map.remove("words")
                && with_words
            {
                map.extend(words);
            }
            map.values_mut().for_each(|value| merge_words(value, with_words));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| merge_words(item, with_words)),
        _ => {}
    }
}

/// The probes notice a fact that is wrong: each of these differs from the facts in one word.
#[test]
fn a_wrong_fact_is_noticed() {
    let facts = |text: &str| Facts { name: "test", document: toml::from_str(text).unwrap(), mend: |_| () };
    let right = "[shapes.Note]\ntype = 'object'\nrequired = ['text']\nexample = { text = 'x', tags = ['a'], kind = 'one', size = 3 }\n\
                 [shapes.Note.properties]\ntext = { type = 'string', maxLength = 40 }\ntags = { type = 'array', maxItems = 2 }\n\
                 kind = { type = 'string', enum = ['one', 'two'] }\nsize = { type = 'integer', maximum = 9 }\n";
    let theirs = facts(right).validator("Note", true);
    let differs = |text: &str| {
        let facts = facts(text);
        let (shape, mut probes) = (facts.shape("Note"), Vec::new());
        let example = &shape["example"];
        facts.probes(shape, example, String::new(), &mut probes);
        let ours = facts.validator("Note", true);
        probes.into_iter().any(|(pointer, value)| {
            let probe = replaced(example, &pointer, value.as_ref());
            ours.is_valid(&probe) != theirs.is_valid(&probe)
        })
    };
    assert!(!differs(right));
    for (word, other) in [
        ("required = ['text']", "required = []"),
        ("required = ['text']", "required = ['text', 'size']"),
        ("maxLength = 40", "maxLength = 41"),
        ("maxLength = 40", "maxLength = 39"),
        ("maxItems = 2", "maxItems = 3"),
        ("'one', 'two'", "'one', 'three'"),
        ("maximum = 9", "maximum = 10"),
        ("size = { type = 'integer'", "size = { type = ['integer', 'string']"),
    ] {
        assert!(differs(&right.replace(word, other)), "{other} instead of {word}");
    }
}
