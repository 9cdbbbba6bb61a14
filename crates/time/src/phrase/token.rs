//! Text cut into words, numbers and signs, folded so that `Сутра`, `sutra` and `SUTRA` are one word.

use super::mask::Masks;

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token {
    /// Where it begins in the text, in bytes.
    pub(super) start: usize,
    /// Where it ends, in bytes, with a dot that belongs to it.
    pub(super) end: usize,
    pub(super) kind: Kind,
    /// Whether nothing stands between it and the token before it.
    pub(super) is_glued: bool,
    /// Whether a dot follows that belongs to it: `fri.`, `15.`
    pub(super) has_dot: bool,
    /// Whether it is part of an address, a path, a version or a phone number, and never a time.
    pub(super) is_masked: bool,
    /// Whether it begins with a capital letter.
    pub(super) is_capital: bool,
    /// Whether it was written with `ä`, `ö` or `ü`.
    pub(super) has_umlaut: bool,
    /// Whether it stands within quotation marks.
    pub(super) is_quoted: bool,
    /// Whether what follows is its own: `tomorrow's`.
    pub(super) is_owner: bool,
    /// Whether it was written in plain letters, as the names of zones are: `čet` is no `CET`.
    pub(super) is_plain: bool,
}

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Letters; the folded word is `folded[from..to]` of [`Tokens`].
    Word { from: usize, to: usize },
    /// Digits: their value, and how many there are. A number too long to be part of a time is `None`.
    Number { value: Option<u32>, digits: u8 },
    /// Anything else that can be seen.
    Sign(char),
}

impl Kind {
    /// Whether it is a sign that joins numbers to one: 20:20, 3.4
    pub(super) fn joins_numbers(self) -> bool {
        matches!(self, Self::Sign(':' | '.'))
    }
}

/// A text in pieces.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) list: Vec<Token>,
    folded: String,
    /// Whether any letter was Cyrillic.
    pub(super) is_cyrillic: bool,
}

impl Tokens {
    /// Cuts `text` into pieces.
    pub(super) fn of(text: &str) -> Self {
        let mut tokens = Self::default();
        tokens.folded.reserve(text.len());
        tokens.list.reserve(text.len() / 4 + 1);
        let mut rest = text.char_indices().peekable();
        let mut end_before = usize::MAX;
        let mut masks = Masks::of(text);
        while let Some(&(start, c)) = rest.peek() {
            let (kind, end) = if c.is_ascii_digit() {
                number(text, start)
            } else if is_letter(c) {
                tokens.word(text, start)
            } else {
                (Kind::Sign(plain_sign(c)), start + c.len_utf8())
            };
            while rest.next_if(|(at, _)| *at < end).is_some() {}
            if c.is_whitespace() || is_invisible(c) {
                continue;
            }
            let is_glued = end_before == start;
            let has_dot = !matches!(kind, Kind::Sign(_)) && dot_belongs(&text[end..], kind);
            let end = if has_dot { end + 1 } else { end };
            if has_dot {
                rest.next();
            }
            end_before = end;
            let is_masked = masks.covers(start);
            let is_plain = text[start..end].is_ascii();
            let is_capital = c.is_uppercase();
            let is_owner = matches!(kind, Kind::Word { .. }) && is_owner(&text[start..end]);
            let has_umlaut =
                matches!(kind, Kind::Word { .. }) && text[start..end].contains(['ä', 'ö', 'ü', 'Ä', 'Ö', 'Ü']);
            tokens.list.push(Token {
                start,
                end,
                kind,
                is_glued,
                has_dot,
                is_masked,
                is_capital,
                has_umlaut,
                is_quoted: false,
                is_owner,
                is_plain,
            });
        }
        tokens.quote();
        tokens
    }

    /// Marks what stands within quotation marks.
    fn quote(&mut self) {
        let is_mark =
            |token: &Token| matches!(token.kind, Kind::Sign('"' | '“' | '”' | '„' | '«' | '»' | '‟' | '‹' | '›'));
        let mut opened = None;
        for at in 0..self.list.len() {
            if !is_mark(&self.list[at]) {
                continue;
            }
            match opened.take() {
                None => opened = Some(at),
                Some(from) => self.list[from..at].iter_mut().for_each(|token| token.is_quoted = true),
            }
        }
    }

    /// The folded word of a token; empty for a number or a sign.
    pub(super) fn word_of(&self, token: &Token) -> &str {
        match token.kind {
            Kind::Word { from, to } => &self.folded[from..to],
            Kind::Number { .. } | Kind::Sign(_) => "",
        }
    }

    fn word(&mut self, text: &str, start: usize) -> (Kind, usize) {
        let from = self.folded.len();
        let mut end = start;
        let mut chars = text[start..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let apostrophe = plain_sign(c) == '\'' && chars.peek().is_some_and(|(_, next)| is_letter(*next));
            if !is_letter(c) && !apostrophe && !is_invisible(c) {
                break;
            }
            self.is_cyrillic |= ('\u{400}'..'\u{500}').contains(&c);
            fold(c, &mut self.folded);
            end = start + at + c.len_utf8();
        }
        // The owner of something is still that thing: last week's.
        if self.folded[from..].ends_with("'s") {
            self.folded.truncate(self.folded.len() - 2);
        }
        (Kind::Word { from, to: self.folded.len() }, end)
    }
}

