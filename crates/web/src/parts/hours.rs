//! Quiet hours as a bar of 24 hours, with the numbers beside it as text.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

/// The minutes of a day.
const DAY: u16 = 24 * 60;

/// A stretch of every day, which may pass midnight. Two equal ends are a whole day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    from: u16,
    to: u16,
}

impl Stretch {
    /// From times of day such as `22:00`.
    pub(crate) fn read(from: &str, to: &str) -> Option<Self> {
        Some(Self { from: minutes(from)?, to: minutes(to)? })
    }

    /// How many minutes it has.
    pub(crate) fn length(self) -> u16 {
        if self.from < self.to { self.to - self.from } else { DAY - self.from + self.to }
    }

    /// Whether the clock stands in it. Its beginning belongs to it, its end does not.
    pub(crate) fn holds(self, minute: u16) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }

    /// Where it lies in a day: one part, or two where it passes midnight.
    fn parts(self) -> Vec<(u16, u16)> {
        if self.from < self.to {
            return vec![(self.from, self.to - self.from)];
        }
        let both = [(0, self.to), (self.from, DAY - self.from)];
        both.into_iter().filter(|(_, length)| *length > 0).collect()
    }
}

/// The minute of the day in a zone.
pub(crate) fn minute_of_day(at: Timestamp, zone: &TimeZone) -> u16 {
    let time = zone.to_datetime(at).time();
    u16::try_from(i32::from(time.hour()) * 60 + i32::from(time.minute())).unwrap_or(0)
}

/// The bar. `label` says everything that it shows.
pub(crate) fn bar(stretch: Option<Stretch>, now: u16, label: &str) -> Markup {
    html! {
        div.hours {
            svg viewBox=(format!("0 0 {DAY} 24")) preserveAspectRatio="none" role="img" aria-label=(label) {
                rect.whole x="0" y="0" width=(DAY) height="24" {}
                @for (from, length) in stretch.iter().flat_map(|stretch| stretch.parts()) {
                    rect.off x=(from) y="0" width=(length) height="24" {}
                }
                @for hour in (1u16..24).filter(|hour| hour % 6 != 0) { line.tick x1=(hour * 60) y1="19" x2=(hour * 60) y2="24" vector-effect="non-scaling-stroke" {} }
                @for hour in [6u16, 12, 18] { line.tick x1=(hour * 60) y1="14" x2=(hour * 60) y2="24" vector-effect="non-scaling-stroke" {} }
                line.hand x1=(now) y1="0" x2=(now) y2="24" vector-effect="non-scaling-stroke" {}
            }
            div.scale aria-hidden="true" { span { "0" } span { "6" } span { "12" } span { "18" } span { "24" } }
        }
    }
}

fn minutes(time: &str) -> Option<u16> {
    let time: jiff::civil::Time = time.parse().ok()?;
    u16::try_from(i32::from(time.hour()) * 60 + i32::from(time.minute())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_may_pass_midnight() {
        for (from, to, length, parts, inside, outside) in [
            ("22:00", "07:00", 540, &[(0, 420), (1320, 120)][..], &[1320, 1439, 0, 419][..], &[420, 1319][..]),
            ("13:00", "14:30", 90, &[(780, 90)], &[780, 869], &[779, 870]),
            ("22:00", "00:00", 120, &[(1320, 120)], &[1320, 1439], &[0, 1319]),
            ("00:00", "06:00", 360, &[(0, 360)], &[0, 359], &[360, 1439]),
        ] {
            let stretch = Stretch::read(from, to).unwrap();
            assert_eq!((stretch.length(), &*stretch.parts()), (length, parts), "{from} {to}");
            assert!(inside.iter().all(|minute| stretch.holds(*minute)), "{from} {to}");
            assert!(!outside.iter().any(|minute| stretch.holds(*minute)), "{from} {to}");
        }
    }

    #[test]
    fn the_bar_says_its_numbers_to_those_who_do_not_see_it() {
        let drawn = bar(Stretch::read("22:00", "07:00"), 600, "quiet 22:00–07:00").into_string();
        assert!(drawn.contains(r#"role="img" aria-label="quiet 22:00–07:00""#), "{drawn}");
        assert_eq!(drawn.matches(r#"class="off""#).count(), 2, "{drawn}");
        assert!(!drawn.contains("style="), "{drawn}");
    }
}
