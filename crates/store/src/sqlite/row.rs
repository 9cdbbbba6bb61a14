//! Rows of SQLite.

use jiff::Timestamp;
pub(super) use punctual_core::clock::kept_micros as micros;
use punctual_core::id::ReminderId;
use punctual_core::store::StoreError;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::rows::Fields;
pub(super) use crate::rows::impossible;

pub(super) fn instant(micros: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_microsecond(micros).map_err(impossible)
}

/// Names a failure by whether trying later may help.
pub(super) fn broken(error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode;
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            StoreError::Unavailable("the disk is full; free some space and it goes on by itself".into())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Unavailable("the file is locked by another program".into())
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::OutOfMemory) => {
            StoreError::Unavailable(error.to_string())
        }
        _ => StoreError::Broken(error.to_string()),
    }
}

pub(super) fn get<T: rusqlite::types::FromSql>(row: &Row<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).map_err(broken)
}

impl Fields for Row<'_> {
    fn number(&self, index: usize) -> Result<Option<i64>, StoreError> {
        get(self, index)
    }

    fn text(&self, index: usize) -> Result<Option<&str>, StoreError> {
        match self.get_ref(index).map_err(broken)? {
            ValueRef::Null => Ok(None),
            value => value.as_str().map(Some).map_err(impossible),
        }
    }

    fn instant(&self, index: usize) -> Result<Option<Timestamp>, StoreError> {
        self.number(index)?.map(instant).transpose()
    }

    fn flag(&self, index: usize) -> Result<Option<bool>, StoreError> {
        get(self, index)
    }

    fn maybe_id(&self, index: usize) -> Result<Option<ReminderId>, StoreError> {
        Ok(get::<Option<[u8; 16]>>(self, index)?.map(ReminderId::from_bytes))
    }
}
