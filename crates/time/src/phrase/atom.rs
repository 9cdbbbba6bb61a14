//! The smallest pieces of time that a text can name. A phrase is a sequence of them.

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Unit {
    #[default]
    Second,
    Minute,
    Hour,
    Day,
    Workday,
    Weekend,
    Week,
    Month,
    Quarter,
    Year,
}

impl Unit {
    /// The unit that a table's number stands for.
    pub(super) fn of(code: i32) -> Option<Self> {
        Some(match code {
            1 => Self::Second,
            2 => Self::Minute,
            3 => Self::Hour,
            4 => Self::Day,
            5 => Self::Workday,
            6 => Self::Weekend,
            7 => Self::Week,
            8 => Self::Month,
            9 => Self::Quarter,
            10 => Self::Year,
            _ => return None,
        })
    }
}

/// A length of time. Months and days are those of the calendar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dur {
    pub(super) months: i32,
    pub(super) days: i32,
    pub(super) workdays: i32,
    pub(super) seconds: i64,
    /// The smallest unit that was named.
    pub(super) finest: Unit,
}

impl Dur {
    /// So many of a unit; `None` when that is more than anybody means.
    pub(super) fn of(amount: f64, unit: Unit) -> Option<Self> {
        if !(0.0..=1e7).contains(&amount) {
            return None;
        }
        let mut dur = Self { months: 0, days: 0, workdays: 0, seconds: 0, finest: unit };
        let whole_and_part = |amount: f64| (amount.floor() as i32, amount.fract());
        let mut days = 0.0;
        match unit {
            Unit::Second => dur.seconds = amount.round() as i64,
            Unit::Minute => dur.seconds = (amount * 60.0).round() as i64,
            Unit::Hour => dur.seconds = (amount * 3600.0).round() as i64,
            Unit::Day => days = amount,
            Unit::Workday => dur.workdays = amount.round() as i32,
            Unit::Week | Unit::Weekend => days = amount * 7.0,
            Unit::Month | Unit::Quarter | Unit::Year => {
                let months = amount
                    * match unit {
                        Unit::Month => 1.0,
                        Unit::Quarter => 3.0,
                        _ => 12.0,
                    };
                let (whole, part) = whole_and_part(months);
                dur.months = whole;
                days = (part * 30.0).round();
            }
        }
        let (whole, part) = whole_and_part(days);
        dur.days = whole;
        dur.seconds += (part * 86_400.0).round() as i64;
        Some(dur)
    }

    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            months: self.months + other.months,
            days: self.days + other.days,
            workdays: self.workdays + other.workdays,
            seconds: self.seconds + other.seconds,
            finest: self.finest.min(other.finest),
        }
    }

    /// The other way round.
    pub(super) fn negated(self) -> Self {
        Self {
            months: -self.months,
            days: -self.days,
            workdays: -self.workdays,
            seconds: -self.seconds,
            finest: self.finest,
        }
    }

    /// Elapsed seconds, where a month is thirty days and a year is 365.
    pub(super) fn elapsed_seconds(self) -> i64 {
        let months = i64::from(self.months);
        let month_days = months / 12 * 365 + months % 12 * 30;
        (month_days + i64::from(self.days) + i64::from(self.workdays)) * 86_400 + self.seconds
    }
}

/// A time of day as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Clock {
    /// 0 to 24.
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    pub(super) half: Half,
    /// How finely it was said.
    pub(super) finest: Unit,
    /// Whether it is a time only beside something that is one for sure: the `8` of `8 tonight`.
    pub(super) is_weak: bool,
    /// Whether it was written as on a clock of 24 hours: `08:00`, `15:30`.
    pub(super) is_written_24: bool,
    /// Whether it was written right after a date and a `T`, where an offset can follow: `2026-03-04T10:00-05:00`.
    pub(super) is_iso: bool,
    /// Whether a word for hours stands with it, which makes it a time or a length: the `19 sati` of `svaki dan 19 sati`.
    pub(super) is_worded: bool,
    /// Whether `am` or `pm` stands with it.
    pub(super) has_half: bool,
    /// Whether it may be two times of day: the `8 i 20` of `svaki dan u 8 i 20`.
    pub(super) is_split: bool,
}

/// Which half of the day a time is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Half {
    /// It is in the hour itself: `15:00`, `08:00`.
    #[default]
    Known,
    /// The same, unless a part of the day says otherwise: `8 Uhr`, but `8 Uhr abends`.
    Written,
    /// Before or after noon: `at 3`.
    Either,
}

/// A part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DayPart {
    #[default]
    EarlyMorning,
    Morning,
    Noon,
    Afternoon,
    Evening,
    Night,
    Midnight,
    /// Until the last moment of the day.
    End,
    /// The evening and the night of a day: `tonight at 5` is before midnight.
    Tonight,
    /// The hours after lunch.
    AfterLunch,
}

impl DayPart {
    pub(super) fn of(code: i32) -> Option<Self> {
        Some(match code {
            0 => Self::EarlyMorning,
            1 => Self::Morning,
            2 => Self::Noon,
            3 => Self::Afternoon,
            4 => Self::Evening,
            5 => Self::Night,
            6 => Self::Midnight,
            7 => Self::End,
            8 => Self::Tonight,
            9 => Self::AfterLunch,
            _ => return None,
        })
    }
}

/// Which of the many days with this name, such as `next` Tuesday.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// `tuesday`
    Bare,
    /// `this tuesday`, `coming tuesday`
    This,
    /// `next tuesday`
    Next,
    /// `last tuesday`
    Last,
    /// `tuesday after next`
    AfterNext,
    /// `tuesdays`
    Each,
    /// `monday to friday`, which comes again and again if it is at a time of day
    Range,
    /// A word that is a day only beside something that is a time for sure: `sun`
    Word,
}

