//! What the rules of a table can do with what they matched.

use super::atom::{Atom, Cal, Clock, DayPart, Dur, Half, Mark, Unit, What, Which};

/// What a part of the grammar, or a word, means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    /// Nothing, or a part that was left out.
    Nothing,
    /// The value of a word's class.
    Int(i32),
    /// A number in digits.
    Digits {
        value: u32,
        digits: u8,
        has_dot: bool,
    },
    /// A number, however it was written.
    Num(f64),
    Dur(Dur),
    Clock(Clock),
    Atom(Atom),
}

macro_rules! actions {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// What a rule does with what it matched.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Action { $($(#[doc = $doc])+ $name,)+ }

        impl Action {
            /// The action that tables call `name`.
            pub(super) fn named(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)+ _ => None }
            }
        }
    };
}

actions! {
    /// `same $1`: what it matched.
    Same = "same",
    /// `num $1`: a number from digits or a word's value.
    Num = "num",
    /// `sum $1 $2`: twenty and one.
    Sum = "sum",
    /// `product $1 $2`: two hundred.
    Product = "product",
    /// `thousandths n`: 500 is a half.
    Thousandths = "thousandths",
    /// `plus_thousandths $1 n`: two and a half is `$1` and 500.
    PlusThousandths = "plus_thousandths",
    /// `decimal $1 $2`: 2.5
    Decimal = "decimal",
    /// `fraction $1 $2`: 3/4
    Fraction = "fraction",
    /// `small $1 min max`: a number within bounds, as it is.
    Small = "small",
    /// `undotted $1 min max`: the same, and no ordinal: `18.` is a day, not an hour.
    Undotted = "undotted",
    /// `five $1`: a multiple of five below thirty.
    Five = "five",
    /// `dotted $1`: digits with a dot, or refused.
    DottedOrdinal = "dotted",
    /// `year $1`: a year of four digits.
    Year = "year",
    /// `short_year $1`: a year of two digits.
    ShortYear = "short_year",
    /// `dur $1 $2`: so many of a unit.
    Dur = "dur",
    /// `dur_thousandths n unit`: three quarters of an hour is 750.
    DurThousandths = "dur_thousandths",
    /// `dur_half unit`: half of it.
    DurHalf = "dur_half",
    /// `dur_and_half $1 unit`: so many and a half.
    DurAndHalf = "dur_and_half",
    /// `dur_plus $1 $2`: a length and another.
    DurPlus = "dur_plus",
    /// `dur_more $1 $2 unit`: a length and so many of a smaller unit: `2 hours ten`.
    DurMore = "dur_more",
    /// `clock $1 $2 $3`: a time whose half of the day is open if the hour is at most 12.
    Clock = "clock",
    /// `clock24 $1 $2 $3`: a time of a 24-hour clock.
    Clock24 = "clock24",
    /// `hhmm $1`: 930 or 1030, half open.
    Hhmm = "hhmm",
    /// `weak_hour $1`: a bare number that may be an hour.
    WeakHour = "weak_hour",
    /// `weak $1`: a clock that is one only beside something that is a time for sure.
    Weak = "weak",
    /// `ampm $1 half`: before (0) or after (1) noon.
    AmPm = "ampm",
    /// `clock_shift $1 $2 sign`: minutes after (1) or before (-1) a time.
    ClockShift = "clock_shift",
    /// `clock_part $1 part`: a time in a part of the day.
    ClockPart = "clock_part",
    /// `at $1`: a time of day as a piece of a phrase.
    At = "at",
    /// `now`
    Now = "now",
    /// `after $1`, `before $1`: so long from now.
    After = "after",
    /// See `after`.
    Before = "before",
    /// `minutes $1`: so many minutes from now, if nothing follows.
    Minutes = "minutes",
    /// `shift $1 sign`: so long after (1) or before (-1) what follows.
    Shift = "shift",
    /// `then $1 sign`: so long after or before what went before.
    Then = "then",
    /// `length $1`: a length by itself.
    Length = "length",
    /// `rel $1`: days from today.
    Rel = "rel",
    /// `weekday $1 which`: a day of the week, 1 is Monday.
    Weekday = "weekday",
    /// `weekday_part $1 which part`: a part of a day of the week; without `part`, 14 is Monday evening.
    WeekdayPart = "weekday_part",
    /// `weekdays $1 $2 which`: from one day of the week to another.
    Weekdays = "weekdays",
    /// `weekday_set $1 $2 $3`: two or three days of the week.
    WeekdaySet = "weekday_set",
    /// `dayset bits which`: days of the week as bits.
    DaySet = "dayset",
    /// `date year month day`: parts of a date; those left out are unknown.
    Date = "date",
    /// `year_first year month day`: a date in digits, as ISO 8601 has it.
    YearFirst = "year_first",
    /// `month_first month day year`: a date in digits in American order, which may turn out to be British.
    MonthFirst = "month_first",
    /// `dashed month day`: a date such as 10-31, or from hour to hour.
    Dashed = "dashed",
    /// `day_first day month year`: the same in European order.
    DayFirst = "day_first",
    /// `weak_day_first day month`: the same, weak: 2.5 may be a number.
    WeakDayFirst = "weak_day_first",
    /// `weak_date year month day`: the same, weak.
    WeakDate = "weak_date",
    /// `nth $1 $2`: the n-th day of the week, 1 is Monday.
    NthWeekday = "nth_weekday",
    /// `nth $1 unit`: the n-th of a unit.
    NthUnit = "nth_unit",
    /// `last_weekday $1 $2`: the n-th last day of the week.
    LastWeekday = "last_weekday",
    /// `last_unit $1 unit`: the n-th last of a unit.
    LastUnit = "last_unit",
    /// `of unit`: the week, month or year that something is in.
    Of = "of",
    /// `each_part $1`: every morning.
    EachPart = "each_part",
    /// `period unit rel`: this (0), next (1), last (-1) week.
    Period = "period",
    /// `part $1`: a part of the day.
    Part = "part",
    /// `weak_part $1`: a part of the day beside something that is a time for sure.
    WeakPart = "weak_part",
    /// `rel_part rel $1`: a part of a day counted from today.
    RelPart = "rel_part",
    /// `ahead $1 $2`: the n-th such day of the week from now, 1 is Monday.
    Ahead = "ahead",
    /// `zone $1`: minutes east of Greenwich.
    Zone = "zone",
    /// `offset_zone sign $1 $2`: hours and minutes east of Greenwich.
    OffsetZone = "offset_zone",
    /// `feast $1`
    Feast = "feast",
    /// `edge n`: beginning (-1), middle (0), end (1) of what follows.
    Edge = "edge",
    /// `edge_of n unit`: the same of a unit, in one word: the month's end.
    EdgeOf = "edge_of",
    /// `every $1 unit`
    Every = "every",
    /// `per $1 unit`: so often in a unit.
    Per = "per",
    /// `each $1`: every so manieth of what follows.
    Each = "each",
    /// `times $1`
    Times = "times",
    /// `mark n`
    Mark = "mark",
    /// `nothing`: matches without meaning anything, as joints do.
    Nothing = "nothing",
}

