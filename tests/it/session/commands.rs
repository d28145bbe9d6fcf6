//! `harness-tui sessions …` as a process: what it prints, and the codes it ends with.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use harness_tui::ports::{Disk, SystemClock};
use harness_tui::session::{Durability, Flush, Place, Session};
use pretty_assertions::assert_eq;
use serde_json::Value;
use tempfile::TempDir;

use super::{answer, model, user};

struct Home {
    home: TempDir,
    work: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), work: tempfile::tempdir().unwrap() }
    }

    fn cwd(&self) -> PathBuf {
        self.work.path().canonicalize().unwrap()
    }

    fn place(&self) -> Place {
        Place {
            files: Arc::new(Disk),
            clock: Arc::new(SystemClock),
            root: self.home.path().join("data/sessions"),
            durability: Durability::Process,
        }
    }

    /// Two branches under one question.
    fn session(&self) -> Session {
        let mut session = Session::create(self.place(), &self.cwd());
        session.append(vec![model("m"), user("question"), answer("first")], Flush::Sync).unwrap();
        let asked = session.branch().unwrap()[1].id.clone();
        session.append_under(Some(&asked), vec![answer("second\u{1b}[2J")], Flush::Sync).unwrap();
        session
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).output().unwrap();
        (
            output.status.code().unwrap_or(-1),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness-tui"));
        command
            .args(args)
            .current_dir(self.work.path())
            .env("HARNESS_TUI_HOME", self.home.path())
            .env("OPENAI_API_KEY", "key-of-this-test")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn json(&self, args: &[&str]) -> Value {
        let (code, out, err) = self.run(args);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        serde_json::from_str(&out).unwrap()
    }
}

#[test]
fn the_active_branch_is_shown_clean_and_as_json() {
    let home = Home::new();
    let id = home.session().id().to_string();
    let (code, out, err) = home.run(&["sessions", "show", &id]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("question") && out.contains("second␛[2J") && !out.contains("first"));
    let json = home.json(&["sessions", "show", &id[..30], "--json"]);
    assert_eq!((json["id"].as_str(), json["entries"].as_array().unwrap().len()), (Some(&*id), 3));
}

#[test]
fn the_tree_marks_forks_labels_and_the_leaf() {
    let home = Home::new();
    let mut session = home.session();
    let ids: Vec<String> = session.index().iter().map(|node| node.id.to_string()).collect();
    session.set_label(&ids[2].as_str().into(), Some("try")).unwrap();
    let id = session.id().to_string();
    drop(session);
    let (code, out, _) = home.run(&["sessions", "tree", &id]);
    let want = format!(
        "{} you       question\n├─ {} assistant first [try]\n└─ {} assistant second [2J ◀ leaf\n",
        ids[1], ids[2], ids[3]
    );
    assert_eq!((code, out), (0, want));
    let json = home.json(&["sessions", "tree", &id, "--json"]);
    assert_eq!(json["nodes"].as_array().unwrap().len(), 5);
    assert_eq!(json["nodes"][3]["parent"], ids[1]);
}

#[test]
fn a_deep_chain_and_many_forks_print_without_recursion() {
    let home = Home::new();
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"deep\",\"cwd\":{:?}}}\n",
        home.cwd()
    );
    for n in 0..20_000 {
        let parent = if n == 0 { "null".to_owned() } else { format!("\"e{}\"", (n - 1) / 2 * 2) };
        text.push_str(&format!("{{\"type\":\"message\",\"id\":\"e{n}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"m\"}}}}\n"));
    }
    std::fs::write(home.work.path().join("deep.jsonl"), text).unwrap();
    let (code, out, _) = home.run(&["sessions", "tree", "deep.jsonl"]);
    assert_eq!((code, out.lines().count()), (0, 20_000));
    assert!(out.lines().all(|line| line.len() < 300));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::new();
    let id = home.session().id().to_string();
    for command in ["show", "tree", "export", "stats"] {
        let mut child = home.command(&["sessions", command, &id]).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]), "{command}");
    }
}

