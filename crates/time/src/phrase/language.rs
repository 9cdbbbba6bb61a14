//! The languages: their tables, and which one a text is in.

use std::sync::LazyLock;

use super::find::Symbols;
use super::grammar::Grammar;
use super::lang::Lang;
use super::table::{Class, Symbol, Table};
use super::token::Tokens;
use crate::zone::Zone;

/// A language that is ready to be used.
pub(super) struct Language {
    pub(super) lang: Lang,
    pub(super) table: Table,
    pub(super) symbols: Symbols,
    /// Words that ask for a reminder: `remind me to`.
    pub(super) ask: Option<Symbol>,
    /// Words that join a time to the thing to be done: the `to` of `tomorrow at 8 to call mom`.
    pub(super) link: Option<Symbol>,
    /// A slip that was meant as a time: `28pm`.
    pub(super) broken: Option<Symbol>,
    /// Words after which a length needs something more: `5 hours before`.
    pub(super) dangling: Option<Symbol>,
    /// A length before or after something that is named elsewhere.
    pub(super) hang: Option<Symbol>,
    /// Words that are a time wherever they stand.
    pub(super) left: Option<Symbol>,
    /// Words that belong to a time right before or right after it.
    pub(super) before: Option<Symbol>,
    pub(super) after: Option<Symbol>,
    /// Words that only close a time: the `on` of `from June 3rd on`.
    pub(super) tail: Option<Symbol>,
    /// A date that there is not.
    pub(super) bad_date: Option<Symbol>,
    /// Numbers that were meant as a date and are none, and those that are none unless they count what follows: 31/04, the 32nd.
    pub(super) no_date: Option<Symbol>,
    pub(super) no_day: Option<Symbol>,
    /// Two numbers that were meant as a clock, in a text that has no time: at 14:60.
    pub(super) no_clock: Option<Symbol>,
    /// From one hour to another, which a series of days does not have: `de 9 a 17`.
    pub(super) hours_range: Option<Symbol>,
    /// Words after which a length says how long something takes: the film lasts two hours.
    pub(super) lasts: Option<Symbol>,
    /// The half of the day, after a number that was read without it: 5 30 pm.
    pub(super) half_word: Option<Symbol>,
    /// Words that make a series depend on something that no schedule knows: `unless it rains`.
    pub(super) condition: Option<Symbol>,
    /// Words that do so only right after a time and right before it: `every monday if …`, `most mondays`.
    pub(super) condition_after: Option<Symbol>,
    pub(super) condition_before: Option<Symbol>,
    /// The class of `before`, and whether it is also a word for a place, as `vor dem Haus` is.
    pub(super) before_word: Option<Class>,
    /// The class of things that have a time rather than a place: `vor dem Essen`.
    pub(super) event: Option<Class>,
    /// The class of words that can lead to the time of a place: in Lisbon time.
    pub(super) zone_in: Option<Class>,
    /// The classes of the word for hours after which minutes follow, and of what people count: um 18 Uhr 30 Leute.
    pub(super) clock_word: Option<Class>,
    pub(super) counted: Option<Class>,
    /// The class of things that people take, do or buy in numbers: two tablets, 10 pushups.
    pub(super) thing: Option<Class>,
    /// Words after a day that say when on it, in a way that nobody can tell: `before dinner`.
    pub(super) open: Option<Symbol>,
    /// Words that ask to be woken.
    pub(super) wake: Option<Symbol>,
    /// The class of `every` and its like.
    pub(super) every: Option<Class>,
    /// The class of the word after the name of a place whose time is meant: Tokyo time.
    pub(super) zone_word: Option<Class>,
    /// The class of words that may lead such a name, and of those after which the place follows: `po` … `vremenu`, `heure de` Paris.
    pub(super) zone_lead: Option<Class>,
    pub(super) zone_of: Option<Class>,
    /// The class of `and`.
    pub(super) and: Option<Class>,
    /// The class of words that say what something is for.
    pub(super) purpose: Option<Class>,
    /// The class of prepositions.
    pub(super) preposition: Option<Class>,
    /// The class of words that are never the name of a thing with a number.
    pub(super) adverb: Option<Class>,
    /// The class of verbs that say that something goes on: the parking `runs` until 16:00.
    pub(super) goes_on: Option<Class>,
    /// The class of `per` and its like.
    pub(super) per: Option<Class>,
    /// The class of months, and those of days of the week.
    pub(super) month: Option<Class>,
    pub(super) weekdays: Vec<Class>,
    /// Whether nouns have a capital letter.
    pub(super) has_capital_nouns: bool,
    /// Whether the next Wednesday is the coming one.
    pub(super) is_next_coming: bool,
    /// The hours at which its stretches of time begin.
    pub(super) hours: Hours,
}

