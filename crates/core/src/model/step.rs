//! Who is asked next when a person does not answer.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::invalid::{Faults, Invalid};
use crate::span;

/// The most steps of one plan.
pub const STEPS_MAX: usize = 16;
/// The longest name of a user or a group.
const NAME_BYTES_MAX: usize = 256;
/// What stands before the name of a group.
const GROUP: &str = "group:";

/// One step of a plan: who is asked when nobody has answered for so long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub struct Step {
    /// How long after the run was due.
    pub after: Duration,
    /// Who.
    pub to: Target,
}

/// Whom a step asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One person.
    User(String),
    /// The members of a group, in its own way.
    Group(String),
}

impl FromStr for Target {
    type Err = Invalid;

    /// Reads `bob`, or `group:on-call`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (target, name): (fn(String) -> Self, _) = match text.strip_prefix(GROUP) {
            Some(name) => (Self::Group, name),
            None => (Self::User, text),
        };
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('\0') {
            let problem =
                format!("is no name of 1 to {NAME_BYTES_MAX} bytes; write a user such as bob, or group:on-call");
            return Err(Invalid::new("to", problem));
        }
        Ok(target(name.to_owned()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => f.write_str(user),
            Self::Group(name) => write!(f, "{GROUP}{name}"),
        }
    }
}

/// Checks a plan, which stands in `field`: its length, its spans and their order.
pub fn check(field: &str, steps: &[Step]) -> Result<(), Invalid> {
    if steps.len() > STEPS_MAX {
        return Err(Invalid::new(field, format!("has {} steps; at most {STEPS_MAX}", steps.len())));
    }
    let mut faults = Faults::default();
    let mut before = Duration::from_secs(1);
    for (index, Step { after, .. }) in steps.iter().enumerate() {
        let problem = match *after {
            after if after < Duration::from_secs(1) || after > Duration::from_secs(366 * 86_400) => {
                "must be between 1s and 366d, such as 5m".to_owned()
            }
            after if after < before => {
                format!(
                    "is before the step ahead of it, which is after {}; write the steps in order",
                    span::format(before)
                )
            }
            after => {
                before = after;
                continue;
            }
        };
        faults.add(Invalid::new(format!("{field}[{index}].after"), problem));
    }
    faults.finish()
}

/// A plan as a store keeps it: JSON as the HTTP API shows it. No steps are nothing.
pub fn to_stored(steps: &[Step]) -> Option<String> {
    // A list of two texts each always is JSON.
    (!steps.is_empty()).then(|| serde_json::to_string(steps).unwrap_or_default())
}

/// Reads what [`to_stored`] wrote.
pub fn from_stored(text: Option<&str>) -> Result<Vec<Step>, Invalid> {
    let read = |text| serde_json::from_str(text).map_err(|error| Invalid::new("escalate", error.to_string()));
    text.map_or(Ok(Vec::new()), read)
}

/// A step as JSON has it.
#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    after: String,
    to: String,
}

impl TryFrom<Kept> for Step {
    type Error = Invalid;

    fn try_from(kept: Kept) -> Result<Self, Invalid> {
        let after = span::parse(&kept.after).map_err(|problem| Invalid::new("after", problem))?;
        Ok(Self { after, to: kept.to.parse()? })
    }
}

impl From<Step> for Kept {
    fn from(step: Step) -> Self {
        Self { after: span::format(step.after), to: step.to.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(seconds: u64, to: &str) -> Step {
        Step { after: Duration::from_secs(seconds), to: to.parse().expect("a name") }
    }

    #[test]
    fn a_plan_is_kept_as_the_api_shows_it() {
        let steps = [step(300, "bob"), step(900, "group:on-call")];
        let kept = to_stored(&steps).expect("there are steps");
        assert_eq!(kept, r#"[{"after":"5m","to":"bob"},{"after":"15m","to":"group:on-call"}]"#);
        assert_eq!(from_stored(Some(&kept)), Ok(steps.to_vec()));
        assert_eq!((to_stored(&[]), from_stored(None)), (None, Ok(vec![])));
        assert!(from_stored(Some(r#"[{"after":"soon","to":"bob"}]"#)).is_err());
    }

    #[test]
    fn a_plan_that_cannot_be_followed_names_the_step() {
        let wrong = |steps: &[Step]| check("escalate", steps).map_err(|invalid| invalid.to_string());
        assert_eq!(wrong(&[step(60, "bob"), step(60, "eve"), step(61, "bob")]), Ok(()));
        let early = wrong(&[step(60, "bob"), step(59, "eve")]).unwrap_err();
        assert_eq!(
            early,
            "escalate[1].after: is before the step ahead of it, which is after 1m; write the steps in order"
        );
        assert!(wrong(&[step(0, "bob")]).unwrap_err().starts_with("escalate[0].after: must be between"));
        assert!(wrong(&vec![step(60, "bob"); 17]).unwrap_err().contains("17 steps; at most 16"));
        for name in ["", "group:"] {
            assert!(name.parse::<Target>().is_err(), "{name}");
        }
    }
}
