//! Texts with columns in them, such as `webhook:https://example.org/{channel_id}`.

use punctual_client::escaped;
use punctual_core::template;

use super::row::{Layout, Row};
use crate::cli::Usage;

/// A text whose `{column}` stand for the row's values.
#[derive(Debug, Clone)]
pub(super) struct Template {
    text: template::Template<usize>,
    /// Whether it is the address of something on the web, in which a value must not change the path.
    is_url: bool,
}

impl Template {
    /// Reads `text`; refuses one that names a column the table does not have. `flag` is for the error.
    pub(super) fn parse(text: &str, flag: &str, layout: &Layout) -> Result<Self, Usage> {
        let column = |name: &str| {
            layout
                .index(name)
                .ok_or_else(|| format!("there is no column `{name}`; there are {}", layout.columns.join(", ")))
        };
        let address = text.strip_prefix("webhook:").unwrap_or(text);
        let is_url = address.starts_with("http://") || address.starts_with("https://");
        let text = template::Template::parse(text, column).map_err(|problem| Usage(format!("{flag}: {problem}")))?;
        Ok(Self { text, is_url })
    }

    /// The text for `row`; else the column in it that is empty there.
    pub(super) fn fill(&self, row: &Row<'_>) -> Result<String, String> {
        self.text.try_fill(|index| match row.value(*index) {
            Some(value) if self.is_url => Ok(escaped(value)),
            Some(value) => Ok(value.to_owned()),
            None => Err(row.layout.columns[*index].clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use punctual_core::zone::Zone;

    use super::*;

    fn fill(text: &str, values: &[Option<&str>]) -> Result<String, String> {
        let layout = Layout::new(vec!["id".into(), "channel_id".into()], Default::default(), Zone::utc());
        let values: Vec<Option<String>> = values.iter().map(|value| value.map(str::to_owned)).collect();
        let template = Template::parse(text, "--to", &layout).map_err(|usage| usage.to_string())?;
        template.fill(&Row::new(&layout, &values))
    }

    #[test]
    fn columns_are_filled_in() {
        let row = &[Some("7"), Some("a/b c")];
        assert_eq!(fill("discord:{channel_id}-{id}", row), Ok("discord:a/b c-7".into()));
        assert_eq!(
            fill("webhook:https://x.example/{channel_id}", row),
            Ok("webhook:https://x.example/a%2Fb%20c".into())
        );
        assert_eq!(fill("{{{id}}}", row), Ok("{7}".into()));
        assert_eq!(fill("plain", row), Ok("plain".into()));
        assert_eq!(fill("{channel_id}", &[Some("7"), None]), Err("channel_id".into()));
        assert!(fill("{chanel}", row).unwrap_err().contains("no column `chanel`; there are id, channel_id"));
        assert!(fill("{id", row).unwrap_err().contains("brace"));
    }
}
