//! Puts runs that waited through quiet hours into one message.

use sha2::{Digest as _, Sha256};

use crate::id::OccurrenceId;
use crate::phrase::Lang;

/// One message for several, in the order they are given.
pub fn text(lang: Lang, texts: &[String]) -> String {
    let heading = match lang {
        Lang::En => "While it was quiet",
        Lang::Es => "Durante el silencio",
        Lang::Fr => "Pendant le silence",
        Lang::De => "Während der Ruhezeit",
        Lang::Hr | Lang::Bs => "Dok je bilo tiho",
        Lang::Sr => "Dok je bilo tiho",
        Lang::SrCyrl => "Док је било тихо",
    };
    let mut digest = format!("{heading} ({}):", texts.len());
    for text in texts {
        digest.push_str("\n• ");
        // A text of several lines stays one entry.
        digest.push_str(&text.trim().replace('\n', "\n  "));
    }
    digest
}

/// The key of such a message: that of its first, and what tells it from a message with other contents. The same ones together
/// have the same key at every attempt.
pub fn key(first: &str, together: &[OccurrenceId]) -> String {
    let mut hash = Sha256::new();
    for id in together {
        hash.update(id.to_string().as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    format!("{first}-d{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3])
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::id::ReminderId;

    #[test]
    fn a_digest_has_everything_in_it() {
        let texts = ["take the bins out".to_owned(), "call mum\nand dad\n".to_owned()];
        let said = text(Lang::En, &texts);
        assert_eq!(said, "While it was quiet (2):\n• take the bins out\n• call mum\n  and dad");
        for lang in Lang::ALL {
            assert!(text(lang, &texts).contains("(2):\n• take the bins out"), "{lang}");
        }
    }

    #[test]
    fn other_contents_have_another_key() {
        let id = |number| OccurrenceId { reminder: ReminderId::new(Timestamp::UNIX_EPOCH, [number; 10]), run: 1 };
        let both = key("k", &[id(1), id(2)]);
        assert_eq!(both, key("k", &[id(1), id(2)]));
        assert_ne!(both, key("k", &[id(1), id(3)]));
        assert!(both.starts_with("k-d") && !both.contains('.'));
    }
}
