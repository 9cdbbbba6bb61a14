//! Reads a language's table: its words and its rules.
//!
//! A table is a text file in `tables/`. Lines beginning with `#` are comments. Sections:
//!
//! - `[settings]`: `name = value`.
//! - `[words]`: `CLASS value = word word …` gives words a class and a value. A word may have several classes.
//! - `[rules]`: `<name> = pattern => action arguments` makes a symbol of the grammar out of smaller ones. In a pattern,
//!   `word` is that very word, `CLASS` any word of a class, `DIGITS` a number in digits, `<name>` a symbol, `'x` a sign,
//!   `item?` may be absent, `(a|b c)` is a choice, `~item` must follow without a space, `!item` with one, `.item` must
//!   have its dot. A digit after an item names what it means for the action: `$1`. A pattern may go on the next line,
//!   indented.
//!
//! Patterns are expanded to plain sequences and kept as one tree per symbol, so that rules which begin alike are
//! matched together. A symbol must not contain itself, so that a match can only be so long.

use std::collections::HashMap;

use super::action::Action;
use super::token::{Token, fold};

/// A kind of word, or one very word or sign; what a rule can ask of a token.
pub(super) type Class = u16;
/// A symbol of the grammar: what a table writes as `<name>`.
pub(super) type Symbol = u16;

/// The class of numbers in digits.
pub(super) const DIGITS: Class = 0;

/// The classes of words that are known with one letter amiss, and how long such a word is. Units are known so only after a number,
/// and where no other word is near.
const SLIP_CLASSES: [&str; 4] = ["REL", "WEEKDAY", "MONTH", "EVERY"];
const SLIP_UNIT: &str = "UNIT";
/// The classes of words that say how many, in letters.
const AMOUNT_CLASSES: [&str; 7] = ["A", "NUNIT", "NTEEN", "NTENS", "HALF", "FEW", "COUPLE"];
const SLIP_MIN: usize = 5;
const SLIP_MAX: usize = 16;

/// How many expansions one rule may have; more is a mistake in a table.
const EXPANSIONS_MAX: usize = 4096;

/// A word, folded and as the table writes it.
type Spelt = (Box<str>, Box<str>);

/// A language: its words and the rules they follow.
#[derive(Debug, Default)]
pub(super) struct Table {
    words: HashMap<Box<str>, Vec<Lexeme>>,
    signs: HashMap<char, Class>,
    classes: HashMap<String, Class>,
    symbols: HashMap<String, Symbol>,
    pub(super) trees: Vec<Tree>,
    /// The classes of words that are known with a letter amiss, and of those that say how many.
    slip_classes: Vec<Class>,
    slip_unit: Option<Class>,
    amounts: Vec<Class>,
    /// Words of days and months that people mistype, by their first letter: folded, and as the table writes them. And units.
    slips: HashMap<u8, Vec<Spelt>>,
    unit_slips: HashMap<u8, Vec<Spelt>>,
    zone: Option<Class>,
    /// The classes of adverbs such as `about`, and of short names of days that are such words as well.
    about: Option<Class>,
    short_day: Option<Class>,
    /// Folded words in the order of the table, and as the table writes them.
    spelt: Vec<Spelt>,
    settings: HashMap<String, String>,
}

/// One meaning of a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lexeme {
    pub(super) class: Class,
    pub(super) value: i32,
}

/// All the rules of one symbol, merged where they begin alike.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// The classes that a match can begin with.
    pub(super) first: ClassSet,
}

/// A place in a tree: where one can go from here, and what it means to stop here.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The items that can come next, tokens first and in the order of their classes.
    pub(super) items: Vec<(Item, usize)>,
    /// How many of the items are tokens.
    pub(super) tokens: usize,
    pub(super) accepts: Vec<Accept>,
}