/// The hours at which stretches of time begin, as people who speak a language have them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hours {
    /// Mornings, as CLDR has them.
    pub(super) morning: i8,
    /// Early mornings.
    pub(super) early: i8,
    /// Weekends, on Friday; 24 is Saturday.
    pub(super) weekend: i8,
}

const COMMON: (&str, &str) = ("common", include_str!("tables/common.table"));
const EN: (&str, &str) = ("en", include_str!("tables/en.table"));
const DE: (&str, &str) = ("de", include_str!("tables/de.table"));
const SLAVIC: (&str, &str) = ("slavic", include_str!("tables/slavic.table"));
const HR: (&str, &str) = ("hr", include_str!("tables/hr.table"));
const SR: (&str, &str) = ("sr", include_str!("tables/sr.table"));
const ES: (&str, &str) = ("es", include_str!("tables/es.table"));
const FR: (&str, &str) = ("fr", include_str!("tables/fr.table"));
const BS: (&str, &str) = ("bs", include_str!("tables/bs.table"));

impl Language {
    /// The language `lang`; its table is read when it is first asked for.
    pub(super) fn of(lang: Lang) -> &'static Self {
        static EN_: LazyLock<Language> = LazyLock::new(|| Language::read(Lang::En, &[COMMON, EN]));
        static DE_: LazyLock<Language> = LazyLock::new(|| Language::read(Lang::De, &[COMMON, DE]));
        static HR_: LazyLock<Language> = LazyLock::new(|| Language::read(Lang::Hr, &[COMMON, SLAVIC, HR]));
        static SR_: LazyLock<Language> = LazyLock::new(|| Language::read(Lang::Sr, &[COMMON, SLAVIC, SR]));
        static CYRILLIC: LazyLock<Language> = LazyLock::new(|| Language::read(Lang::SrCyrl, &[COMMON, SLAVIC, SR]));
        static BS_: LazyLock<Language> = LazyLock::new(|| Language::read(Lang::Bs, &[COMMON, SLAVIC, BS]));
        static ES_: LazyLock<Language> = LazyLock::new(|| Language::read(Lang::Es, &[COMMON, ES]));
        static FR_: LazyLock<Language> = LazyLock::new(|| Language::read(Lang::Fr, &[COMMON, FR]));
        match lang {
            Lang::Es => &ES_,
            Lang::Fr => &FR_,
            Lang::En => &EN_,
            Lang::De => &DE_,
            Lang::Hr => &HR_,
            Lang::Sr => &SR_,
            Lang::SrCyrl => &CYRILLIC,
            Lang::Bs => &BS_,
        }
    }

    fn read(lang: Lang, files: &[(&str, &str)]) -> Self {
        // The tables are part of the program, and a test reads each of them.
        let table = Table::read(files).unwrap_or_else(|problem| panic!("the table of {lang}: {problem}"));
        let symbol =
            |name: &str| table.find_symbol(name).unwrap_or_else(|| panic!("the table of {lang} has no <{name}>"));
        let class = |name: &str| table.find_class(name).unwrap_or_else(|| panic!("the table of {lang} has no {name}"));
        let symbols = Symbols {
            atom: symbol("atom"),
            joint: symbol("joint"),
            not: table.find_symbol("not"),
            unit: class("UNIT"),
            topic: table.find_class("TOPIC"),
            often: table.find_symbol("often"),
            determiner: table.find_class("DET"),
            article: class("A"),
            link: table.find_symbol("link"),
            of: table.find_class("OF"),
            lead: table.find_class("CLOCKLEAD"),
            month: table.find_class("MONTH"),
        };
        let (ask, link) = (table.find_symbol("ask"), table.find_symbol("link"));
        let is_next_coming = table.setting("next weekday", "coming") == "coming";
        let hour = |name: &str, otherwise: i8| table.setting(name, "").parse().unwrap_or(otherwise);
        let morning = hour("morning", 6);
        let broken = table.find_symbol("broken");
        let dangling = table.find_symbol("dangling");
        Self {
            lang,
            symbols,
            ask,
            link,
            broken,
            dangling,
            hang: table.find_symbol("hang"),
            left: table.find_symbol("left"),
            before: table.find_symbol("before"),
            after: table.find_symbol("after"),
            tail: table.find_symbol("closing"),
            bad_date: table.find_symbol("baddate"),
            no_date: table.find_symbol("nodate"),
            no_day: table.find_symbol("nosuchday"),
            no_clock: table.find_symbol("noclock"),
            hours_range: table.find_symbol("hoursrange"),
            lasts: table.find_symbol("lasts"),
            half_word: table.find_symbol("halfword"),
            condition: table.find_symbol("condition"),
            condition_after: table.find_symbol("conditionafter"),
            condition_before: table.find_symbol("conditionbefore"),
            before_word: table.find_class("BEFOREWORD"),
            event: table.find_class("EVENT"),
            zone_in: table.find_class("ZONEIN"),
            clock_word: table.find_class("CLOCKWORD"),
            counted: table.find_class("COUNTED"),
            thing: table.find_class("THING"),
            open: table.find_symbol("open"),
            wake: table.find_symbol("wake"),
            every: table.find_class("EVERYWORD").or_else(|| table.find_class("EVERY")),
            zone_lead: table.find_class("ZONELEAD"),
            zone_of: table.find_class("ZONEOF"),
            zone_word: table.find_class("ZONETIME"),
            and: table.find_class("AND"),
            purpose: table.find_class("PURPOSE"),
            preposition: table.find_class("PREP"),
            adverb: table.find_class("ADVERB"),
            goes_on: table.find_class("GOESON"),
            month: table.find_class("MONTH"),
            weekdays: ["WEEKDAY", "WEEKDAYWORD", "WEEKDAYDOT"]
                .iter()
                .filter_map(|name| table.find_class(name))
                .collect(),
            per: table.find_class("PER"),
            has_capital_nouns: table.setting("nouns", "small") == "capital",
            is_next_coming,
            hours: Hours { morning, early: hour("early", morning), weekend: hour("weekend", 24) },
            table,
        }
    }
}

