//! Texts in their plainest form, so that `Čaj`, `caj` and `чај` are found alike.

use crate::phrase::fold_letter;

/// `text` in small Latin letters without accents, with single spaces between its words. A letter that is neither Latin nor Serbian stays as it is, in small
/// letters.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut is_between = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            is_between = true;
            continue;
        }
        if is_between && !folded.is_empty() {
            folded.push(' ');
        }
        is_between = false;
        match plain(c) {
            Some(plain) => folded.push_str(plain),
            None => fold_letter(c, &mut folded),
        }
    }
    folded
}

/// Letters of languages in which no phrase of time is understood.
fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        'ã' | 'Ã' | 'ā' | 'Ā' | 'ą' | 'Ą' => "a",
        'ď' | 'Ď' => "d",
        'ě' | 'Ě' | 'ę' | 'Ę' | 'ē' | 'Ē' | 'ė' | 'Ė' | 'ё' | 'Ё' => "e",
        'ğ' | 'Ğ' | 'ģ' | 'Ģ' => "g",
        'ī' | 'Ī' | 'į' | 'Į' | 'ı' => "i",
        'ķ' | 'Ķ' => "k",
        'ł' | 'Ł' | 'ļ' | 'Ļ' | 'ľ' | 'Ľ' | 'ĺ' | 'Ĺ' => "l",
        'ń' | 'Ń' | 'ň' | 'Ň' | 'ņ' | 'Ņ' => "n",
        'õ' | 'Õ' | 'ø' | 'Ø' | 'ő' | 'Ő' | 'ō' | 'Ō' => "o",
        'ř' | 'Ř' | 'ŕ' | 'Ŕ' => "r",
        'ś' | 'Ś' | 'ş' | 'Ş' | 'ș' | 'Ș' => "s",
        'ť' | 'Ť' | 'ț' | 'Ț' | 'ţ' | 'Ţ' => "t",
        'ů' | 'Ů' | 'ű' | 'Ű' | 'ū' | 'Ū' | 'ų' | 'Ų' => "u",
        'ý' | 'Ý' | 'ÿ' | 'Ÿ' => "y",
        'ź' | 'Ź' | 'ż' | 'Ż' => "z",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_folded_to_small_plain_letters() {
        for (text, expect) in [
            ("Čaj", "caj"),
            ("чај", "caj"),
            ("ca\u{30c}j", "caj"),
            ("Straße", "strasse"),
            ("Møte på Ærø", "mote pa aero"),
            ("Łódź, Dvořák, Şişli", "lodz, dvorak, sisli"),
            ("  Call\t\nMOM  now ", "call mom now"),
            ("日本語 Ω", "日本語 ω"),
            ("what’s up\u{200b}?", "what's up?"),
            ("İstanbul", "istanbul"),
            ("", ""),
        ] {
            assert_eq!(fold(text), expect, "{text:?}");
            assert_eq!(fold(&fold(text)), fold(text), "folding twice changes nothing");
        }
    }
}
