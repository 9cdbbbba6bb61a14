//! Telegram's HTML: making a text harmless in it, and counting it as Telegram does.

/// `text` as Telegram shows it letter by letter.
///
/// Telegram finds `@name` by itself, markup or not, and calls that person; an invisible character after the @ stops it. The @ of
/// an e-mail address calls nobody and stays.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    for character in text.chars() {
        if before == '@' && (character.is_ascii_alphanumeric() || character == '_') {
            let is_email = out.trim_end_matches('@').ends_with(|last: char| last.is_alphanumeric() || last == '_');
            if !is_email {
                out.push('\u{2060}');
            }
        }
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // It would end an attribute that a template has put the text into.
            '"' => out.push_str("&quot;"),
            _ => out.push(character),
        }
        before = character;
    }
    out
}

/// How long Telegram finds a text: in UTF-16 code units, with tags read and entities as what they stand for.
pub(super) fn units(html: &str) -> usize {
    let (mut n_units, mut rest) = (0, html);
    while let Some(character) = rest.chars().next() {
        let end_of = |last: char| rest.find(last).map(|at| at + 1);
        let n_bytes = match character {
            '<' => end_of('>'),
            '&' => end_of(';').filter(|end| is_entity(&rest[1..end - 1])).inspect(|_| n_units += 1),
            _ => None,
        };
        let n_bytes = n_bytes.unwrap_or_else(|| {
            n_units += character.len_utf16();
            character.len_utf8()
        });
        rest = &rest[n_bytes..];
    }
    n_units
}

/// Such as `amp` or `#8364`.
fn is_entity(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_formatted_and_nobody_is_called() {
        assert_eq!(escape("<b>1 & 2</b> &amp; *x* _y_"), "&lt;b&gt;1 &amp; 2&lt;/b&gt; &amp;amp; *x* _y_");
        assert_eq!(escape("@alice and (@bob) @@carl"), "@\u{2060}alice and (@\u{2060}bob) @@\u{2060}carl");
        assert_eq!(escape("a@b.example, 5 @ home, @"), "a@b.example, 5 @ home, @");
        assert_eq!(escape("<a href=\"tg://user?id=1\">x</a>"), "&lt;a href=&quot;tg://user?id=1&quot;&gt;x&lt;/a&gt;");
    }

    #[test]
    fn markup_is_not_counted_and_wide_characters_count_twice() {
        assert_eq!(units("<b>a</b> &amp; &lt;"), 5);
        assert_eq!(units("⏰ 😀 ä"), 6);
        assert_eq!(units("a < b & c; d &"), 14);
    }
}
