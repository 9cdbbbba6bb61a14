//! Croatian.

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
        on_days: ["ponedjeljkom", "utorkom", "srijedom", "četvrtkom", "petkom", "subotom", "nedjeljom"],
        days: ["ponedjeljak", "utorak", "srijedu", "četvrtak", "petak", "subotu", "nedjelju"],
        short_days: ["pon", "uto", "sri", "čet", "pet", "sub", "ned"],
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
        second: Noun { every: "svake sekunde", one: "sekundu", few: "sekunde", many: "sekundi", is_feminine: true },
        minute: Noun { every: "svake minute", one: "minutu", few: "minute", many: "minuta", is_feminine: true },
        hour: Noun { every: "svaki sat", one: "sat", few: "sata", many: "sati", is_feminine: false },
        day: Noun { every: "svaki dan", one: "dan", few: "dana", many: "dana", is_feminine: false },
        week: Noun { every: "svaki tjedan", one: "tjedan", few: "tjedna", many: "tjedana", is_feminine: false },
        month: Noun { every: "svaki mjesec", one: "mjesec", few: "mjeseca", many: "mjeseci", is_feminine: false },
        year: Noun { every: "svake godine", one: "godinu", few: "godine", many: "godina", is_feminine: true },
        last: ["posljednji", "posljednju"],
        before_last: ["pretposljednji", "pretposljednju"],
        of_every_month: "svakog mjeseca",
        of_the_month: "u mjesecu",
        in_week: "u tjednu",
        after_answer: "nakon svakog odgovora",
    };
}
