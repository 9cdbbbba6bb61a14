//! Serbian, written in Latin letters; the Cyrillic text is made from it.

use super::slavic::{Forms, Noun, Slavic, words};
use super::words::Words;

pub(super) const WORDS: Words = words::<Serbian>();

struct Serbian;

impl Slavic for Serbian {
    const FORMS: Forms = Forms {
        every_day_of: [
            "svakog ponedeljka",
            "svakog utorka",
            "svake srede",
            "svakog četvrtka",
            "svakog petka",
            "svake subote",
            // `svake nedelje` is every week as well.
            "nedeljom",
        ],
        on_days: ["ponedeljkom", "utorkom", "sredom", "četvrtkom", "petkom", "subotom", "nedeljom"],
        days: ["ponedeljak", "utorak", "sredu", "četvrtak", "petak", "subotu", "nedelju"],
        short_days: ["pon", "uto", "sre", "čet", "pet", "sub", "ned"],
        months: [
            "januara",
            "februara",
            "marta",
            "aprila",
            "maja",
            "juna",
            "jula",
            "avgusta",
            "septembra",
            "oktobra",
            "novembra",
            "decembra",
        ],
        in_months: [
            "januaru",
            "februaru",
            "martu",
            "aprilu",
            "maju",
            "junu",
            "julu",
            "avgustu",
            "septembru",
            "oktobru",
            "novembru",
            "decembru",
        ],
        second: Noun { every: "svake sekunde", one: "sekundu", few: "sekunde", many: "sekundi", is_feminine: true },
        minute: Noun { every: "svaki minut", one: "minut", few: "minuta", many: "minuta", is_feminine: false },
        hour: Noun { every: "svaki sat", one: "sat", few: "sata", many: "sati", is_feminine: false },
        day: Noun { every: "svaki dan", one: "dan", few: "dana", many: "dana", is_feminine: false },
        week: Noun { every: "svake nedelje", one: "nedelju", few: "nedelje", many: "nedelja", is_feminine: true },
        month: Noun { every: "svaki mesec", one: "mesec", few: "meseca", many: "meseci", is_feminine: false },
        year: Noun { every: "svake godine", one: "godinu", few: "godine", many: "godina", is_feminine: true },
        last: ["poslednji", "poslednju"],
        before_last: ["pretposlednji", "pretposlednju"],
        of_every_month: "svakog meseca",
        of_the_month: "u mesecu",
        in_week: "u nedelji",
        after_answer: "posle svakog odgovora",
    };
}

/// Writes Latin letters as Cyrillic ones, except between backticks: `svaki dan u 08:00` is `сваки дан у 08:00`.
pub(super) fn cyrillic(latin: &str) -> String {
    let mut is_quoted = false;
    let mut letters = latin.chars().peekable();
    let mut said = String::with_capacity(latin.len() * 2);
    while let Some(letter) = letters.next() {
        is_quoted ^= letter == '`';
        if is_quoted {
            said.push(letter);
            continue;
        }
        let pair = match (letter, letters.peek()) {
            ('l', Some('j')) => Some('љ'),
            ('n', Some('j')) => Some('њ'),
            ('d', Some('ž')) => Some('џ'),
            _ => None,
        };
        if pair.is_some() {
            letters.next();
        }
        said.push(pair.unwrap_or_else(|| cyrillic_letter(letter)));
    }
    said
}

fn cyrillic_letter(latin: char) -> char {
    let known = LETTERS.iter().find(|(from, _)| *from == latin);
    known.map_or(latin, |(_, to)| *to)
}

/// The small letters: no summary has a big one in Serbian.
const LETTERS: [(char, char); 27] = [
    ('a', 'а'),
    ('b', 'б'),
    ('v', 'в'),
    ('g', 'г'),
    ('d', 'д'),
    ('đ', 'ђ'),
    ('e', 'е'),
    ('ž', 'ж'),
    ('z', 'з'),
    ('i', 'и'),
    ('j', 'ј'),
    ('k', 'к'),
    ('l', 'л'),
    ('m', 'м'),
    ('n', 'н'),
    ('o', 'о'),
    ('p', 'п'),
    ('r', 'р'),
    ('s', 'с'),
    ('t', 'т'),
    ('ć', 'ћ'),
    ('u', 'у'),
    ('f', 'ф'),
    ('h', 'х'),
    ('c', 'ц'),
    ('č', 'ч'),
    ('š', 'ш'),
];
