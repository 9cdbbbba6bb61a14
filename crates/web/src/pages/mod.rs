//! One file a page.

mod act;
mod ahead;
mod browser;
mod channels;
pub(crate) mod events;
mod health;
mod keys;
mod people;
mod reminder;
mod reminders;
pub(crate) mod scopes;
mod settings;
mod today;
mod watches;

use axum::Router;

use crate::Web;

#[cfg(test)]
pub(crate) use ahead::tests::reminder as reminder_of;

/// All pages.
pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .merge(today::routes())
        .merge(reminders::routes())
        .merge(reminder::routes())
        .merge(act::routes())
        .merge(events::routes())
        .merge(scopes::routes())
        .merge(watches::routes())
        .merge(people::routes())
        .merge(browser::routes())
        .merge(channels::routes())
        .merge(health::routes())
        .merge(keys::routes())
        .merge(settings::routes())
}
