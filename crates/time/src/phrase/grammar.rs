//! Matches the rules of a table against the tokens of a text.
//!
//! Every part is matched once at every place and remembered, and a match is at most a few tokens long, so the work is
//! linear in the length of the text.

use super::action::Value;
use super::atom::Atom;
use super::table::{Argument, Class, ClassSet, DIGITS, Gap, Lexeme, Part, Step, Table};
use super::token::{Kind, Tokens};

/// How many ways one part may match at one place; beyond that a text is noise.
const MATCHES_MAX: usize = 24;
/// How many steps all matches together may take, besides some for each token. A sentence takes a few hundred.
const STEPS_IN_ALL: usize = 30_000;
const STEPS_PER_TOKEN: usize = 3;
/// How many steps a match may have.
const STEPS_MAX: usize = 12;

/// One way in which a part matched.
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
    /// Where the matches of a part at a place are in `matches`, plus one; zero is not yet tried.
    memo: Vec<(u32, u32)>,
    matches: Vec<Match>,
    /// How many steps may still be taken before the text counts as noise.
    steps_left: usize,
    /// How many have been taken, here and by whoever joins what was matched.
    taken: usize,
}

/// What a table makes of a token.
#[derive(Clone, Copy)]
struct Seen<'a> {
    classes: ClassSet,
    meanings: &'a [Lexeme],
}

impl<'a> Grammar<'a> {
    pub(super) fn new(table: &'a Table, tokens: &'a Tokens) -> Self {
        let seen = tokens.list.iter().map(|token| {
            let mut classes = ClassSet::default();
            let meanings = match token.kind {
                Kind::Word { .. } => table.meanings(tokens.word_of(token)),
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
            Seen { classes, meanings }
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

    /// Whether a token is a word.
    pub(super) fn is_word(&self, at: usize) -> bool {
        self.tokens.list.get(at).is_some_and(|token| matches!(token.kind, Kind::Word { .. }))
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
        self.seen.iter().filter(|seen| !seen.meanings.is_empty()).count()
    }

    /// All ways in which `part` matches at token `at`, as a range for [`Self::get`].
    pub(super) fn find(&mut self, part: Part, at: usize) -> std::ops::Range<usize> {
        let Some(seen) = self.seen.get(at) else {
            return 0..0;
        };
        if !seen.classes.meets(&self.table.trees[part as usize].first) {
            return 0..0;
        }
        let slot = at * self.table.trees.len() + part as usize;
        if let (from @ 1.., count) = self.memo[slot] {
            return from as usize - 1..(from - 1 + count) as usize;
        }
        let mut found = Vec::new();
        let mut path = [Value::Nothing; STEPS_MAX];
        self.walk(part, 0, at, &mut path, 0, &mut found);
        // The longest first; of two as long, a length last, because it says least.
        found.sort_by_key(|found| (std::cmp::Reverse(found.end), matches!(found.value, Value::Atom(Atom::Length(_)))));
        let from = self.matches.len();
        self.matches.extend_from_slice(&found);
        self.memo[slot] = (from as u32 + 1, found.len() as u32);
        from..from + found.len()
    }

    /// One of the matches that [`Self::find`] found.
    pub(super) fn get(&self, index: usize) -> Match {
        self.matches[index]
    }

    fn walk(
        &mut self,
        part: Part,
        node: usize,
        at: usize,
        path: &mut [Value; STEPS_MAX],
        depth: usize,
        found: &mut Vec<Match>,
    ) {
        let table = self.table;
        let here = &table.trees[part as usize].nodes[node];
        for accept in &here.accepts {
            let mut arguments = [Value::Nothing; 8];
            for (slot, argument) in arguments.iter_mut().zip(&accept.arguments) {
                *slot = match argument {
                    Argument::Step(step) => path[*step as usize],
                    Argument::Given(number) => Value::Int(*number),
                    Argument::Absent => Value::Nothing,
                };
            }
            if let Some(value) = accept.action.apply(&arguments[..accept.arguments.len()]) {
                let match_ = Match { end: at, value };
                if found.len() < MATCHES_MAX && !found.contains(&match_) {
                    found.push(match_);
                }
            }
        }
        self.steps_left = self.steps_left.saturating_sub(1);
        self.taken += 1;
        if self.steps_left == 0 || depth == STEPS_MAX || at >= self.seen.len() || found.len() >= MATCHES_MAX {
            return;
        }
        let token = self.tokens.list[at];
        let seen = self.seen[at];
        let fits = |gap: Gap| match gap {
            Gap::Any => true,
            Gap::Glued => token.is_glued,
            Gap::Apart => !token.is_glued,
        };
        let takes = |step: &Step| match *step {
            Step::Token { gap, dotted, .. } => fits(gap) && (!dotted || token.has_dot),
            Step::Part { .. } => false,
        };
        match token.kind {
            Kind::Word { .. } => {
                for meaning in seen.meanings {
                    for (step, next) in here.steps_for(meaning.class) {
                        if takes(step) {
                            path[depth] = Value::Int(meaning.value);
                            self.walk(part, *next, at + 1, path, depth + 1, found);
                        }
                    }
                }
            }
            Kind::Number { value: None, .. } => {}
            Kind::Number { value: Some(value), digits } => {
                for (step, next) in here.steps_for(DIGITS) {
                    if takes(step) {
                        path[depth] = Value::Digits { value, digits, has_dot: token.has_dot };
                        self.walk(part, *next, at + 1, path, depth + 1, found);
                    }
                }
            }
            Kind::Sign(sign) => {
                let class = table.sign(sign);
                for (step, next) in class.map_or(&[][..], |class| here.steps_for(class)) {
                    if takes(step) {
                        path[depth] = Value::Nothing;
                        self.walk(part, *next, at + 1, path, depth + 1, found);
                    }
                }
            }
        }
        for (step, next) in &here.steps[here.tokens..] {
            let Step::Part { part: inner, gap } = *step else {
                continue;
            };
            if !fits(gap) || !seen.classes.meets(&table.trees[inner as usize].first) {
                continue;
            }
            for index in self.find(inner, at) {
                let inner = self.get(index);
                path[depth] = inner.value;
                self.walk(part, *next, inner.end, path, depth + 1, found);
            }
        }
    }
}
