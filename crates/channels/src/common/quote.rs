//! A platform's words, made short and safe enough to be shown.

use super::token::Token;

/// How much of a text an error quotes, in characters.
const QUOTED_CHARS_MAX: usize = 200;

/// `text` as [`quote`] tells it, without the `secrets`. They are taken out before it is cut: half a secret is one, too.
pub(crate) fn told(text: &str, secrets: &[&Token]) -> String {
    quote(&secrets.iter().fold(text.to_owned(), |text, secret| secret.redact(&text)))
}

/// The beginning of `text` on one line, without control characters.
pub(crate) fn quote(text: &str) -> String {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.chars().filter(|character| !character.is_control()).collect())
        .collect();
    words.join(" ").trim().chars().take(QUOTED_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_secret_is_told() {
        let secret = Token::new("s3cret-and-long");
        for n in 180..=200 {
            let said = told(&format!("{} s3cret-and-long", "x".repeat(n)), &[&secret, &Token::new("other")]);
            assert!(!said.contains("s3"), "{n}: {said}");
        }
    }

    #[test]
    fn a_quote_is_one_short_line() {
        assert_eq!(quote("  <b>no\x1b[2J\r\n\tsuch\u{9b} room\0</b>\n"), "<b>no[2J such room</b>");
        assert_eq!(quote(&"ä".repeat(500)).chars().count(), 200);
        assert_eq!(quote(" \r\n "), "");
    }
}
