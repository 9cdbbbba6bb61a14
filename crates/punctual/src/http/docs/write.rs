//! The page, piece by piece.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::http::describe::operations;
use crate::http::html::escape;

/// The rooms that come first.
const FIRST: [&str; 5] = ["reminders", "users", "groups", "events", "answers"];

/// The whole page.
pub(super) fn page(document: &Value, style: &str) -> String {
    let mut html = String::with_capacity(512 * 1024);
    let version = document["info"]["version"].as_str().unwrap_or_default();
    let _ = write!(
        html,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>punctual {0}: the API</title><style>{style}</style></head><body><div class=\"frame\"><nav aria-label=\"Operations\">\
         <a href=\"#top\"><strong>punctual</strong></a> <span class=\"soft\">{0}</span>",
        escape(version)
    );
    let rooms = rooms(document);
    for (room, operations) in &rooms {
        let _ = write!(html, "<h2>{}</h2><ul>", escape(room));
        for Operation { id, described, .. } in operations {
            let summary = described["summary"].as_str().unwrap_or_default();
            let _ = write!(html, "<li><a href=\"#{}\">{}</a></li>", escape(id), words(summary.trim_end_matches('.')));
        }
        html.push_str("</ul>");
    }
    html.push_str("<h2>Types</h2><ul>");
    for name in schemas(document).map(|(name, _)| name) {
        let _ = write!(html, "<li><a href=\"#type-{0}\">{0}</a></li>", escape(name));
    }
    html.push_str("</ul></nav><main id=\"top\"><h1>punctual: the API</h1>");
    paragraphs(&mut html, document["info"]["description"].as_str().unwrap_or_default());
    html.push_str("<p>For programs: <a href=\"/openapi.json\">/openapi.json</a> (OpenAPI 3.1).</p>");
    for (room, operations) in &rooms {
        let _ = write!(html, "<h2 id=\"room-{0}\">{0}</h2>", escape(room));
        for operation in operations {
            article(&mut html, operation, document);
        }
    }
    html.push_str("<h2 id=\"types\">Types</h2>");
    for (name, schema) in schemas(document) {
        let _ = write!(html, "<article id=\"type-{0}\"><h3><a href=\"#type-{0}\">{0}</a></h3>", escape(name));
        paragraphs(&mut html, schema["description"].as_str().unwrap_or_default());
        fields(&mut html, schema);
        html.push_str("</article>");
    }
    html.push_str("</main></div></body></html>");
    html
}

struct Operation<'a> {
    id: &'a str,
    method: &'static str,
    path: &'a str,
    described: &'a Value,
}

/// The operations by what they are about: what most readers look for comes first.
fn rooms(document: &Value) -> Vec<(&str, Vec<Operation<'_>>)> {
    let mut rooms: BTreeMap<&str, Vec<Operation<'_>>> = BTreeMap::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, described) in operations(item) {
            let room = described["tags"][0].as_str().unwrap_or_default();
            let id = described["operationId"].as_str().unwrap_or_default();
            rooms.entry(room).or_default().push(Operation { id, method, path, described });
        }
    }
    let mut rooms: Vec<_> = rooms.into_iter().collect();
    let rank = |room: &str| FIRST.iter().position(|first| *first == room).unwrap_or(FIRST.len());
    rooms.sort_by_key(|(room, _)| rank(room));
    rooms
}

fn schemas(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    document["components"]["schemas"].as_object().into_iter().flatten()
}

fn article(html: &mut String, operation: &Operation<'_>, document: &Value) {
    let Operation { id, method, path, described } = operation;
    let _ = write!(
        html,
        "<article id=\"{0}\"><h3><span class=\"method {method}\">{1}</span><a href=\"#{0}\"><code>{2}</code></a></h3><p class=\"summary\">{3}</p>",
        escape(id),
        method.to_uppercase(),
        escape(path),
        words(described["summary"].as_str().unwrap_or_default()),
    );
    paragraphs(html, described["description"].as_str().unwrap_or_default());
    if described["security"].is_null() {
        html.push_str("<p class=\"soft\">It needs no key.</p>");
    }
    parameters(html, described, document);
    body(html, operation);
    html.push_str("<h4>Answers</h4><table>");
    for (status, response) in described["responses"].as_object().into_iter().flatten() {
        let response = resolved(response, document);
        let _ = write!(html, "<tr><td><code>{}</code></td><td>", escape(status));
        html.push_str(&words(response["description"].as_str().unwrap_or_default()));
        for (kind, media) in response["content"].as_object().into_iter().flatten() {
            let shown = kind_of(&media["schema"]);
            if !kind.contains("problem") {
                let _ = write!(html, " {shown} <span class=\"soft\">{}</span>", escape(kind));
            }
        }
        let headers: Vec<&str> =
            response["headers"].as_object().into_iter().flatten().map(|(name, _)| &**name).collect();
        let own: Vec<String> = headers
            .iter()
            .filter(|name| **name != "X-Request-Id")
            .map(|name| format!("<code>{}</code>", escape(name)))
            .collect();
        if !own.is_empty() {
            let _ = write!(html, " <span class=\"soft\">Headers:</span> {}", own.join(", "));
        }
        html.push_str("</td></tr>");
    }
    html.push_str("</table></article>");
}

fn parameters(html: &mut String, described: &Value, document: &Value) {
    let Some(parameters) = described["parameters"].as_array().filter(|all| !all.is_empty()) else { return };
    html.push_str("<h4>Parameters</h4><table>");
    for parameter in parameters {
        let parameter = resolved(parameter, document);
        let required = if parameter["required"] == true { "" } else { ", optional" };
        let _ = write!(
            html,
            "<tr><td><code>{}</code><br><span class=\"soft\">{}{required}</span></td><td>{}</td></tr>",
            escape(parameter["name"].as_str().unwrap_or_default()),
            escape(parameter["in"].as_str().unwrap_or_default()),
            words(parameter["description"].as_str().unwrap_or_default()),
        );
    }
    html.push_str("</table>");
}

