//! The servers that use the same database.

use punctual_core::store::NodeState;

use super::style::{Style, neutral};
use super::table::{Cell, Table};
use super::{Context, print, print_json};
use crate::wire::Node;

pub(super) async fn run(context: &Context) -> anyhow::Result<()> {
    let page = context.client.nodes().await?;
    if context.json {
        return print_json(&page);
    }
    let mut table = Table::new(&["NODE", "STATE", "SINCE", "SHARDS", "IN FLIGHT", "WAITING", "CLOCK", "VERSION"]);
    for node in &page.nodes {
        table.push(row(node));
    }
    print(&table.render(context.paint))
}

fn row(node: &Node) -> Vec<Cell> {
    let count = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), |n| n.to_string());
    let name = if node.this { format!("{} (this)", neutral(&node.name)) } else { neutral(&node.name) };
    let clock = node.clock_offset_ms.map_or_else(|| "–".to_owned(), |ms| format!("{ms:+.1} ms"));
    vec![
        Cell::new(&name, Style::Cyan),
        Cell::new(node.state.as_str(), if node.state == NodeState::Alive { Style::Green } else { Style::Red }),
        Cell::plain(&node.since.to_string()),
        Cell::plain(&node.shards.len().to_string()),
        Cell::plain(&count(node.in_flight)),
        Cell::plain(&count(node.waiting)),
        Cell::plain(&clock),
        Cell::plain(node.version.as_deref().unwrap_or("–")),
    ]
}
