//! Objects of several kinds: schedules, and what was understood of a text.

use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::{closed, text, word};
use crate::wire::reminder::Schedule;
use crate::wire::understood::{Reading, Understood};

/// When a reminder is due, in a request.
pub(in crate::wire) enum ScheduleInput {}

impl PartialSchema for ScheduleInput {
    fn schema() -> RefOr<Schema> {
        let one_of = |either: OneOfBuilder, (name, fields): (&str, ObjectBuilder)| {
            let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([name]));
            either.item(closed(fields.property("type", word).required("type")))
        };
        kinds().into_iter().fold(OneOfBuilder::new(), one_of).description(Some("When a reminder is due.")).into()
    }
}

impl ToSchema for ScheduleInput {}

/// When a reminder is due, in an answer.
impl PartialSchema for Schedule {
    fn schema() -> RefOr<Schema> {
        let names = kinds().map(|(name, _)| name);
        let fields = kinds().into_iter().flat_map(|(_, fields)| fields.build().properties);
        let object = ObjectBuilder::new().property("type", word(&names)).required("type");
        let object = fields.fold(object, |object, (name, schema)| object.property(name, schema));
        // Two kinds have one.
        let anchor = "Of an interval `start` or `ack`; of rules the local time that they are counted from.";
        object.property("anchor", text(anchor)).description(Some("When a reminder is due.")).into()
    }
}

impl ToSchema for Schedule {}

impl PartialSchema for Understood {
    fn schema() -> RefOr<Schema> {
        let seconds = ObjectBuilder::new().schema_type(Type::Integer).description(Some("How long a duration is."));
        ObjectBuilder::new()
            .property("kind", word(&["instant", "recurring", "interval", "duration", "none"]))
            .required("kind")
            .property("at", text("When an instant is, or when a duration that begins now is over."))
            .property("from", text("When an interval begins."))
            .property("to", text("When an interval ends."))
            .property("seconds", seconds)
            .property("schedule", Ref::from_schema_name(Schedule::name()))
            .property("next", texts("The first runs of a schedule; fewer where it ends before."))
            .property(
                "grain",
                text("How exactly an instant or the beginning of an interval was said, such as `minute`."),
            )
            .property("rest", text("The text without the time."))
            .property("summary", text("The time in the text's own language."))
            .property("lang", text("The language it was understood in."))
            .property("alternatives", ArrayBuilder::new().items(Ref::from_schema_name(Reading::name())))
            .property("reason", text("Why the text says no time, for the person who wrote it."))
            .property("suggestion", Ref::from_schema_name(Reading::name()))
            .description(Some("What was understood. Instants have their local offset."))
            .into()
    }
}

impl ToSchema for Understood {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Schedule::name().into(), Schedule::schema()));
        schemas.push((Reading::name().into(), Reading::schema()));
    }
}

/// The types of schedules, each with its fields.
fn kinds() -> [(&'static str, ObjectBuilder); 7] {
    let with = |field: &str, description: &str| ObjectBuilder::new().property(field, text(description)).required(field);
    let once = with("at", "An instant, a span from now such as `5m`, or words such as `tomorrow at 8`.");
    let interval = with("every", "A span such as `2h`.")
        .property("anchor", text("`start`, or `ack`: counted from the last answer."))
        .property("origin", text("Since when it is counted."));
    let daily = || with("time", "A time of day such as `08:00`.");
    let weekly = daily().property("days", texts("Such as `mon`, `weekdays` or `weekends`.")).required("days");
    let cron = with("expr", "A cron expression such as `0 8 * * 1-5`.");
    let words = "Words such as `workdays at 8, weekends at 10`; what was made of calendar rules has none.";
    let smart = ObjectBuilder::new()
        .property("text", text(words))
        .property("rules", texts("The same as rules of RFC 5545; the server works them out."))
        .property("dates", texts("Single days beside the rules."))
        .property("anchor", text("The local time the rules are counted from."));
    let rrule = with("ical", "The lines of a calendar entry (RFC 5545).");
    [
        ("once", once),
        ("interval", bounded(interval)),
        ("daily", bounded(daily())),
        ("weekly", bounded(weekly)),
        ("cron", bounded(cron)),
        ("smart", bounded(smart)),
        ("rrule", bounded(rrule)),
    ]
}

/// A type of schedules that come again and again.
fn bounded(kind: ObjectBuilder) -> ObjectBuilder {
    let count: Object =
        ObjectBuilder::new().schema_type(Type::Integer).description(Some("How many times at most.")).build();
    kind.property("starts_at", text("Nothing before this."))
        .property("ends_at", text("Nothing after this."))
        .property("count", count)
        .property("except", texts("Not on these: `weekends`, `sat`, `july`, `2026-12-25`, `2026-12-24/2027-01-06`."))
}

fn texts(description: &str) -> ArrayBuilder {
    ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String)).description(Some(description))
}
