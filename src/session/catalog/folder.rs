//! Which folder a session works in after its own is gone: the one a person chose, kept in the file.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde_json::{Value, json};

use crate::ports::FileSystem;
use crate::session::load::{Line, each_line};
use crate::session::{Body, name, parse};

/// The custom entry that keeps settings of a session.
pub const SETTINGS: &str = "harness-tui.settings";

/// The entry that says where a session works from now on.
pub fn folder_choice(folder: &Path) -> Body {
    let data = json!({"v": 1, "cwd": name::path_text(folder)});
    Body::Custom { custom_type: SETTINGS.to_owned(), data: Some(data) }
}

/// The folder that was chosen last for the session at `path`. Reads the whole file, so it is asked
/// only when the folder of the header is gone.
pub fn chosen_folder(files: &dyn FileSystem, path: &Path) -> Option<PathBuf> {
    let mut chosen = None;
    let finder = memmem::Finder::new(SETTINGS);
    let read = each_line(files, path, 0, &mut |line| {
        if let Line::Read { bytes, .. } = line
            && finder.find(bytes).is_some()
            && let Some(folder) = of_line(bytes)
        {
            chosen = Some(folder);
        }
        ControlFlow::Continue(())
    });
    read.ok().and(chosen)
}

fn of_line(line: &[u8]) -> Option<PathBuf> {
    match parse::entry(line)?.body {
        Body::Custom { custom_type, data: Some(data) } if custom_type == SETTINGS => {
            let folder = PathBuf::from(data.get("cwd").and_then(Value::as_str)?);
            folder.is_absolute().then_some(folder)
        }
        _ => None,
    }
}
