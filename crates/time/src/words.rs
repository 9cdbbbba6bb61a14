//! Gives an enum the words in which doors and stores write it.

use std::str::FromStr;

use crate::invalid::Invalid;

/// An enum whose values are written as words.
pub trait Words: FromStr<Err = Invalid> + 'static {
    /// All words there are.
    const WORDS: &'static [&'static str];

    /// The word of this value.
    fn word(&self) -> &'static str;
}

/// Gives an enum its written words, both ways, so that every door and store spells it alike.
///
/// The enum gets `as_str`, [`Words`](crate::words::Words), `Display` and `FromStr`; a word that it does not have is an [`Invalid`](crate::invalid::Invalid) of the
/// field named after `as`.
#[macro_export]
macro_rules! words {
    ($type:ident as $field:literal { $($word:literal => $variant:ident),+ $(,)? }) => {
        impl $type {
            /// The word people and stores use.
            pub fn as_str(&self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl $crate::words::Words for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn word(&self) -> &'static str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::invalid::Invalid;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::invalid::Invalid::new($field, format!(
                        "`{word}` is not one of {}", [$($word),+].join(", ")))),
                }
            }
        }
    };
}
