//! What the command line means: config, model, tools, prompt, session and front end, put together.
//!
//! The only place that picks concrete things. Front ends get a handle and a way to open others.

mod models;
mod prompt;
mod session;
mod sessions;
mod signals;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use harness_tui::config::{self, Config, Live, Paths, Watching};
use harness_tui::harness::{
    Command, Compaction, ErrorCode, Handle, HarnessError, Open, QueueMode, Setup, Which, spawn,
    spawn_after,
};
use harness_tui::headless;
use harness_tui::message::Part;
use harness_tui::policy::Profile;
use harness_tui::ports::SystemClock;
use harness_tui::providers::{RetryPolicy, Timeouts};
use harness_tui::session::{Session, Tail};
use harness_tui::tools::{self, Tool};

use crate::cli::{Cli, OutputMode, Sub};

/// Steps a turn when nothing else is said: the built-in agent for coding works long.
const MAX_TURNS: u32 = 200;

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
    chosen_tools(&ground.cli).map_err(|error| Stop::usage(error.message))?;
    prompt::given(&ground).map_err(|error| Stop::usage(error.message))?;
    let (first, ask) = session::first(&ground)?;
    let tail = if headless { None } else { first.tail() };
    let handle = match (tail, first) {
        (Some(tail), session::Found::At(path)) => start_after(&ground, tail, path, notices),
        (_, first) => {
            let session = first.open(&ground)?;
            start(&ground, session, notices).map_err(|error| Stop::of_harness(&error))?
        }
    };
    if let Some(name) = ground.cli.name.clone() {
        name_it(&handle, name).await?;
    }
    if headless {
        run_headless(&ground, &handle, content).await
    } else {
        run_screen(&ground, handle, content, ask).await
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

/// Names the session, at once or as soon as it is open.
async fn name_it(handle: &Handle, name: String) -> Result<(), Stop> {
    let engine = handle.clone();
    let named = tokio::spawn(async move {
        let named = engine.send(Command::SetName { name }).await;
        if let Err(error) = &named {
            engine.tell(format!("naming the session: {error}"));
        }
        named
    });
    if !handle.is_open() {
        return Ok(());
    }
    match named.await {
        Ok(Err(error)) => Err(Stop::of_harness(&error)),
        _ => Ok(()),
    }
}

/// The engine of a session that is opened while its end is shown.
fn start_after(ground: &Arc<Ground>, tail: Tail, path: PathBuf, notices: Vec<String>) -> Handle {
    let own = Arc::clone(ground);
    let handle = spawn_after(Some(tail), async move {
        let opener = Arc::clone(&own);
        let opened = tokio::task::spawn_blocking(move || session::open(&opener, &path)).await;
        let ended = |_| HarnessError::new(ErrorCode::Session, "opening the session ended early");
        setup(&own, opened.map_err(ended)??, notices)
    });
    remember(ground, &handle);
    handle
}

/// Lets an engine hear what an edit of the config came to.
fn remember(ground: &Ground, handle: &Handle) {
    let mut engines = ground.engines.lock().unwrap_or_else(PoisonError::into_inner);
    engines.push(handle.clone());
}

/// The engine of one session.
fn start(
    ground: &Arc<Ground>,
    session: Session,
    notices: Vec<String>,
) -> Result<Handle, HarnessError> {
    let handle = spawn(setup(ground, session, notices)?)?;
    remember(ground, &handle);
    Ok(handle)
}

/// What an engine is made of.
fn setup(
    ground: &Arc<Ground>,
    mut session: Session,
    mut notices: Vec<String>,
) -> Result<Setup, HarnessError> {
    let config = ground.live.get();
    let cwd = session::folder(ground, &mut session, &mut notices);
    let (sources, labels) = prompt::sources(ground, &session, &cwd, &mut notices)?;
    let cli = &ground.cli;
    let default_model = models::default_model(&config, &mut notices);
    Ok(Setup {
        session,
        models: models::finder(Arc::clone(ground)),
        model: cli.model.clone().map(|model| models::split(&model, &config).0),
        default_model,
        thinking: cli
            .thinking
            .or_else(|| cli.model.as_deref().and_then(|model| models::split(model, &config).1))
            .or(config.thinking),
        tools: chosen_tools(cli)?,
        profile: cli.approval.or(config.approval).unwrap_or(Profile::Confirm),
        unattended: ground.headless,
        prompt: sources,
        labels,
        cwd,
        clock: Arc::new(SystemClock),
        state_dir: ground.paths.state.clone(),
        hidden_env: {
            let ground = Arc::clone(ground);
            Arc::new(move || models::key_variables(&ground.live.get(), &ground.cli).into())
        },
        timeouts: Timeouts {
            connect: Duration::from_secs(config.timeouts.connect),
            first_byte: Duration::from_secs(config.timeouts.first_byte),
            idle: Duration::from_secs(config.timeouts.idle),
        },
        retry: RetryPolicy {
            enabled: config.retry.enabled,
            max_retries: config.retry.max_retries,
            base_delay: seconds(config.retry.base_delay),
            max_delay: seconds(config.retry.max_delay),
        },
        compaction: {
            let ground = Arc::clone(ground);
            Arc::new(move |model: &str| compaction(&ground.live.get().compaction, model))
        },
        max_turns: cli.max_turns.or(config.default_max_turns).unwrap_or(MAX_TURNS),
        steering: queue_mode(config.steering_mode.as_deref(), "steering_mode", &mut notices),
        follow_up: queue_mode(config.follow_up_mode.as_deref(), "follow_up_mode", &mut notices),
        notices,
    })
}

/// What the config says for a model.
fn compaction(config: &config::Compaction, model: &str) -> Compaction {
    let own = config.models.get(model).copied().unwrap_or_default();
    Compaction {
        enabled: config.enabled,
        reserve_tokens: own.reserve_tokens.unwrap_or(config.reserve_tokens),
        keep_recent_tokens: own.keep_recent_tokens.unwrap_or(config.keep_recent_tokens),
        preview: config.preview,
    }
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

fn queue_mode(value: Option<&str>, key: &str, notices: &mut Vec<String>) -> QueueMode {
    match value {
        None | Some("one-at-a-time") => QueueMode::OneAtATime,
        Some("all") => QueueMode::All,
        Some(other) => {
            notices.push(format!("config: {key} = {other:?} is neither one-at-a-time nor all"));
            QueueMode::OneAtATime
        }
    }
}

fn chosen_tools(cli: &Cli) -> Result<Vec<Arc<dyn Tool>>, HarnessError> {
    if cli.no_tools {
        return Ok(Vec::new());
    }
    let all = tools::built_in();
    let Some(names) = &cli.tools else { return Ok(all) };
    let known: Vec<String> = all.iter().map(|tool| tool.spec().name).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(HarnessError::new(
            harness_tui::harness::ErrorCode::InvalidArgument,
            format!("--tools: there is no tool {unknown:?}; there are {}", known.join(", ")),
        ));
    }
    Ok(all.into_iter().filter(|tool| names.contains(&tool.spec().name)).collect())
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

/// Opens other sessions for a front end that changes between them.
#[cfg_attr(not(feature = "tui"), expect(dead_code, reason = "the screen is the one user"))]
fn opener(ground: &Arc<Ground>) -> Open {
    let ground = Arc::clone(ground);
    Arc::new(move |which: Which| {
        let ground = Arc::clone(&ground);
        Box::pin(async move {
            let found = session::which(&ground, which)?;
            match (found.tail(), found) {
                (Some(tail), session::Found::At(path)) => {
                    Ok(start_after(&ground, tail, path, Vec::new()))
                }
                (_, found) => {
                    let session = found.session(&ground)?;
                    start(&ground, session, Vec::new())
                }
            }
        })
    })
}

#[cfg(feature = "tui")]
async fn run_screen(
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
    let exit = harness_tui::ui::run(options, handle, opener(ground))
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
async fn run_screen(
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

/// Says why the program stops.
pub(crate) fn complain(stop: &Stop) {
    let text = harness_tui::text::sanitize::sanitize(&stop.message);
    let _ = writeln!(io::stderr(), "harness-tui: {text}");
}
