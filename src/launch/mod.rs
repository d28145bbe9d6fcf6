//! What the command line means: config, model, tools, prompt, session and front end, put together.
//!
//! The only place that picks concrete things. Front ends get a handle and a way to open others.

mod engine;
mod models;
mod numbers;
mod prompt;
mod screen;
mod session;
mod sessions;
mod signals;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use harness_tui::config::{self, Config, Live, Paths, Watching};
use harness_tui::harness::{Handle, HarnessError};
use harness_tui::headless;
use harness_tui::message::Part;
use harness_tui::policy::Profile;

use crate::cli::{Cli, OutputMode, Sub};

/// A start that cannot go on: the exit code and what to tell.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl Stop {
    fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    fn of_harness(error: &HarnessError) -> Self {
        use harness_tui::harness::ErrorCode;
        let code = match error.code {
            ErrorCode::Auth | ErrorCode::InvalidArgument => 4,
            _ => 1,
        };
        Self { code, message: error.message.clone() }
    }
}

/// Everything that is the same for every session this process opens.
#[derive(Debug)]
struct Ground {
    cli: Cli,
    paths: Paths,
    live: Live,
    cwd: PathBuf,
    headless: bool,
    /// The engines that were opened, to tell them what the config file says.
    engines: Mutex<Vec<Handle>>,
    /// Keeps the config file watched.
    _watching: Watching,
}

impl Ground {
    /// Where sessions are kept.
    fn sessions(&self) -> PathBuf {
        self.cli.session_dir.clone().unwrap_or_else(|| self.paths.sessions())
    }
}

/// Runs the program to its exit code.
///
/// # Errors
/// What stopped it before a front end could say so itself.
pub(crate) async fn run(cli: Cli) -> Result<u8, Stop> {
    let _log = start_log(&cli)?;
    if let Some(Sub::Sessions(sessions)) = &cli.command {
        return sessions::run(&cli, sessions);
    }
    let paths = Paths::find(std::env::var_os("HARNESS_TUI_HOME")).map_err(Stop::failed)?;
    if let Some(file) = cli.config.as_ref().filter(|file| !file.exists()) {
        return Err(Stop::usage(format!("there is no config file {}", file.display())));
    }
    let config_file = cli.config.clone().unwrap_or_else(|| paths.config_file());
    let (loaded, mut notices) = match config::load(&config_file) {
        Ok(loaded) => (loaded.config, loaded.notices),
        // What it said about approvals is unknown, so nothing runs until somebody says it again.
        Err(error) => {
            let closed = Config { approval: Some(Profile::ReadOnly), ..Config::default() };
            let text = "the defaults hold and the approval profile is read-only until it is mended";
            (closed, vec![format!("{error}; {text}")])
        }
    };
    let (live, watching, problem) = config::watch(&config_file, loaded);
    notices.extend(problem);
    let cwd = working_dir(&cli)?;
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let headless = cli.print || cli.mode.is_some() || !terminal;
    if cli.resume && headless {
        return Err(Stop::usage("--resume needs a terminal: name the session with --session"));
    }
    let content = prompt::content(&cli.prompt, &cwd).map_err(Stop::usage)?;
    let ground = Arc::new(Ground {
        cli,
        paths,
        live,
        cwd,
        headless,
        engines: Mutex::default(),
        _watching: watching,
    });
    tokio::spawn(follow_config(Arc::clone(&ground)));
    // What is wrong with the command line is said before a session is touched.
    engine::chosen_tools(&ground.cli).map_err(|error| Stop::usage(error.message))?;
    prompt::given(&ground).map_err(|error| Stop::usage(error.message))?;
    let (first, ask) = session::first(&ground)?;
    let tail = if headless { None } else { first.tail() };
    let handle = match (tail, first) {
        (Some(tail), session::Found::At(path)) => engine::start_after(&ground, tail, path, notices),
        (_, first) => {
            let session = first.open(&ground)?;
            engine::start(&ground, session, notices).map_err(|error| Stop::of_harness(&error))?
        }
    };
    if let Some(name) = ground.cli.name.clone() {
        engine::name_it(&handle, name).await?;
    }
    if headless {
        run_headless(&ground, &handle, content).await
    } else {
        screen::run(&ground, handle, content, ask).await
    }
}

/// Tells every open session what an edit of the config came to.
async fn follow_config(ground: Arc<Ground>) {
    let mut live = ground.live.clone();
    loop {
        let notices = live.changed().await;
        let engines = ground.engines.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for handle in &engines {
            notices.iter().for_each(|text| handle.tell(text.as_str()));
        }
    }
}

fn start_log(cli: &Cli) -> Result<Option<tracing_appender::non_blocking::WorkerGuard>, Stop> {
    let Some(path) = &cli.log else { return Ok(None) };
    use std::os::unix::fs::OpenOptionsExt;
    let file =
        std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(
            |error| Stop::usage(format!("cannot write the log {}: {error}", path.display())),
        )?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let level = match cli.verbose {
        0 => "info",
        1 => "debug",
        _ => "trace",
    };
    // Our own words only: libraries log headers, and headers hold keys.
    let filter = tracing_subscriber::EnvFilter::new(format!("harness_tui={level}"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(false).init();
    Ok(Some(guard))
}

fn working_dir(cli: &Cli) -> Result<PathBuf, Stop> {
    let dir = match &cli.cwd {
        Some(dir) => dir.canonicalize().map_err(|error| {
            Stop::usage(format!("cannot work in {}: {error}", dir.display()))
        })?,
        None => std::env::current_dir().map_err(|error| {
            Stop::failed(format!(
                "cannot find the working folder ({error}): it may have been removed; change to another"
            ))
        })?,
    };
    if dir.is_dir() { Ok(dir) } else { Err(Stop::usage(format!("{} is no folder", dir.display()))) }
}

async fn run_headless(
    ground: &Ground,
    handle: &Handle,
    mut content: Vec<Part>,
) -> Result<u8, Stop> {
    if let Some(piped) = prompt::piped().map_err(Stop::usage)? {
        content.insert(0, Part::text(piped));
    }
    if content.is_empty() {
        handle.close().await;
        return Err(Stop::usage(
            "no prompt: give one as an argument or on standard input, or start in a terminal",
        ));
    }
    let mode = match ground.cli.mode {
        Some(OutputMode::Json) => headless::Mode::Json,
        _ if io::stdout().is_terminal() => headless::Mode::Terminal,
        _ => headless::Mode::Text,
    };
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let watch = tokio::spawn(signals::watch_over(handle.clone()));
    let ended = tokio::select! {
        biased;
        code = signals::ended() => Err(code),
        exit = headless::run(handle, mode, content, &mut out, &mut err) => Ok(exit),
    };
    handle.close().await;
    watch.abort();
    match ended {
        Err(code) => Ok(code),
        Ok(Ok(exit)) => Ok(exit.code()),
        Ok(Err(error)) => Err(Stop::failed(format!("cannot write the output: {error}"))),
    }
}

/// Says why the program stops.
pub(crate) fn complain(stop: &Stop) {
    let text = harness_tui::text::sanitize::sanitize(&stop.message);
    let _ = writeln!(io::stderr(), "harness-tui: {text}");
}
