//! Croatian: the months, the week and every Sunday have words of their own; the others are those of Bosnian.

use super::bs::Bosnian;
use super::slavic::{Forms, Noun, Slavic, words};
use super::words::Words;

pub(super) const WORDS: Words = words::<Croatian>();

struct Croatian;

impl Slavic for Croatian {
    const FORMS: Forms = Forms {
        every_day_of: [
            "svakog ponedjeljka",
            "svakog utorka",
            "svake srijede",
            "svakog četvrtka",
            "svakog petka",
            "svake subote",
            "svake nedjelje",
        ],
        months: [
            "siječnja",
            "veljače",
            "ožujka",
            "travnja",
            "svibnja",
            "lipnja",
            "srpnja",
            "kolovoza",
            "rujna",
            "listopada",
            "studenog",
            "prosinca",
        ],
        in_months: [
            "siječnju",
            "veljači",
            "ožujku",
            "travnju",
            "svibnju",
            "lipnju",
            "srpnju",
            "kolovozu",
            "rujnu",
            "listopadu",
            "studenom",
            "prosincu",
        ],
        week: Noun { every: "svaki tjedan", one: "tjedan", few: "tjedna", many: "tjedana", is_feminine: false },
        in_week: "u tjednu",
        ..Bosnian::FORMS
    };
}
