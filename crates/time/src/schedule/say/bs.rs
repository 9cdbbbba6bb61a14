//! Bosnian.

use super::slavic::{Forms, Noun, Slavic, words};
use super::words::Words;

pub(super) const WORDS: Words = words::<Bosnian>();

pub(super) struct Bosnian;

impl Slavic for Bosnian {
    const FORMS: Forms = Forms {
        every_day_of: [
            "svakog ponedjeljka",
            "svakog utorka",
            "svake srijede",
            "svakog četvrtka",
            "svakog petka",
            "svake subote",
            // `svake nedjelje` is every week as well.
            "nedjeljom",
        ],
        on_days: ["ponedjeljkom", "utorkom", "srijedom", "četvrtkom", "petkom", "subotom", "nedjeljom"],
        days: ["ponedjeljak", "utorak", "srijedu", "četvrtak", "petak", "subotu", "nedjelju"],
        short_days: ["pon", "uto", "sri", "čet", "pet", "sub", "ned"],
        months: [
            "januara",
            "februara",
            "marta",
            "aprila",
            "maja",
            "juna",
            "jula",
            "augusta",
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
            "augustu",
            "septembru",
            "oktobru",
            "novembru",
            "decembru",
        ],
        second: Noun { every: "svake sekunde", one: "sekundu", few: "sekunde", many: "sekundi", is_feminine: true },
        minute: Noun { every: "svake minute", one: "minutu", few: "minute", many: "minuta", is_feminine: true },
        hour: Noun { every: "svaki sat", one: "sat", few: "sata", many: "sati", is_feminine: false },
        day: Noun { every: "svaki dan", one: "dan", few: "dana", many: "dana", is_feminine: false },
        week: Noun { every: "svake sedmice", one: "sedmicu", few: "sedmice", many: "sedmica", is_feminine: true },
        month: Noun { every: "svaki mjesec", one: "mjesec", few: "mjeseca", many: "mjeseci", is_feminine: false },
        year: Noun { every: "svake godine", one: "godinu", few: "godine", many: "godina", is_feminine: true },
        last: ["posljednji", "posljednju"],
        before_last: ["pretposljednji", "pretposljednju"],
        of_every_month: "svakog mjeseca",
        of_the_month: "u mjesecu",
        in_week: "u sedmici",
        after_answer: "nakon svakog odgovora",
    };
}
