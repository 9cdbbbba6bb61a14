//! Rows as values, and back.

use std::borrow::Cow;
use std::error::Error;

use bytes::BytesMut;
use jiff::Timestamp;
use punctual_core::clock::kept_micros;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::store::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};
use uuid::Uuid;

use crate::rows::Fields;
pub(super) use crate::rows::impossible;

/// Microseconds from 1970 to 2000, where PostgreSQL counts from.
const EPOCH: i64 = 946_684_800_000_000;
/// The first instant PostgreSQL knows, in its microseconds: 4713 BC.
const FIRST: i64 = -211_813_488_000_000_000;

/// An instant in whole microseconds, which is what PostgreSQL keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At(i64);

pub(super) fn micros(at: Timestamp) -> At {
    At(kept_micros(at))
}

impl At {
    /// Microseconds since 1970.
    pub(super) fn number(self) -> i64 {
        self.0
    }

    /// Microseconds since 1970, as a file keeps them.
    pub(super) fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// The number that goes to the server.
    pub(super) fn sent(self) -> i64 {
        let since_2000 = self.0 - EPOCH;
        // i64::MIN is how PostgreSQL writes -infinity, which is as good as any instant before its first.
        if since_2000 < FIRST { i64::MIN } else { since_2000 }
    }

    fn instant(self) -> Timestamp {
        // The last instant there is was rounded up, too; and PostgreSQL knows more years than jiff.
        let end = if self.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
        Timestamp::from_microsecond(self.0).unwrap_or(end)
    }
}

impl ToSql for At {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.sent().to_sql(&Type::INT8, out)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for At {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(i64::from_sql(&Type::INT8, raw)?.saturating_add(EPOCH)))
    }

    accepts!(TIMESTAMPTZ);
}

impl Fields for Row {
    fn number(&self, index: usize) -> Result<Option<i64>, StoreError> {
        match self.columns().get(index).map(|column| column.type_()) {
            Some(&Type::INT2) => Ok(get::<Option<i16>>(self, index)?.map(i64::from)),
            Some(&Type::INT4) => Ok(get::<Option<i32>>(self, index)?.map(i64::from)),
            _ => get(self, index),
        }
    }

    fn text(&self, index: usize) -> Result<Option<&str>, StoreError> {
        get(self, index)
    }

    fn instant(&self, index: usize) -> Result<Option<Timestamp>, StoreError> {
        optional_instant(self, index)
    }

    fn flag(&self, index: usize) -> Result<Option<bool>, StoreError> {
        get(self, index)
    }

    fn maybe_id(&self, index: usize) -> Result<Option<ReminderId>, StoreError> {
        Ok(get::<Option<Uuid>>(self, index)?.map(|id| ReminderId::from_bytes(id.into_bytes())))
    }
}

pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, index: usize) -> Result<T, StoreError> {
    row.try_get(index).map_err(|error| impossible(super::url::chain(&error)))
}

/// A count as the database keeps it. None of them comes near the limit in a lifetime.
pub(super) fn int(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// A text from outside without the one character that PostgreSQL cannot keep: a receiver's odd answer must not make its
/// result unwritable.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

pub(super) fn uuid(id: ReminderId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(super) fn reminder_id(row: &Row, index: usize) -> Result<ReminderId, StoreError> {
    get::<Uuid>(row, index).map(|id| ReminderId::from_bytes(id.into_bytes()))
}

pub(super) fn occurrence_id(row: &Row, first: usize) -> Result<OccurrenceId, StoreError> {
    crate::rows::Reader::new(row, first).occurrence_id()
}

pub(super) fn instant(row: &Row, index: usize) -> Result<Timestamp, StoreError> {
    get::<At>(row, index).map(At::instant)
}

pub(super) fn optional_instant(row: &Row, index: usize) -> Result<Option<Timestamp>, StoreError> {
    Ok(get::<Option<At>>(row, index)?.map(At::instant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_time_can_be_written_and_read() {
        for at in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
            let mut out = BytesMut::new();
            micros(at).to_sql(&Type::TIMESTAMPTZ, &mut out).unwrap();
            assert_eq!(At::from_sql(&Type::TIMESTAMPTZ, &out).unwrap().instant(), at);
        }
    }
}