/// The request's body, with an example that can be pasted into a terminal.
fn body(html: &mut String, operation: &Operation<'_>) {
    let content = &operation.described["requestBody"]["content"];
    for (kind, media) in content.as_object().into_iter().flatten() {
        let _ = write!(
            html,
            "<h4>Body</h4><p>{} <span class=\"soft\">{}</span></p>",
            kind_of(&media["schema"]),
            escape(kind)
        );
        let Some(example) = media.get("example") else { continue };
        let path = example_path(operation);
        let compact = example.to_string().replace('\'', "'\\''");
        let command = format!(
            "curl -X {} \"$PUNCTUAL_URL{path}\" -H \"Authorization: Bearer $PUNCTUAL_API_KEY\" -H 'Content-Type: application/json' \\\n  -d '{compact}'",
            operation.method.to_uppercase()
        );
        let _ = write!(html, "<pre>{}</pre>", escape(&command));
    }
}

/// The path with the examples of its parameters.
fn example_path(operation: &Operation<'_>) -> String {
    let mut path = operation.path.to_owned();
    for parameter in operation.described["parameters"].as_array().into_iter().flatten() {
        if let (Some(name), Some(example)) = (parameter["name"].as_str(), parameter["example"].as_str()) {
            path = path.replace(&format!("{{{name}}}"), example);
        }
    }
    path
}

/// The fields of a type.
fn fields(html: &mut String, schema: &Value) {
    if let Some(words) = schema.get("enum").or(schema.get("examples")).and_then(Value::as_array) {
        let words: Vec<String> =
            words.iter().filter_map(Value::as_str).map(|word| format!("<code>{}</code>", escape(word))).collect();
        let _ = write!(html, "<p>{}</p>", words.join(", "));
    }
    for (index, either) in schema["oneOf"].as_array().into_iter().flatten().enumerate() {
        let _ = write!(html, "<h4>{}: {}</h4>", if index == 0 { "Either" } else { "Or" }, kind_of(either));
        paragraphs(html, either["description"].as_str().unwrap_or_default());
        fields(html, either);
    }
    let Some(properties) = schema["properties"].as_object() else { return };
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    html.push_str("<table>");
    for (name, field) in properties {
        let optional = if required(name) { "" } else { "<br><span class=\"soft\">optional</span>" };
        let _ = write!(
            html,
            "<tr><td><code>{}</code>{optional}</td><td>{} {}</td></tr>",
            escape(name),
            kind_of(field),
            words(field["description"].as_str().unwrap_or_default()),
        );
    }
    html.push_str("</table>");
}

/// The kind of a value in words, with a link where it is a type of ours.
fn kind_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return format!("<a href=\"#type-{0}\">{0}</a>", escape(name));
    }
    for many in ["oneOf", "anyOf", "allOf"] {
        if let Some(all) = schema[many].as_array() {
            let all: Vec<String> = all.iter().filter(|one| one["type"] != "null").map(kind_of).collect();
            return all.join(" or ");
        }
    }
    let one = |kind: &Value| match kind.as_str().unwrap_or_default() {
        "string" if schema["enum"].is_array() => {
            let words = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            words.map(|word| format!("<code>{}</code>", escape(word))).collect::<Vec<_>>().join(", ")
        }
        "string" => "text".to_owned(),
        "array" => format!("list of {}", kind_of(&schema["items"])),
        "boolean" => "true or false".to_owned(),
        "integer" => "whole number".to_owned(),
        other => escape(other),
    };
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter(|kind| *kind != "null").map(one).collect::<Vec<_>>().join(" or "),
        Value::Null => "anything".to_owned(),
        kind => one(kind),
    };
    format!("<span class=\"soft\">{kinds}.</span>")
}

/// What a reference leads to.
fn resolved<'a>(value: &'a Value, document: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

fn paragraphs(html: &mut String, said: &str) {
    for paragraph in said.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let _ = write!(html, "<p>{}</p>", words(paragraph));
    }
}

/// A sentence, with what stands between backticks as code.
fn words(said: &str) -> String {
    let mut html = String::with_capacity(said.len() + 32);
    for (index, part) in said.split('`').enumerate() {
        match index % 2 {
            0 => html.push_str(&escape(part)),
            _ => {
                let _ = write!(html, "<code>{}</code>", escape(part));
            }
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::http::describe;

    #[test]
    fn every_operation_and_every_type_has_its_place_and_every_link_leads_to_one() {
        let document = describe::document();
        let page = page(document, "");
        let named = |attribute: &str| -> Vec<String> {
            page.split(attribute).skip(1).filter_map(|rest| Some(rest.split('"').next()?.to_owned())).collect()
        };
        let places = named(" id=\"");
        let unique: BTreeSet<&String> = places.iter().collect();
        assert_eq!(unique.len(), places.len(), "a place has one name");
        for link in named("href=\"#") {
            assert!(unique.contains(&link), "#{link} leads nowhere");
        }
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, described) in operations(item) {
                let id = described["operationId"].as_str().unwrap();
                assert!(unique.contains(&id.to_owned()), "{method} {path}");
            }
        }
        assert!(
            !page.contains("<script") && !page.contains("http-equiv") && !page.contains(" src="),
            "nothing is loaded"
        );
    }

    #[test]
    fn what_a_description_says_is_escape() {
        assert_eq!(words("a `<b>` & \"c\""), "a <code>&lt;b&gt;</code> &amp; &quot;c&quot;");
    }
}
