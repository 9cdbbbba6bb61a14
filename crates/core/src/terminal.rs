//! Texts of other people, on a terminal.

/// Whether a terminal, or the program that draws its text, would obey the character instead of showing it.
///
/// These are the control characters (C0, DEL and C1), and the characters that change the direction in which text is
/// read: with one of them a message can make a line read as something else. Right-to-left letters need none and stay
/// as they are. The two separators begin a new line in some programs.
pub fn is_command(character: char) -> bool {
    character.is_control() || is_direction(character) || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Adds `character` to `shown`, and in place of a command something that can be seen.
pub fn show(character: char, shown: &mut String) {
    match character {
        character if character.is_control() => shown.push(char::REPLACEMENT_CHARACTER),
        character if is_command(character) => shown.push_str(&format!("<U+{:04X}>", u32::from(character))),
        character => shown.push(character),
    }
}

/// Whether it changes the direction of what stands beside it.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    fn shown(text: &str) -> String {
        let mut shown = String::new();
        text.chars().for_each(|character| super::show(character, &mut shown));
        shown
    }

    #[test]
    fn a_command_is_shown_and_a_letter_stays_what_it_is() {
        assert_eq!(shown("a\x1b[2J\u{9b}\x7f"), "a�[2J��");
        assert_eq!(shown("pay \u{202e}01\u{202c} euro"), "pay <U+202E>01<U+202C> euro");
        assert_eq!(shown("\u{2066}x\u{2069}\u{200e}\u{200f}\u{61c}"), "<U+2066>x<U+2069><U+200E><U+200F><U+061C>");
        assert_eq!(shown("a\u{2028}b"), "a<U+2028>b");
        // Hebrew, Arabic, and an emoji that is held together by joiners.
        assert_eq!(shown("שלום مرحبا 👩‍👧"), "שלום مرحبا 👩‍👧");
    }
}
