//! How a channel hears what people answer: the setting `receive`.

use punctual_core::channel::receive::Way;
use punctual_core::invalid::Invalid;

use super::fields::Fields;

/// The way that the settings name, else `default`; `None`: answers do not come from the platform.
pub(crate) fn way(fields: &mut Fields, default: Option<Way>) -> Result<Option<Way>, Invalid> {
    match fields.text("receive").as_deref().map(str::trim) {
        None => Ok(default),
        Some("off") => Ok(None),
        Some(word) => match word.parse() {
            Ok(way) => Ok(Some(way)),
            Err(_) => Err(Invalid::new("receive", format!("`{word}` is not one of connection, webhook, off"))),
        },
    }
}

/// The error for a way that the platform does not have.
pub(crate) fn no_connection(platform: &str) -> Invalid {
    Invalid::new("receive", format!("{platform} has no `connection`; write webhook or off"))
}

/// The error where a setting is missing that a way needs.
pub(crate) fn needs(way: Way, setting: &str, what: &str) -> Invalid {
    Invalid::new("receive", format!("`{way}` needs {setting}; write {what}"))
}
