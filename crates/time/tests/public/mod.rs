//! The public data beside the checkout, which a plain clone does not have.

use std::path::{Path, PathBuf};

/// The folder `name` of the public data; where there is none, says so and what is left out.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("left out: there is no ../shared/data/{name} beside the checkout");
    None
}

/// Says that a check against the public data ran.
pub(crate) fn ran(what: &str) {
    println!("ran: {what}");
}
