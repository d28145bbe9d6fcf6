//! What is known of models, from the data file beside this one, and safe defaults for the rest.
//!
//! The table is data so that a new model is one line; it is read when first asked for, because most
//! runs never look at more than one entry.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::message::ThinkingLevel;
use crate::providers::ModelSpec;

/// Safe for any model of the last years: most have at least this much.
const DEFAULT_CONTEXT: u64 = 128_000;
const DEFAULT_OUTPUT: u64 = 16_384;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    context: u64,
    output: u64,
    price: [f64; 4],
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    images: bool,
}

type Table = BTreeMap<String, BTreeMap<String, Facts>>;

/// A test keeps the file readable, so an empty table is never seen.
static TABLE: LazyLock<Table> = LazyLock::new(|| parse().unwrap_or_default());

fn parse() -> Result<Table, toml_edit::de::Error> {
    toml_edit::de::from_str(include_str!("catalogue.toml"))
}

/// The model of a provider: from the catalogue, or with the defaults 128,000 and 16,384 tokens, no
/// price and `known: false`. A router's `vendor/id` finds the vendor's entry, without its price.
pub fn model(provider: &str, id: &str) -> ModelSpec {
    if let Some(facts) = facts(provider, id) {
        return spec(provider, id, facts, true);
    }
    if let Some((vendor, bare)) = id.split_once('/') {
        let vendor = match vendor {
            "google" => "gemini",
            "x-ai" => "xai",
            "mistralai" => "mistral",
            "moonshotai" => "moonshot",
            other => other,
        };
        let bare = bare.split(':').next().unwrap_or(bare);
        let found = facts(vendor, bare).or_else(|| facts(vendor, &bare.replace('.', "-")));
        if let Some(facts) = found {
            return ModelSpec { price: [0.0; 4], ..spec(provider, id, facts, true) };
        }
    }
    ModelSpec {
        provider: provider.to_owned(),
        id: id.to_owned(),
        context_window: DEFAULT_CONTEXT,
        max_output: DEFAULT_OUTPUT,
        reasoning: false,
        images: false,
        price: [0.0; 4],
        known: false,
    }
}

/// Every model of the catalogue, by provider and id.
pub fn all() -> Vec<ModelSpec> {
    let of = |(provider, models): (&String, &BTreeMap<String, Facts>)| {
        models.iter().map(|(id, facts)| spec(provider, id, facts, true)).collect::<Vec<_>>()
    };
    TABLE.iter().flat_map(of).collect()
}

/// The providers that have a model of exactly this id.
pub fn providers_of(id: &str) -> Vec<&'static str> {
    TABLE
        .iter()
        .filter(|(_, models)| models.contains_key(id))
        .map(|(name, _)| name.as_str())
        .collect()
}

/// `provider/id:level` in its two halves. The last colon splits only if one of the seven levels
/// follows and `is_model` does not know the whole (local model ids hold colons).
pub fn split_level(
    reference: &str,
    is_model: impl Fn(&str) -> bool,
) -> (&str, Option<ThinkingLevel>) {
    let Some((model, level)) = reference.rsplit_once(':') else { return (reference, None) };
    match ThinkingLevel::parse(level) {
        Some(level) if !model.is_empty() && !is_model(reference) => (model, Some(level)),
        _ => (reference, None),
    }
}

fn facts(provider: &str, id: &str) -> Option<&'static Facts> {
    let models = TABLE.get(provider)?;
    models.get(id).or_else(|| models.get(undated(id)?))
}

/// The id without a trailing date, `-latest` or `-0`.
fn undated(id: &str) -> Option<&str> {
    let (name, ending) = id.rsplit_once('-')?;
    let all_digits = ending.bytes().all(|byte| byte.is_ascii_digit());
    if (all_digits && matches!(ending.len(), 4 | 6 | 8)) || matches!(ending, "latest" | "0") {
        return Some(name);
    }
    // `gpt-5-2025-08-07`
    let (start, date) = id.split_at_checked(id.len().checked_sub(11)?)?;
    let shape = |(at, byte): (usize, u8)| match at {
        0 | 5 | 8 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    date.bytes().enumerate().all(shape).then_some(start)
}

fn spec(provider: &str, id: &str, facts: &Facts, known: bool) -> ModelSpec {
    ModelSpec {
        provider: provider.to_owned(),
        id: id.to_owned(),
        context_window: facts.context,
        max_output: facts.output,
        reasoning: facts.reasoning,
        images: facts.images,
        price: facts.price,
        known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_parses_and_every_entry_makes_sense() {
        let table = parse().unwrap();
        let count: usize = table.values().map(BTreeMap::len).sum();
        assert!(count >= 40, "{count}");
        for (provider, models) in &table {
            assert!(crate::providers::known::find(provider).is_some(), "{provider}");
            for (id, facts) in models {
                assert!(facts.context >= 100_000 && facts.output <= facts.context, "{id}");
                assert!(facts.price.iter().all(|price| (0.0..=100.0).contains(price)), "{id}");
                assert!(facts.price[2] <= facts.price[0], "{id}: cache reads cost less than input");
            }
        }
    }

    #[test]
    fn dated_ids_and_router_names_find_their_entry() {
        for (provider, id, context, input) in [
            ("anthropic", "claude-sonnet-4-5", 200_000, 3.0),
            ("anthropic", "claude-sonnet-4-5-20250929", 200_000, 3.0),
            ("anthropic", "claude-3-5-haiku-latest", 200_000, 0.8),
            ("anthropic", "claude-opus-4-0", 200_000, 15.0),
            ("openai", "gpt-5-2025-08-07", 400_000, 1.25),
            ("openrouter", "anthropic/claude-sonnet-4.5", 200_000, 0.0),
            ("openrouter", "google/gemini-2.5-pro:free", 1_048_576, 0.0),
            ("mistral", "mistral-large-2512", 262_144, 0.5),
        ] {
            let model = model(provider, id);
            assert!(model.known, "{id}");
            let got = (model.context_window, model.price[0], model.id.as_str());
            assert_eq!(got, (context, input, id));
        }
    }

    #[test]
    fn unknown_models_get_safe_defaults() {
        for id in ["x", "", "-", "é-2025-08-07", "/", "a/b/c", "gpt-5-turbo"] {
            let model = model("openai", id);
            let got = (model.known, model.context_window, model.max_output);
            assert_eq!(got, (false, 128_000, 16_384), "{id}");
        }
    }

    #[test]
    fn only_a_level_is_split_off() {
        let no = |_: &str| false;
        assert_eq!(split_level("a/b:high", no), ("a/b", Some(ThinkingLevel::High)));
        assert_eq!(split_level("ollama/qwen:7b", no), ("ollama/qwen:7b", None));
        assert_eq!(
            split_level("ollama/qwen:7b:low", no),
            ("ollama/qwen:7b", Some(ThinkingLevel::Low))
        );
        assert_eq!(split_level("a/b:max", |id| id == "a/b:max"), ("a/b:max", None));
        assert_eq!(split_level("a/b", no), ("a/b", None));
        assert_eq!(split_level(":high", no), (":high", None));
    }
}
