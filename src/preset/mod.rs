//! Presets: the named bundles of sections that make the scaffolding of the system prompt.
//!
//! Data, not code: the built-in one is a TOML file compiled in. Stores, history and editing of own
//! presets join here; what stands is the shape and the default.

use serde::{Deserialize, Serialize};

/// The fixed sections, in the order of the prompt.
pub const SECTION_KEYS: [&str; 5] =
    ["capabilities", "plan_first", "presentation", "citation", "self_config"];

/// A preset. `id` is `builtin:<name>` or `custom:<uuid>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preset {
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub sections: Sections,
}

/// The five sections by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sections {
    pub capabilities: Section,
    pub plan_first: Section,
    pub presentation: Section,
    pub citation: Section,
    pub self_config: Section,
}

/// One section. Disabled is the same as empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub enabled: bool,
    pub body: String,
}

const DEFAULT: &str = include_str!("../../presets/default.toml");

/// The preset used when nothing else is chosen.
///
/// # Errors
/// Never in a build whose tests pass: the file is compiled in.
pub fn default_preset() -> Result<Preset, String> {
    toml_edit::de::from_str(DEFAULT).map_err(|error| format!("bug: presets/default.toml: {error}"))
}

impl Preset {
    /// The bodies in prompt order; a disabled section is an empty string.
    pub fn bodies(&self) -> Vec<String> {
        let sections = &self.sections;
        [
            &sections.capabilities,
            &sections.plan_first,
            &sections.presentation,
            &sections.citation,
            &sections.self_config,
        ]
        .into_iter()
        .map(|section| if section.enabled { section.body.clone() } else { String::new() })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_preset_reads_and_all_its_sections_say_something() {
        let preset = default_preset().unwrap();
        assert_eq!(preset.id, "builtin:default");
        let bodies = preset.bodies();
        assert_eq!(bodies.len(), SECTION_KEYS.len());
        assert!(bodies.iter().all(|body| body.trim().len() > 80), "{bodies:?}");
    }

    #[test]
    fn a_disabled_section_is_empty() {
        let mut preset = default_preset().unwrap();
        preset.sections.citation.enabled = false;
        assert_eq!(preset.bodies()[3], "");
    }
}
