//! Where in the broker a message goes: a text with fields such as `{address}`.

use punctual_core::channel::Message;
use punctual_core::invalid::Invalid;

use crate::common::template::{Template, plain};

/// A place in a broker, with fields of a reminder in it; it may be empty.
#[derive(Debug, Clone)]
pub(crate) struct Route(Option<Template>);

impl Route {
    /// Reads the setting of this name.
    pub(crate) fn parse(setting: &str, text: &str) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        Template::parse(text, plain)
            .map(|template| Self(Some(template)))
            .map_err(|problem| Invalid::new(setting, problem))
    }

    /// Whether it asks for `field`.
    pub(crate) fn uses(&self, field: &str) -> bool {
        self.0.as_ref().is_some_and(|template| template.names(field))
    }

    /// The place for one message.
    pub(crate) fn fill(&self, message: &Message) -> String {
        self.0.as_ref().map(|template| template.render(message, "")).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn fields_are_filled_and_wrong_ones_refused() {
        let message = sample::message("games");
        let fill = |text: &str| Route::parse("subject", text).unwrap().fill(&message);
        assert_eq!(fill("{address}"), "games");
        assert_eq!(fill("x.{address}.{user}.{priority}!"), "x.games.alice.high!");
        assert_eq!(fill("game.reminder_due"), "game.reminder_due");
        assert_eq!(fill("{channel}.{metadata.room}"), "webhook.7");
        assert_eq!(fill(""), "");
        let invalid = Route::parse("subject", "a.{adress}").unwrap_err();
        assert!(invalid.to_string().contains("{adress}") && invalid.to_string().contains("address"), "{invalid}");
        assert!(Route::parse("subject", "a.{address").is_err());
        let uses = |text: &str| Route::parse("subject", text).unwrap().uses("address");
        assert!(uses("a.{address}") && !uses("a.address"));
    }
}
