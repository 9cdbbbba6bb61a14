//! People: where they are, how they are reached, and when they are left in peace.

/// All of them, and the groups.
mod list;

/// One person, as they are.
mod person;

/// What is done on the page of a person.
mod change;

/// Removing somebody, after a question.
mod leave;

/// One group.
mod groups;

/// Whether somebody can be told something now.
mod peace;

/// Whether anybody receives what is sent to somebody.
pub(super) mod reach;

use axum::Router;
use axum::routing::{get, post};
use punctual_client::escaped;

use crate::Web;

/// The most groups and silences that a page looks at.
const LOOKED_AT: usize = 500;

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/people", get(list::show).post(list::create))
        .route("/people/{id}", get(person::show).post(change::change))
        .route("/people/{id}/delete", get(leave::ask_delete).post(leave::delete))
        .route("/people/{id}/erase", get(leave::ask_erase).post(leave::erase))
        .route("/groups", post(groups::create))
        .route("/groups/{name}", get(groups::show).post(groups::change))
        .route("/groups/{name}/delete", get(groups::ask_delete).post(groups::delete))
}

/// The page of a person.
pub(super) fn of_person(id: &str) -> String {
    format!("/people/{}", escaped(id))
}

/// The page of a group.
fn of_group(name: &str) -> String {
    format!("/groups/{}", escaped(name))
}
