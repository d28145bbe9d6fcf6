//! The real binary without a screen: output, exit codes, bad input.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use harness_tui::ports::{Disk, SystemClock};
use harness_tui::session::{Durability, Place, Session};
use pretty_assertions::assert_eq;
use tempfile::TempDir;

struct Home {
    home: TempDir,
    work: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), work: tempfile::tempdir().unwrap() }
    }

    fn config(&self, text: &str) {
        std::fs::create_dir_all(self.home.path().join("config")).unwrap();
        std::fs::write(self.home.path().join("config/config.toml"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness-tui"));
        command
            .args(args)
            .current_dir(self.work.path())
            .env("HARNESS_TUI_HOME", self.home.path())
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("OPENAI_API_KEY")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        told(self.command(args).output().unwrap())
    }

    fn sessions(&self) -> Vec<std::path::PathBuf> {
        let mut found = Vec::new();
        let mut dirs = vec![self.home.path().join("data")];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else if path.extension().is_some_and(|end| end == "jsonl") {
                    found.push(path);
                }
            }
        }
        found
    }
}

fn told(output: Output) -> (i32, String, String) {
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn the_demo_model_answers_without_any_setting_and_the_answer_alone_is_on_stdout() {
    let home = Home::new();
    std::fs::write(home.work.path().join("note.txt"), "remember the milk\n").unwrap();
    let (code, out, err) = home.run(&["-p", "read note.txt"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("remember the milk"), "{out}");
}

#[test]
fn json_lines_begin_with_the_session_and_end_settled() {
    let home = Home::new();
    let (code, out, _) = home.run(&["--mode", "json", "hello"]);
    assert_eq!(code, 0);
    let kinds: Vec<String> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds.first().map(String::as_str), Some("session"));
    assert_eq!(kinds.last().map(String::as_str), Some("settled"));
    assert!(kinds.contains(&"message_update".to_owned()));
}

#[test]
fn what_needs_a_yes_is_refused_and_the_code_says_so() {
    let home = Home::new();
    let (code, out, _) = home.run(&["-p", "run touch made.txt"]);
    assert_eq!(code, 5);
    assert!(out.contains("approval"), "{out}");
    assert!(!home.work.path().join("made.txt").exists());
    let (code, ..) = home.run(&["-p", "--approval", "full", "run touch made.txt"]);
    assert_eq!(code, 0);
    assert!(home.work.path().join("made.txt").exists());
}

#[test]
fn piped_text_comes_before_the_prompt() {
    let home = Home::new();
    let mut child =
        home.command(&["--mode", "json", "what is this?"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("piped words".as_bytes()).unwrap();
    let (code, out, _) = told(child.wait_with_output().unwrap());
    assert_eq!(code, 0);
    let piped = out.find("piped words").unwrap();
    let asked = out.find("what is this?").unwrap();
    assert!(piped < asked);
}

#[test]
fn continue_goes_on_in_this_folder_and_nowhere_else() {
    let home = Home::new();
    let (code, _, err) = home.run(&["-p", "-c", "hello"]);
    assert_eq!(code, 1);
    assert!(err.contains("there is no session of"), "{err}");
    home.run(&["-p", "hello"]);
    let (code, ..) = home.run(&["-p", "-c", "hello again"]);
    assert_eq!((code, home.sessions().len()), (0, 1));
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    let home = Home::new();
    home.run(&["-p", "hello"]);
    let path = home.sessions().remove(0);
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let id = name.rsplit_once('_').unwrap().1.to_owned();
    let (code, ..) = home.run(&["-p", "--session", &id[..23], "hello again"]);
    assert_eq!((code, home.sessions().len()), (0, 1));
    let (code, _, err) = home.run(&["-p", "--session", "nothing-like-it", "hello"]);
    assert_eq!(code, 1, "{err}");
}

#[test]
fn an_empty_file_becomes_a_session_of_the_folder_that_was_named() {
    let home = Home::new();
    let other = tempfile::tempdir().unwrap();
    let file = home.work.path().join("s.jsonl");
    std::fs::write(&file, "").unwrap();
    let (cwd, path) = (other.path().to_str().unwrap(), file.to_str().unwrap());
    let (code, _, err) = home.run(&["-p", "--cwd", cwd, "--session", path, "hello"]);
    assert_eq!(code, 0, "{err}");
    let text = std::fs::read_to_string(&file).unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["cwd"], cwd);
}

#[test]
fn a_session_that_another_program_holds_is_left_alone() {
    let home = Home::new();
    home.run(&["-p", "hello"]);
    let path = home.sessions().remove(0);
    let before = std::fs::read(&path).unwrap();
    let place = Place {
        files: Arc::new(Disk),
        clock: Arc::new(SystemClock),
        root: path.parent().unwrap().to_owned(),
        durability: Durability::Commit,
    };
    let held = Session::open(place, &path).unwrap();
    assert_eq!(held.holder(), None);
    for mode in ["text", "json"] {
        let (code, out, err) = home.run(&["--mode", mode, "-c", "hello again"]);
        assert_eq!((code, out.as_str()), (75, ""), "{err}");
        assert!(err.contains(&format!("process {}", std::process::id())), "{err}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn bad_starts_say_what_is_wrong_and_change_nothing() {
    let home = Home::new();
    let junk = home.work.path().join("junk.jsonl");
    std::fs::write(&junk, "not a session\n").unwrap();
    let missing = home.work.path().join("gone");
    let cases: [(&[&str], i32, &str); 10] = [
        (&["-p"], 2, "no prompt"),
        (&["-p", ""], 2, "no prompt"),
        (&["--config", "gone.toml", "-p", "hi"], 2, "there is no config file gone.toml"),
        (&["-p", "--session", "junk.jsonl", "hi"], 1, "junk.jsonl"),
        (&["-p", "--model", "nowhere/x", "hi"], 4, "no provider is known for model"),
        (&["-p", "--model", "anthropic/claude-sonnet-4-5", "hi"], 4, "set ANTHROPIC_API_KEY"),
        (&["-p", "--tools", "read,wirte", "hi"], 2, "there is no tool \"wirte\""),
        (&["-p", "--system-prompt", "@gone.md", "hi"], 2, "cannot read the system prompt gone.md"),
        (&["-p", "--cwd", missing.to_str().unwrap(), "hi"], 2, "cannot work in"),
        (&["-p", "@gone.txt", "hi"], 2, "cannot read @gone.txt"),
    ];
    for (args, code, text) in cases {
        let (got, out, err) = home.run(args);
        assert_eq!((got, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(text), "{args:?}: {err}");
    }
    assert_eq!(std::fs::read_to_string(&junk).unwrap(), "not a session\n");
    assert_eq!(home.sessions(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_bad_start_quotes_no_control_byte() {
    let (code, _, err) = Home::new().run(&["-p", "--cwd", "no\x1b[2Jsuch", "hi"]);
    assert_eq!(code, 2);
    assert!(err.contains("no␛[2Jsuch"), "{err:?}");
}

#[test]
fn an_unreachable_server_is_named_with_its_address() {
    let home = Home::new();
    home.config(
        "[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9\"\n\
         [retry]\nmax_retries = 0\n",
    );
    let (code, _, err) = home.run(&["-p", "--model", "local/m", "hi"]);
    assert_eq!(code, 1);
    assert!(err.contains("http://127.0.0.1:9/v1/chat/completions"), "{err}");
}

#[test]
fn a_broken_config_is_told_with_line_and_column_and_the_program_still_works() {
    let home = Home::new();
    home.config("model = \"demo/demo\"\nthinking = \"loud\"\n");
    let (code, out, err) = home.run(&["-p", "hello"]);
    assert_eq!(code, 0);
    assert!(err.contains("config.toml:2:12:"), "{err}");
    assert!(err.contains("read-only until it is mended"), "{err}");
    assert!(out.contains("demo"), "{out}");
}

#[test]
fn a_read_only_data_folder_is_an_error_with_advice() {
    let home = Home::new();
    // A file where the folder should be: also root cannot write there.
    std::fs::write(home.home.path().join("data"), "").unwrap();
    let (code, out, err) = home.run(&["-p", "hello"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("data"), "{err}");
}

#[test]
fn a_closed_output_ends_quietly() {
    let home = Home::new();
    let mut child = home.command(&["--mode", "json", "hello"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(told(output), (0, String::new(), String::new()));
}

#[test]
fn a_signal_ends_a_run_whose_output_nobody_reads() {
    let home = Home::new();
    let args = ["--mode", "json", "--approval", "full", "run seq 1 20000"];
    let mut child = home.command(&args).spawn().unwrap();
    // The engine waits for no reader: its turn ends while the output, larger than a pipe, stands.
    let is_over = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path).unwrap().contains("\"event\":\"finished\"")
    };
    while !home.sessions().iter().any(is_over) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn files_are_private_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.run(&["-p", "--approval", "full", "run seq 1 20000"]);
    let mut dirs = vec![home.home.path().join("data"), home.home.path().join("state")];
    while let Some(dir) = dirs.pop() {
        if !dir.exists() {
            continue;
        }
        assert_eq!(mode(&dir), 0o700, "{}", dir.display());
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }
}

#[test]
fn an_edit_is_announced_with_the_file_before_and_after_it() {
    let home = Home::new();
    std::fs::write(home.work.path().join("a.txt"), "one\n").unwrap();
    let (code, ..) = home.run(&["-p", "--approval", "full", "replace one with two in a.txt"]);
    assert_eq!(code, 0);
    let text = std::fs::read_to_string(home.sessions().remove(0)).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let call = lines.iter().find(|line| line["data"]["event"] == "call").unwrap();
    let call = &call["data"]["calls"][0];
    // SHA-256 of "one\n" and "two\n".
    let before = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806";
    let after = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a";
    assert_eq!((&call["pre_image"], &call["post_image"]), (&before.into(), &after.into()));
    let result = lines.iter().find(|line| !line["harness"]["post_image"].is_null()).unwrap();
    assert_eq!(result["harness"]["post_image"], after);
}