impl Node {
    /// The items that take a token of a class.
    pub(super) fn items_for(&self, class: Class) -> &[(Item, usize)] {
        let tokens = &self.items[..self.tokens];
        let from = tokens.partition_point(|(item, _)| item.class() < Some(class));
        let count = tokens[from..].iter().take_while(|(item, _)| item.class() == Some(class)).count();
        &tokens[from..from + count]
    }
}

/// A token or a smaller symbol that has to come next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Item {
    Token { class: Class, spacing: Spacing, dotted: bool },
    Symbol { symbol: Symbol, spacing: Spacing },
}

impl Item {
    fn class(&self) -> Option<Class> {
        if let Self::Token { class, .. } = self { Some(*class) } else { None }
    }
}

/// Whether a space may stand before.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Spacing {
    #[default]
    Any,
    Glued,
    Apart,
}

impl Spacing {
    pub(super) fn fits(self, token: &Token) -> bool {
        match self {
            Self::Any => true,
            Self::Glued => token.is_glued,
            Self::Apart => !token.is_glued,
        }
    }
}

/// The meaning of a match: an action and its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Accept {
    pub(super) action: Action,
    pub(super) arguments: Vec<Argument>,
}

/// One argument of an action.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Argument {
    /// The meaning of the n-th item of the match.
    Item(u8),
    /// A number written in the rule.
    Given(i32),
    /// An item that this expansion of the rule leaves out.
    Absent,
}

/// A set of classes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ClassSet([u64; 10]);

impl ClassSet {
    const ROOM: usize = 640;

    pub(super) fn insert(&mut self, class: Class) {
        self.0[class as usize / 64] |= 1 << (class % 64);
    }

    pub(super) fn contains(&self, class: Class) -> bool {
        self.0[class as usize / 64] & (1 << (class % 64)) != 0
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    fn add(&mut self, other: &Self) -> bool {
        let before = *self;
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
        before != *self
    }
}

impl Table {
    /// Reads tables, the later adding to the earlier. An error says in which line of which file.
    pub(super) fn read(files: &[(&str, &str)]) -> Result<Self, String> {
        let mut table = Self::default();
        table.classes.insert("DIGITS".into(), DIGITS);
        let mut rules = Vec::new();
        for (name, text) in files {
            let read = table.read_file(name, text, &mut rules);
            read.map_err(|(line, problem)| format!("{name}, line {line}: {problem}"))?;
        }
        for (_, symbol, ..) in &rules {
            table.symbol(symbol);
        }
        table.trees.resize_with(table.symbols.len(), || Tree { nodes: vec![Node::default()], ..Tree::default() });
        for (place, symbol, pattern, outcome) in &rules {
            table.add_rule(symbol, pattern, outcome).map_err(|problem| format!("{place}: {problem}"))?;
        }
        if table.classes.len() > ClassSet::ROOM {
            return Err(format!("{} classes and single words are more than {}", table.classes.len(), ClassSet::ROOM));
        }
        table.find_first()?;
        table.find_slips();
        table.zone = table.find_class("ZONE");
        table.about = table.find_class("ABOUT");
        table.short_day = table.find_class("WEEKDAYWORD");
        for node in table.trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
            node.items.sort_by_key(|(item, _)| item.class().unwrap_or(Class::MAX));
            node.tokens = node.items.iter().filter(|(item, _)| item.class().is_some()).count();
        }
        Ok(table)
    }

    /// The meanings of a folded word.
    pub(super) fn meanings(&self, word: &str) -> &[Lexeme] {
        self.words.get(word).map_or(&[], Vec::as_slice)
    }