#[test]
fn a_check_ends_with_one_when_something_is_wrong_and_a_repair_mends_it() {
    let home = Home::new();
    let session = home.session();
    let path = session.path().unwrap().to_owned();
    drop(session);
    let file = path.to_str().unwrap();
    assert_eq!(home.run(&["sessions", "verify", file]).0, 0);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"broken\n{\"type\":\"mes");
    std::fs::write(&path, &bytes).unwrap();
    let (code, out, _) = home.run(&["sessions", "verify", file, "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["ok"], &report["total"]), (1, &false.into(), &2.into()));
    let (code, out, _) = home.run(&["sessions", "repair", file, "--out", "mended.jsonl"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(home.run(&["sessions", "verify", "mended.jsonl"]).0, 0);
    let (code, _, err) = home.run(&["sessions", "repair", file, "--out", "mended.jsonl"]);
    assert!(code == 1 && err.contains("is there already"), "{err}");
}

#[test]
fn exports_and_imports_go_round_and_keys_stay_here() {
    let home = Home::new();
    let mut session = home.session();
    session.append(vec![user("my key is key-of-this-test")], Flush::Sync).unwrap();
    let (id, path) = (session.id().to_string(), session.path().unwrap().to_owned());
    drop(session);
    let (_, out, _) = home.run(&["sessions", "export", &id]);
    assert_eq!(
        out,
        std::fs::read_to_string(&path).unwrap().replace("key-of-this-test", "[redacted]")
    );
    for format in ["md", "html"] {
        let file = format!("out.{format}");
        let json =
            home.json(&["sessions", "export", &id, "--format", format, "--out", &file, "--json"]);
        let text = std::fs::read_to_string(json["path"].as_str().unwrap()).unwrap();
        assert!(text.contains("question") && !text.contains("key-of-this-test"), "{format}");
    }
    assert_eq!(home.run(&["sessions", "export", &id, "--out", "copy.jsonl"]).0, 0);
    let (code, out, err) = home.run(&["sessions", "import", "copy.jsonl", "--json"]);
    let imported: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && err.contains("new id"), "{err}");
    assert_ne!(imported["id"], id.as_str());
    assert_eq!(home.json(&["sessions", "show", &id, "--json"])["path"], path.to_str().unwrap());
    std::fs::write(home.work.path().join("no.jsonl"), "hello\n").unwrap();
    assert_eq!(home.run(&["sessions", "import", "no.jsonl"]).0, 1);
}

#[test]
fn a_fork_stops_before_a_message_of_yours_and_a_tree_moves_to_this_folder() {
    let home = Home::new();
    let session = home.session();
    let (id, asked) = (session.id().to_string(), session.index().node(1).unwrap().id.to_string());
    drop(session);
    let fork = home.json(&["sessions", "fork", &id, "--at", &asked, "--json"]);
    assert_eq!(fork["editor_text"], "question");
    let other = tempfile::tempdir().unwrap();
    let dir = other.path().to_str().unwrap();
    let tree = home.json(&["sessions", "fork", &id, "--tree", "--cwd", dir, "--json"]);
    let shown = home.json(&["sessions", "show", tree["id"].as_str().unwrap(), "--json"]);
    assert_eq!(Path::new(shown["cwd"].as_str().unwrap()), other.path().canonicalize().unwrap());
    let (code, _, err) = home.run(&["sessions", "fork", &id, "--at", "nobody"]);
    assert!(code == 1 && err.contains("no entry nobody"), "{err}");
}

#[test]
fn a_label_needs_the_lock_and_says_who_holds_it() {
    let home = Home::new();
    let session = home.session();
    let (id, entry) = (session.id().to_string(), session.leaf().unwrap().to_string());
    let (code, _, err) = home.run(&["sessions", "label", &id, &entry, "mine"]);
    assert!(code == 75 && err.contains(&format!("process {}", std::process::id())), "{err}");
    assert_eq!(home.run(&["sessions", "stats", &id]).0, 0, "reading needs none");
    drop(session);
    let json = home.json(&["sessions", "label", &id, &entry[..6], "mine", "--json"]);
    assert_eq!((&json["entry"], &json["label"]), (&entry.into(), &"mine".into()));
}

#[test]
fn the_main_command_forks_into_this_folder_and_goes_on_there() {
    let home = Home::new();
    let session = home.session();
    let (id, path) = (session.id().to_string(), session.path().unwrap().to_owned());
    let before = std::fs::read(&path).unwrap();
    let (code, out, err) = home.run(&["--fork", &id, "-p", "run date", "--approval", "full"]);
    assert_eq!((code, out.is_empty()), (0, false), "{err}");
    assert_eq!(std::fs::read(&path).unwrap(), before, "also while another instance holds it");
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let sessions = files
        .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "jsonl"));
    assert_eq!(sessions.count(), 2);
    let (code, _, err) = home.run(&["--resume", "-p", "x"]);
    assert!(code == 2 && err.contains("--session"), "{err}");
    assert_eq!(home.run(&["--fork", "nothing-like-it", "-p", "x"]).0, 1);
}
