//! The engine of one session, made of what config and command line say; at once, or behind the end
//! of a session that takes long to open.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use harness_tui::harness::{
    Command, ErrorCode, Handle, HarnessError, Open, Setup, Which, spawn, spawn_after,
};
use harness_tui::policy::Profile;
use harness_tui::ports::SystemClock;
use harness_tui::session::{Session, Tail};
use harness_tui::tools::{self, Tool};

use super::{Ground, Stop, models, numbers, prompt, session};
use crate::cli::Cli;

/// Steps a turn when nothing else is said: the built-in agent for coding works long.
const MAX_TURNS: u32 = 200;

/// Names the session, at once or as soon as it is open.
pub(super) async fn name_it(handle: &Handle, name: String) -> Result<(), Stop> {
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
pub(super) fn start_after(
    ground: &Arc<Ground>,
    tail: Tail,
    path: PathBuf,
    notices: Vec<String>,
) -> Handle {
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
pub(super) fn start(
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
        secrets: {
            let ground = Arc::clone(ground);
            Arc::new(move || {
                models::secrets(&ground.live.get(), &ground.cli, &ground.paths.auth_file())
            })
        },
        timeouts: numbers::timeouts(&config),
        retry: numbers::retry(&config),
        compaction: {
            let ground = Arc::clone(ground);
            Arc::new(move |model: &str| numbers::compaction(&ground.live.get().compaction, model))
        },
        max_turns: cli.max_turns.or(config.default_max_turns).unwrap_or(MAX_TURNS),
        steering: numbers::queue_mode(
            config.steering_mode.as_deref(),
            "steering_mode",
            &mut notices,
        ),
        follow_up: numbers::queue_mode(
            config.follow_up_mode.as_deref(),
            "follow_up_mode",
            &mut notices,
        ),
        notices,
    })
}

pub(super) fn chosen_tools(cli: &Cli) -> Result<Vec<Arc<dyn Tool>>, HarnessError> {
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

/// Opens other sessions for a front end that changes between them.
#[cfg_attr(not(feature = "tui"), expect(dead_code, reason = "the screen is the one user"))]
pub(super) fn opener(ground: &Arc<Ground>) -> Open {
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
