//! The things that a person means by words that leave something open.

use jiff::civil::{Time, Weekday, time};
use serde_json::{Map, Value};

use crate::invalid::Invalid;
use crate::words;

/// The things that a person means by words that leave something open. A habit that is not set goes by the place and by what most people mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Habits {
    /// Whether 5/3 is the fifth of March; without it the zone tells.
    pub date_order: Option<DateOrder>,
    /// The day with which a week begins; Monday, if nobody says.
    pub first_day_of_week: Option<Weekday>,
    /// When it is morning: `tomorrow morning`. 09:00, if nobody says.
    pub morning: Option<Time>,
    /// When it is evening: `this evening`. 18:00, if nobody says.
    pub evening: Option<Time>,
    /// When a day is meant and no time of it: `tomorrow`. 09:00, if nobody says.
    pub day: Option<Time>,
}

/// Which comes first in a date of digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// 5/3 is the fifth of March.
    DayFirst,
    /// 5/3 is the third of May.
    MonthFirst,
}

words!(DateOrder as "date_order" { "day_first" => DayFirst, "month_first" => MonthFirst });

impl Habits {
    /// When a day is meant and no time of it.
    pub(crate) fn on_day(&self) -> Time {
        self.day.unwrap_or(time(9, 0, 0, 0))
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The days of the week, as they are written.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The names under which doors and stores write them.
const NAMES: [&str; 5] = ["date_order", "first_day_of_week", "morning", "evening", "day"];

impl Habits {
    /// Their written form, each by its name; those that are not said are left out.
    pub fn to_texts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let clock = |time: Time| time.strftime("%H:%M").to_string();
        let day = |day: Weekday| DAYS[usize::from(day.to_monday_zero_offset().unsigned_abs())].to_owned();
        let texts = [
            self.date_order.map(|order| order.to_string()),
            self.first_day_of_week.map(day),
            self.morning.map(clock),
            self.evening.map(clock),
            self.day.map(clock),
        ];
        NAMES.into_iter().zip(texts).filter_map(|(name, text)| Some((name, text?)))
    }

    /// Takes the written form of the one with this name.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), Invalid> {
        let clock = || {
            let time = text
                .parse::<Time>()
                .map_err(|_| Invalid::new(name, format!("`{text}` is no time of day; write 08:00")))?;
            Ok::<_, Invalid>(Some(time))
        };
        match name {
            "date_order" => self.date_order = Some(text.parse()?),
            "first_day_of_week" => {
                let wrong = || Invalid::new(name, format!("`{text}` is no day of the week; write mon or sunday"));
                let short = text.to_lowercase();
                let index = DAYS.iter().position(|day| short.starts_with(day) && short.len() <= 9).ok_or_else(wrong)?;
                let day = i8::try_from(index).ok().and_then(|index| Weekday::from_monday_zero_offset(index).ok());
                self.first_day_of_week = Some(day.ok_or_else(wrong)?);
            }
            "morning" => self.morning = clock()?,
            "evening" => self.evening = clock()?,
            "day" => self.day = clock()?,
            _ => return Err(Invalid::new(name, format!("is not one of {}", NAMES.join(", ")))),
        }
        Ok(())
    }

    /// As a store keeps them; `None` where nothing is said.
    pub fn to_stored(&self) -> Option<String> {
        let map: Map<String, Value> = self.to_texts().map(|(name, text)| (name.to_owned(), text.into())).collect();
        (!map.is_empty()).then(|| Value::Object(map).to_string())
    }

    /// Reads what a store kept. A habit that a newer version wrote and this one does not know is passed by.
    pub fn from_stored(text: Option<&str>) -> Self {
        let mut habits = Self::default();
        let map: Map<String, Value> = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        for (name, value) in &map {
            // A habit that cannot be read is one that nobody has said.
            _ = value.as_str().map(|text| habits.set(name, text));
        }
        habits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_are_read_as_they_were_kept() {
        let mut habits = Habits::default();
        assert_eq!((habits.to_stored(), Habits::from_stored(None)), (None, habits));
        for (name, text) in [
            ("date_order", "month_first"),
            ("first_day_of_week", "sun"),
            ("morning", "06:30"),
            ("evening", "18:00"),
            ("day", "10:00"),
        ] {
            habits.set(name, text).unwrap();
        }
        assert_eq!(Habits::from_stored(habits.to_stored().as_deref()), habits);
        for (name, text) in
            [("date_order", "5/3"), ("first_day_of_week", "someday"), ("morning", "early"), ("noon", "12:00")]
        {
            assert_eq!(habits.set(name, text).unwrap_err().field, name);
        }
    }
}
