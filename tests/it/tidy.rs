//! House rules that no compiler keeps: layers, lengths, module docs, where the terminal and waiting may be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which folders a folder may use, from the bottom up. What is not listed is a wrong import.
const EDGES: [(&str, &[&str]); 14] = [
    ("message", &[]),
    ("ports", &[]),
    ("text", &["message"]),
    ("config", &["message", "ports", "text"]),
    ("session", &["message", "ports", "text"]),
    ("preset", &["message", "ports", "text"]),
    ("prompt", &["message", "ports", "text"]),
    ("providers", &["message", "ports", "text"]),
    ("tools", &["message", "ports", "text"]),
    ("policy", &["message", "ports", "text"]),
    (
        "harness",
        &[
            "message",
            "ports",
            "text",
            "config",
            "session",
            "preset",
            "prompt",
            "providers",
            "tools",
            "policy",
        ],
    ),
    ("headless", &["message", "ports", "text", "harness", "session"]),
    ("ui", &["message", "ports", "text", "harness", "session", "policy"]),
    (
        "launch",
        &[
            "message",
            "ports",
            "text",
            "config",
            "session",
            "preset",
            "prompt",
            "providers",
            "tools",
            "policy",
            "harness",
            "headless",
            "ui",
            "cli",
        ],
    ),
];

/// The data and words of a session; `ui` and `headless` may name nothing else of it.
const SESSION_DATA: [&str; 18] = [
    "Entry", "Body", "Origin", "Header", "journal", "Index", "Kind", "Labels", "Marks", "Node",
    "Page", "Position", "Reader", "Role", "Spent", "Stretch", "Tail", "TreeView",
];

/// Code lines a file may have. Larger files with a stated reason stand in `EXCUSED`.
const MAX_CODE_LINES: usize = 400;
const EXCUSED: [(&str, &str); 0] = [];

/// The loops that may wait for several things at once.
const SELECT_ALLOWED: [&str; 9] = [
    "src/harness/driver/",
    "src/ui/run",
    "src/ui/signals.rs",
    "src/headless/",
    "src/launch",
    "src/main.rs",
    // A tool or a provider may await inside its own future.
    "src/tools/",
    "src/providers/",
    "src/config/watch.rs",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut dirs = vec![root().join("src")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The code of a file: without its tests, comments and blank lines.
fn code(text: &str) -> Vec<&str> {
    text.lines()
        .take_while(|line| line.trim() != "#[cfg(test)]")
        .filter(|line| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("//")
        })
        .collect()
}

fn room(name: &str) -> &str {
    let inside = name.trim_start_matches("src/");
    inside.split(['/', '.']).next().unwrap_or(inside)
}

fn is_test_file(name: &str) -> bool {
    Path::new(name).file_stem().is_some_and(|stem| {
        let stem = stem.to_string_lossy();
        stem == "tests" || stem.ends_with("_tests")
    })
}

#[test]
fn imports_point_downwards_only() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let here = room(&name);
        if ["lib", "main", "cli"].contains(&here) {
            continue;
        }
        let allowed = EDGES.iter().find(|(room, _)| *room == here).map(|(_, to)| *to);
        let allowed = allowed.unwrap_or_else(|| panic!("{name}: a room without edges: {here}"));
        for line in code(&text) {
            for (at, _) in line.match_indices("crate::") {
                let there: String = line[at + "crate::".len()..]
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                let known = EDGES.iter().any(|(room, _)| *room == there);
                if known && there != here && !allowed.contains(&there.as_str()) {
                    wrong.push(format!("{name}: {here} uses {there}: {}", line.trim()));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn front_ends_name_only_the_data_of_a_session() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        if !["ui", "headless"].contains(&room(&name)) {
            continue;
        }
        for line in code(&text) {
            let Some((_, rest)) = line.split_once("crate::session::") else { continue };
            // `{A, B}` names several things, `A::…` one.
            let named = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or(list),
                None => rest.split("::").next().unwrap_or(rest),
            };
            let words: BTreeSet<&str> = named
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
                .collect();
            let journal = rest.starts_with("journal");
            if !journal && words.iter().any(|word| !SESSION_DATA.contains(word)) {
                wrong.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn files_stay_small() {
    let long: Vec<String> = sources()
        .into_iter()
        .filter(|(name, _)| !is_test_file(name) && !EXCUSED.iter().any(|(file, _)| file == name))
        .map(|(name, text)| (code(&text).len(), name))
        .filter(|(lines, _)| *lines > MAX_CODE_LINES)
        .map(|(lines, name)| format!("{name}: {lines} code lines"))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

#[test]
fn every_file_says_first_what_it_is_for() {
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! ") || text.lines().next().unwrap().len() < 20)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn the_terminal_is_known_to_the_screen_alone() {
    let words = ["ratatui", "crossterm", "tui_textarea", "vt100", "syntect", "pulldown_cmark"];
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        if room(&name) == "ui" {
            continue;
        }
        for line in code(&text) {
            if words.iter().any(|word| line.contains(&format!("{word}::"))) {
                wrong.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn only_the_loops_wait_for_several_things() {
    let wrong: Vec<String> = sources()
        .into_iter()
        .filter(|(name, text)| {
            code(text).iter().any(|line| line.contains("select!"))
                && !SELECT_ALLOWED.iter().any(|allowed| name.starts_with(allowed))
        })
        .map(|(name, _)| name)
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn nothing_is_left_open_or_hidden() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let bare = ["#[allow", "#[ignore", "todo!(", "unimplemented!(", "dbg!("];
            if bare.iter().any(|word| line.contains(word)) || line.contains("super::super") {
                wrong.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
