//! The table `cases.md` says which test stands for which case; here every test it names must exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of all test functions under a folder.
fn functions(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
                let name = line.trim_start_matches("async ").strip_prefix("fn ");
                if let Some(name) = name.and_then(|rest| rest.split(['(', '<']).next()) {
                    if is_test {
                        found.insert(name.to_owned());
                    }
                    is_test = false;
                }
            }
        }
    }
}

#[test]
fn every_test_the_table_of_cases_names_exists() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut known = BTreeSet::new();
    functions(&root.join("tests/it"), &mut known);
    functions(&root.join("src"), &mut known);
    let table = fs::read_to_string(root.join("tests/it/cases.md")).unwrap();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.contains("---"))
        .skip(1)
        .collect();
    assert!(rows.len() > 50, "the table is read: {} rows", rows.len());
    let mut missing = Vec::new();
    for row in rows {
        let named: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            missing.push(format!("no test: {row}"));
        }
        missing.extend(
            named
                .iter()
                .filter(|name| !known.contains(**name))
                .map(|name| format!("{name}: {row}")),
        );
    }
    assert_eq!(missing, Vec::<String>::new());
}
