//! How the wire's types describe themselves where their shape does not say it.
//!
//! A request is described as it is read: with the words that there are and with no other field. An answer is described so that a client
//! which was generated from the description also reads the answers of a later version, which may have more fields and more words. So
//! an answer has no `enum`: its words are `examples` of a text, and a field that says of what kind an object is stands beside all fields
//! that any kind has. Of `anyOf` an `enum` and a text, which JSON Schema also allows, some generators make the `enum` alone.

use std::any::type_name;
use std::borrow::Cow;
use std::marker::PhantomData;

use punctual_core::group::Mode;
use punctual_core::reminder;
use punctual_core::user::Except;
use punctual_core::words::Words;
use utoipa::openapi::schema::{AdditionalProperties, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::either::{AddressInput, MisfireInput, OffsetInput, Span};
use super::word::Word;

/// Objects of several kinds.
mod kinds;

pub(super) use self::kinds::ScheduleInput;

/// Where to send, in an answer: core's own type.
pub(super) enum Address {}

impl PartialSchema for Address {
    fn schema() -> RefOr<Schema> {
        address().required("channel").required("address").into()
    }
}

impl ToSchema for Address {}

/// A word in an answer.
impl<T: Words> PartialSchema for Word<T> {
    fn schema() -> RefOr<Schema> {
        word(T::WORDS).into()
    }
}

impl<T: Words> ToSchema for Word<T> {
    /// The name of core's enum.
    fn name() -> Cow<'static, str> {
        type_name::<T>().rsplit("::").next().unwrap_or_default().into()
    }
}

/// A word in a request: one of those that there are.
pub(super) struct Choice<T>(PhantomData<T>);

pub(super) type PriorityInput = Choice<reminder::Priority>;
pub(super) type OnUnknownInput = Choice<reminder::OnUnknown>;
pub(super) type QuietExceptInput = Choice<Except>;
pub(super) type GroupModeInput = Choice<Mode>;
type MisfirePolicyInput = Choice<reminder::MisfirePolicy>;

impl<T: Words> PartialSchema for Choice<T> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(T::WORDS.iter().copied())).into()
    }
}

impl<T: Words> ToSchema for Choice<T> {
    fn name() -> Cow<'static, str> {
        format!("{}Input", Word::<T>::name()).into()
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
        let either = OneOfBuilder::new().item(text("`channel:address`, such as `webhook:https://example.org/hook`."));
        either.item(closed(address().required("channel"))).description(Some("Where to send.")).into()
    }
}

impl ToSchema for AddressInput {}

impl PartialSchema for MisfireInput {
    fn schema() -> RefOr<Schema> {
        let policy = || Ref::from_schema_name(MisfirePolicyInput::name());
        let full = ObjectBuilder::new().property("policy", policy()).property("within", Span::schema());
        OneOfBuilder::new().item(policy()).item(closed(full)).into()
    }
}

impl ToSchema for MisfireInput {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((MisfirePolicyInput::name().into(), MisfirePolicyInput::schema()));
    }
}

/// How long before or after an event, in an answer.
pub(super) enum Offset {}

impl PartialSchema for Offset {
    fn schema() -> RefOr<Schema> {
        let words = "Minutes before the start, or a span such as `PT90S`, negative after it; or `{\"after\":\"end\",\"by\":\"10m\"}`.";
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(words)).into()
    }
}

impl ToSchema for Offset {}

impl PartialSchema for OffsetInput {
    fn schema() -> RefOr<Schema> {
        let minutes = ObjectBuilder::new().schema_type(Type::Number);
        let of = |name: &str| {
            let ends = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["start", "end"]));
            closed(
                ObjectBuilder::new().property(name, ends).required(name).property("by", Span::schema()).required("by"),
            )
        };
        OneOfBuilder::new()
            .item(minutes.description(Some("Minutes before the start; negative: after it.")))
            .item(text("A span before the start, such as `PT15M` or `1d`; with a `-` after it. Also `end+10m`."))
            .item(of("before"))
            .item(of("after"))
            .description(Some("How long before or after an event."))
            .into()
    }
}

impl ToSchema for OffsetInput {}

/// An object with an address.
fn address() -> ObjectBuilder {
    ObjectBuilder::new()
        .property("channel", text("The channel's name, such as `webhook`."))
        .property("address", text("The person's place in it."))
}

/// An object of a request: a field that it does not name is refused.
fn closed(object: ObjectBuilder) -> ObjectBuilder {
    object.additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

/// A word of an answer.
fn word(known: &[&str]) -> Object {
    let object = ObjectBuilder::new().schema_type(Type::String).examples(known.iter().copied());
    object.description(Some("One of the examples; a later version may know more words.")).build()
}

fn text(description: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).build()
}
