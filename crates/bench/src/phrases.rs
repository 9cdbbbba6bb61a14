//! How fast phrases are understood.

use std::hint::black_box;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_core::phrase::{Lang, parse};
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;

use super::report::{Report, Table, milliseconds, per_second, rate};

/// Phrases that people write, ten of each language.
const EN: [&str; 10] = [
    "in 5 minutes",
    "tomorrow at 8",
    "remind me tomorrow at 8 to call mom",
    "every weekday at 7:30",
    "next friday at 5pm",
    "take my medicine in 2 hours",
    "on March 13 at 15:30",
    "workdays at 8, weekends at 10",
    "half past 3 pm",
    "call the dentist on monday morning at 9",
];
const DE: [&str; 10] = [
    "in 5 Minuten",
    "morgen um 8",
    "erinnere mich morgen um 8 daran, Mama anzurufen",
    "jeden Werktag um 7:30",
    "nächsten Freitag um 17 Uhr",
    "in 2 Stunden meine Medizin nehmen",
    "am 13. März um 15:30",
    "werktags um 8, am Wochenende um 10",
    "halb vier",
    "Montag früh um 9 Zahnarzt anrufen",
];
const HR: [&str; 10] = [
    "za 5 minuta",
    "sutra u 8",
    "podsjeti me sutra u 8 da nazovem mamu",
    "svaki radni dan u 7:30",
    "sljedeći petak u 17 sati",
    "popij lijek za 2 sata",
    "13. ožujka u 15:30",
    "radnim danom u 8, vikendom u 10",
    "u pola 4",
    "u ponedjeljak ujutro u 9 nazovi zubara",
];
/// Texts that are no phrases and look like many: ten kilobytes of each.
const NOISE: [&str; 10] =
    ["1 ", "at ", "monday ", "1h ", "1-2-3/4.5:", "every ", "the first of ", "1:2:3 ", "from 1 to 2 ", "lorem ipsum "];
const NOISE_BYTES: usize = 10_000;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many phrases of each language
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    count: u32,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let zone = Zone::named("Europe/Berlin")?;
    let now: Timestamp = "2026-03-04T10:00:00+01:00".parse()?;
    let mut report = Report::new("phrases", format!("phrases: {} of each language, on one core", args.count));
    let mut table = Table::new(["", "rate", "a phrase"]);
    let languages = [
        ("English", Some(Lang::En), EN),
        ("German", Some(Lang::De), DE),
        ("Croatian", Some(Lang::Hr), HR),
        ("English, not told so", None, EN),
        ("Croatian, not told so", None, HR),
    ];
    for (name, lang, texts) in languages {
        let read = |text: &str| drop(black_box(parse(text, lang, &zone, now)));
        texts.iter().for_each(|text| read(text));
        let begun_at = clock.now();
        (0..args.count as usize).for_each(|index| read(texts[index % texts.len()]));
        let span = clock.now().duration_since(begun_at);
        let each = span.as_secs_f64() / f64::from(args.count) * 1e6;
        table.row([name.to_owned(), per_second(rate(args.count as usize, span)), format!("{each:.1} µs")]);
        report.field(name, rate(args.count as usize, span));
    }
    report.table(table);

    let mut worst = (SignedDuration::ZERO, "");
    for noise in NOISE {
        let text = noise.repeat(NOISE_BYTES / noise.len());
        for lang in [Lang::En, Lang::De, Lang::Hr] {
            // The quickest of five, because others use the machine too.
            let spans = (0..5).map(|_| {
                let begun_at = clock.now();
                drop(black_box(parse(&text, Some(lang), &zone, now)));
                clock.now().duration_since(begun_at)
            });
            worst = worst.max((spans.min().unwrap_or_default(), noise));
        }
    }
    report.note(format!("Ten kilobytes of noise take at most {} (`{}…`).", milliseconds(worst.0), worst.1.trim()));
    report.field("noise_10kb_ms", worst.0.as_secs_f64() * 1e3);
    Ok(report)
}
