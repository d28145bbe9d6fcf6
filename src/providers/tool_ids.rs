//! Ids of tool calls as each API accepts them: servers refuse each other's ids, and some refuse an
//! id that stands twice in one request although they themselves repeat theirs.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

/// What an API accepts as an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdRule {
    /// `^[a-zA-Z0-9_-]{1,64}$` (Anthropic's documented pattern).
    Anthropic,
    /// The same characters, at most 40 (the limit OpenAI names when it refuses one).
    OpenAi,
    /// Exactly nine letters or digits (the rule Mistral names when it refuses one).
    Mistral,
}

impl IdRule {
    fn accepts(self, id: &str) -> bool {
        let alphanumeric = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let word = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        match self {
            Self::Anthropic => word && (1..=64).contains(&id.len()),
            Self::OpenAi => word && (1..=40).contains(&id.len()),
            Self::Mistral => alphanumeric && id.len() == 9,
        }
    }
}

/// The ids of one request. The same history always gets the same ids, so caches stay warm.
#[derive(Debug)]
pub(super) struct ToolIds {
    rule: IdRule,
    used: HashSet<String>,
}

impl ToolIds {
    pub(super) fn new(rule: IdRule) -> Self {
        Self { rule, used: HashSet::new() }
    }

    /// The id to send: the same one if the API accepts it and it is new in this request.
    pub(super) fn assign(&mut self, id: &str) -> String {
        let mut candidate = id.to_owned();
        let mut attempt = 0_u32;
        while !self.rule.accepts(&candidate) || self.used.contains(&candidate) {
            // Counting the used ids first makes the search for the n-th repeat short.
            candidate = self.derived(id, attempt + u32::try_from(self.used.len()).unwrap_or(0));
            attempt += 1;
        }
        self.used.insert(candidate.clone());
        candidate
    }

    fn derived(&self, id: &str, salt: u32) -> String {
        let mut hash = Sha256::new();
        hash.update(id.as_bytes());
        hash.update(salt.to_le_bytes());
        let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if self.rule == IdRule::Mistral {
            return digest[..9].to_owned();
        }
        // A readable start helps whoever reads a request log.
        let start: String = id
            .chars()
            .take(20)
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        format!("{start}_{}", &digest[..12])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_ids_stay_and_all_others_become_accepted() {
        for rule in [IdRule::Anthropic, IdRule::OpenAi, IdRule::Mistral] {
            let mut ids = ToolIds::new(rule);
            let long = "x".repeat(450);
            for id in ["call_1", "abcdef123", "", "a|b", "日本", long.as_str()] {
                let sent = ids.assign(id);
                assert!(rule.accepts(&sent), "{rule:?} {id:?} {sent:?}");
                if rule.accepts(id) {
                    assert_eq!(sent, id);
                }
            }
        }
    }

    #[test]
    fn repeated_ids_become_different_and_always_the_same_way() {
        let all = |mut ids: ToolIds| ["a", "a", "a|", "a_", ""].map(|id| ids.assign(id));
        let once = all(ToolIds::new(IdRule::Anthropic));
        assert_eq!(once, all(ToolIds::new(IdRule::Anthropic)));
        assert_eq!(once.iter().collect::<HashSet<_>>().len(), 5);
        assert_eq!(once[0], "a");
    }
}
