//! Days of the year that people know by name.
//!
//! A table gives each a number: month and day (`1225`), days from Easter on top of 2100 (`2101` is Easter Monday), from
//! Orthodox Easter on top of 4100, or the n-th weekday of a month as `3MMNW` (`31144` is the fourth Thursday of November; 9
//! is the last).

use jiff::ToSpan as _;
use jiff::civil::{Date, Weekday};

/// When a feast is in a year.
pub(super) fn date(feast: i32, year: i16) -> Option<Date> {
    let days_from = |day: Date, days: i32| day.checked_add(days.days()).ok();
    match feast {
        101..=1231 => Date::new(year, i8::try_from(feast / 100).ok()?, i8::try_from(feast % 100).ok()?).ok(),
        2000..=2299 => days_from(easter(year)?, feast - 2100),
        4000..=4299 => days_from(orthodox_easter(year)?, feast - 4100),
        30_000..=31_299 => {
            let month = i8::try_from(feast / 100 % 100).ok()?;
            let nth = i8::try_from(feast / 10 % 10).ok()?;
            let weekday = Weekday::from_monday_one_offset(i8::try_from(feast % 10).ok()?).ok()?;
            let first = Date::new(year, month, 1).ok()?;
            first.nth_weekday_of_month(if nth == 9 { -1 } else { nth }, weekday).ok()
        }
        _ => None,
    }
}

/// Easter Sunday by the Gregorian calendar, after the anonymous algorithm of 1876.
fn easter(year: i16) -> Option<Date> {
    let y = i32::from(year);
    let (a, b, c) = (y % 19, y / 100, y % 100);
    let (d, e) = (b / 4, b % 4);
    let f = (b + 8) / 25;
    let g = (b - f + 1) / 3;
    let h = (19 * a + b - d - g + 15) % 30;
    let (i, k) = (c / 4, c % 4);
    let l = (32 + 2 * e + 2 * i - h - k) % 7;
    let m = (a + 11 * h + 22 * l) / 451;
    let month = (h + l - 7 * m + 114) / 31;
    let day = (h + l - 7 * m + 114) % 31 + 1;
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// Easter Sunday of the Orthodox churches: by the Julian calendar, shown in the Gregorian one.
fn orthodox_easter(year: i16) -> Option<Date> {
    let y = i32::from(year);
    let (a, b, c) = (y % 4, y % 7, y % 19);
    let d = (19 * c + 15) % 30;
    let e = (2 * a + 4 * b - d + 34) % 7;
    let month = (d + e + 114) / 31;
    let day = (d + e + 114) % 31 + 1;
    let julian = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    julian.checked_add((y / 100 - y / 400 - 2).days()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feasts_fall_where_calendars_show_them() {
        for (feast, year, on) in [
            (1225, 2026, "2026-12-25"),
            (2100, 2026, "2026-04-05"),
            (2100, 2019, "2019-04-21"),
            (2149, 2022, "2022-06-05"),
            (4100, 2026, "2026-04-12"),
            (4100, 2024, "2024-05-05"),
            (31_144, 2013, "2013-11-28"),
            (30_591, 2026, "2026-05-25"),
        ] {
            assert_eq!(date(feast, year).map(|date| date.to_string()).as_deref(), Some(on), "{feast} in {year}");
        }
        assert_eq!(date(229, 2026), None);
        assert_eq!(date(0, 2026), None);
    }
}