fn number(text: &str, start: usize) -> (Kind, usize) {
    let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
    let value = if digits <= 9 { text[start..start + digits].parse().ok() } else { None };
    (Kind::Number { value, digits: u8::try_from(digits).unwrap_or(u8::MAX) }, start + digits)
}

/// Whether a word ends in `'s`.
fn is_owner(word: &str) -> bool {
    let mut letters = word.chars().rev();
    matches!(letters.next(), Some('s' | 'S')) && letters.next().is_some_and(|c| plain_sign(c) == '\'')
}

/// A dot belongs to a word (`fri.`, the `p.` of `p.m.`), and to a number unless a digit follows (`15.` but not `15.3`).
fn dot_belongs(after: &str, kind: Kind) -> bool {
    let mut after = after.chars();
    if after.next() != Some('.') {
        return false;
    }
    match after.next() {
        // Of `the 25..` one dot is the number's, the other closes the sentence.
        Some('.') => matches!(kind, Kind::Number { .. }) && after.next() != Some('.'),
        Some(c) if c.is_ascii_digit() => matches!(kind, Kind::Word { .. }),
        _ => true,
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || is_mark(c)
}

/// Accents that are written as characters of their own.
fn is_mark(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{feff}')
}

fn plain_sign(c: char) -> char {
    match c {
        '’' | '‘' | '´' | '`' | 'ʼ' => '\'',
        '–' | '—' | '‐' | '‑' | '−' => '-',
        '∼' | '～' => '~',
        c => c,
    }
}

/// Adds a letter in its plainest form: small, without accents, Latin.
pub(crate) fn fold(c: char, into: &mut String) {
    if c.is_ascii() {
        into.push(c.to_ascii_lowercase());
        return;
    }
    if is_mark(c) || is_invisible(c) {
        return;
    }
    if plain_sign(c) == '\'' {
        into.push('\'');
        return;
    }
    for c in c.to_lowercase() {
        match c {
            'ä' | 'á' | 'à' | 'â' | 'ă' | 'å' => into.push('a'),
            'ö' | 'ó' | 'ò' | 'ô' => into.push('o'),
            'ü' | 'ú' | 'ù' | 'û' => into.push('u'),
            'é' | 'è' | 'ê' | 'ë' => into.push('e'),
            'í' | 'ì' | 'î' | 'ï' => into.push('i'),
            'ß' => into.push_str("ss"),
            'ñ' => into.push('n'),
            'č' | 'ć' | 'ç' | 'ч' | 'ћ' => into.push('c'),
            'š' | 'ш' => into.push('s'),
            'ž' | 'ж' => into.push('z'),
            'đ' | 'ђ' | 'д' => into.push('d'),
            'џ' | 'ǆ' => into.push_str("dz"),
            'љ' | 'ǉ' => into.push_str("lj"),
            'њ' | 'ǌ' => into.push_str("nj"),
            'а' => into.push('a'),
            'б' => into.push('b'),
            'в' => into.push('v'),
            'г' => into.push('g'),
            'е' => into.push('e'),
            'з' => into.push('z'),
            'и' => into.push('i'),
            'ј' => into.push('j'),
            'к' => into.push('k'),
            'л' => into.push('l'),
            'м' => into.push('m'),
            'н' => into.push('n'),
            'о' => into.push('o'),
            'п' => into.push('p'),
            'р' => into.push('r'),
            'с' => into.push('s'),
            'т' => into.push('t'),
            'у' => into.push('u'),
            'ф' => into.push('f'),
            'х' => into.push('h'),
            'ц' => into.push('c'),
            // A small letter that unfolds to more than itself (İ) brings an accent.
            c if is_mark(c) => {}
            c => into.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let tokens = Tokens::of(text);
        tokens
            .list
            .iter()
            .map(|token| {
                let piece = match token.kind {
                    Kind::Word { .. } => tokens.word_of(token).to_owned(),
                    Kind::Number { value, .. } => value.map_or("many".into(), |value| value.to_string()),
                    Kind::Sign(c) => c.to_string(),
                };
                format!("{}{piece}{}", if token.is_glued { "~" } else { "" }, if token.has_dot { "." } else { "" })
            })
            .collect()
    }

    #[test]
    fn a_text_is_cut_where_its_kind_changes() {
        assert_eq!(pieces("Fri. at 7:30h"), ["fri.", "at", "7", "~:", "~30", "~h"]);
        assert_eq!(pieces("5min, 15. März 8.30pm"), ["5", "~min", "~,", "15.", "marz", "8", "~.", "~30", "~pm"]);
        assert_eq!(pieces("o’clock last week's p.m."), ["o'clock", "last", "week", "p.", "~m."]);
        assert_eq!(pieces("Сутра у 8 ђак Љиља"), ["sutra", "u", "8", "dak", "ljilja"]);
        assert_eq!(pieces("12345678901 ½ ča\u{30c}j"), ["many", "½", "caj"]);
        assert_eq!(pieces(" \u{feff}\n"), Vec::<String>::new());
    }

    #[test]
    fn every_token_lies_in_the_text() {
        for text in ["İstanbul in 5 Min.", "ß. ẞ!", "a.b.c...", "½¼", "é\u{301}\u{301}", "5.", "…5.…"] {
            for token in Tokens::of(text).list {
                assert!(text.get(token.start..token.end).is_some(), "{text}: {token:?}");
            }
        }
    }
}
