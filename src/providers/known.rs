//! The providers that need no configuration, and the way from `provider/id` to an endpoint.

use std::collections::BTreeMap;

use secrecy::SecretString;

use crate::providers::{Endpoint, Kind, ModelSpec, catalogue};

/// A provider that the program knows by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub name: &'static str,
    pub kind: Kind,
    pub base_url: &'static str,
    /// The environment variable that usually holds its key; none for local servers.
    pub key_variable: Option<&'static str>,
}

const fn chat(name: &'static str, base_url: &'static str, key: &'static str) -> Known {
    Known { name, kind: Kind::OpenaiChat, base_url, key_variable: Some(key) }
}

const fn local(name: &'static str, base_url: &'static str) -> Known {
    Known { name, kind: Kind::OpenaiChat, base_url, key_variable: None }
}

/// All of them, in the order they are offered.
pub const KNOWN: [Known; 14] = [
    Known {
        name: "anthropic",
        kind: Kind::Anthropic,
        base_url: "https://api.anthropic.com",
        key_variable: Some("ANTHROPIC_API_KEY"),
    },
    chat("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    chat("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    chat("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    chat("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    chat("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    chat("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    chat("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    chat("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    local("ollama", "http://127.0.0.1:11434/v1"),
    local("llamacpp", "http://127.0.0.1:8080/v1"),
    local("lmstudio", "http://127.0.0.1:1234/v1"),
    local("vllm", "http://127.0.0.1:8000/v1"),
    Known { name: "demo", kind: Kind::Demo, base_url: "", key_variable: None },
];

/// The known provider of this name or of its other name (`kimi`, `google`).
pub fn find(name: &str) -> Option<&'static Known> {
    let name = match name {
        "kimi" => "moonshot",
        "google" => "gemini",
        other => other,
    };
    KNOWN.iter().find(|known| known.name == name)
}

impl Known {
    /// Its endpoint with this key.
    pub fn endpoint(&self, key: Option<SecretString>) -> Endpoint {
        Endpoint {
            name: self.name.to_owned(),
            kind: self.kind,
            base_url: self.base_url.to_owned(),
            key,
            headers: BTreeMap::new(),
            script: None,
        }
    }
}

/// The endpoint and the model that a reference names: `provider/id`, or the bare id of a catalogued
/// model. Configured providers come before known ones of the same name, and a configured one keeps
/// the key it has. `key_of` gives the key of a known provider: its name and its usual variable.
///
/// # Errors
/// A text that says what the reference should look like, or which providers there are.
pub fn resolve(
    reference: &str,
    configured: &[Endpoint],
    key_of: impl Fn(&str, Option<&str>) -> Option<SecretString>,
) -> Result<(Endpoint, ModelSpec), String> {
    let reference = reference.trim();
    let (provider, id) = match reference.split_once('/') {
        Some((provider, id)) if is_provider(provider, configured) => (provider, id),
        _ => bare(reference, configured)?,
    };
    if id.is_empty() {
        return Err(format!("model {reference:?} names no model; write it like {provider}/MODEL"));
    }
    let endpoint = match configured.iter().find(|endpoint| endpoint.name == provider) {
        Some(endpoint) => endpoint.clone(),
        None => match find(provider) {
            Some(known) => known.endpoint(key_of(known.name, known.key_variable)),
            None => return Err(unknown(reference, configured)),
        },
    };
    let model = catalogue::model(&endpoint.name, id);
    Ok((endpoint, model))
}

fn is_provider(name: &str, configured: &[Endpoint]) -> bool {
    find(name).is_some() || configured.iter().any(|endpoint| endpoint.name == name)
}

/// A reference without a provider: `demo`, or an id that one provider of the catalogue has.
fn bare<'a>(reference: &'a str, configured: &[Endpoint]) -> Result<(&'a str, &'a str), String> {
    let providers = catalogue::providers_of(reference);
    match providers.as_slice() {
        [one] => Ok((one, reference)),
        [] if is_provider(reference, configured) => Ok((reference, "")),
        [] => Err(unknown(reference, configured)),
        several => Err(format!(
            "model {reference:?} is offered by {}; write it like {}/{reference}",
            several.join(", "),
            several[0]
        )),
    }
}

fn unknown(reference: &str, configured: &[Endpoint]) -> String {
    let shown: String = reference.chars().take(100).collect();
    let mut names: Vec<&str> = configured.iter().map(|endpoint| endpoint.name.as_str()).collect();
    names.extend(
        KNOWN
            .iter()
            .map(|known| known.name)
            .filter(|name| configured.iter().all(|endpoint| endpoint.name != *name)),
    );
    format!(
        "no provider is known for model {shown:?}; write PROVIDER/MODEL with one of: {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn key(name: &str, variable: Option<&str>) -> Option<SecretString> {
        variable.map(|variable| SecretString::from(format!("{name} from {variable}")))
    }

    fn names(reference: &str, configured: &[Endpoint]) -> Result<(String, String, String), String> {
        let (endpoint, model) = resolve(reference, configured, key)?;
        let key = endpoint.key.map(|key| key.expose_secret().to_owned()).unwrap_or_default();
        Ok((endpoint.name, model.id, key))
    }

    fn row(name: &str, id: &str, key: &str) -> Result<(String, String, String), String> {
        Ok((name.into(), id.into(), key.into()))
    }

    #[test]
    fn references_name_their_endpoint_and_model() {
        let openai = "openai from OPENAI_API_KEY";
        assert_eq!(names("openai/gpt-5", &[]), row("openai", "gpt-5", openai));
        assert_eq!(names("gpt-5", &[]), row("openai", "gpt-5", openai));
        assert_eq!(names("kimi/k", &[]), row("moonshot", "k", "moonshot from MOONSHOT_API_KEY"));
        assert_eq!(names("ollama/a/b:7b", &[]), row("ollama", "a/b:7b", ""));
        assert_eq!(names("demo", &[]), row("demo", "demo", ""));
        assert_eq!(names("openai/gpt-oss-20b", &[]), row("openai", "gpt-oss-20b", openai));
    }

    #[test]
    fn a_configured_provider_comes_before_a_known_one() {
        let mine =
            Endpoint { base_url: "http://h".into(), ..find("openai").unwrap().endpoint(None) };
        let (endpoint, model) = resolve("openai/gpt-5", &[mine], key).unwrap();
        assert_eq!((endpoint.base_url.as_str(), model.known), ("http://h", true));
        assert!(endpoint.key.is_none());
    }

    #[test]
    fn what_cannot_be_resolved_says_what_could() {
        assert!(names("nobody/x", &[]).unwrap_err().contains("one of: anthropic, openai"));
        assert!(names("openai", &[]).unwrap_err().contains("openai/MODEL"));
        assert!(names("openai/", &[]).unwrap_err().contains("openai/MODEL"));
        assert!(names("", &[]).is_err());
    }

    #[test]
    fn debug_output_of_an_endpoint_holds_no_secret() {
        let mut endpoint = find("openai").unwrap().endpoint(Some("SECRET-1".to_owned().into()));
        endpoint.base_url = "http://u:SECRET-2@h/v1?key=SECRET-3".into();
        endpoint.headers.insert("x-auth".into(), "SECRET-4".into());
        let text = format!("{endpoint:?}");
        assert!(!text.contains("SECRET") && text.contains("x-auth"), "{text}");
    }
}