impl Action {
    /// Does it; `None` when what was matched makes no sense, such as 25 o'clock.
    pub(super) fn apply(self, given: &[Value]) -> Option<Value> {
        let value = |index: usize| given.get(index).copied().unwrap_or(Value::Nothing);
        let int = |index: usize| value(index).int();
        let some_int = |index: usize| match value(index) {
            Value::Nothing => Some(None),
            other => other.int().map(Some),
        };
        let atom = |atom: Atom| Some(Value::Atom(atom));
        match self {
            Self::Same => Some(value(0)),
            Self::Nothing => Some(Value::Nothing),
            Self::Num => value(0).num().map(Value::Num),
            Self::Sum => Some(Value::Num(value(0).num()? + value(1).num()?)),
            Self::Product => Some(Value::Num(value(0).num()? * value(1).num()?)),
            Self::Thousandths => Some(Value::Num(f64::from(int(0)?) / 1000.0)),
            Self::PlusThousandths => Some(Value::Num(value(0).num()? + f64::from(int(1)?) / 1000.0)),
            Self::Decimal => decimal(value(0), value(1)),
            Self::Fraction => fraction(value(0), value(1)),
            Self::Small => {
                let number = int(0)?;
                (int(1)?..=int(2)?).contains(&number).then_some(Value::Int(number))
            }
            Self::Undotted => match value(0) {
                Value::Digits { has_dot: true, .. } => None,
                number => Self::Small.apply(&[number, value(1), value(2)]),
            },
            Self::Five => matches!(int(0)?, 5 | 10 | 15 | 20 | 25).then_some(Value::Int(int(0)?)),
            Self::DottedOrdinal => match value(0) {
                Value::Digits { value, digits: 1..=2, has_dot: true } => Some(Value::Int(i32::try_from(value).ok()?)),
                _ => None,
            },
            Self::Year => match value(0) {
                Value::Digits { value, digits: 4, .. } if (1000..=2999).contains(&value) => {
                    Some(Value::Int(i32::try_from(value).ok()?))
                }
                Value::Num(year) if (1900.0..=2999.0).contains(&year) => Some(Value::Int(year as i32)),
                _ => None,
            },
            Self::ShortYear => match value(0) {
                Value::Digits { value, digits: 2, .. } => Some(Value::Int(century(i32::try_from(value).ok()?))),
                _ => None,
            },
            Self::Dur => Dur::of(value(0).num()?, Unit::of(int(1)?)?).map(Value::Dur),
            Self::DurThousandths => Dur::of(f64::from(int(0)?) / 1000.0, Unit::of(int(1)?)?).map(Value::Dur),
            Self::DurHalf => Dur::of(0.5, Unit::of(int(0)?)?).map(Value::Dur),
            Self::DurAndHalf => Dur::of(value(0).num()? + 0.5, Unit::of(int(1)?)?).map(Value::Dur),
            Self::DurPlus => Some(Value::Dur(value(0).dur()?.plus(value(1).dur()?))),
            Self::DurMore => {
                let more = Dur::of(value(1).num()?, Unit::of(int(2)?)?)?;
                Some(Value::Dur(value(0).dur()?.plus(more)))
            }
            // Five past three is 3:05, and 4:3 is the shape of a screen.
            Self::Clock | Self::Clock24 if [1, 2].into_iter().any(|index| value(index).is_single_digit()) => None,
            Self::Clock => clock(int(0)?, some_int(1)?, some_int(2)?, value(0)).map(Value::Clock),
            Self::Clock24 => {
                let clock = clock(int(0)?, some_int(1)?, some_int(2)?, value(0))?;
                Some(Value::Clock(Clock { half: Half::Written, ..clock }))
            }
            Self::Hhmm => match value(0) {
                Value::Digits { value: number, digits: 3..=4, .. } => {
                    let number_ = i32::try_from(number).ok()?;
                    clock(number_ / 100, Some(number_ % 100), None, value(0)).map(Value::Clock)
                }
                _ => None,
            },
            Self::WeakHour => {
                let clock = clock(int(0)?, None, None, value(0))?;
                Some(Value::Clock(Clock { is_weak: true, ..clock }))
            }
            Self::Weak => match value(0) {
                Value::Clock(clock) => Some(Value::Clock(Clock { is_weak: true, ..clock })),
                _ => None,
            },
            Self::AmPm => in_half(value(0).clock()?, int(1)? == 1).map(Value::Clock),
            Self::ClockShift => {
                let shifted = clock_shift(value(0).clock()?, value(1).num()?, int(2)?)?;
                Some(Value::Clock(shifted))
            }
            Self::ClockPart => in_part(value(0).clock()?, DayPart::of(int(1)?)?).map(Value::Clock),
            Self::At => atom(Atom::Clock(value(0).clock()?)),
            Self::Now => atom(Atom::Now),
            Self::After => atom(Atom::Offset(value(0).dur()?)),
            Self::Before => atom(Atom::Offset(value(0).dur()?.negated())),
            Self::Minutes => (1..=360).contains(&int(0)?).then_some(Value::Atom(Atom::Minutes(int(0)?))),
            Self::Shift => atom(Atom::Shift(signed(value(0).dur()?, int(1)?))),
            Self::Then => atom(Atom::Then(signed(value(0).dur()?, int(1)?))),
            Self::Length => atom(Atom::Length(value(0).dur()?)),
            Self::Rel => (-4000..=4000).contains(&int(0)?).then_some(Value::Atom(Atom::Rel(int(0)?))),
            Self::Weekday => {
                let day = weekday_bit(int(0)?)?;
                atom(Atom::Weekday { days: day, which: Which::of(int(1)?)? })
            }
            Self::WeekdayPart => {
                let (day, part) = match some_int(2)? {
                    Some(part) => (int(0)?, part),
                    None => (int(0)? / 10, int(0)? % 10),
                };
                let (days, part) = (weekday_bit(day)?, DayPart::of(part)?);
                atom(Atom::WeekdayPart { days, which: Which::of(int(1)?)?, part })
            }
            Self::Weekdays => {
                let (from, to) = (int(0)?, int(1)?);
                let (first, last) = (weekday_bit(from)?, weekday_bit(to)?);
                let mut days = first | last;
                let mut day = from;
                while day != to {
                    days |= weekday_bit(day)?;
                    day = day % 7 + 1;
                }
                atom(Atom::Weekday { days, which: Which::of(int(2)?)? })
            }
            Self::WeekdaySet => {
                let third = some_int(2)?.map_or(Some(0), weekday_bit)?;
                let days = weekday_bit(int(0)?)? | weekday_bit(int(1)?)? | third;
                atom(Atom::Weekday { days, which: Which::Bare })
            }
            Self::DaySet => {
                let days = u8::try_from(int(0)?).ok()?;
                atom(Atom::Weekday { days, which: Which::of(int(1)?)? })
            }
            Self::Date | Self::WeakDate => {
                let cal = cal(some_int(0)?, some_int(1)?, some_int(2)?)?;
                atom(Atom::Cal { cal, is_weak: self == Self::WeakDate })
            }
            Self::YearFirst => match value(0) {
                Value::Digits { digits: 4, .. } => {
                    let cal = cal(Some(int(0)?), Some(int(1)?), Some(int(2)?))?;
                    atom(Atom::Cal { cal, is_weak: false })
                }
                _ => None,
            },
            Self::MonthFirst => swappable_date(int(0)?, int(1)?, written_year(value(2))?),
            Self::Dashed => match swappable_date(int(0)?, int(1)?, None)? {
                Value::Atom(Atom::Swappable(cal) | Atom::Cal { cal, .. }) => atom(Atom::Dashed(cal)),
                _ => None,
            },
            Self::DayFirst => {
                // The other order is taken where this one makes no date, and only then.
                let year = written_year(value(2))?;
                match int(1)? {
                    1..=12 => numeric_date(int(1)?, int(0)?, year),
                    _ => numeric_date(int(0)?, int(1)?, year),
                }
            }
            Self::WeakDayFirst => match int(1)? {
                1..=12 => atom(Atom::Cal { cal: cal(None, Some(int(1)?), Some(int(0)?))?, is_weak: true }),
                _ => None,
            },
            Self::NthWeekday => {
                let what = What::Weekday(weekday_bit(int(1)?)?);
                is_countable(int(0)?).then_some(Value::Atom(Atom::Nth { n: int(0)?, what }))
            }
            Self::NthUnit => {
                let what = What::Unit(Unit::of(int(1)?)?);
                is_countable(int(0)?).then_some(Value::Atom(Atom::Nth { n: int(0)?, what }))
            }
            Self::LastUnit => {
                let what = What::Unit(Unit::of(int(1)?)?);
                is_countable(int(0)?).then_some(Value::Atom(Atom::Nth { n: -int(0)?, what }))
            }
            Self::LastWeekday => {
                let what = What::Weekday(weekday_bit(int(1)?)?);
                is_countable(int(0)?).then_some(Value::Atom(Atom::Nth { n: -int(0)?, what }))
            }
            Self::Period => {
                let (unit, rel) = (Unit::of(int(0)?)?, int(1)?);
                (-1000..=1000).contains(&rel).then_some(Value::Atom(Atom::Period { unit, rel }))
            }
            Self::Of => atom(Atom::Of(Unit::of(int(0)?)?)),
            Self::EachPart => atom(Atom::EachPart(DayPart::of(int(0)?)?)),
            Self::Part => atom(Atom::Part { part: DayPart::of(int(0)?)?, is_weak: false }),
            Self::WeakPart => atom(Atom::Part { part: DayPart::of(int(0)?)?, is_weak: true }),
            Self::RelPart => atom(Atom::RelPart { rel: int(0)?, part: DayPart::of(int(1)?)? }),
            Self::Ahead => {
                let days = weekday_bit(int(1)?)?;
                is_countable(int(0)?).then_some(Value::Atom(Atom::Ahead { n: int(0)?, days }))
            }
            Self::Zone => atom(Atom::Zone(int(0)?)),
            Self::OffsetZone => {
                let (hours, minutes) = match value(1) {
                    Value::Digits { value, digits: 4, .. } => {
                        let value = i32::try_from(value).ok()?;
                        (value / 100, value % 100)
                    }
                    _ => (int(1)?, some_int(2)?.unwrap_or(0)),
                };
                let sign = int(0)?;
                (hours <= 14 && minutes < 60).then(|| Value::Atom(Atom::Zone(sign * (hours * 60 + minutes))))
            }
            Self::Feast => atom(Atom::Feast(int(0)?)),
            Self::Edge => atom(Atom::Edge(int(0)?)),
            Self::EdgeOf => atom(Atom::EdgeOf(int(0)?, Unit::of(int(1)?)?)),
            Self::Every => {
                let n = some_int(0)?.unwrap_or(1);
                let unit = Unit::of(int(1)?)?;
                (1..=10_000).contains(&n).then_some(Value::Atom(Atom::Every { n, unit }))
            }
            Self::Per => {
                let (n, unit) = (int(0)?, Unit::of(int(1)?)?);
                (1..=24).contains(&n).then_some(Value::Atom(Atom::Per { n, unit }))
            }
            Self::Each => {
                let n = some_int(0)?.unwrap_or(1);
                (1..=1000).contains(&n).then_some(Value::Atom(Atom::Each(n)))
            }
            Self::Times => {
                let times = int(0)?;
                (1..=1_000_000).contains(&times).then_some(Value::Atom(Atom::Times(times)))
            }
            Self::Mark => atom(Atom::Mark(Mark::of(int(0)?)?)),
        }
    }
}

