//! From a model's name to a provider that can be asked: flags, config and known names together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use harness_tui::config::{self, Config};
use harness_tui::harness::{ErrorCode, HarnessError, Model, Models};
use harness_tui::message::ThinkingLevel;
use harness_tui::providers::{self, Endpoint, Kind, Provider, catalogue, known};
use secrecy::SecretString;

use super::Ground;
use crate::cli::Cli;

const DEMO: &str = "demo/demo";

/// The model used when neither the command line nor the session names one.
pub(super) fn default_model(config: &Config, notices: &mut Vec<String>) -> String {
    if let Some(model) = &config.model {
        return split(model, config).0;
    }
    let ready = known::KNOWN
        .iter()
        .filter_map(|known| known.key_variable)
        .find(|variable| std::env::var_os(variable).is_some_and(|key| !key.is_empty()));
    if let Some(variable) = ready {
        notices.push(format!(
            "{variable} is set, but no model is chosen: /model PROVIDER/ID uses it (the demo model answers until then)"
        ));
    }
    DEMO.to_owned()
}

/// `provider/id:level` in its halves.
pub(super) fn split(reference: &str, config: &Config) -> (String, Option<ThinkingLevel>) {
    let listed = |whole: &str| {
        let id = whole.split_once('/').map_or(whole, |(_, id)| id);
        config.providers.values().any(|provider| provider.models.iter().any(|model| model == id))
    };
    let (model, level) = catalogue::split_level(reference, listed);
    (model.to_owned(), level)
}

