//! Small sets of numbers as the bits of one, and the times of day that three such sets name.

use jiff::civil::Time;

/// Whether `value` is in the set.
pub(super) fn has(bits: u64, value: i8) -> bool {
    (0..64).contains(&value) && bits & (1 << value) != 0
}

/// The lowest value at or above `from`.
pub(super) fn next_bit(bits: u64, from: i8) -> Option<i8> {
    let rest = bits.checked_shr(from.try_into().ok()?)?;
    (rest != 0).then(|| from + rest.trailing_zeros() as i8)
}

/// The values, lowest first.
pub(super) fn bits(bits: u64) -> impl Iterator<Item = i8> {
    std::iter::successors(next_bit(bits, 0), move |bit| next_bit(bits, bit + 1))
}

/// The set of `values`, or of `default` alone when there are none.
pub(super) fn set_of(values: &[i8], default: i8) -> u64 {
    match values {
        [] => 1 << default.clamp(0, 63),
        values => values.iter().fold(0, |bits, value| bits | 1 << value.clamp(&0, &63)),
    }
}

/// The times of day with one of these hours, minutes and seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) hours: u64,
    pub(super) minutes: u64,
    pub(super) seconds: u64,
}

impl Times {
    /// The first time at or after `from`.
    pub(super) fn next(&self, from: Time) -> Option<Time> {
        let (mut hour, mut minute, mut second) = (from.hour(), from.minute(), from.second());
        if !has(self.hours, hour) {
            (minute, second) = (0, 0);
        }
        hour = next_bit(self.hours, hour)?;
        if !has(self.minutes, minute) {
            second = 0;
        }
        // A time that is not in this minute or hour is at the start of the next.
        let mut found = next_bit(self.minutes, minute).map(|minute| (hour, minute));
        if let Some((hour, minute)) = found {
            if let Some(second) = next_bit(self.seconds, second) {
                return Time::new(hour, minute, second, 0).ok();
            }
            found = next_bit(self.minutes, minute + 1).map(|minute| (hour, minute));
        }
        let (hour, minute) = match found {
            Some(found) => found,
            None => (next_bit(self.hours, hour + 1)?, next_bit(self.minutes, 0)?),
        };
        Time::new(hour, minute, next_bit(self.seconds, 0)?, 0).ok()
    }

    /// How many times there are.
    pub(super) fn count(&self) -> usize {
        (self.hours.count_ones() * self.minutes.count_ones() * self.seconds.count_ones()) as usize
    }

    /// The `n`th time, from 0.
    pub(super) fn nth(&self, n: usize) -> Option<Time> {
        let (minutes, seconds) = (self.minutes.count_ones() as usize, self.seconds.count_ones() as usize);
        let (n, second) = (n / seconds, n % seconds);
        let (hour, minute) = (n / minutes, n % minutes);
        let nth = |set, n| bits(set).nth(n);
        Time::new(nth(self.hours, hour)?, nth(self.minutes, minute)?, nth(self.seconds, second)?, 0).ok()
    }
}
