//! Matches the rules of a table against the tokens of a text.
//!
//! Every symbol is matched once at every place and remembered, and a match is at most a few tokens long, so the work is
//! linear in the length of the text.

use super::action::Value;
use super::atom::Atom;
use super::table::{Accept, Argument, Class, ClassSet, DIGITS, Item, Lexeme, Node, Symbol, Table};
use super::token::{Kind, Token, Tokens};

/// How many ways one symbol may match at one place; beyond that a text is noise.
const MATCHES_MAX: usize = 24;
/// How many steps all matches together may take, besides some for each token. A sentence takes a few hundred.
const STEPS_IN_ALL: usize = 30_000;
const STEPS_PER_TOKEN: usize = 3;
/// How many items a match may have.
const ITEMS_MAX: usize = 12;

/// One way in which a symbol matched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Match {
    /// The token after the last one matched.
    pub(super) end: usize,
    pub(super) value: Value,
}

/// A text as the rules of one table see it.
pub(super) struct Grammar<'a> {
    pub(super) table: &'a Table,
    pub(super) tokens: &'a Tokens,
    seen: Vec<Seen<'a>>,
    /// Where the matches of a symbol at a place are in `matches`, plus one; zero is not yet tried.
    memo: Vec<(u32, u32)>,
    matches: Vec<Match>,
    /// How many steps may still be taken before the text counts as noise.
    steps_left: usize,
    /// How many steps have been taken, here and by the code that joins the matches.
    taken: usize,
}

/// A token as a table sees it.
#[derive(Clone, Copy)]
struct Seen<'a> {
    classes: ClassSet,
    meanings: &'a [Lexeme],
    /// The word that was meant, where one letter is amiss.
    slipped: Option<(&'a str, &'a str)>,
}

impl<'a> Grammar<'a> {
    pub(super) fn new(table: &'a Table, tokens: &'a Tokens) -> Self {
        let is_amount = |token: &Token| match token.kind {
            Kind::Number { .. } => true,
            Kind::Word { .. } => table.is_amount(tokens.word_of(token)),
            Kind::Sign(sign) => matches!(sign, '½' | '¼' | '¾'),
        };
        let seen = tokens.list.iter().enumerate().map(|(at, token)| {
            let mut classes = ClassSet::default();
            let mut slipped = None;
            let meanings: &[Lexeme] = match token.kind {
                _ if token.is_masked => &[],
                Kind::Word { .. } => match table.meanings(tokens.word_of(token)) {
                    [] => {
                        let is_counted = || at > 0 && is_amount(&tokens.list[at - 1]);
                        slipped = table.slip(tokens.word_of(token), token.has_umlaut, is_counted);
                        slipped.map_or(&[][..], |(word, _)| table.meanings(word))
                    }
                    meanings => meanings,
                },
                Kind::Number { .. } => {
                    classes.insert(DIGITS);
                    &[]
                }
                Kind::Sign(sign) => {
                    if let Some(class) = table.sign(sign) {
                        classes.insert(class);
                    }
                    &[]
                }
            };
            meanings.iter().for_each(|meaning| classes.insert(meaning.class));
            Seen { classes, meanings, slipped }
        });
        let seen: Vec<_> = seen.collect();
        let memo = vec![(0, 0); (seen.len() + 1) * table.trees.len()];
        let steps_left = STEPS_IN_ALL + STEPS_PER_TOKEN * seen.len();
        Self { table, tokens, seen, memo, matches: Vec::with_capacity(64), steps_left, taken: 0 }
    }

    /// How many tokens there are.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Counts steps that were taken with what was matched.
    pub(super) fn count(&mut self, n_steps: usize) {
        self.taken += n_steps;
    }

    /// How many steps have been taken.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Takes the text for noise.
    pub(super) fn give_up(&mut self) {
        self.steps_left = 0;
    }