    /// The word that was meant by one that nobody knows: one letter of it is amiss, and only one word is near. Folded, and as it is
    /// written. A unit is meant only where it is counted.
    pub(super) fn slip(&self, word: &str, has_umlaut: bool, is_counted: impl FnOnce() -> bool) -> Option<(&str, &str)> {
        if !(SLIP_MIN - 1..=SLIP_MAX).contains(&word.len()) {
            return None;
        }
        let first = word.as_bytes().first()?;
        let is_near =
            |(known, written): &&Spelt| (!has_umlaut || written.contains(['ä', 'ö', 'ü'])) && is_one_edit(word, known);
        let mut days = self.slips.get(first).into_iter().flatten().filter(is_near).peekable();
        if days.peek().is_some() {
            return self.only(days, &self.slip_classes);
        }
        let units = self.unit_slips.get(first).filter(|_| is_counted());
        self.only(units.into_iter().flatten().filter(is_near), self.slip_unit.as_slice())
    }

    /// The first of some words, if all of them mean the same.
    fn only<'a>(&self, mut near: impl Iterator<Item = &'a Spelt>, classes: &[Class]) -> Option<(&'a str, &'a str)> {
        let (first, written) = near.next()?;
        let value = |word: &str| self.meanings(word).iter().find(|lexeme| classes.contains(&lexeme.class)).copied();
        let meant = value(first);
        near.all(|(other, _)| value(other) == meant).then_some((&**first, &**written))
    }

    /// Whether a word says how many.
    pub(super) fn is_amount(&self, word: &str) -> bool {
        self.meanings(word).iter().any(|lexeme| self.amounts.contains(&lexeme.class))
    }

    /// Days, months and units in words that are long enough to be known with a letter amiss.
    fn find_slips(&mut self) {
        let classes = |names: &[&str]| names.iter().filter_map(|name| self.find_class(name)).collect::<Vec<Class>>();
        (self.slip_classes, self.amounts) = (classes(&SLIP_CLASSES), classes(&AMOUNT_CLASSES));
        self.slip_unit = self.find_class(SLIP_UNIT);
        for (word, written) in std::mem::take(&mut self.spelt) {
            let Some(first) = word.bytes().next().filter(|_| (SLIP_MIN..=SLIP_MAX).contains(&word.len())) else {
                continue;
            };
            let is_of = |classes: &[Class]| self.meanings(&word).iter().any(|lexeme| classes.contains(&lexeme.class));
            let (is_day, is_unit) = (is_of(&self.slip_classes), is_of(self.slip_unit.as_slice()));
            if is_unit {
                self.unit_slips.entry(first).or_default().push((word.clone(), written.clone()));
            }
            if is_day {
                self.slips.entry(first).or_default().push((word, written));
            }
        }
    }

    /// The class of a sign that rules ask for.
    pub(super) fn sign(&self, sign: char) -> Option<Class> {
        self.signs.get(&sign).copied()
    }

    /// Whether a word is the short name of a day as well.
    pub(super) fn is_day(&self, meanings: &[Lexeme]) -> bool {
        meanings.iter().any(|meaning| self.is_short_day(meaning.class))
    }

    /// Whether a class is that of short names of days.
    pub(super) fn is_short_day(&self, class: Class) -> bool {
        Some(class) == self.short_day
    }

    /// Whether a class is that of `about` and its like.
    pub(super) fn is_about(&self, class: Class) -> bool {
        Some(class) == self.about
    }

    /// The class of the names of zones.
    pub(super) fn zone(&self) -> Option<Class> {
        self.zone
    }

    /// The number of a symbol by its name.
    pub(super) fn find_symbol(&self, name: &str) -> Option<Symbol> {
        self.symbols.get(name).copied()
    }

    /// The number of a class by its name.
    pub(super) fn find_class(&self, name: &str) -> Option<Class> {
        self.classes.get(name).copied()
    }

    /// A setting, or what counts where the table says nothing.
    pub(super) fn setting<'a>(&'a self, name: &str, otherwise: &'a str) -> &'a str {
        self.settings.get(name).map_or(otherwise, String::as_str)
    }

    fn read_file(
        &mut self,
        name: &str,
        text: &str,
        rules: &mut Vec<(String, String, String, String)>,
    ) -> Result<(), (usize, String)> {
        let mut section = String::new();
        let mut lines: Vec<(usize, String)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let is_continued = line.starts_with([' ', '\t']) && !line.trim().is_empty();
            match lines.last_mut() {
                Some((_, last)) if is_continued => {
                    last.push(' ');
                    last.push_str(line.trim());
                }
                _ => lines.push((number + 1, line.trim_end().to_owned())),
            }
        }
        for (number, line) in lines {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                title.clone_into(&mut section);
                continue;
            }
            let wrong = |problem: &str| (number, problem.to_owned());
            let (left, right) = line.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
            let (left, right) = (left.trim(), right.trim());
            match section.as_str() {
                "settings" => _ = self.settings.insert(left.to_owned(), right.to_owned()),
                "words" => {
                    let (class, value) = left.split_once(' ').unwrap_or((left, "0"));
                    let value = value.trim().parse().map_err(|_| wrong("the value of a class is not a number"))?;
                    let class = self.class(class);
                    right.split_whitespace().for_each(|word| self.add_word(word, Lexeme { class, value }));
                }
                "rules" => {
                    let symbol = left.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
                    let symbol = symbol.ok_or_else(|| wrong("a rule begins with `<name> =`"))?;
                    let (pattern, outcome) = right.split_once("=>").ok_or_else(|| wrong("a rule needs `=>`"))?;
                    let place = format!("{name}, line {number}");
                    rules.push((place, symbol.to_owned(), pattern.trim().to_owned(), outcome.trim().to_owned()));
                }
                _ => return Err(wrong("is in no section; begin with [settings], [words] or [rules]")),
            }
        }
        Ok(())
    }

    /// Adds a word as it is folded, and as people write it who have no umlauts on their keyboard.
    fn add_word(&mut self, word: &str, lexeme: Lexeme) {
        let as_written = word;
        for word in spellings(word) {
            if !self.words.contains_key(word.as_str()) {
                self.spelt.push((word.clone().into_boxed_str(), as_written.into()));
            }
            let meanings = self.words.entry(word.into_boxed_str()).or_default();
            if !meanings.contains(&lexeme) {
                meanings.push(lexeme);
            }
        }
    }

    fn class(&mut self, name: &str) -> Class {
        let next = self.classes.len() as Class;
        *self.classes.entry(name.to_owned()).or_insert(next)
    }

    fn symbol(&mut self, name: &str) -> Symbol {
        let next = self.symbols.len() as Symbol;
        *self.symbols.entry(name.to_owned()).or_insert(next)
    }

    fn add_rule(&mut self, symbol: &str, pattern: &str, outcome: &str) -> Result<(), String> {
        let mut outcome = outcome.split_whitespace();
        let name = outcome.next().ok_or("no action after `=>`")?;
        let action = Action::named(name).ok_or_else(|| format!("there is no action `{name}`"))?;
        let arguments: Vec<&str> = outcome.collect();
        let tree = self.symbol(symbol) as usize;
        let expansions = Pattern { table: self, rest: pattern }.read_all()?;
        for expansion in expansions {
            if expansion.is_empty() {
                return Err("a rule must not match nothing".into());
            }
            let arguments = arguments
                .iter()
                .map(|argument| argument_of(argument, &expansion))
                .collect::<Result<Vec<_>, String>>()?;
            let mut node = 0;
            for (item, _) in &expansion {
                let nodes = &mut self.trees[tree].nodes;
                node = match nodes[node].items.iter().find(|(known, _)| known == item) {
                    Some((_, next)) => *next,
                    None => {
                        nodes.push(Node::default());
                        let next = nodes.len() - 1;
                        nodes[node].items.push((*item, next));
                        next
                    }
                };
            }
            let accept = Accept { action, arguments };
            let accepts = &mut self.trees[tree].nodes[node].accepts;
            if !accepts.contains(&accept) {
                accepts.push(accept);
            }
        }
        Ok(())
    }

    /// Works out what each symbol can begin with, and refuses symbols that contain themselves.
    fn find_first(&mut self) -> Result<(), String> {
        let symbols_of = |nodes: &[Node]| {
            let items = nodes.iter().flat_map(|node| &node.items);
            items
                .filter_map(|(item, _)| if let Item::Symbol { symbol, .. } = item { Some(*symbol) } else { None })
                .collect()
        };
        let contains: Vec<Vec<Symbol>> = self.trees.iter().map(|tree| symbols_of(&tree.nodes)).collect();
        let begins_with: Vec<Vec<Symbol>> = self.trees.iter().map(|tree| symbols_of(&tree.nodes[..1])).collect();
        for symbol in 0..self.trees.len() {
            let mut seen = vec![false; self.trees.len()];
            let mut open = contains[symbol].clone();
            while let Some(next) = open.pop() {
                if next as usize == symbol {
                    let name =
                        self.symbols.iter().find(|(_, number)| **number as usize == symbol).map(|(name, _)| name);
                    return Err(format!("<{}> contains itself", name.map_or("?", String::as_str)));
                }
                if !std::mem::replace(&mut seen[next as usize], true) {
                    open.extend(&contains[next as usize]);
                }
            }
        }
        for tree in &mut self.trees {
            for (item, _) in &tree.nodes[0].items {
                if let Item::Token { class, .. } = item {
                    tree.first.insert(*class);
                }
            }
        }
        let mut is_growing = true;
        while is_growing {
            is_growing = false;
            for (symbol, symbols) in begins_with.iter().enumerate() {
                for other in symbols {
                    let first = self.trees[*other as usize].first;
                    is_growing |= self.trees[symbol].first.add(&first);
                }
            }
        }
        Ok(())
    }
}