impl Value {
    /// A whole number.
    fn int(self) -> Option<i32> {
        match self {
            Self::Int(int) => Some(int),
            Self::Digits { value, .. } => i32::try_from(value).ok(),
            Self::Num(num) if num.fract() == 0.0 && num.abs() < 1e9 => Some(num as i32),
            _ => None,
        }
    }

    fn is_single_digit(self) -> bool {
        matches!(self, Self::Digits { digits: 1, .. })
    }

    /// Any number.
    fn num(self) -> Option<f64> {
        match self {
            Self::Int(int) => Some(f64::from(int)),
            Self::Digits { value, .. } => Some(f64::from(value)),
            Self::Num(num) => Some(num),
            _ => None,
        }
    }

    fn dur(self) -> Option<Dur> {
        if let Self::Dur(dur) = self { Some(dur) } else { None }
    }

    fn clock(self) -> Option<Clock> {
        match self {
            Self::Clock(clock) | Self::Atom(Atom::Clock(clock)) => Some(clock),
            _ => None,
        }
    }
}

fn decimal(whole: Value, part: Value) -> Option<Value> {
    let Value::Digits { value, digits: digits @ 1..=9, .. } = part else {
        return None;
    };
    Some(Value::Num(whole.num()? + f64::from(value) / 10_f64.powi(i32::from(digits))))
}