/// The longest text, in tokens, that is tried in every language.
const TRIED_TOKENS_MAX: usize = 400;

/// The language asked for, or the one that knows most of the words and makes most of them; and how many steps the others took.
pub(super) fn choose<'a>(
    lang: Option<Lang>,
    tokens: &'a Tokens,
    zone: &Zone,
) -> (&'static Language, Grammar<'a>, usize) {
    let with = |lang: Lang| {
        let language = Language::of(lang);
        (language, Grammar::new(&language.table, tokens))
    };
    let alone = |lang: Lang| {
        let (language, grammar) = with(lang);
        (language, grammar, 0)
    };
    if let Some(lang) = lang {
        return alone(lang);
    }
    if tokens.is_cyrillic {
        return alone(Lang::SrCyrl);
    }
    // These three share most of their words; where somebody lives decides.
    let slavic = match zone.name() {
        "Europe/Belgrade" | "Europe/Podgorica" => Lang::Sr,
        "Europe/Sarajevo" => Lang::Bs,
        _ => Lang::Hr,
    };
    let others = [Lang::Hr, Lang::Sr, Lang::Bs].into_iter().filter(|lang| *lang != slavic);
    let all = [Lang::En, Lang::De, slavic].into_iter().chain(others).map(with);
    let mut all: Vec<_> = all.map(|(language, grammar)| (grammar.known_words(), language, grammar)).collect();
    let most = all.iter().map(|(known, ..)| *known).max().unwrap_or(0);
    all.retain(|(known, ..)| *known + 1 >= most);
    // In a long text the words tell; to try what each language makes of it would take too long.
    if tokens.list.len() > TRIED_TOKENS_MAX {
        all.retain(|(known, ..)| *known == most);
        all.truncate(1);
    }
    let mut best: Option<((usize, usize), &'static Language, Grammar<'a>)> = None;
    let mut taken = 0;
    for (known, language, mut grammar) in all {
        let phrases = super::find::find(&mut grammar, language.symbols);
        taken += grammar.taken();
        let covered = phrases.iter().map(|phrase| phrase.to - phrase.from).sum::<usize>();
        if best.as_ref().is_none_or(|(score, ..)| (covered, known) > *score) {
            best = Some(((covered, known), language, grammar));
        }
    }
    best.map_or_else(
        || alone(Lang::En),
        |(_, language, grammar)| {
            let by_others = taken - grammar.taken();
            (language, grammar, by_others)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_can_be_read() {
        for lang in Lang::ALL {
            let language = Language::of(lang);
            assert!(language.ask.is_some() && language.link.is_some(), "{lang}");
        }
    }
}