fn argument_of(argument: &str, expansion: &[(Item, Option<char>)]) -> Result<Argument, String> {
    if let Some(name) = argument.strip_prefix('$') {
        let name = name.chars().next();
        let item = expansion.iter().position(|(_, named)| named.is_some() && *named == name);
        return Ok(item.map_or(Argument::Absent, |item| Argument::Item(item as u8)));
    }
    argument.parse().map(Argument::Given).map_err(|_| format!("`{argument}` is neither $n nor a number"))
}

/// The folded forms under which a word is kept: `ä` as `a` and as `ae`, `đ` as `d` and as `dj`.
fn spellings(word: &str) -> Vec<String> {
    let folded = |word: &str| {
        let mut folded = String::new();
        word.chars().for_each(|c| fold(c, &mut folded));
        folded
    };
    let mut spellings = vec![folded(word)];
    let spelt_out = word.replace('ä', "ae").replace('ö', "oe").replace('ü', "ue").replace('đ', "dj");
    if spelt_out != word {
        spellings.push(folded(&spelt_out));
    }
    spellings
}

/// Whether one word becomes the other by a letter more, less, changed or swapped with its neighbour. Both begin alike.
fn is_one_edit(word: &str, known: &str) -> bool {
    let (word, known) = (word.as_bytes(), known.as_bytes());
    if word.len().abs_diff(known.len()) > 1 {
        return false;
    }
    let same = word.iter().zip(known).take_while(|(a, b)| a == b).count();
    let (word, known) = (&word[same..], &known[same..]);
    match (word, known) {
        // A short word with a letter more at its end is another form, or another word.
        ([_], []) => same > 6,
        ([], [_]) => true,
        ([a, b, word @ ..], [c, d, known @ ..]) if (a, b) == (d, c) && word == known => true,
        ([_, word @ ..], [_, known @ ..]) if word == known => true,
        ([_, word @ ..], known) if word == known => true,
        (word, [_, known @ ..]) => word == known,
        _ => false,
    }
}

