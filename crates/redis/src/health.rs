//! How it is, said once when it changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Status;

/// The parts that can fail, each apart from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Commands do not get through.
    Commands,
    /// The listener hears no events.
    Listening,
    /// Redis does not tell what expires.
    Events,
    /// Redis refuses to set keys.
    Writes,
}

#[derive(Debug, Default)]
pub(super) struct Health {
    problems: Mutex<[Problem; 4]>,
    pub(super) armed: AtomicU64,
    pub(super) dropped: AtomicU64,
}

/// The state of a part: not tried yet, working, or the reason why not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Problem {
    #[default]
    Unknown,
    None,
    Is(String),
}

impl Health {
    /// It works.
    pub(super) fn works(&self, part: Part) {
        let was = self.put(part, Problem::None);
        match (part, was) {
            (Part::Commands, Problem::Unknown) => tracing::info!("the Redis timer is connected"),
            (Part::Commands, Problem::Is(_)) => tracing::info!("the Redis timer is connected again"),
            (Part::Listening, Problem::Is(_)) => tracing::info!("the Redis timer hears again"),
            (Part::Events | Part::Writes, Problem::Is(_)) => tracing::info!("the Redis timer works again"),
            _ => {}
        }
    }

    /// It does not work, and why.
    pub(super) fn fails(&self, part: Part, why: String) {
        let was = self.put(part, Problem::Is(why.clone()));
        if matches!(part, Part::Commands | Part::Listening) {
            self.unheard();
        }
        // Where commands do not get through, nothing else does; that is said once.
        let said = matches!(was, Problem::Is(_)) || (part == Part::Listening && self.is(Part::Commands));
        if !said {
            tracing::warn!(problem = %why, "the Redis timer does not work; nothing is late, because our own timer does");
        }
    }

    pub(super) fn has_heard(&self) -> bool {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems[Part::Events as usize] == Problem::None
    }

    pub(super) fn drop_some(&self, n: usize) {
        self.dropped.fetch_add(n as u64, Ordering::Relaxed);
    }

    pub(super) fn status(&self) -> Status {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        let why = |problem: &Problem| match problem {
            Problem::Is(why) => Some(why.clone()),
            _ => None,
        };
        let mut problem = problems.iter().find_map(why);
        let [commands, listening, ..] = &*problems;
        if problem.is_none() && (*commands == Problem::Unknown || *listening == Problem::Unknown) {
            problem = Some("not connected yet".into());
        }
        Status { problem, armed: self.armed.load(Ordering::Relaxed), dropped: self.dropped.load(Ordering::Relaxed) }
    }

    /// Whether events are told is to be seen again.
    fn unheard(&self) {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        let events = &mut problems[Part::Events as usize];
        if *events == Problem::None {
            *events = Problem::Unknown;
        }
    }

    fn is(&self, part: Part) -> bool {
        matches!(self.problems.lock().unwrap_or_else(PoisonError::into_inner)[part as usize], Problem::Is(_))
    }

    fn put(&self, part: Part, problem: Problem) -> Problem {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut problems[part as usize], problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_problem_is_told_and_none_when_all_works() {
        let health = Health::default();
        assert_eq!(health.status().problem.as_deref(), Some("not connected yet"));
        health.works(Part::Commands);
        assert_eq!(health.status().problem.as_deref(), Some("not connected yet"));
        health.works(Part::Listening);
        assert_eq!(health.status().problem, None);
        health.fails(Part::Events, "events are off".into());
        health.fails(Part::Commands, "refused".into());
        assert_eq!(health.status().problem.as_deref(), Some("refused"));
        health.works(Part::Commands);
        assert_eq!(health.status().problem.as_deref(), Some("events are off"));
        health.works(Part::Events);
        assert_eq!(health.status().problem, None);
        assert!(health.has_heard());
        health.fails(Part::Listening, "closed".into());
        health.works(Part::Listening);
        assert!(!health.has_heard(), "not before something is heard again");
    }
}