fn fraction(above: Value, below: Value) -> Option<Value> {
    let (above, below) = (above.num()?, below.num()?);
    ((2.0..=10.0).contains(&below) && above < below).then_some(Value::Num(above / below))
}

/// `26` is 2026 and `74` is 1974: what people write with two digits is rarely far ahead.
fn century(short: i32) -> i32 {
    if short < 50 { 2000 + short } else { 1900 + short }
}

/// Whether somebody can mean the n-th of something in a year.
fn is_countable(n: i32) -> bool {
    n != 0 && (-366..=366).contains(&n)
}

fn weekday_bit(day: i32) -> Option<u8> {
    (1..=7).contains(&day).then(|| 1 << (day - 1))
}

fn signed(dur: Dur, sign: i32) -> Dur {
    if sign < 0 { dur.negated() } else { dur }
}

fn cal(year: Option<i32>, month: Option<i32>, day: Option<i32>) -> Option<Cal> {
    let fits = |value: Option<i32>, max: i32| value.is_none_or(|value| (1..=max).contains(&value));
    if !fits(month, 12) || !fits(day, 31) || !fits(year, 9999) {
        return None;
    }
    let narrow = |value: Option<i32>| value.and_then(|value| u8::try_from(value).ok());
    let cal = Cal { year: year.and_then(|year| i16::try_from(year).ok()), month: narrow(month), day: narrow(day) };
    // The thirtieth of February is no date in any year.
    let days = match (cal.month, cal.year) {
        (Some(2), Some(year)) if !is_leap(year) => 28,
        (Some(2), _) => 29,
        (Some(4 | 6 | 9 | 11), _) => 30,
        _ => 31,
    };
    cal.day.is_none_or(|day| day <= days).then_some(cal)
}

