//! The text besides its time phrases: the thing to be done.

use super::grammar::Grammar;
use super::language::Language;
use super::table::Symbol;

/// The text without its time phrases, without `remind me` before and `to` between.
pub(super) fn rest(text: &str, grammar: &mut Grammar<'_>, language: &Language, used: &[(usize, usize)]) -> String {
    let end = grammar.len();
    let mut used = used.to_vec();
    used.sort_unstable();
    let mut pieces = Vec::new();
    let mut at = asked(grammar, language);
    // A `to` or `about` joins what is to be done only to what asks for it, or to a time at the very beginning.
    let is_linked = at > 0 || used.first().is_some_and(|(from, _)| *from == 0);
    for (from, to) in used.into_iter().chain([(end, end)]) {
        if at < from {
            pieces.push((at, from));
        }
        let link = if is_linked { longest(grammar, language.link, to) } else { None };
        at = link.unwrap_or(to).max(at);
    }
    let pieces = pieces.iter().map(|(from, to)| {
        let tokens = &grammar.tokens.list;
        let last_end = tokens[*to - 1].end;
        // A sign that closes a sentence is kept; one that only led to the time is not.
        let piece = &text[tokens[*from].start..if *to == end { text.len() } else { last_end }];
        piece.trim().trim_matches([',', ';', ':', '-', '–', '—']).trim()
    });
    pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Where the words end that ask for a reminder, at the beginning of a text.
pub(super) fn asked(grammar: &mut Grammar<'_>, language: &Language) -> usize {
    longest(grammar, language.ask, 0).unwrap_or(0)
}

fn longest(grammar: &mut Grammar<'_>, symbol: Option<Symbol>, at: usize) -> Option<usize> {
    let range = grammar.find(symbol?, at);
    range.map(|index| grammar.get(index).end).max()
}
