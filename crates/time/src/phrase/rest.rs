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
    let starts: Vec<usize> = used.iter().map(|(from, _)| *from).collect();
    for (from, to) in used.into_iter().chain([(end, end)]) {
        if at < from {
            pieces.push((at, from));
        }
        let link = longest(grammar, language.link, to);
        // Between two pieces of time, all that joins them goes with them: `at 18:40, remind me 1 hour before`.
        let is_between = |end: &usize| starts.contains(end);
        at = link.filter(|end| is_linked || is_between(end)).unwrap_or(to).max(at);
    }
    let pieces = pieces.iter().map(|(from, to)| {
        let tokens = &grammar.tokens.list;
        let last_end = tokens[*to - 1].end;
        // A sign that closes a sentence is kept; one that only led to the time is not.
        let piece = &text[tokens[*from].start..if *to == end { text.len() } else { last_end }];
        piece.trim().trim_matches([',', ';', ':', '-', '–', '—']).trim()
    });
    // A bracket that closed a time says nothing.
    pieces.filter(|piece| piece.chars().any(char::is_alphanumeric)).collect::<Vec<_>>().join(" ")
}

/// Where the words end that ask for a reminder, at the beginning of a text.
pub(super) fn asked(grammar: &mut Grammar<'_>, language: &Language) -> usize {
    longest(grammar, language.ask, 0).unwrap_or(0)
}

fn longest(grammar: &mut Grammar<'_>, symbol: Option<Symbol>, at: usize) -> Option<usize> {
    let range = grammar.find(symbol?, at);
    range.map(|index| grammar.get(index).end).max()
}

/// The tokens that were read, with the words at the end of the text that only close it: the `on` of `from June 3rd on`.
pub(super) fn with_tails(
    grammar: &mut Grammar<'_>,
    language: &Language,
    mut used: Vec<(usize, usize)>,
) -> Vec<(usize, usize)> {
    let end = grammar.len();
    for (_, to) in &mut used {
        if let Some(tail) = longest(grammar, language.tail, *to)
            && !grammar.is_word(tail)
            && (tail == end || !grammar.is_glued_number(tail))
        {
            *to = tail;
        }
    }
    used
}