/// The items of one way to match, each with the name its meaning goes by.
type Expansion = Vec<(Item, Option<char>)>;

struct Pattern<'a> {
    table: &'a mut Table,
    rest: &'a str,
}

impl Pattern<'_> {
    fn read_all(mut self) -> Result<Vec<Expansion>, String> {
        let all = self.choices()?;
        match self.rest.is_empty() {
            true => Ok(all),
            false => Err(format!("cannot read `{}`", self.rest)),
        }
    }

    fn choices(&mut self) -> Result<Vec<Expansion>, String> {
        let mut all = self.sequence()?;
        while let Some(rest) = self.rest.strip_prefix('|') {
            self.rest = rest;
            all.extend(self.sequence()?);
        }
        Ok(all)
    }

    fn sequence(&mut self) -> Result<Vec<Expansion>, String> {
        let mut all: Vec<Expansion> = vec![Vec::new()];
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.rest.starts_with([')', '|']) {
                return Ok(all);
            }
            let mut items = self.item()?;
            if let Some(rest) = self.rest.strip_prefix('?') {
                self.rest = rest;
                items.push(Vec::new());
            }
            let joined = |before: &Expansion| {
                items.iter().map(|item| before.iter().chain(item).copied().collect()).collect::<Vec<Expansion>>()
            };
            all = all.iter().flat_map(joined).collect();
            if all.len() > EXPANSIONS_MAX {
                return Err(format!("has more than {EXPANSIONS_MAX} ways to match"));
            }
        }
    }

    fn item(&mut self) -> Result<Vec<Expansion>, String> {
        let mut spacing = Spacing::Any;
        let mut dotted = false;
        loop {
            let first = self.rest.chars().next();
            match first {
                Some('~') => spacing = Spacing::Glued,
                Some('!') => spacing = Spacing::Apart,
                Some('.') => dotted = true,
                _ => break,
            }
            self.rest = &self.rest[1..];
        }
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let mut all = self.choices()?;
            self.rest = self.rest.strip_prefix(')').ok_or("a `(` is not closed")?;
            for (item, _) in all.iter_mut().filter_map(|choice| choice.first_mut()) {
                match item {
                    Item::Token { spacing: inner, .. } | Item::Symbol { spacing: inner, .. }
                        if spacing != Spacing::Any =>
                    {
                        *inner = spacing
                    }
                    _ => {}
                }
            }
            return Ok(all);
        }
        let item = if let Some(rest) = self.rest.strip_prefix('<') {
            let (name, rest) = rest.split_once('>').ok_or("a `<` is not closed")?;
            self.rest = rest;
            let symbol = self.table.find_symbol(name).ok_or_else(|| format!("there is no <{name}>"))?;
            Item::Symbol { symbol, spacing }
        } else if let Some(rest) = self.rest.strip_prefix('\'') {
            let sign = rest.chars().next().ok_or("no sign after `'`")?;
            self.rest = &rest[sign.len_utf8()..];
            let class = self.table.class(&format!("'{sign}"));
            self.table.signs.insert(sign, class);
            Item::Token { class, spacing, dotted }
        } else {
            let end =
                self.rest.find(|c: char| !(c.is_alphabetic() || c == '\'' || c == '_')).unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(end);
            if word.is_empty() {
                return Err(format!("cannot read `{}`", self.rest));
            }
            self.rest = rest;
            let class = if word.chars().all(|c| c.is_uppercase() || c == '_') {
                self.table.find_class(word).ok_or_else(|| format!("no word has the class {word}"))?
            } else {
                let class = self.table.class(word);
                self.table.add_word(word, Lexeme { class, value: 0 });
                class
            };
            Item::Token { class, spacing, dotted }
        };
        let name = self.rest.chars().next().filter(char::is_ascii_digit);
        if name.is_some() {
            self.rest = &self.rest[1..];
        }
        Ok(vec![vec![(item, name)]])
    }
}
