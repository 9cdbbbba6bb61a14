//! Numbers, in digits and in words, and years.

use super::date::is_date;
use super::{Given, Value};

family! {
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
    /// `no_date year $1 $2 is_ordered`: numbers that were meant as a date, and are none; in either order, unless the month is first.
    NoDate = "no_date",
}

impl Family {
    pub(super) fn apply(self, given: Given<'_>) -> Option<Value> {
        match self {
            Self::Num => given.num(0).map(Value::Num),
            Self::Sum => Some(Value::Num(given.num(0)? + given.num(1)?)),
            Self::Product => Some(Value::Num(given.num(0)? * given.num(1)?)),
            Self::Thousandths => given.thousandths(0).map(Value::Num),
            Self::PlusThousandths => Some(Value::Num(given.num(0)? + given.thousandths(1)?)),
            Self::Decimal => decimal(given),
            Self::Fraction => fraction(given),
            Self::Undotted if matches!(given.value(0), Value::Digits { has_dot: true, .. }) => None,
            Self::Small | Self::Undotted => given.int_in(0, given.int(1)?..=given.int(2)?).map(Value::Int),
            Self::Five => given.int(0).filter(|int| matches!(int, 5 | 10 | 15 | 20 | 25)).map(Value::Int),
            Self::DottedOrdinal => match given.value(0) {
                Value::Digits { digits: 1..=2, has_dot: true, .. } => given.int(0).map(Value::Int),
                _ => None,
            },
            Self::Year => match given.value(0) {
                Value::Digits { value: 1900..=2999, digits: 4, .. } => given.int(0).map(Value::Int),
                Value::Num(year) if (1900.0..=2999.0).contains(&year) => Some(Value::Int(year as i32)),
                _ => None,
            },
            Self::ShortYear => match given.value(0) {
                Value::Digits { digits: 2, .. } => given.int(0).map(century).map(Value::Int),
                _ => None,
            },
            Self::NoDate => no_date(given),
        }
    }
}

fn decimal(given: Given<'_>) -> Option<Value> {
    let Value::Digits { value, digits: digits @ 1..=9, .. } = given.value(1) else {
        return None;
    };
    Some(Value::Num(given.num(0)? + f64::from(value) / 10_f64.powi(i32::from(digits))))
}

fn no_date(given: Given<'_>) -> Option<Value> {
    let is_short = |index: usize| matches!(given.value(index), Value::Digits { digits: 1..=2, value: 1.., .. });
    // 26./27. are two days.
    let is_ordinal = matches!(given.value(1), Value::Digits { has_dot: true, .. });
    if !is_short(1) || !is_short(2) || is_ordinal {
        return None;
    }
    let is_ordered = given.some_int(3)? == Some(1);
    let year = match given.value(0) {
        Value::Nothing => None,
        Value::Digits { digits: 2, .. } if !is_ordered => Some(century(given.int(0)?)),
        Value::Digits { digits: 4, value: 1900..=2999, .. } | Value::Int(_) => given.int(0),
        _ => return None,
    };
    let (one, other) = (given.int(1)?, given.int(2)?);
    // 50/50 is no date that somebody got wrong.
    let is_near = year.is_some() || (one <= 31 && other <= 31);
    let is_one = is_date(year, one, other) || (!is_ordered && is_date(year, other, one));
    (is_near && !is_one).then_some(Value::Nothing)
}

fn fraction(given: Given<'_>) -> Option<Value> {
    let (above, below) = (given.num(0)?, given.num(1)?);
    ((2.0..=10.0).contains(&below) && above < below).then_some(Value::Num(above / below))
}

/// `26` is 2026 and `74` is 1974: what people write with two digits is rarely far ahead.
pub(super) fn century(short: i32) -> i32 {
    if short < 50 { 2000 + short } else { 1900 + short }
}