fn is_leap(year: i16) -> bool {
    jiff::civil::Date::new(year, 1, 1).is_ok_and(|date| date.in_leap_year())
}

/// A date in digits, with the month first unless it cannot be one.
fn numeric_date(month: i32, day: i32, year: Option<i32>) -> Option<Value> {
    let (month, day) = if month > 12 && day <= 12 { (day, month) } else { (month, day) };
    Some(Value::Atom(Atom::Cal { cal: cal(year, Some(month), Some(day))?, is_weak: false }))
}

/// The same where both orders are in use.
fn swappable_date(month: i32, day: i32, year: Option<i32>) -> Option<Value> {
    if (1..=12).contains(&month) && (1..=12).contains(&day) {
        return Some(Value::Atom(Atom::Swappable(cal(year, Some(month), Some(day))?)));
    }
    numeric_date(month, day, year)
}

/// A year of two or four digits, or none; `None` for other numbers.
fn written_year(value: Value) -> Option<Option<i32>> {
    match value {
        Value::Nothing => Some(None),
        Value::Digits { value, digits: 2, .. } => Some(Some(century(i32::try_from(value).ok()?))),
        Value::Digits { value, digits: 4, .. } => Some(Some(i32::try_from(value).ok()?)),
        Value::Int(year) => Some(Some(year)),
        _ => None,
    }
}

