//! The applications that are told what happens.

use super::style::{Style, neutral};
use super::table::{Cell, Table};
use super::{Context, print, print_json};
use crate::wire::Subscription;

pub(super) async fn run(context: &Context) -> anyhow::Result<()> {
    let page = context.client.subscriptions().await?;
    if context.json {
        return print_json(&page);
    }
    if page.subscriptions.is_empty() {
        return print("Nobody is told. Write [[subscriptions]] into the config file to tell an application.\n");
    }
    print(&table(&page.subscriptions).render(context.paint))
}

fn table(subscriptions: &[Subscription]) -> Table {
    let mut table = Table::new(&["SUBSCRIPTION", "CHANNEL", "ABOUT", "BEHIND", "NODE", "NOTE"]);
    for subscription in subscriptions {
        table.push(vec![
            Cell::new(&subscription.name, Style::Cyan),
            Cell::plain(&subscription.channel),
            Cell::plain(&about(subscription)),
            Cell::plain(&subscription.behind.map_or_else(|| "–".to_owned(), |n| n.to_string())),
            Cell::plain(&neutral(subscription.node.as_deref().unwrap_or("–"))),
            Cell::new(&neutral(subscription.note.as_deref().unwrap_or("–")), Style::Yellow),
        ]);
    }
    table
}

/// Whose entries it is told, and of which tag.
fn about(subscription: &Subscription) -> String {
    let whose = match subscription.users.is_empty() {
        true => "everybody".to_owned(),
        false => subscription.users.join(", "),
    };
    let of_tag = subscription.tag.as_ref().map(|tag| format!(", {tag}")).unwrap_or_default();
    neutral(&format!("{whose}{of_tag}"))
}