/// The names of all variables that may hold a key: no command sees them.
pub(super) fn key_variables(config: &Config, cli: &Cli) -> Vec<String> {
    let mut names: Vec<String> = known::KNOWN
        .iter()
        .filter_map(|known| known.key_variable.map(str::to_owned))
        .chain(config.providers.values().filter_map(|provider| provider.api_key_env.clone()))
        .chain(cli.api_key_env.clone())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The keys this program knows of: those in the environment and the stored ones.
pub(super) fn secrets(config: &Config, cli: &Cli, auth: &Path) -> Vec<String> {
    let names = key_variables(config, cli);
    let given = names.iter().filter_map(|name| std::env::var(name).ok());
    given.chain(config::stored_secrets(auth)).collect()
}

/// Finds models for an engine. Clients are kept, so a second model of a server shares its connections.
pub(super) fn finder(ground: Arc<Ground>) -> Models {
    let open: Mutex<HashMap<String, Arc<dyn Provider>>> = Mutex::new(HashMap::new());
    // The flags speak of the provider the program starts with. Another one, chosen later, must not
    // send its key to that server, nor get the key that is meant for it.
    let flagged: OnceLock<String> = OnceLock::new();
    Arc::new(move |reference: &str| {
        let config = ground.live.get();
        let (endpoint, spec) = resolve(&ground, &config, reference, flagged.get())?;
        let _ = flagged.set(endpoint.name.clone());
        let place = format!("{} {:?} {}", endpoint.name, endpoint.kind, endpoint.base_url);
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = open.get(&place) {
            return Ok(Model { provider: Arc::clone(provider), spec });
        }
        let provider = providers::open(&endpoint).map_err(|error| invalid(&error.to_string()))?;
        // A key or a script may change under the same name; only keyless servers are kept.
        if endpoint.key.is_none() && endpoint.kind != Kind::Script {
            open.insert(place, Arc::clone(&provider));
        }
        Ok(Model { provider, spec })
    })
}

fn invalid(text: &str) -> HarnessError {
    HarnessError::new(ErrorCode::InvalidArgument, text)
}

fn resolve(
    ground: &Ground,
    config: &Config,
    reference: &str,
    flagged: Option<&String>,
) -> Result<(Endpoint, providers::ModelSpec), HarnessError> {
    let listed = config
        .providers
        .iter()
        .find(|(_, provider)| provider.models.iter().any(|model| model == reference));
    let reference = match listed {
        Some((name, _)) => format!("{name}/{reference}"),
        None => reference.to_owned(),
    };
    let configured = config
        .providers
        .iter()
        .map(|(name, provider)| endpoint(ground, name, provider))
        .collect::<Result<Vec<_>, _>>()?;
    let auth = ground.paths.auth_file();
    let key_of = |name: &str, variable: Option<&str>| key(&auth, name, variable);
    let (mut endpoint, spec) =
        known::resolve(&reference, &configured, key_of).map_err(|text| invalid(&text))?;
    let is_flagged = flagged.is_none_or(|name| *name == endpoint.name);
    let base_url = ground.cli.base_url.as_ref().filter(|_| is_flagged);
    if let Some(url) = base_url {
        endpoint.base_url.clone_from(url);
        // A key goes only where it was meant for; for this address it has to be named.
        endpoint.key = None;
    }
    if let Some(variable) = ground.cli.api_key_env.as_ref().filter(|_| is_flagged) {
        let value = std::env::var(variable).map_err(|_unset| {
            HarnessError::new(ErrorCode::Auth, format!("--api-key-env: {variable} is not set"))
        })?;
        endpoint.key = Some(SecretString::from(value));
    }
    let needed = known::find(&endpoint.name).and_then(|known| known.key_variable);
    if let (None, Some(variable)) = (&endpoint.key, needed)
        && base_url.is_none()
        && !config.providers.contains_key(&endpoint.name)
    {
        return Err(HarnessError::new(
            ErrorCode::Auth,
            format!("no key for {}: set {variable}, or choose another model", endpoint.name),
        ));
    }
    Ok((endpoint, spec))
}

/// A configured provider; what it leaves out comes from the known one of that name.
fn endpoint(
    ground: &Ground,
    name: &str,
    provider: &config::Provider,
) -> Result<Endpoint, HarnessError> {
    let known = known::find(name);
    let kind = match (&provider.kind, known) {
        (Some(kind), _) => parse_kind(kind).ok_or_else(|| {
            invalid(&format!(
                "config: providers.{name}.kind = {kind:?} is none of openai-chat, anthropic, demo, script"
            ))
        })?,
        (None, Some(known)) => known.kind,
        (None, None) => return Err(invalid(&format!("config: providers.{name} needs a kind"))),
    };
    let base_url = provider
        .base_url
        .clone()
        .or_else(|| known.map(|known| known.base_url.to_owned()))
        .unwrap_or_default();
    // A key of a known provider never follows a configured address it was not meant for.
    let usual =
        known.filter(|known| known.base_url == base_url).and_then(|known| known.key_variable);
    let variable = provider.api_key_env.as_deref().or(usual);
    let script = provider.script.as_ref().map(|script| {
        let path = PathBuf::from(script);
        if path.is_absolute() { path } else { ground.paths.config.join(path) }
    });
    Ok(Endpoint {
        name: name.to_owned(),
        kind,
        base_url,
        key: key(&ground.paths.auth_file(), name, variable),
        headers: provider.headers.clone(),
        script,
    })
}

fn parse_kind(kind: &str) -> Option<Kind> {
    match kind {
        "openai-chat" => Some(Kind::OpenaiChat),
        "anthropic" => Some(Kind::Anthropic),
        "demo" => Some(Kind::Demo),
        "script" => Some(Kind::Script),
        _ => None,
    }
}

/// Stored keys first, then the environment.
fn key(auth: &std::path::Path, name: &str, variable: Option<&str>) -> Option<SecretString> {
    match config::stored_key(auth, name) {
        Ok(Some(key)) => return Some(key),
        Ok(None) => {}
        Err(error) => tracing::warn!("{error}"),
    }
    let value = std::env::var(variable?).ok().filter(|value| !value.is_empty())?;
    Some(SecretString::from(value))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use harness_tui::config::Paths;

    use super::*;

    #[test]
    fn the_flags_of_the_first_provider_hold_for_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::find(Some(dir.path().into())).unwrap();
        std::fs::create_dir_all(&paths.data).unwrap();
        std::fs::write(paths.auth_file(), r#"{"anthropic": {"key": "secret"}}"#).unwrap();
        let (live, watching, _) = config::watch(&paths.config_file(), Config::default());
        let cli = Cli::parse_from(["harness-tui", "--base-url", "http://10.0.0.9:1"]);
        let cwd = dir.path().to_owned();
        let engines = std::sync::Mutex::default();
        let ground = Ground { cli, paths, live, cwd, headless: true, engines, _watching: watching };
        let find = finder(Arc::new(ground));
        let place = |reference: &str| format!("{:?}", find(reference).unwrap().provider);
        assert!(place("ollama/first").contains("http://10.0.0.9:1/"));
        let other = place("anthropic/claude-x");
        assert!(other.contains("https://api.anthropic.com/"), "{other}");
        assert!(place("ollama/second").contains("http://10.0.0.9:1/"));
    }
}
