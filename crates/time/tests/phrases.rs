//! Phrases that people write, and their meanings: the project's own examples, a file for each language family.
//!
//! A line is what `punctual parse` is asked and answers: `text`, `now`, `tz`, and `kind` with `at`, `from` and `to`, `next`
//! (as many as are given), `seconds`, `rest`, and of none the `suggestion`. An instant with `from` and `to` is a moment of that stretch; they
//! are empty where it is none. `detect` is false where the same words mean something else in
//! another language.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use jiff::Timestamp;
use punctual_time::phrase::{Lang, Meaning, parse};
use punctual_time::zone::Zone;
use serde_json::Value;

fn check(file: &str, lang: Option<Lang>) {
    let mut wrong = Vec::new();
    for line in file.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        let lang = case["lang"].as_str().map(|tag| tag.parse().unwrap()).or(lang);
        // Without a hint the language is worked out, and the meaning must be the same, unless only the language tells.
        let hints = if case["detect"] == false { vec![lang] } else { vec![lang, None] };
        for lang in hints {
            let problems = problems(&case, text, lang);
            wrong.extend(problems.into_iter().map(|problem| format!("{text} ({lang:?}): {problem}")));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn problems(case: &Value, text: &str, lang: Option<Lang>) -> Vec<String> {
    let zone = Zone::named(case["tz"].as_str().unwrap()).unwrap();
    let now: Timestamp = case["now"].as_str().unwrap().parse().unwrap();
    let parsed = parse(text, lang, &zone, now);
    let iso = |at: Timestamp| at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let mut problems = Vec::new();
    let mut compare = |field: &str, got: &str| {
        if let Some(want) = case[field].as_str()
            && want != got
        {
            problems.push(format!("{field} is {got}, not {want}"));
        }
    };
    match &parsed.meaning {
        Meaning::Instant { at, within, .. } => {
            compare("kind", "instant");
            compare("at", &iso(*at));
            compare("from", &within.map(|(from, _)| iso(from)).unwrap_or_default());
            compare("to", &within.map(|(_, to)| iso(to)).unwrap_or_default());
        }
        Meaning::Interval { from, to, .. } => {
            compare("kind", "interval");
            compare("from", &iso(*from));
            compare("to", &iso(*to));
        }
        Meaning::Duration { seconds, .. } => {
            compare("kind", "duration");
            if case["seconds"].as_u64().is_some_and(|want| want != *seconds) {
                problems.push(format!("it is {seconds} seconds, not {}", case["seconds"]));
            }
        }
        Meaning::Recurring(schedule) => {
            compare("kind", "recurring");
            let want: Vec<&str> = case["next"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let next = |at: &Timestamp| schedule.next_after(&zone, *at);
            let got: Vec<String> = std::iter::successors(next(&now), next).take(want.len()).map(iso).collect();
            if want != got {
                problems.push(format!("next is {got:?}, not {want:?}"));
            }
        }
        Meaning::None { reason } => {
            if case["kind"] != "none" {
                problems.push(format!("none: {reason}"));
            }
            let offered = parsed.suggestion.as_ref().map(|meaning| meaning.summary_in(parsed.lang, &zone));
            if case["suggestion"].is_string() && case["suggestion"].as_str() != offered.as_deref() {
                problems.push(format!("the suggestion is {offered:?}, not {}", case["suggestion"]));
            }
        }
    }
    if let Some(rest) = case["rest"].as_str()
        && case["kind"] != "none"
        && rest != parsed.rest
    {
        problems.push(format!("rest is `{}`, not `{rest}`", parsed.rest));
    }
    problems
}

#[test]
fn english() {
    check(include_str!("phrases/en.jsonl"), Some(Lang::En));
}

#[test]
fn german() {
    check(include_str!("phrases/de.jsonl"), Some(Lang::De));
}

#[test]
fn croatian_serbian_and_bosnian() {
    check(include_str!("phrases/slavic.jsonl"), None);
}

#[test]
fn spanish_where_somebody_says_that_it_is() {
    check(include_str!("phrases/es.jsonl"), Some(Lang::Es));
}

#[test]
fn french_where_somebody_says_that_it_is() {
    check(include_str!("phrases/fr.jsonl"), Some(Lang::Fr));
}

#[test]
fn a_language_that_shares_its_short_words_is_never_worked_out() {
    let zone = Zone::named("Europe/Madrid").unwrap();
    let now: Timestamp = "2026-03-10T09:15:00+01:00".parse().unwrap();
    for text in ["mañana a las 8", "demain à 8h", "cada lunes a las 9", "chaque lundi à 9h"] {
        let lang = parse(text, None, &zone, now).lang;
        assert!(!matches!(lang, Lang::Es | Lang::Fr), "{text} is taken for {lang}");
    }
}

#[test]
fn a_language_that_has_to_be_said_gives_no_time_of_another() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let now: Timestamp = "2026-03-10T09:15:00+01:00".parse().unwrap();
    let french = [
        "demain à 8h appelle maman",
        "demain à 8",
        "tous les jours à 8h",
        "toutes les 5 minutes",
        "chaque lundi à 9h",
        "lundi à 8h",
        "Lundi 8h",
        "demain 8h",
        "appelle maman à 8h",
        "rappelle-moi dans 2h",
        "rappelle-moi dans 2 heures",
        "rappelle-moi dans une heure",
    ];
    let spanish = ["mañana a las 8h llama", "llama a las 8h", "cada lunes 8h", "todos los días a las 8h", "domingo 8h"];
    let rows = french.map(|text| (text, Lang::Fr)).into_iter().chain(spanish.map(|text| (text, Lang::Es)));
    for (text, lang) in rows {
        let Meaning::None { reason } = parse(text, None, &zone, now).meaning else { panic!("{text} is understood") };
        assert!(reason.contains(&format!("`{lang}`")), "{text}: {reason}");
    }
    for (text, lang) in [("demain à 8h", Lang::Fr), ("rappelle-moi dans 2h", Lang::Fr), ("mañana a las 8h", Lang::Es)]
    {
        let parsed = parse(text, Some(lang), &zone, now);
        assert!(!matches!(parsed.meaning, Meaning::None { .. }), "{text}");
    }
    // A name, a feast, a word in quotation marks, and a slip of another language.
    for text in [
        "tomorrow at 8 call Domingo",
        "tomorrow at 8 mardi gras party",
        "tomorrow at 8 read \"demain\"",
        "dans u 18",
        "tomorrow at 9 learn the french for the third day, which is mardi",
        "sutra u 8 očisti čađa",
    ] {
        let meaning = parse(text, None, &zone, now).meaning;
        assert!(matches!(&meaning, Meaning::Instant { .. }), "{text}: {meaning:?}");
    }
}

/// The other meanings of the words, as local times.
fn alternatives(text: &str, lang: Lang, zone: &str) -> Vec<String> {
    let zone = Zone::named(zone).unwrap();
    let now: Timestamp = "2026-03-10T09:15:00+01:00".parse().unwrap();
    let parsed = parse(text, Some(lang), &zone, now);
    parsed.alternatives.iter().map(|meaning| meaning.summary_in(lang, &zone)).collect()
}

#[test]
fn a_choice_is_shown() {
    let rows = [
        ("tomorrow at 2", Lang::En, vec!["Wed 11 Mar 2026 at 02:00, Europe/Berlin"]),
        ("tomorrow at 14:00", Lang::En, vec![]),
        ("tomorrow at 2 pm", Lang::En, vec![]),
        ("5/4 at 09:00", Lang::En, vec!["Mon 4 May 2026 at 09:00, Europe/Berlin"]),
        ("4/4 at 09:00", Lang::En, vec![]),
        ("every day at 7", Lang::En, vec!["every day at 19:00, Europe/Berlin"]),
        ("every day at 7 and 9 pm", Lang::En, vec!["every day at 07:00 and 21:00, Europe/Berlin"]),
        ("every day at 8 and 2 pm", Lang::En, vec![]),
        ("morgen um 3", Lang::De, vec!["Mi 11. März 2026 um 03:00 Uhr, Europe/Berlin"]),
        ("sutra u 3", Lang::Hr, vec!["sri 11. ožujka 2026. u 03:00, Europe/Berlin"]),
    ];
    for (text, lang, want) in rows {
        assert_eq!(alternatives(text, lang, "Europe/Berlin"), want, "{text}");
    }
}

#[test]
fn a_habit_says_what_words_leave_open() {
    use punctual_time::habits::{DateOrder, Habits};
    let zone = Zone::named("Europe/Berlin").unwrap();
    let now: Timestamp = "2026-03-10T09:15:00+01:00".parse().unwrap();
    let time = |hour: i8, minute: i8| Some(jiff::civil::time(hour, minute, 0, 0));
    let habits = Habits {
        date_order: Some(DateOrder::MonthFirst),
        first_day_of_week: Some(jiff::civil::Weekday::Sunday),
        morning: time(6, 30),
        evening: time(20, 0),
        day: time(10, 0),
    };
    let rows = [
        ("5/4 at 09:00", "Mon 4 May 2026 at 09:00"),
        ("tomorrow", "Wed 11 Mar 2026 at 10:00"),
        ("tomorrow morning", "Wed 11 Mar 2026 at 06:30"),
        ("this evening", "Tue 10 Mar 2026 at 20:00"),
        ("next week", "Sun 15 Mar 2026 at 10:00"),
        ("every morning", "every day at 06:30"),
        ("every monday", "every Monday at 10:00"),
    ];
    for (text, want) in rows {
        let steps = punctual_time::steps::Steps::of_request(1);
        let parsed = punctual_time::phrase::parse_for(text, Some(Lang::En), &zone, now, habits, &steps);
        assert_eq!(parsed.summary(&zone), format!("{want}, Europe/Berlin"), "{text}");
    }
}

#[test]
fn a_refusal_is_said_in_the_language_of_the_text_and_offers_what_is_likely() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let now: Timestamp = "2026-03-10T09:15:00+01:00".parse().unwrap();
    let rows = [
        (
            "tomorrow at 9 or 10",
            Lang::En,
            "`or 10` was not understood; did you mean Wed 11 Mar 2026 at 09:00, Europe/Berlin?",
        ),
        (
            "morgen um 9 oder 10",
            Lang::De,
            "„oder 10“ wurde nicht verstanden; meintest du Mi 11. März 2026 um 09:00 Uhr, Europe/Berlin?",
        ),
        (
            "sutra u 9 ili 10",
            Lang::Hr,
            "nije jasno na što se misli: „ili 10“; možda sri 11. ožujka 2026. u 09:00, Europe/Berlin?",
        ),
        (
            "сутра у 9 или 10",
            Lang::SrCyrl,
            "није јасно на шта се мисли: „или 10“; можда сре 11. марта 2026. у 09:00, Europe/Berlin?",
        ),
        ("Kuchen backen", Lang::De, "darin steht keine Zeit; sag wann, etwa `morgen um 8` oder `in 5 Minuten`"),
        ("Montag, 10. März 2026", Lang::De, "der Wochentag passt nicht: es ist Di 10. März 2026"),
        ("понедељак 10. март 2026.", Lang::SrCyrl, "дан у недељи се не слаже: то је уто 10. марта 2026."),
        ("uto 11.3.2026", Lang::Bs, "dan u sedmici se ne slaže: to je sri 11. marta 2026."),
        (
            "mañana a las 9 hora de Lisboa",
            Lang::Es,
            "no se entiende «hora de Lisboa»; ¿quizás miércoles 11 de marzo de 2026 a las 09:00, Europe/Berlin?",
        ),
        ("le 31 février", Lang::Fr, "cette date n'existe pas"),
        ("at 14:60", Lang::En, "it names a date or a time of day that does not exist"),
        ("um 25:00", Lang::De, "dieses Datum oder diese Uhrzeit gibt es nicht"),
        ("sunday 21 november at 9", Lang::En, "the day of the week does not fit: it is Sat 21 Nov 2026"),
        (
            "tomorrow 7 catch the train",
            Lang::En,
            "`7` was not understood; did you mean Wed 11 Mar 2026 at 07:00, Europe/Berlin?",
        ),
        ("svaki dan od 9 do 17", Lang::Hr, "nedostaju sati; reci i njih, na primjer `svaki dan u 8 i u 20`"),
        ("täglich um 8 ab dem 20. März bis zum 15. März 2026", Lang::De, "es endet, bevor es beginnt"),
        ("werktags um 8 außer montags, dienstags, mittwochs, donnerstags und freitags", Lang::De, "das kommt nie vor"),
        ("twice a day", Lang::En, "it does not say at which hours; say them as well, such as `every day at 8 and 20`"),
    ];
    for (text, lang, want) in rows {
        let parsed = parse(text, Some(lang), &zone, now);
        let Meaning::None { reason } = &parsed.meaning else { panic!("{text} is understood") };
        assert_eq!(parsed.with_suggestion(reason, &zone), want);
    }
}

#[test]
fn a_series_that_is_none_is_refused_in_the_language_of_the_text() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let now: Timestamp = "2026-03-10T09:15:00+01:00".parse().unwrap();
    for (text, lang, want) in [
        ("tomorrow at 8", Lang::En, "it names one time; say how often, such as `every day at 8`"),
        ("morgen um 8", Lang::De, "darin steht eine einzige Zeit; sag, wie oft, etwa `jeden Tag um 8`"),
        ("svaki dan u 8 nazovi mamu", Lang::Hr, "„nazovi mamu“ ne kaže kada"),
        ("cada día a las 8 llamar a Ana", Lang::Es, "«llamar a Ana» no dice cuándo"),
    ] {
        assert_eq!(punctual_time::phrase::series(text, Some(lang), &zone, now).unwrap_err(), want, "{text}");
    }
}
