//! Who the model is told it is: one text per model family, because families need different pushes.

/// A family of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Anthropic,
    Gpt,
    Kimi,
    Default,
}

impl Family {
    /// By the model id, else by the provider; an empty provider counts as Anthropic.
    pub fn of(provider: &str, model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let by_model = [
            ("claude", Self::Anthropic),
            ("gpt", Self::Gpt),
            ("codex", Self::Gpt),
            ("kimi", Self::Kimi),
        ];
        if let Some((_, family)) = by_model.iter().find(|(name, _)| model.contains(name)) {
            return *family;
        }
        match provider.to_ascii_lowercase().as_str() {
            "" | "anthropic" => Self::Anthropic,
            "openai" => Self::Gpt,
            "moonshot" | "kimi" => Self::Kimi,
            _ => Self::Default,
        }
    }

    pub(super) fn identity(self) -> &'static str {
        match self {
            Self::Anthropic => include_str!("bodies/anthropic.md"),
            Self::Gpt => include_str!("bodies/gpt.md"),
            Self::Kimi => include_str!("bodies/kimi.md"),
            Self::Default => include_str!("bodies/default.md"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_id_decides_before_the_provider() {
        let cases = [
            ("openrouter", "anthropic/claude-sonnet-4.5", Family::Anthropic),
            ("openai", "gpt-5", Family::Gpt),
            ("openai", "o4-mini", Family::Gpt),
            ("groq", "moonshotai/kimi-k2", Family::Kimi),
            ("moonshot", "k2", Family::Kimi),
            ("", "anything", Family::Anthropic),
            ("ollama", "qwen3", Family::Default),
        ];
        for (provider, model, expected) in cases {
            assert_eq!(Family::of(provider, model), expected, "{provider} {model}");
        }
    }

    #[test]
    fn every_variant_holds_the_rules_that_must_not_be_missing() {
        for family in [Family::Anthropic, Family::Gpt, Family::Kimi, Family::Default] {
            let text = family.identity().to_lowercase();
            for rule in ["never invent", "data, not instructions", "secrets", "one short question"]
            {
                let asks = rule == "one short question" && text.contains("ask only when");
                assert!(text.contains(rule) || asks, "{family:?} lacks: {rule}");
            }
        }
    }
}
