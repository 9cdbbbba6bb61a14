//! Rows as columns, which is how a statement takes many of them.

use std::collections::HashSet;

use punctual_core::store::StoreError;
use rusqlite::types::ValueRef;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::super::fault::Fault;
use super::super::pool::Param;
use super::super::row::{At, clean};
use super::table::{Kind, Table};

/// Some rows of one table.
pub(super) struct Columns {
    columns: Vec<Values>,
    n_rows: usize,
}

enum Values {
    Uuid(Vec<Option<Uuid>>),
    Text(Vec<Option<String>>),
    Small(Vec<Option<i16>>),
    Int(Vec<Option<i32>>),
    Big(Vec<Option<i64>>),
    Bool(Vec<Option<bool>>),
    At(Vec<Option<At>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl Columns {
    pub(super) fn new(table: &Table) -> Self {
        let values = |kind: Kind| match kind {
            Kind::Uuid => Values::Uuid(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
            Kind::Small => Values::Small(Vec::new()),
            Kind::Int => Values::Int(Vec::new()),
            Kind::Big => Values::Big(Vec::new()),
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::At => Values::At(Vec::new()),
            Kind::Bytes => Values::Bytes(Vec::new()),
        };
        Self { columns: (table.columns)().iter().map(|column| values(column.kind)).collect(), n_rows: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.n_rows
    }

    /// Adds a row.
    pub(super) fn push_all(&mut self, row: &rusqlite::Row<'_>) -> Result<(), Fault> {
        for (index, values) in self.columns.iter_mut().enumerate() {
            let value = row.get_ref(index).map_err(broken)?;
            values.push(value).map_err(|error| broken(format!("column {index}: {error}")))?;
        }
        self.n_rows += 1;
        Ok(())
    }

    /// Adds a row whose first column is one of `reminders`; says whether it did.
    pub(super) fn push(&mut self, row: &rusqlite::Row<'_>, reminders: &HashSet<[u8; 16]>) -> Result<bool, Fault> {
        let id: [u8; 16] = row.get(0).map_err(broken)?;
        if !reminders.contains(&id) {
            return Ok(false);
        }
        self.push_all(row)?;
        Ok(true)
    }

    /// The first and the last id, if the first column has ids.
    pub(super) fn key_range(&self) -> Option<([u8; 16], [u8; 16])> {
        let Some(Values::Uuid(ids)) = self.columns.first() else { return None };
        let id = |id: Option<&Option<Uuid>>| id.copied().flatten().map(Uuid::into_bytes);
        Some((id(ids.first())?, id(ids.last())?))
    }

    pub(super) fn clear(&mut self) {
        self.columns.clear();
        self.n_rows = 0;
    }

    pub(super) fn params(&self) -> Vec<Param<'_>> {
        self.columns.iter().map(Values::param).collect()
    }
}

impl Values {
    fn push(&mut self, value: ValueRef<'_>) -> Result<(), String> {
        let number = || value.as_i64_or_null().map_err(|error| error.to_string());
        match self {
            Self::Uuid(values) => values.push(match value.as_blob_or_null().map_err(|error| error.to_string())? {
                Some(bytes) => Some(Uuid::from_slice(bytes).map_err(|error| error.to_string())?),
                None => None,
            }),
            // A receiver's answer may hold anything.
            Self::Text(values) => {
                let text = value.as_str_or_null().map_err(|error| error.to_string())?;
                values.push(text.map(|text| clean(text).into_owned()));
            }
            Self::Small(values) => {
                values.push(number()?.map(i16::try_from).transpose().map_err(|error| error.to_string())?)
            }
            Self::Int(values) => {
                values.push(number()?.map(i32::try_from).transpose().map_err(|error| error.to_string())?)
            }
            Self::Big(values) => values.push(number()?),
            Self::Bool(values) => values.push(number()?.map(|number| number != 0)),
            Self::At(values) => values.push(number()?.map(At::from_micros)),
            Self::Bytes(values) => {
                let bytes = value.as_blob_or_null().map_err(|error| error.to_string())?;
                values.push(bytes.map(<[u8]>::to_vec));
            }
        }
        Ok(())
    }

    fn param(&self) -> Param<'_> {
        let (values, kind): (&(dyn ToSql + Sync), Type) = match self {
            Self::Uuid(values) => (values, Type::UUID_ARRAY),
            Self::Text(values) => (values, Type::TEXT_ARRAY),
            Self::Small(values) => (values, Type::INT2_ARRAY),
            Self::Int(values) => (values, Type::INT4_ARRAY),
            Self::Big(values) => (values, Type::INT8_ARRAY),
            Self::Bool(values) => (values, Type::BOOL_ARRAY),
            Self::At(values) => (values, Type::TIMESTAMPTZ_ARRAY),
            Self::Bytes(values) => (values, Type::BYTEA_ARRAY),
        };
        (values, kind)
    }
}

fn broken(error: impl std::fmt::Display) -> Fault {
    Fault::Store(StoreError::Broken(format!("a row of the file cannot be read: {error}")))
}
