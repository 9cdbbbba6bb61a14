//! What pages are made of. Each part is a function that returns markup; a page puts them together.

/// Forms, which prove that they are ours.
mod form;

/// Instants, with the zone of the reminder beside where it differs.
mod instant;

/// States: a shape and a word before any colour.
mod state;

/// Pages on which there is nothing yet teach what they are for.
mod empty;

/// Plots, drawn as SVG, with the numbers beside.
pub(crate) mod plot;

/// Fields of forms: a label, what may be written, and what is wrong with what was.
mod fields;

/// A list whose order matters.
mod order;

/// The way to the rest of a list.
mod more;

/// Quiet hours as a bar of 24 hours.
mod hours;

pub(crate) use self::empty::{Empty, empty};
pub(crate) use self::fields::{Field, Filled, Refusal, Tried};
pub(crate) use self::form::{ask, confirm, form, seen, unfold};
pub(crate) use self::hours::{Stretch, bar, minute_of_day};
pub(crate) use self::instant::{instant, lateness, there, with_zone};
pub(crate) use self::more::{asked, more};
pub(crate) use self::order::{Entry, order, ordered};
pub(crate) use self::state::{Shape, of_reminder, of_run, priority, state};
