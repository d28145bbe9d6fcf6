//! The screen as a front end: what it starts with, and what it leaves behind on the terminal.

#[cfg(feature = "tui")]
use std::io::{self, Write};
#[cfg(feature = "tui")]
use std::path::PathBuf;
use std::sync::Arc;

use harness_tui::harness::Handle;
use harness_tui::message::Part;

#[cfg(feature = "tui")]
use super::engine;
use super::{Ground, Stop, session};

#[cfg(feature = "tui")]
pub(super) async fn run(
    ground: &Arc<Ground>,
    handle: Handle,
    content: Vec<Part>,
    ask: session::Ask,
) -> Result<u8, Stop> {
    use harness_tui::harness::Scope;
    use harness_tui::ui::First;
    let ui = ground.live.get().ui.clone();
    let prompt = harness_tui::message::plain_text(&content);
    let prompt = (!prompt.trim().is_empty()).then_some(prompt);
    let (initial_prompt, draft, first) = match ask {
        session::Ask::Nothing => (prompt, None, First::Conversation),
        // Nothing is sent before it is known to which session.
        session::Ask::Which(why) => {
            let scope = if why.is_some() { Scope::All } else { Scope::Folder };
            (None, prompt, First::Picker { scope, why })
        }
        session::Ask::Folder { path, folder } => {
            (None, None, First::Missing { path, folder, prompt })
        }
    };
    let options = harness_tui::ui::Options {
        initial_prompt,
        draft,
        state_dir: ground.paths.state.clone(),
        theme: ui.theme.clone(),
        ascii: ui.ascii,
        mouse: ui.mouse,
        motion: ui.motion,
        project: short(&ground.cwd),
        welcome: true,
        sessions: ground.sessions(),
        shelf: Some(session::shelf(ground)),
        first,
    };
    let exit = harness_tui::ui::run(options, handle, engine::opener(ground))
        .await
        .map_err(|error| Stop::failed(format!("the screen failed: {error:#}")))?;
    if let Some(error) = &exit.failed {
        return Err(Stop::of_harness(error));
    }
    let mut out = io::stdout();
    if ui.on_exit == "last"
        && let Some(answer) = &exit.last_answer
    {
        let _ = writeln!(out, "{}", harness_tui::text::sanitize::sanitize(answer));
    }
    if let Some(hint) = &exit.resume_hint {
        let _ = writeln!(out, "{hint}");
    }
    Ok(u8::try_from(exit.code).unwrap_or(1))
}

#[cfg(not(feature = "tui"))]
pub(super) async fn run(
    _: &Arc<Ground>,
    handle: Handle,
    _: Vec<Part>,
    _: session::Ask,
) -> Result<u8, Stop> {
    handle.close().await;
    Err(Stop::usage("this build has no screen: use -p with a prompt"))
}

/// A folder as people write it: with `~` for their home.
#[cfg(feature = "tui")]
fn short(dir: &std::path::Path) -> String {
    let home = std::env::home_dir().filter(|home| home.parent().is_some());
    match home.and_then(|home| dir.strip_prefix(home).map(PathBuf::from).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => dir.display().to_string(),
    }
}
