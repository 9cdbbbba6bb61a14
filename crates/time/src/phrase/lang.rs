//! The languages that phrases and answers are understood in.

use std::fmt;
use std::str::FromStr;

/// A language, with its script where it has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lang {
    /// English.
    En,
    /// German.
    De,
    /// Croatian.
    Hr,
    /// Serbian in Latin letters.
    Sr,
    /// Serbian in Cyrillic letters.
    SrCyrl,
    /// Bosnian.
    Bs,
    /// Spanish, where somebody says that it is.
    Es,
    /// French, likewise.
    Fr,
}

impl Lang {
    /// All of them, in the order in which they are offered. The last two are never worked out from the words: their short words are words
    /// of the others as well.
    pub const ALL: [Self; 8] = [Self::En, Self::De, Self::Hr, Self::Sr, Self::SrCyrl, Self::Bs, Self::Es, Self::Fr];

    /// The tag it is known by, such as `sr-Cyrl`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Hr => "hr",
            Self::Sr => "sr",
            Self::SrCyrl => "sr-Cyrl",
            Self::Bs => "bs",
            Self::Es => "es",
            Self::Fr => "fr",
        }
    }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

impl FromStr for Lang {
    type Err = String;

    /// Reads a tag. A region after it (`de-AT`, `en_US`) is allowed and ignored, and so is case.
    fn from_str(tag: &str) -> Result<Self, String> {
        let lower = tag.to_lowercase().replace('_', "-");
        let mut parts = lower.split('-');
        let (language, script) = (parts.next().unwrap_or_default(), parts.next());
        match (language, script) {
            ("en", _) => Ok(Self::En),
            ("de", _) => Ok(Self::De),
            ("hr", _) => Ok(Self::Hr),
            ("sr", Some("cyrl")) => Ok(Self::SrCyrl),
            ("sr" | "sh", _) => Ok(Self::Sr),
            ("bs", _) => Ok(Self::Bs),
            ("es", _) => Ok(Self::Es),
            ("fr", _) => Ok(Self::Fr),
            _ => {
                Err(format!("`{tag}` is not a language that is understood; use en, de, hr, sr, sr-Cyrl, bs, es or fr"))
            }
        }
    }
}
