//! The text by which a reminder is found, and the words that are looked for in it.
//!
//! Both are folded alike ([`crate::fold`]), and words are found wherever they stand: within other words, too. So an index of the letters
//! in groups of three finds them.

use crate::fold::fold;
use crate::invalid::Invalid;
use crate::reminder::Reminder;

/// So much of a name, and of a message, is looked at.
const TEXT_BYTES_MAX: usize = 2000;
/// The longest words that can be looked for.
const WORDS_BYTES_MAX: usize = 200;
/// The fewest letters for which an index helps.
const LETTERS_MIN: usize = 3;
/// The most groups of letters that an index is asked for: each is a list that it walks, and a few leave little to compare.
const GROUPS_MAX: usize = 4;

/// The text by which a reminder is found: its name and its message, each in a line.
pub fn text_of(reminder: &Reminder) -> String {
    let name = reminder.name.as_deref().map(beginning).map(fold).unwrap_or_default();
    let message = fold(beginning(&reminder.message));
    if name.is_empty() { message } else { format!("{name}\n{message}") }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

/// Words that are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(String);

impl Words {
    /// Reads what somebody looks for, in the field `field`. Fewer than three letters are looked for only among one user's reminders.
    pub fn read(field: &str, text: &str, is_of_one_user: bool) -> Result<Self, Invalid> {
        if text.len() > WORDS_BYTES_MAX {
            let problem = format!("is {} bytes long; at most {WORDS_BYTES_MAX} are looked for", text.len());
            return Err(Invalid::new(field, problem));
        }
        let words = Self(fold(text));
        if words.0.is_empty() {
            return Err(Invalid::new(field, "has no letters to look for"));
        }
        if words.is_short() && !is_of_one_user {
            let problem = format!("needs at least {LETTERS_MIN} letters, or a user to look for it");
            return Err(Invalid::new(field, problem));
        }
        Ok(words)
    }

    /// The words, folded.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether no index helps to find them.
    pub fn is_short(&self) -> bool {
        self.0.chars().count() < LETTERS_MIN
    }

    /// Whether a reminder's text has them.
    pub fn are_in(&self, reminder: &Reminder) -> bool {
        text_of(reminder).contains(&self.0)
    }

    /// Groups of three letters that stand in every text which has the words: a few, from the beginning to the end of the words.
    pub fn groups(&self) -> Vec<String> {
        let letters: Vec<char> = self.0.chars().collect();
        let all: Vec<String> = letters.windows(LETTERS_MIN).map(|group| group.iter().collect()).collect();
        if all.len() <= GROUPS_MAX {
            return all;
        }
        let chosen = (0..GROUPS_MAX).map(|n| n * (all.len() - 1) / (GROUPS_MAX - 1));
        chosen.map(|index| all[index].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::{once, reminder};

    #[test]
    fn words_are_found_anywhere_in_a_name_or_a_message() {
        let reminder = Reminder { name: Some("Čaj".into()), message: "Call  Möm at noon".into(), ..reminder(once()) };
        assert_eq!(text_of(&reminder), "caj\ncall mom at noon");
        for (text, expect) in [("MOM", true), ("all mom", true), ("čaj", true), ("j c", false), ("dad", false)] {
            assert_eq!(Words::read("q", text, true).unwrap().are_in(&reminder), expect, "{text}");
        }
    }

    #[test]
    fn only_the_beginning_of_a_long_text_is_looked_at() {
        let reminder = Reminder { message: format!("{}é needle", "x".repeat(1999)), ..reminder(once()) };
        assert_eq!(text_of(&reminder).len(), 1999, "no letter is cut");
    }

    #[test]
    fn words_must_be_neither_short_nor_long() {
        let refused = |text: &str, of_user| Words::read("q", text, of_user).unwrap_err().to_string();
        assert!(refused("ab", false).contains("at least 3 letters"), "{}", refused("ab", false));
        assert!(Words::read("q", "ab", true).is_ok_and(|words| words.is_short()));
        assert!(refused(" \u{200b}", true).contains("no letters"));
        assert!(refused(&"a".repeat(201), true).contains("201 bytes"));
    }

    #[test]
    fn groups_stand_in_every_text_that_has_the_words() {
        let groups = |text: &str| Words::read("q", text, true).unwrap().groups();
        assert_eq!(groups("ab"), Vec::<String>::new());
        assert_eq!(groups("mom"), ["mom"]);
        assert_eq!(groups("Čaj!"), ["caj", "aj!"]);
        let long = "the quick brown fox jumps";
        let of_long = groups(long);
        assert_eq!((of_long.len(), of_long[0].as_str(), of_long[3].as_str()), (4, "the", "mps"));
        assert!(of_long.iter().all(|group| long.contains(group.as_str())));
    }
}