fn clock(hour: i32, minute: Option<i32>, second: Option<i32>, hour_as_written: Value) -> Option<Clock> {
    let (m, s) = (minute.unwrap_or(0), second.unwrap_or(0));
    if !(0..=24).contains(&hour) || !(0..60).contains(&m) || !(0..60).contains(&s) || (hour == 24 && (m, s) != (0, 0)) {
        return None;
    }
    // Who writes 08:00 or 00:30 uses a clock of 24 hours.
    let is_padded = matches!(hour_as_written, Value::Digits { value, digits: 2, .. } if value < 10);
    let half = if (1..=12).contains(&hour) && !is_padded { Half::Either } else { Half::Known };
    let finest = match (minute, second) {
        (_, Some(_)) => Unit::Second,
        (Some(_), None) => Unit::Minute,
        (None, None) => Unit::Hour,
    };
    let narrow = |value: i32| u8::try_from(value).ok();
    let is_written_24 = half == Half::Known && minute.is_some();
    let (hour, minute, second) = (narrow(hour)?, narrow(m)?, narrow(s)?);
    Some(Clock { hour, minute, second, half, finest, is_weak: false, is_written_24 })
}

/// A time said to be before or after noon; `None` for 14 am.
fn in_half(clock: Clock, is_after_noon: bool) -> Option<Clock> {
    let hour = match (clock.hour, is_after_noon) {
        (12, false) => 0,
        (1..=11, true) => clock.hour + 12,
        (hour @ (0..=12), _) => hour,
        // 15:30 pm is said twice; 15 pm is a slip of the finger.
        (hour @ 13..=23, true) if clock.finest < Unit::Hour => hour,
        _ => return None,
    };
    Some(Clock { hour, half: Half::Known, is_weak: false, is_written_24: false, ..clock })
}

/// A time in a part of the day: 8 in the evening is 20:00, 12 at night is midnight.
pub(super) fn in_part(clock: Clock, part: DayPart) -> Option<Clock> {
    let clock = Clock { is_weak: false, ..clock };
    if clock.half == Half::Known {
        return Some(clock);
    }
    let hour = match (part, clock.hour) {
        (_, hour @ (0 | 13..)) => hour,
        (DayPart::EarlyMorning | DayPart::Morning, 12) if clock.half == Half::Either => 0,
        (DayPart::EarlyMorning | DayPart::Morning, hour) => hour,
        (DayPart::Noon, hour @ 10..=12) => hour,
        (DayPart::Afternoon, 12) => 12,
        (DayPart::Evening | DayPart::Night | DayPart::Midnight, 12) => 24,
        // Three at night is after midnight, ten is before it.
        (DayPart::Night | DayPart::Midnight, hour @ 1..=5) => hour,
        (_, hour) => hour + 12,
    };
    Some(Clock { hour, half: Half::Known, ..clock })
}

/// Minutes past or to a time: the hour keeps its half of the day where it had one.
fn clock_shift(clock: Clock, minutes: f64, sign: i32) -> Option<Clock> {
    if !(1.0..60.0).contains(&minutes) || minutes.fract() != 0.0 {
        return None;
    }
    let total = i32::from(clock.hour) * 60 + i32::from(clock.minute) + sign * minutes as i32;
    let total = total.rem_euclid(24 * 60);
    let mut hour = total / 60;
    // A quarter to one, with the half open, is 12:45 and not 00:45.
    if clock.half == Half::Either && hour == 0 {
        hour = 12;
    }
    let narrow = |value: i32| u8::try_from(value).ok();
    Some(Clock { hour: narrow(hour)?, minute: narrow(total % 60)?, finest: Unit::Minute, is_weak: false, ..clock })
}
