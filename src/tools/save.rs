//! Replaces a file of the project as a whole or not at all.
//!
//! A temporary file in the same directory, a sync, a rename: a crash leaves the old or the new
//! content. The old mode and owner go over to the new file; a new file gets what the umask says,
//! because it is the user's file and not ours.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Permission bits, with set-user-id and its like.
const MODE_BITS: u32 = 0o7777;
/// What a new file asks for; the umask takes away from it.
const NEW_FILE_MODE: u32 = 0o666;
/// Until it has its content, nobody else may look.
const TEMPORARY_MODE: u32 = 0o600;

/// Writes the content to the real path. Parent directories are created.
///
/// # Errors
/// Those of the file system; the old file is then untouched.
pub(crate) fn replace(real: &Path, content: &[u8]) -> io::Result<()> {
    let dir = real.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    let old = match fs::metadata(real) {
        Ok(facts) => Some(facts),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if old.as_ref().is_some_and(|facts| facts.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let mode = if old.is_some() { TEMPORARY_MODE } else { NEW_FILE_MODE };
    let mut file = tempfile::Builder::new()
        .prefix(".harness-tui-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(dir)?;
    file.write_all(content)?;
    if let Some(facts) = old {
        // Only root may give files away; for others the owner stays who writes.
        let _ = fchown(file.as_file(), Some(facts.uid()), Some(facts.gid()));
        file.as_file().set_permissions(Permissions::from_mode(facts.mode() & MODE_BITS))?;
    }
    file.as_file().sync_all()?;
    file.persist(real).map_err(|error| error.error)?;
    File::open(dir)?.sync_all()
}
