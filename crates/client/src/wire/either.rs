//! Fields that people may write in more than one way.

use std::fmt;
use std::marker::PhantomData;

use punctual_core::invalid::Invalid;
use punctual_core::reminder::{Address, MisfirePolicy};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::word::Word;

/// Where to send: `{"channel","address"}`, or `channel:address` as the command line writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AddressInput {
    /// The channel's name, such as `webhook`.
    pub channel: Option<String>,
    /// A person's place in that channel, such as a URL.
    pub address: Option<String>,
}

/// What to do with runs that were missed: `{"policy","within"}`, or the policy's name alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum MisfireInput {
    /// The policy's name.
    Policy(Word<MisfirePolicy>),
    /// The policy, and how long after its time a run is still sent.
    Full {
        /// `latest`, `all` or `skip`.
        policy: Option<Word<MisfirePolicy>>,
        /// A span such as `24h`.
        within: Option<Span>,
    },
}

/// A span such as `10m`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Span(pub String);

/// How long before or after an event: minutes before its start, a span such as `PT15M` or `-30m`, or `{"after":"end","by":"10m"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OffsetInput(pub Value);

impl From<Address> for AddressInput {
    fn from(Address { channel, address }: Address) -> Self {
        Self { channel: Some(channel), address: Some(address) }
    }
}

impl<'de> Deserialize<'de> for AddressInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            channel: Option<String>,
            address: Option<String>,
        }
        deserializer.deserialize_any(TextOr {
            expected: "an object such as {\"channel\":\"console\",\"address\":\"\"}",
            text: |text| {
                let address: Address = text.parse().map_err(|invalid: Invalid| invalid.problem)?;
                Ok(address.into())
            },
            object: |Fields { channel, address }| Self { channel, address },
            of: PhantomData,
        })
    }
}

impl<'de> Deserialize<'de> for MisfireInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            policy: Option<Word<MisfirePolicy>>,
            within: Option<Span>,
        }
        deserializer.deserialize_any(TextOr {
            expected: "an object such as {\"policy\":\"latest\",\"within\":\"24h\"}",
            text: |word| Ok(Self::Policy(Word::new(word))),
            object: |Fields { policy, within }| Self::Full { policy, within },
            of: PhantomData,
        })
    }
}

/// Reads a text, or else an object with the fields of `O`.
struct TextOr<T, O> {
    expected: &'static str,
    text: fn(&str) -> Result<T, String>,
    object: fn(O) -> T,
    of: PhantomData<O>,
}

impl<'de, T, O: Deserialize<'de>> Visitor<'de> for TextOr<T, O> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.text)(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        O::deserialize(MapAccessDeserializer::new(map)).map(self.object)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a span such as \"10m\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                Ok(Span(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Span, E> {
                Err(no_unit(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Span, E> {
                Err(no_unit(number))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Span, E> {
                Err(no_unit(number))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

fn no_unit<E: Error>(number: impl fmt::Display) -> E {
    E::custom(format_args!("`{number}` has no unit; write text such as \"10m\""))
}
