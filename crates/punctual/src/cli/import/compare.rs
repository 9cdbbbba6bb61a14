//! The sends of two systems, side by side. This file is pure: it reads no table and asks no server.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// How far apart the two sends of one run may be. More than that, and they are two runs.
const PAIR_WITHIN: SignedDuration = SignedDuration::from_mins(10);

/// One send of the other system's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Their {
    /// When it was sent or, where that is not recorded, due.
    pub(super) at: Timestamp,
    /// Whether `at` is when it was sent.
    pub(super) is_exact: bool,
}

/// One run of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Our {
    pub(super) due_at: Timestamp,
    /// When it was sent, or would have been.
    pub(super) sent_at: Option<Timestamp>,
    pub(super) state: String,
}

/// Everything either system knows by one key.
#[derive(Debug, Clone, Default)]
pub(super) struct Side {
    pub(super) theirs: Vec<Their>,
    /// What to say about it when only ours was sent; none when the other system does not know it any more.
    pub(super) state_there: Option<String>,
    /// None when it was never imported.
    pub(super) ours: Option<Vec<Our>>,
    /// Whether it is sent more than once.
    pub(super) recurs: bool,
}

/// From when until when both are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Period {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) tolerance: SignedDuration,
}

impl Period {
    fn has(&self, at: Timestamp) -> bool {
        self.from <= at && at < self.to
    }
}

/// One send that only one of them has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alone {
    pub(super) key: String,
    pub(super) at: Timestamp,
    /// What the other side says about it.
    pub(super) why: String,
}

/// The result of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) n_within: u64,
    pub(super) n_earlier: u64,
    pub(super) n_later: u64,
    /// Both have sent it, and when the other did is not recorded.
    pub(super) n_untimed: u64,
    /// How much later the other system sent than ours, for all that both have sent at a known time.
    pub(super) lags: Vec<SignedDuration>,
    /// Sends of both that are further apart than they should be.
    pub(super) apart: Vec<(String, Timestamp, SignedDuration)>,
    pub(super) only_ours: Vec<Alone>,
    pub(super) only_theirs: Vec<Alone>,
}

/// Compares what both sent within the period.
pub(super) fn compare(sides: &BTreeMap<String, Side>, period: Period) -> Compared {
    let mut compared = Compared::default();
    for (key, side) in sides {
        one(key, side, period, &mut compared);
    }
    compared.lags.sort_unstable();
    compared
}

fn one(key: &str, side: &Side, period: Period, compared: &mut Compared) {
    let mut theirs = side.theirs.clone();
    theirs.sort_unstable();
    let mut ours: Vec<&Our> = side.ours.iter().flatten().filter(|our| our.sent_at.is_some()).collect();
    ours.sort_unstable_by_key(|our| our.due_at);
    let (mut t, mut o) = (0, 0);
    let apart = |their: &Their, our: &Our| their.at.duration_since(our.due_at).abs();
    while let (Some(their), Some(our)) = (theirs.get(t), ours.get(o)) {
        let distance = apart(their, our);
        // A run that one of them left out must not shift all that follow.
        let next_theirs_fits = theirs.get(t + 1).is_some_and(|next| apart(next, our) < distance);
        let next_ours_fits = ours.get(o + 1).is_some_and(|next| apart(their, next) < distance);
        let is_pair = !side.recurs || (distance <= PAIR_WITHIN && !next_theirs_fits && !next_ours_fits);
        if is_pair {
            both(key, their, our, period, compared);
            (t, o) = (t + 1, o + 1);
        } else if their.at < our.due_at || (next_theirs_fits && distance <= PAIR_WITHIN) {
            only_theirs(key, their, side, period, compared);
            t += 1;
        } else {
            only_ours(key, our, side, period, compared);
            o += 1;
        }
    }
    theirs[t..].iter().for_each(|their| only_theirs(key, their, side, period, compared));
    ours[o..].iter().for_each(|our| only_ours(key, our, side, period, compared));
}

fn both(key: &str, their: &Their, our: &Our, period: Period, compared: &mut Compared) {
    if !period.has(their.at) && !period.has(our.due_at) {
        return;
    }
    let Some(sent_at) = our.sent_at.filter(|_| their.is_exact) else {
        compared.n_untimed += 1;
        return;
    };
    let lag = their.at.duration_since(sent_at);
    compared.lags.push(lag);
    if lag.abs() <= period.tolerance {
        compared.n_within += 1;
        return;
    }
    if lag.is_positive() {
        compared.n_earlier += 1;
    } else {
        compared.n_later += 1;
    }
    compared.apart.push((key.to_owned(), their.at, lag));
}

fn only_theirs(key: &str, their: &Their, side: &Side, period: Period, compared: &mut Compared) {
    if !period.has(their.at) {
        return;
    }
    let why = match &side.ours {
        None => "was not imported".to_owned(),
        Some(runs) => {
            let near = runs.iter().min_by_key(|our| their.at.duration_since(our.due_at).abs());
            match near.filter(|our| our.sent_at.is_none()) {
                Some(our) => format!("is {} here, due at {}", our.state, our.due_at),
                None => "has no run here at that time".to_owned(),
            }
        }
    };
    compared.only_theirs.push(Alone { key: key.to_owned(), at: their.at, why });
}