    /// Whether the text was too tangled to be looked at to its end.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps_left == 0
    }

    /// Whether a token is never a time.
    pub(super) fn is_masked(&self, at: usize) -> bool {
        self.tokens.list.get(at).is_some_and(|token| token.is_masked)
    }

    /// The word that a token was read as, where one letter of it is amiss.
    pub(super) fn slipped(&self, at: usize) -> Option<&'a str> {
        self.seen.get(at).and_then(|seen| seen.slipped).map(|(_, written)| written)
    }

    /// Whether a token is a word.
    pub(super) fn is_word(&self, at: usize) -> bool {
        self.tokens.list.get(at).is_some_and(|token| matches!(token.kind, Kind::Word { .. }))
    }

    /// Whether a token is a number.
    pub(super) fn is_number(&self, at: usize) -> bool {
        self.tokens.list.get(at).is_some_and(|token| matches!(token.kind, Kind::Number { .. }))
    }

    /// Whether a token is this sign.
    pub(super) fn is_sign(&self, at: usize, sign: char) -> bool {
        self.tokens.list.get(at).is_some_and(|token| token.kind == Kind::Sign(sign))
    }

    /// Whether a token is a number of one figure.
    pub(super) fn is_figure(&self, at: usize) -> bool {
        self.tokens.list.get(at).is_some_and(|token| matches!(token.kind, Kind::Number { digits: 1, .. }))
    }

    /// Whether a token is a number right after a sign that joins numbers.
    pub(super) fn is_glued_number(&self, at: usize) -> bool {
        let is_sign = |at: usize| self.tokens.list.get(at).is_some_and(|token| token.kind.joins_numbers());
        let is_number = |token: &Token| token.is_glued && matches!(token.kind, Kind::Number { .. });
        let is_short = |at: usize| {
            self.tokens.list.get(at).is_some_and(|token| matches!(token.kind, Kind::Number { digits: 1..=2, .. }))
        };
        at > 1 && is_short(at - 2) && is_sign(at - 1) && self.tokens.list.get(at).is_some_and(is_number)
    }

    /// Whether a token may be of a class.
    pub(super) fn has_class(&self, at: usize, class: Class) -> bool {
        self.seen.get(at).is_some_and(|seen| seen.classes.contains(class))
    }

    /// Whether the tokens are only a piece of something longer that is written together: the `3am` of `3am3ioY`, the
    /// `10.1` of `10.1.1`.
    pub(super) fn is_cut(&self, from: usize, end: usize) -> bool {
        let token = |at: usize| self.tokens.list.get(at);
        let goes_on = |at: usize| token(at).is_some_and(|token| token.is_glued);
        let is_solid = |at: usize| token(at).is_some_and(|token| !matches!(token.kind, Kind::Sign(_)));
        let joins = |at: usize| {
            token(at).is_some_and(|token| {
                matches!(token.kind, Kind::Sign('/' | '.' | ':' | '-' | '_' | '~' | '=' | ',' | '@'))
            })
        };
        let is_cut_after = goes_on(end) && (is_solid(end) || (joins(end) && goes_on(end + 1) && is_solid(end + 1)));
        let is_cut_before = from > 0
            && goes_on(from)
            && (is_solid(from - 1) || (joins(from - 1) && from > 1 && goes_on(from - 1) && is_solid(from - 2)));
        // A number after a minus is not that number: -5m.
        let is_number = token(from).is_some_and(|token| matches!(token.kind, Kind::Number { .. }));
        let is_negative = from > 0
            && is_number
            && goes_on(from)
            && token(from - 1).is_some_and(|token| token.kind == Kind::Sign('-'));
        is_cut_after || is_cut_before || is_negative
    }

    /// How many tokens are words that the table knows.
    pub(super) fn known_words(&self) -> usize {
        self.seen.iter().filter(|seen| !seen.meanings.is_empty() && seen.slipped.is_none()).count()
    }

    /// All ways in which `symbol` matches at token `at`, as a range for [`Self::get`].
    pub(super) fn find(&mut self, symbol: Symbol, at: usize) -> std::ops::Range<usize> {
        let Some(seen) = self.seen.get(at) else {
            return 0..0;
        };
        if !seen.classes.meets(&self.table.trees[symbol as usize].first) {
            return 0..0;
        }
        let slot = at * self.table.trees.len() + symbol as usize;
        if let (from @ 1.., count) = self.memo[slot] {
            return from as usize - 1..(from - 1 + count) as usize;
        }
        let mut walk = Walk { symbol, path: [Value::Nothing; ITEMS_MAX], found: Vec::new() };
        self.walk(&mut walk, 0, at, 0);
        let mut found = walk.found;
        // The longest first; of two as long, a length last, because it says least.
        found.sort_by_key(|found| {
            (std::cmp::Reverse(found.end), matches!(found.value, Value::Atom(Atom::Length(_) | Atom::Lasting(_))))
        });
        let from = self.matches.len();
        self.matches.extend_from_slice(&found);
        self.memo[slot] = (from as u32 + 1, found.len() as u32);
        from..from + found.len()
    }

    /// One of the matches that [`Self::find`] found.
    pub(super) fn get(&self, index: usize) -> Match {
        self.matches[index]
    }

    /// Follows the tree of a symbol from `node` on, with `depth` items matched before token `at`.
    fn walk(&mut self, walk: &mut Walk, node: usize, at: usize, depth: usize) {
        let here = &self.table.trees[walk.symbol as usize].nodes[node];
        here.accepts.iter().for_each(|accept| walk.accept(accept, at));
        self.steps_left = self.steps_left.saturating_sub(1);
        self.taken += 1;
        if self.steps_left == 0 || depth == ITEMS_MAX || at >= self.seen.len() || walk.found.len() >= MATCHES_MAX {
            return;
        }
        self.walk_token(walk, here, at, depth);
        self.walk_symbols(walk, here, at, depth);
    }

    /// Goes on with the items that take the token at `at`.
    fn walk_token(&mut self, walk: &mut Walk, here: &Node, at: usize, depth: usize) {
        let (token, meanings, table) = (self.tokens.list[at], self.seen[at].meanings, self.table);
        if token.is_masked {
            return;
        }
        let mut take = |class: Class, value: Value| {
            for (item, next) in here.items_for(class) {
                let Item::Token { spacing, dotted, .. } = *item else {
                    continue;
                };
                if spacing.fits(&token) && (!dotted || token.has_dot) {
                    walk.path[depth] = value;
                    self.walk(walk, *next, at + 1, depth + 1);
                }
            }
        };
        match token.kind {
            Kind::Word { .. } => {
                // So 10 Uhr is on Sunday, so 10 Uhr is about ten; So um 9 at the beginning may be either.
                let is_day = token.is_capital && table.is_day(meanings);
                let is_other =
                    |class: Class| is_day && (table.is_about(class) || (at > 0 && !table.is_short_day(class)));
                let is_meant = |class: Class| (token.is_plain || Some(class) != table.zone()) && !is_other(class);
                let meant = meanings.iter().filter(|meaning| is_meant(meaning.class));
                meant.for_each(|meaning| take(meaning.class, Value::Int(meaning.value)));
            }
            Kind::Number { value: None, .. } => {}
            Kind::Number { value: Some(value), digits } => {
                take(DIGITS, Value::Digits { value, digits, has_dot: token.has_dot });
            }
            Kind::Sign(sign) => {
                if let Some(class) = table.sign(sign) {
                    take(class, Value::Nothing);
                }
            }
        }
    }

    /// Goes on with the smaller symbols that match from `at` on.
    fn walk_symbols(&mut self, walk: &mut Walk, here: &Node, at: usize, depth: usize) {
        let token = self.tokens.list[at];
        for (item, next) in &here.items[here.tokens..] {
            let Item::Symbol { symbol, spacing } = *item else {
                continue;
            };
            if !spacing.fits(&token) {
                continue;
            }
            for index in self.find(symbol, at) {
                let inner = self.get(index);
                walk.path[depth] = inner.value;
                self.walk(walk, *next, inner.end, depth + 1);
            }
        }
    }
}

/// A walk through the tree of one symbol.
struct Walk {
    symbol: Symbol,
    /// The meanings of the items that lead to where the walk is.
    path: [Value; ITEMS_MAX],
    found: Vec<Match>,
}

impl Walk {
    /// Notes what it means to stop before token `at`.
    fn accept(&mut self, accept: &Accept, at: usize) {
        let mut arguments = [Value::Nothing; 8];
        for (slot, argument) in arguments.iter_mut().zip(&accept.arguments) {
            *slot = match argument {
                Argument::Item(item) => self.path[*item as usize],
                Argument::Given(number) => Value::Int(*number),
                Argument::Absent => Value::Nothing,
            };
        }
        let Some(value) = accept.action.apply(&arguments[..accept.arguments.len()]) else {
            return;
        };
        let found = Match { end: at, value };
        if self.found.len() < MATCHES_MAX && !self.found.contains(&found) {
            self.found.push(found);
        }
    }
}
