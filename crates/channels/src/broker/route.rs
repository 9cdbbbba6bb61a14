//! Where in the broker a message goes: a text with fields such as `{address}`.

use punctual_core::channel::{Message, Notice};
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

    /// The place for one notice. A field that only reminders have is empty.
    pub(crate) fn fill_notice(&self, notice: &Notice) -> String {
        let entry = &*notice.entry;
        let field = |name: &str| match name {
            "address" => notice.to.address.clone(),
            "channel" => notice.to.channel.clone(),
            "user" => entry.user.as_deref().unwrap_or_default().to_owned(),
            "reminder_id" => entry.reminder.map(|id| id.to_string()).unwrap_or_default(),
            "occurrence_id" => entry.occurrence().map(|id| id.to_string()).unwrap_or_default(),
            "run" => entry.run.map(|run| run.to_string()).unwrap_or_default(),
            _ => String::new(),
        };
        self.0.as_ref().map(|template| template.fill(field)).unwrap_or_default()
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
        let tell = |text: &str| Route::parse("subject", text).unwrap().fill_notice(&sample::notice("games"));
        assert_eq!(tell("x.{address}.{user}.{run}{priority}!"), "x.games.alice.3!");
        assert_eq!(tell("results"), "results");
    }
}
