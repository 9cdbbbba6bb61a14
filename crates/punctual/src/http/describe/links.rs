//! What can be done with what an answer says: for readers, and for programs that try the API out.

use serde_json::{Value, json};

use super::Operation;

/// An operation and the status of its answer; then other operations, with the parameters that they take from it.
type Link = (&'static str, &'static str, &'static [(&'static str, &'static [(&'static str, &'static str)])]);

const ID: &[(&str, &str)] = &[("id", "$response.body#/id")];
const USER: &[(&str, &str)] = &[("id", "$request.path.id")];
const NAME: &[(&str, &str)] = &[("name", "$request.path.name")];
const EVENT: &[(&str, &str)] = &[("key", "$request.path.key")];
const SCOPE: &[(&str, &str)] = &[("path", "$request.path.path")];
const CALENDAR: &[(&str, &str)] = &[("id", "$request.path.id"), ("name", "$request.path.name")];

const LINKS: &[Link] = &[
    (
        "create_reminder",
        "201",
        &[
            ("show_reminder", ID),
            ("update_reminder", ID),
            ("cancel_reminder", ID),
            ("command_reminder", ID),
            ("list_occurrences", ID),
        ],
    ),
    ("create_silence", "201", &[("show_silence", ID), ("end_silence", ID)]),
    ("put_user", "201", &[("show_user", USER), ("put_user", USER), ("delete_user", USER), ("list_calendars", USER)]),
    ("put_group", "201", &[("show_group", NAME), ("put_group", NAME), ("delete_group", NAME)]),
    ("put_event", "201", &[("show_event", EVENT), ("put_event", EVENT), ("delete_event", EVENT)]),
    ("put_scope", "201", &[("show_scope", SCOPE), ("put_scope", SCOPE), ("delete_scope", SCOPE)]),
    (
        "put_calendar",
        "201",
        &[("show_followed_calendar", CALENDAR), ("read_calendar", CALENDAR), ("delete_calendar", CALENDAR)],
    ),
    ("create_key", "201", &[("show_key", ID), ("rotate_key", ID), ("delete_key", ID)]),
];

/// Adds the links of an operation's answers.
pub(super) fn complete(operation: &mut Operation<'_>) {
    for (_, status, to) in LINKS.iter().filter(|(of, ..)| *of == operation.id) {
        let response = &mut operation.described["responses"][status];
        for (target, parameters) in *to {
            let parameters: Value =
                parameters.iter().map(|(name, from)| ((*name).to_owned(), Value::from(*from))).collect();
            response["links"][*target] = json!({ "operationId": target, "parameters": parameters });
        }
    }
}
