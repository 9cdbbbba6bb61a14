//! French and Spanish in a text of which nobody said so. Their short words are words of the languages that are worked out, so that the
//! time of `demain à 8h` would be in eight hours.

use super::Lang;
use super::left::Range;
use super::token::{Kind, Token, Tokens};

/// How many words may stand between such a word and the time.
const WORDS_BETWEEN: usize = 3;

/// Words that are none in the languages that are worked out, in plain letters.
const FRENCH: [&str; 9] = ["demain", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche", "chaque"];
const SPANISH: [&str; 9] = ["manana", "lunes", "martes", "miercoles", "jueves", "viernes", "sabado", "domingo", "cada"];

/// After `dans` these make a length; without them it may be a slip of `danas`.
const FRENCH_NUMBERS: [&str; 16] = [
    "un", "une", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "quinze", "vingt", "trente",
    "quelques", "quarante",
];

/// The language that a text is in for sure, by a word in or beside the tokens that were read; of a text without a time, by any word.
pub(super) fn language(tokens: &Tokens, used: &[Range]) -> Option<Lang> {
    let is_beside = |at: usize| {
        used.is_empty() || used.iter().any(|(from, to)| at + WORDS_BETWEEN + 1 >= *from && at <= to + WORDS_BETWEEN)
    };
    (0..tokens.list.len()).filter(|at| is_beside(*at)).find_map(|at| word(tokens, at))
}

/// The language of a word that is of no other.
fn word(tokens: &Tokens, at: usize) -> Option<Lang> {
    let token = tokens.list[at];
    if token.is_masked || token.is_quoted || !matches!(token.kind, Kind::Word { .. }) {
        return None;
    }
    let next = tokens.list.get(at + 1);
    let next_word = next.map_or("", |next| tokens.word_of(next));
    let is_number = |token: Option<&Token>| token.is_some_and(|token| matches!(token.kind, Kind::Number { .. }));
    let word = tokens.word_of(&token);
    match word {
        // An `a` without its accent is a word of others.
        "a" if !token.is_plain && is_number(next) => Some(Lang::Fr),
        "a" if next_word == "las" && is_number(tokens.list.get(at + 2)) => Some(Lang::Es),
        "dans" if is_number(next) || FRENCH_NUMBERS.contains(&next_word) => Some(Lang::Fr),
        "tous" | "toutes" if next_word == "les" => Some(Lang::Fr),
        "todos" if next_word == "los" => Some(Lang::Es),
        "todas" if next_word == "las" => Some(Lang::Es),
        "mardi" if next_word == "gras" => None,
        // Plácido Domingo is nobody's Sunday, and the days of both have small letters; a `čađa` is no `cada`.
        _ if token.is_capital && at > 0 => None,
        "cada" if !token.is_plain => None,
        _ if FRENCH.contains(&word) => Some(Lang::Fr),
        _ if SPANISH.contains(&word) => Some(Lang::Es),
        _ => None,
    }
}