impl Which {
    pub(super) fn of(code: i32) -> Option<Self> {
        Some(match code {
            0 => Self::Bare,
            1 => Self::This,
            2 => Self::Next,
            3 => Self::Last,
            4 => Self::AfterNext,
            5 => Self::Each,
            6 => Self::Word,
            7 => Self::Range,
            _ => return None,
        })
    }
}

/// Parts of a calendar date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cal {
    pub(super) year: Option<i16>,
    pub(super) month: Option<u8>,
    pub(super) day: Option<u8>,
}

/// The thing that `second` or `last` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Weekday(u8),
    Unit(Unit),
}

impl Default for What {
    fn default() -> Self {
        Self::Unit(Unit::Day)
    }
}

/// A word that says how what follows is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// `from`, `between`
    From,
    /// `to`, `-`, `till`
    To,
    /// `until`, `by`
    Until,
    /// `after`, `since`
    After,
    /// `starting`
    Starting,
    /// `except`
    Except,
    /// `and`, where it joins two days or times
    And,
    /// `before`, which leaves open how long before
    Before,
    /// `auf`, which leads from a date to another and is much else besides
    Onto,
    /// `or`, which joins days that come again
    Or,
    /// `/` between two times of a clock: `14:30/15:00`
    Slash,
    /// `by`, `no later than`: from now until it, and due then
    By,
}

impl Mark {
    pub(super) fn of(code: i32) -> Option<Self> {
        Some(match code {
            1 => Self::From,
            2 => Self::To,
            3 => Self::Until,
            4 => Self::After,
            5 => Self::Starting,
            6 => Self::Except,
            7 => Self::And,
            8 => Self::Before,
            9 => Self::Onto,
            10 => Self::Or,
            11 => Self::Slash,
            12 => Self::By,
            _ => return None,
        })
    }
}

/// A piece of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Atom {
    /// This moment.
    Now,
    /// From now, forth or back.
    Offset(Dur),
    /// So many minutes from now, where nothing follows that could be counted: `in 15`.
    Minutes(i32),
    /// So many days from today.
    Rel(i32),
    /// Days of the week, as bits from Monday.
    Weekday { days: u8, which: Which },
    /// A part of days of the week.
    WeekdayPart { days: u8, which: Which, part: DayPart },
    /// From a day of a month to a later one: `6 - 7 March`. The month may be left out.
    DayRange(Cal, Cal),
    /// From one time to another, where `and` between them would make one of them: između 8 i 20.
    Between(Clock, Clock),
    /// From one time to another, as programs of trains have it: `1845-1955`.
    ClockRange(Clock, Clock),
    /// The n-th such day of the week after what follows, or before it; zero is the nearest: `the sunday before June 12`.
    Near { n: i32, days: u8 },
    /// The next or the last so many of a unit: `the last 2 days`.
    Window { n: i32, unit: Unit },
    /// A week by its number in the year.
    WeekNumber(u8),
    /// Parts of a date. A weak part is a date only beside something that is one for sure: `may`, `2015`.
    Cal { cal: Cal, is_weak: bool },
    /// A date in digits whose month and day may be the other way round: `3/4`.
    Swappable(Cal),
    /// The same with a dash, which beside a day is from hour to hour: `monday 10-11`.
    Dashed(Cal),
    /// The second Friday, the last day.
    Nth { n: i32, what: What },
    /// This week, next month.
    Period { unit: Unit, rel: i32 },
    /// The week, month or year that something is said to be in: `the first of the month`.
    Of(Unit),
    /// A time of day.
    Clock(Clock),
    /// A part of the day.
    Part { part: DayPart, is_weak: bool },
    /// A part of a day counted from today: `tonight`, `this morning`, `last night`.
    RelPart { rel: i32, part: DayPart },
    /// The n-th such day of the week from now: `3 fridays from now`.
    Ahead { n: i32, days: u8 },
    /// Minutes east of Greenwich, or the number of a zone in [`super::resolve::zone_of`].
    Zone(i32),
    /// The same written with a minus right after a time, where it may as well be the end of a stretch: `10:00-05:00`.
    GluedZone(i32),
    /// Spring (1) to winter (4): the one that is running or to come (0), begins next (1), or is over (-1).
    Season { season: u8, rel: i32 },
    /// A feast, by its number in [`super::feast`].
    Feast(i32),
    /// From so long from now, and so much longer: `in 2-3 days`.
    OffsetRange(Dur, Dur),
    /// From now, and due so long from now: `binnen zwei Wochen`.
    Within(Dur),
    /// So long after (or before) what follows.
    Shift(Dur),
    /// A part of the day before (-1) or after (1) what follows: `the evening before May 3`.
    PartBeside { part: DayPart, days: i32 },
    /// So long after (or before) what went before: `next tuesday + 10 days`.
    Then(Dur),
    /// The beginning (-1), middle (0), end (1), rest (2) or all (3) of what follows.
    Edge(i32),
    /// The same of a unit.
    EdgeOf(i32, Unit),
    /// Every so many of a unit.
    Every { n: i32, unit: Unit },
    /// So often in a unit: twice a day.
    Per { n: i32, unit: Unit },
    /// A part of every day, such as every morning.
    EachPart(DayPart),
    /// Every so manieth of the days or dates that follow.
    Each(i32),
    /// So many times.
    Count(i32),
    /// A length that is not said to begin anywhere.
    Length(Dur),
    /// A length that is said to last: `for 20 minutes`.
    Lasting(Dur),
    /// How what follows is meant.
    Mark(Mark),
}
