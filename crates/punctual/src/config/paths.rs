//! Where things are kept, readable by their owner only.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{ConfigError, Env};

/// The platform's place for a program's data.
pub(super) fn default_data_dir(env: Env<'_>) -> Result<PathBuf, ConfigError> {
    if let Some(base) = env("XDG_DATA_HOME").map(PathBuf::from).filter(|base| base.is_absolute()) {
        return Ok(base.join("punctual"));
    }
    if let Some(base) = env("LOCALAPPDATA").map(PathBuf::from).filter(|_| cfg!(windows)) {
        return Ok(base.join("punctual"));
    }
    match env("HOME") {
        Some(home) => Ok(Path::new(&home).join(".local/share/punctual")),
        None => Err(ConfigError(
            "no data directory: neither HOME nor XDG_DATA_HOME is set; choose one with --data-dir".into(),
        )),
    }
}

/// The platform's place for a program's settings; none where nothing says whose they would be.
pub(super) fn default_config_file(env: Env<'_>) -> Option<PathBuf> {
    let base = |name: &str| env(name).map(PathBuf::from).filter(|base| base.is_absolute());
    let dir = base("XDG_CONFIG_HOME")
        .or_else(|| base("APPDATA").filter(|_| cfg!(windows)))
        .or_else(|| base("HOME").map(|home| home.join(".config")))?;
    Some(dir.join("punctual/config.toml"))
}

/// Makes `dir` and its parents, readable by their owner alone.
pub(crate) fn make_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Writes a file that only its owner can read, whole or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    // A temporary file is made with mode 0600 and the rename keeps it.
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// As [`write_private`], but leaves a file that is already there as it is; returns whether it
/// wrote.
pub(crate) fn write_private_once(path: &Path, text: &str) -> io::Result<bool> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// The permissions others have on `path`, as the last six bits of its mode; 0 means its owner's
/// alone.
pub(crate) fn others_may(path: &Path) -> io::Result<u32> {
    let metadata = fs::metadata(path)?;
    #[cfg(unix)]
    return Ok(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077);
    #[cfg(not(unix))]
    return Ok(metadata.len().min(0) as u32);
}
