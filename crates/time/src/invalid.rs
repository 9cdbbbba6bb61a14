//! The error for an input that cannot be accepted.

/// How many problems of one input are kept. An input with more is told of these.
pub const FAULTS_MAX: usize = 100;

/// A field that cannot be accepted, and the sentence a person needs to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Invalid {
    /// The field as the caller knows it, such as `schedule.at` or `to[1].channel`.
    pub field: String,
    /// The problem and its remedy, as a lowercase fragment.
    pub problem: String,
    /// The kind of the problem.
    pub fault: Fault,
    /// The other problems of the same input; none of these has others itself.
    pub others: Vec<Invalid>,
}

/// The kind of a field's problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    /// Its value cannot be accepted.
    #[default]
    Invalid,
    /// It is not there.
    Missing,
    /// There is no such field.
    Unknown,
    /// Its value is of another kind, such as a number instead of text.
    WrongType,
    /// Only the server sets it.
    ReadOnly,
}

impl Fault {
    /// All there are.
    pub const ALL: [Self; 5] = [Self::Invalid, Self::Missing, Self::Unknown, Self::WrongType, Self::ReadOnly];

    /// Its name for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Missing => "missing",
            Self::Unknown => "unknown_field",
            Self::WrongType => "wrong_type",
            Self::ReadOnly => "read_only",
        }
    }
}

impl Invalid {
    /// Says that `field` has `problem`.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into(), fault: Fault::default(), others: Vec::new() }
    }

    /// Says that `field` is not there, and what would be right.
    pub fn missing(field: impl Into<String>, remedy: &str) -> Self {
        Self::new(field, format!("is missing; {remedy}")).of(Fault::Missing)
    }

    /// The same, of this kind.
    #[must_use]
    pub fn of(self, fault: Fault) -> Self {
        Self { fault, ..self }
    }

    /// The same problem seen from one level further out: `within("schedule")` turns `at` into `schedule.at`.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        for field in std::iter::once(&mut self.field).chain(self.others.iter_mut().map(|other| &mut other.field)) {
            *field = format!("{outer}.{field}");
        }
        self
    }

    /// This and all others, each alone.
    pub fn each(mut self) -> impl Iterator<Item = Self> {
        let others = std::mem::take(&mut self.others);
        std::iter::once(self).chain(others)
    }
}

/// Everything that is wrong with an input, while it is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    found: Vec<Invalid>,
    /// How many of those count for their whole field: what is found later about the same field follows from them.
    n_settled: usize,
}

impl Faults {
    /// The value, if there is one; else its problems are noted.
    pub fn note<T>(&mut self, checked: Result<T, Invalid>) -> Option<T> {
        checked.map_err(|invalid| self.add(invalid)).ok()
    }

    /// Notes what is wrong, and everything else that `invalid` says.
    pub fn add(&mut self, invalid: Invalid) {
        for one in invalid.each() {
            let follows = self.found[..self.n_settled].iter().any(|known| top(&known.field) == top(&one.field));
            if !follows && !self.found.contains(&one) && self.found.len() < FAULTS_MAX {
                self.found.push(one);
            }
        }
    }

    /// From here on nothing more is noted about the fields that are noted already.
    pub fn settle(&mut self) {
        self.n_settled = self.found.len();
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether no more are noted.
    pub fn is_full(&self) -> bool {
        self.found.len() >= FAULTS_MAX
    }

    /// The first problem with all others, if there is one.
    pub fn finish(self) -> Result<(), Invalid> {
        let mut found = self.found.into_iter();
        match found.next() {
            Some(first) => Err(Invalid { others: found.collect(), ..first }),
            None => Ok(()),
        }
    }
}

/// The field that `field` is a part of: `to` of `to[1].channel`.
fn top(field: &str) -> &str {
    field.split(['.', '[']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_wrong_is_kept_once_and_in_order() {
        let mut faults = Faults::default();
        assert_eq!(faults.note(Ok(1)), Some(1));
        assert_eq!(faults.note::<()>(Err(Invalid::new("b", "is odd"))), None);
        let mut two = Faults::default();
        two.add(Invalid::new("at", "is late"));
        two.add(Invalid::new("at", "is late"));
        two.add(Invalid::new("[1]", "is long"));
        faults.add(two.finish().unwrap_err().within("schedule"));
        let all: Vec<String> = faults.finish().unwrap_err().each().map(|one| one.to_string()).collect();
        assert_eq!(all, ["b: is odd", "schedule.at: is late", "schedule.[1]: is long"]);
        assert_eq!(Faults::default().finish(), Ok(()));
    }

    #[test]
    fn a_problem_that_follows_from_another_is_left_out() {
        let mut faults = Faults::default();
        faults.add(Invalid::new("to[0].channel", "must be text"));
        faults.add(Invalid::new("to[1].channel", "must be text"));
        faults.settle();
        faults.add(Invalid::new("to[1].address", "is empty"));
        faults.add(Invalid::new("tone", "is low"));
        let all: Vec<String> = faults.finish().unwrap_err().each().map(|one| one.field).collect();
        assert_eq!(all, ["to[0].channel", "to[1].channel", "tone"]);
    }

    #[test]
    fn no_more_are_kept_than_a_hundred() {
        let mut faults = Faults::default();
        (0..300).for_each(|n| faults.add(Invalid::new(format!("f{n}"), "is wrong")));
        assert!(faults.is_full());
        assert_eq!(faults.finish().unwrap_err().each().count(), FAULTS_MAX);
    }
}
