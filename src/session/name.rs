//! Where a session's file lies and what it is called.
//!
//! The folder name is only a shelf mark and may stand for two working directories; the header's
//! `cwd` is the truth. Names keep within what every file system takes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::SessionError;
use crate::message::{EntryId, SessionId};

/// Longest folder name. File systems take 255 bytes; the rest is left for suffixes.
const MAX_NAME_BYTES: usize = 200;
/// Hex digits of the hash that tells shortened names apart: 64 bits.
const HASH_BYTES: usize = 8;
/// Longest session id. With the time in front the file name stays under [`MAX_NAME_BYTES`].
pub(super) const MAX_ID_CHARS: usize = 128;
/// Tries for a short entry id before a long one is taken.
const SHORT_ID_TRIES: usize = 100;
/// Hex digits of a short entry id.
const SHORT_ID_CHARS: usize = 8;

/// Text of a path without loss: bytes that are no UTF-8 become `%XX`. Two spellings of a path that
/// differ only in doubled or trailing separators have the same text.
pub fn path_text(path: &Path) -> String {
    let path: PathBuf = path.components().collect();
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// The folder of a working directory: one leading separator dropped, `/`, `\` and `:` turned into
/// `-`, two dashes on both sides, at most 200 bytes.
pub fn folder_name(cwd: &Path) -> String {
    let text = path_text(cwd);
    let inner = text.strip_prefix(['/', '\\']).unwrap_or(&text).replace(['/', '\\', ':'], "-");
    let name = format!("--{inner}--");
    if name.len() <= MAX_NAME_BYTES {
        return name;
    }
    let hash = hex(&Sha256::digest(text.as_bytes()), HASH_BYTES);
    // Room for the dash before the hash and the two dashes at the end.
    let keep = name.floor_char_boundary(MAX_NAME_BYTES - hash.len() - 3);
    format!("{}-{hash}--", name.get(..keep).unwrap_or_default())
}

/// The full path of a new session's file.
pub(super) fn file_path(root: &Path, cwd: &Path, created_ms: i64, id: &SessionId) -> PathBuf {
    let time = iso(created_ms).replace([':', '.'], "-");
    root.join(folder_name(cwd)).join(format!("{time}_{id}.jsonl"))
}

/// Checks an id that a person or a program chose.
///
/// # Errors
/// [`SessionError::BadId`] when it could not be part of a file name everywhere.
pub fn check_id(id: &str) -> Result<(), SessionError> {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = id.len() <= MAX_ID_CHARS;
    if fits && edge(id.chars().next()) && edge(id.chars().next_back()) && id.chars().all(inner) {
        return Ok(());
    }
    Err(SessionError::BadId { id: id.chars().take(MAX_ID_CHARS).collect() })
}

/// ISO-8601 in UTC with milliseconds. Times a calendar cannot hold become its first moment.
pub(super) fn iso(ms: i64) -> String {
    let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Unix milliseconds of an ISO-8601 time.
pub(super) fn parse_iso(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

/// A new entry id: 8 hex digits that are not taken, or a whole UUID when luck fails.
pub(super) fn entry_id(
    mut taken: impl FnMut(&EntryId) -> bool,
    mut random: impl FnMut() -> Uuid,
) -> EntryId {
    for _ in 0..SHORT_ID_TRIES {
        let text = random().simple().to_string();
        let id = EntryId::from(text.get(..SHORT_ID_CHARS).unwrap_or(&text));
        if !taken(&id) {
            return id;
        }
    }
    EntryId::from(random().to_string())
}

/// The first `count` bytes as hex digits.
pub(super) fn hex(bytes: &[u8], count: usize) -> String {
    let mut text = String::with_capacity(count * 2);
    for byte in bytes.iter().take(count) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_folder_is_named_after_the_working_directory() {
        assert_eq!(folder_name(Path::new("/home/ann/my app")), "--home-ann-my app--");
        assert_eq!(folder_name(Path::new("/a/b-c")), folder_name(Path::new("/a-b/c")));
        assert_eq!(folder_name(Path::new("/x:y\\z/")), "--x-y-z--");
        assert_eq!(folder_name(Path::new(OsStr::from_bytes(b"/caf\xc3"))), "--caf%C3--");
    }

    #[test]
    fn long_names_are_shortened_with_a_hash_that_tells_them_apart() {
        let (one, two) = (format!("/{}1", "é".repeat(150)), format!("/{}2", "é".repeat(150)));
        let (one, two) = (folder_name(Path::new(&one)), folder_name(Path::new(&two)));
        assert!(one.len() <= MAX_NAME_BYTES && one.starts_with("--éé") && one.ends_with("--"));
        assert_ne!(one, two);
    }

    #[test]
    fn a_file_is_named_by_time_and_id() {
        let path = file_path(Path::new("/s"), Path::new("/w"), 1_796_057_462_123, &"abc".into());
        assert_eq!(path, Path::new("/s/--w--/2026-11-30T16-51-02-123Z_abc.jsonl"));
        assert_eq!(parse_iso("2026-11-30T16:51:02.123Z"), Some(1_796_057_462_123));
        assert_eq!(iso(i64::MAX), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn ids_that_cannot_name_a_file_are_refused() {
        for bad in ["", "-a", "a-", "a/b", "a ", "é", &"x".repeat(129)] {
            assert!(matches!(check_id(bad), Err(SessionError::BadId { .. })), "{bad:?}");
        }
        for good in ["a", "a.b_c-d", "0"] {
            assert!(check_id(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn a_taken_entry_id_is_tried_again_and_then_a_whole_uuid_is_used() {
        let mut draws = [1u128 << 96, 1 << 96, 2 << 96].into_iter().map(Uuid::from_u128);
        let id = entry_id(|id| id.as_str() == "00000001", || draws.next().unwrap());
        assert_eq!(id.as_str(), "00000002");
        let id = entry_id(|id| id.as_str().len() == 8, || Uuid::from_u128(7));
        assert_eq!(id.as_str(), "00000000-0000-0000-0000-000000000007");
    }
}
