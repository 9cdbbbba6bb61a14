//! Offsets for all events below a path.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::offset::{End, Offset};
use super::version::Version;
use crate::invalid::Invalid;

/// The longest path.
pub const PATH_BYTES_MAX: usize = 256;
/// The most levels of a path.
pub const LEVELS_MAX: usize = 8;

/// The offsets of a user who has not said any: a quarter of an hour before.
pub const OF_USERS: [Offset; 1] = [Offset { of: End::Start, before_seconds: 15 * 60 }];

/// Where an event stands, such as `guild:1/channel:2`: levels, divided by slashes. In the name of a level `%2F` stands for a slash and
/// `%25` for a percent sign, and nothing else is escaped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(String);

impl Path {
    /// Where the defaults of a user stand, for the calendars that they follow; none where the name is too long for a path.
    pub fn of_user(user: &str) -> Option<Self> {
        format!("user:{}", escaped(user)).parse().ok()
    }

    /// The path as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its first level.
    pub fn root(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// Itself, and what it is below, nearest first: `guild:1/channel:2`, `guild:1`.
    pub fn with_ancestors(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.0.as_str()), |path| path.rsplit_once('/').map(|(above, _)| above))
    }

    /// Whether it is `other`, or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.strip_prefix(other.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// A name as it stands in a path, or before a slash in a longer name: with nothing in it that could divide it.
pub fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

impl FromStr for Path {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |problem: String| Invalid::new("scope", problem);
        if text.is_empty() || text.len() > PATH_BYTES_MAX {
            return Err(wrong(format!(
                "is {} bytes long; write 1 to {PATH_BYTES_MAX}, such as guild:1/channel:2",
                text.len()
            )));
        }
        if text.contains('\0') {
            return Err(wrong("contains a NUL character".into()));
        }
        let levels: Vec<&str> = text.split('/').collect();
        if levels.iter().any(|level| level.is_empty()) {
            return Err(wrong(format!("`{text}` has an empty part; write guild:1/channel:2")));
        }
        if levels.len() > LEVELS_MAX {
            return Err(wrong(format!("`{text}` has {} levels; at most {LEVELS_MAX}", levels.len())));
        }
        let mut kept = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            let escape = rest.get(at..at + 3).map(str::to_ascii_uppercase);
            let Some(escape) = escape.filter(|escape| escape == "%2F" || escape == "%25") else {
                return Err(wrong(format!(
                    "`{text}` has a single %; write %25 for a percent sign, %2F for a slash in a name"
                )));
            };
            kept.push_str(&rest[..at]);
            kept.push_str(&escape);
            rest = &rest[at + 3..];
        }
        kept.push_str(rest);
        Ok(Self(kept))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Offsets for all events below a path that have none of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The path.
    pub path: Path,
    /// The offsets, each once.
    pub offsets: Vec<Offset>,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

impl Scope {
    /// Its version: every time that it is put makes it another.
    pub fn version(&self) -> Version {
        Version::of(self)
    }
}

/// The scope of `scopes` that counts for what stands at `path`: the one with most levels in common.
pub fn nearest<'s>(path: &Path, scopes: &'s [Scope]) -> Option<&'s Scope> {
    path.with_ancestors().find_map(|above| scopes.iter().find(|scope| scope.path.as_str() == above))
}

/// Offsets of an event where neither the event nor a scope says any: an event that stands with a user, such as one of a calendar that the
/// user follows, reminds a quarter of an hour before; every other event reminds nobody.
pub fn default_at(path: &str) -> &'static [Offset] {
    if path.starts_with("user:") { &OF_USERS } else { &[] }
}

/// The offsets that count at `path`.
pub fn offsets_at<'s>(path: &Path, scopes: &'s [Scope]) -> &'s [Offset] {
    nearest(path, scopes).map_or_else(|| default_at(path.as_str()), |scope| &scope.offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_kept_as_it_is_written() {
        for (text, kept) in [
            ("guild:1", "guild:1"),
            ("guild:1/channel:2", "guild:1/channel:2"),
            ("a b/ü", "a b/ü"),
            ("a%2fb/50%25", "a%2Fb/50%25"),
        ] {
            assert_eq!(text.parse::<Path>().unwrap().as_str(), kept);
        }
        for text in ["", "/a", "a/", "a//b", "50%", "a%20b", "a%2", "1/2/3/4/5/6/7/8/9", "a\0"] {
            assert_eq!(text.parse::<Path>().unwrap_err().field, "scope", "{text}");
        }
        assert!("x".repeat(257).parse::<Path>().is_err());
    }

    #[test]
    fn the_nearest_scope_counts() {
        let path = |text: &str| text.parse::<Path>().unwrap();
        let scope = |text: &str| Scope { path: path(text), offsets: vec![], updated_at: Timestamp::UNIX_EPOCH };
        let scopes = ["guild:1", "guild:10", "guild:1/channel:2", "guild:1/channel:22"].map(scope);
        for (text, expect) in [
            ("guild:1/channel:2", Some("guild:1/channel:2")),
            ("guild:1/channel:2/thread:3", Some("guild:1/channel:2")),
            ("guild:1/channel:3", Some("guild:1")),
            ("guild:1%2Fchannel:2", None),
            ("guild:2", None),
        ] {
            assert_eq!(nearest(&path(text), &scopes).map(|scope| scope.path.as_str()), expect, "{text}");
        }
        assert!(path("a/b").is_within(&path("a")) && path("a").is_within(&path("a")));
        assert!(!path("ab").is_within(&path("a")) && !path("a").is_within(&path("a/b")));
    }
}