fn only_ours(key: &str, our: &Our, side: &Side, period: Period, compared: &mut Compared) {
    if !period.has(our.due_at) {
        return;
    }
    let why = side.state_there.clone().unwrap_or_else(|| "is not there any more".to_owned());
    compared.only_ours.push(Alone { key: key.to_owned(), at: our.due_at, why });
}

/// The value below which this share of sorted `lags` lies.
pub(super) fn percentile(lags: &[SignedDuration], share: f64) -> Option<SignedDuration> {
    let last = lags.len().checked_sub(1)?;
    lags.get(((last as f64) * share).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn their(second: i64) -> Their {
        Their { at: at(second), is_exact: true }
    }

    fn our(second: i64) -> Our {
        Our { due_at: at(second), sent_at: Some(at(second)), state: "delivered".into() }
    }

    fn check(side: Side) -> Compared {
        let period = Period { from: at(0), to: at(100_000), tolerance: SignedDuration::from_secs(2) };
        compare(&BTreeMap::from([("k".to_owned(), side)]), period)
    }

    fn counts(compared: &Compared) -> [u64; 5] {
        let alone = |list: &[Alone]| list.len() as u64;
        let (ours, theirs) = (alone(&compared.only_ours), alone(&compared.only_theirs));
        [compared.n_within, compared.n_earlier, compared.n_later, ours, theirs]
    }

    #[test]
    fn a_single_send_is_within_earlier_later_or_alone() {
        let single = |theirs: &[i64], ours: &[i64]| Side {
            theirs: theirs.iter().copied().map(their).collect(),
            ours: Some(ours.iter().copied().map(our).collect()),
            ..Side::default()
        };
        for (theirs, ours, expect) in [
            (&[101][..], &[100][..], [1, 0, 0, 0, 0]),
            (&[160], &[100], [0, 1, 0, 0, 0]),
            (&[90], &[100], [0, 0, 1, 0, 0]),
            // However late, a reminder that is sent once is the same one.
            (&[90_000], &[100], [0, 1, 0, 0, 0]),
            (&[], &[100], [0, 0, 0, 1, 0]),
            (&[100], &[], [0, 0, 0, 0, 1]),
            (&[-50], &[], [0; 5]),
            (&[], &[200_000], [0; 5]),
        ] {
            assert_eq!(counts(&check(single(theirs, ours))), expect, "{theirs:?} {ours:?}");
        }
    }

    #[test]
    fn a_run_that_one_of_them_left_out_shifts_no_other() {
        let series = |theirs: &[i64], ours: &[i64]| Side {
            theirs: theirs.iter().copied().map(their).collect(),
            ours: Some(ours.iter().copied().map(our).collect()),
            recurs: true,
            ..Side::default()
        };
        for (theirs, ours, expect) in [
            (&[60, 120, 181][..], &[60, 120, 180][..], [3, 0, 0, 0, 0]),
            (&[60, 120, 180], &[120, 180], [2, 0, 0, 0, 1]),
            (&[120, 180], &[60, 120, 180], [2, 0, 0, 1, 0]),
            (&[60, 180], &[60, 120, 180], [2, 0, 0, 1, 0]),
            (&[60, 120, 180], &[60, 180], [2, 0, 0, 0, 1]),
            (&[3600], &[7200], [0, 0, 0, 1, 1]),
        ] {
            assert_eq!(counts(&check(series(theirs, ours))), expect, "{theirs:?} {ours:?}");
        }
    }

    #[test]
    fn why_one_is_alone_is_said() {
        let not_imported = check(Side { theirs: vec![their(5)], ..Side::default() });
        assert_eq!(not_imported.only_theirs[0].why, "was not imported");
        let missed = Our { sent_at: None, state: "missed".into(), ..our(5) };
        let missed = check(Side { theirs: vec![their(5)], ours: Some(vec![missed]), ..Side::default() });
        assert_eq!(missed.only_theirs[0].why, format!("is missed here, due at {}", at(5)));
        let cancelled =
            check(Side { ours: Some(vec![our(5)]), state_there: Some("is cancelled there".into()), ..Side::default() });
        assert_eq!(cancelled.only_ours[0].why, "is cancelled there");
        let untimed = Their { is_exact: false, ..their(5) };
        let untimed = check(Side { theirs: vec![untimed], ours: Some(vec![our(5)]), ..Side::default() });
        assert_eq!((untimed.n_untimed, untimed.lags.len()), (1, 0));
    }

    #[test]
    fn percentiles_are_of_the_sorted_list() {
        let lags: Vec<_> = (0..=100).map(SignedDuration::from_secs).collect();
        assert_eq!(percentile(&lags, 0.5), Some(SignedDuration::from_secs(50)));
        assert_eq!(percentile(&lags, 0.99), Some(SignedDuration::from_secs(99)));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
