//! The settings of the server as they are in force.

use super::style::{Style, neutral};
use super::table::{Cell, Table};
use super::{Context, print, print_json};

pub(super) async fn run(context: &Context) -> anyhow::Result<()> {
    let page = context.client.settings_in_force().await?;
    if context.json {
        return print_json(&page);
    }
    let mut table = Table::new(&["SETTING", "FROM", "VALUE"]).wrapping();
    for setting in page.settings.iter().flatten() {
        let (value, style) = match (&setting.value, setting.secret) {
            (Some(value), _) => (neutral(value), Style::Plain),
            (None, true) => ("(secret)".to_owned(), Style::Dim),
            (None, false) => ("–".to_owned(), Style::Dim),
        };
        let from = setting.from.as_deref().unwrap_or(&setting.source);
        let is_default = setting.source == "default";
        table.push(vec![
            Cell::new(&setting.name, Style::Cyan),
            Cell::new(&neutral(from), if is_default { Style::Dim } else { Style::Plain }),
            Cell::new(&value, style),
        ]);
    }
    print(&table.render(context.paint))
}
