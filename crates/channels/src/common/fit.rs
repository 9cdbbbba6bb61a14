//! Making a message short enough, visibly.

use punctual_core::phrase::Lang;

use super::texts::texts;

/// The unit in which a platform counts a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Unicode characters.
    Chars,
    /// UTF-16 code units, as JavaScript counts.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
}

impl Unit {
    /// How long `text` is.
    pub fn count(self, text: &str) -> usize {
        match self {
            Self::Chars => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Bytes => text.len(),
        }
    }
}

/// `text`, if `render` of it is at most `max` long; else the render of as much of it as fits, at the end of a word where one is
/// near, followed by how much is missing. Nothing is ever cut without saying so.
///
/// `render` makes the whole message of a text: what it adds, and what escaping adds, is counted too.
pub fn fit(text: &str, max: usize, unit: Unit, lang: Lang, render: impl Fn(&str) -> String) -> String {
    fit_with(text, lang, |said: &String| unit.count(said) <= max, render)
}

/// The same where a platform counts in a way of its own: `fits` says whether a rendered message is short enough.
pub fn fit_with<T>(text: &str, lang: Lang, fits: impl Fn(&T) -> bool, render: impl Fn(&str) -> T) -> T {
    let whole = render(text);
    if fits(&whole) {
        return whole;
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let shortened = |n_kept: usize| {
        let mut end = ends.get(n_kept).copied().unwrap_or(text.len());
        // A word is left whole if that costs little.
        if let Some(space) = text[..end].rfind(char::is_whitespace).filter(|space| end - space <= 24 && *space > 0) {
            end = space;
        }
        let kept = text[..end].trim_end();
        let n_missing = text.chars().count() - kept.chars().count();
        render(&format!("{kept}{}", texts(lang).more.replace("{n}", &n_missing.to_string())))
    };
    // The most characters that fit, by halving.
    let (mut fitting, mut too_many) = (0, ends.len());
    while fitting + 1 < too_many {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(&shortened(middle)) { fitting = middle } else { too_many = middle }
    }
    shortened(fitting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_left_alone() {
        assert_eq!(fit("short", 5, Unit::Chars, Lang::En, str::to_owned), "short");
    }

    #[test]
    fn a_text_that_is_cut_says_how_much_is_missing() {
        let text = "take the blue pills from the upper shelf ".repeat(100);
        for (unit, lang) in [(Unit::Chars, Lang::En), (Unit::Utf16, Lang::De), (Unit::Bytes, Lang::SrCyrl)] {
            let said = fit(&text, 300, unit, lang, |text| format!("<b>{text}</b>"));
            assert!(unit.count(&said) <= 300, "{said}");
            let missing: String = said.rsplit("(+").next().unwrap().chars().take_while(char::is_ascii_digit).collect();
            let kept = said.trim_start_matches("<b>").split('…').next().unwrap();
            assert_eq!(missing.parse::<usize>().unwrap() + kept.chars().count(), text.chars().count(), "{said}");
            assert!(text.starts_with(kept) && text[kept.len()..].starts_with(' '), "ends with a word: {said}");
        }
    }

    #[test]
    fn escaping_and_wide_characters_are_counted() {
        let text = "&😀".repeat(200);
        let escape = |text: &str| text.replace('&', "&amp;");
        let said = fit(&text, 500, Unit::Utf16, Lang::En, escape);
        assert!(Unit::Utf16.count(&said) <= 500 && Unit::Utf16.count(&said) > 480, "{}", Unit::Utf16.count(&said));
    }
}
