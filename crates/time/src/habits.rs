//! What somebody means by words that leave something open.

use jiff::civil::{Time, Weekday, time};

use crate::words;

/// What somebody means by words that leave something open. What is not said goes by the place and by what most people mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Habits {
    /// Whether 5/3 is the fifth of March; without it the zone tells.
    pub date_order: Option<DateOrder>,
    /// The day with which a week begins; Monday, if nobody says.
    pub first_day_of_week: Option<Weekday>,
    /// When it is morning: `tomorrow morning`. 09:00, if nobody says.
    pub morning: Option<Time>,
    /// When it is evening: `this evening`. 19:00, if nobody says.
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
