//! How the wire's types describe themselves where their shape does not say it.

use std::any::type_name;
use std::borrow::Cow;

use punctual_core::words::Words;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::either::{AddressInput, MisfireInput, Span};
use super::reminder::Schedule;
use super::word::{MisfirePolicy, Word};

/// Where to send, in an answer: core's own type.
pub(super) enum Address {}

impl PartialSchema for Address {
    fn schema() -> RefOr<Schema> {
        object(
            &[
                ("channel", text("The channel's name, such as `webhook`.")),
                ("address", text("The person's place in it.")),
            ],
            &["channel", "address"],
        )
    }
}

impl ToSchema for Address {}

impl<T: Words> PartialSchema for Word<T> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(T::WORDS.iter().copied())).into()
    }
}

impl<T: Words> ToSchema for Word<T> {
    /// The name of core's enum.
    fn name() -> Cow<'static, str> {
        type_name::<T>().rsplit("::").next().unwrap_or_default().into()
    }
}

impl PartialSchema for Span {
    fn schema() -> RefOr<Schema> {
        text("A span such as `10m` or `24h`.").into()
    }
}

impl ToSchema for Span {}

impl PartialSchema for AddressInput {
    fn schema() -> RefOr<Schema> {
        let fields = [
            ("channel", text("The channel's name, such as `webhook`.")),
            ("address", text("The person's place in it.")),
        ];
        let either = OneOfBuilder::new().item(text("`channel:address`, such as `webhook:https://example.org/hook`."));
        either.item(object(&fields, &["channel"])).description(Some("Where to send.")).into()
    }
}

impl ToSchema for AddressInput {}

impl PartialSchema for MisfireInput {
    fn schema() -> RefOr<Schema> {
        let policy = || Ref::from_schema_name(<MisfirePolicy as ToSchema>::name());
        let full = ObjectBuilder::new().property("policy", policy()).property("within", Span::schema());
        OneOfBuilder::new()
            .item(policy())
            .item(full.additional_properties(Some(AdditionalProperties::FreeForm(false))))
            .into()
    }
}

impl ToSchema for MisfireInput {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((<MisfirePolicy as ToSchema>::name().into(), MisfirePolicy::schema()));
    }
}

impl PartialSchema for Schedule {
    fn schema() -> RefOr<Schema> {
        let texts = || ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String));
        let bounds = |kind: ObjectBuilder| {
            let except = texts()
                .description(Some("Not on these: `weekends`, `sat`, `july`, `2026-12-25`, `2026-12-24/2027-01-06`."));
            kind.property("starts_at", text("Nothing before this."))
                .property("ends_at", text("Nothing after this."))
                .property(
                    "count",
                    ObjectBuilder::new().schema_type(Type::Integer).description(Some("How many times at most.")),
                )
                .property("except", except)
        };
        let time = || text("A time of day such as `08:00`.");
        let interval = kind("interval", &[("every", text("A span such as `2h`."))])
            .property("anchor", text("`start`, or `ack`: counted from the last answer."))
            .property("origin", text("Since when it is counted."));
        let smart = kind("smart", &[])
            .property(
                "text",
                text("Words such as `workdays at 8, weekends at 10`; what was made of calendar rules has none."),
            )
            .property("rules", texts().description(Some("The same as rules of RFC 5545; the server works them out.")))
            .property("dates", texts().description(Some("Single days beside the rules.")))
            .property("anchor", text("The local time the rules are counted from."));
        let weekly = kind("weekly", &[("time", time())]).property("days", texts()).required("days");
        let once = kind(
            "once",
            &[("at", text("An instant, a span from now such as `5m`, or words such as `tomorrow at 8`."))],
        );
        [
            interval,
            kind("daily", &[("time", time())]),
            weekly,
            kind("cron", &[("expr", text("A cron expression such as `0 8 * * 1-5`."))]),
            smart,
            kind("rrule", &[("ical", text("The lines of a calendar entry (RFC 5545)."))]),
        ]
        .into_iter()
        .fold(OneOfBuilder::new().item(once), |either, kind| either.item(bounds(kind)))
        .description(Some("When a reminder is due."))
        .into()
    }
}

impl ToSchema for Schedule {}

/// A type of schedules with the fields that it must have.
fn kind(name: &str, fields: &[(&str, Object)]) -> ObjectBuilder {
    let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([name]));
    let kind = ObjectBuilder::new().property("type", word).required("type");
    let kind = kind.additional_properties(Some(AdditionalProperties::FreeForm(false)));
    fields.iter().fold(kind, |kind, (field, schema)| kind.property(*field, schema.clone()).required(*field))
}

fn object(fields: &[(&str, Object)], required: &[&str]) -> RefOr<Schema> {
    let object = ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(false)));
    let object = fields.iter().fold(object, |object, (field, schema)| object.property(*field, schema.clone()));
    required.iter().fold(object, |object, field| object.required(*field)).into()
}

fn text(description: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).build()
}
