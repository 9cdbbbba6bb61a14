//! How much room is left.

use std::io;
use std::path::Path;

/// The bytes this process may still write where `place` is.
#[cfg(unix)]
pub(crate) fn free_bytes(place: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(place)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The bytes this process may still write where `place` is.
#[cfg(not(unix))]
pub(crate) fn free_bytes(_: &Path) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}
