//! From what a model wrote to valid arguments.

use harness_tui::message::ToolCall;
use harness_tui::tools::{built_in, prepare};
use serde_json::{Value, json};

use super::{call, tool};

fn prepared(name: &str, arguments: Value) -> Result<Value, String> {
    prepare(tool(name).as_ref(), &call(name, arguments))
}

#[test]
fn plain_slips_are_mended() {
    for (name, given, meant) in [
        ("read", json!({"path": "f", "limit": "42"}), json!({"path": "f", "limit": 42})),
        ("read", json!({"path": "f", "limit": 42.0}), json!({"path": "f", "limit": 42})),
        ("read", json!({"path": "f", "offset": null}), json!({"path": "f"})),
        ("read", json!({"path": 7}), json!({"path": "7"})),
        ("ls", Value::Null, json!({})),
        (
            "bash",
            json!({"command": "x", "timeout": "1.5"}),
            json!({"command": "x", "timeout": 1.5}),
        ),
        (
            "grep",
            json!({"pattern": "x", "literal": "true"}),
            json!({"pattern": "x", "literal": true}),
        ),
        (
            "edit",
            json!({"path": "f", "edits": {"oldText": "a", "newText": 1}}),
            json!({"path": "f", "edits": [{"oldText": "a", "newText": "1"}]}),
        ),
    ] {
        assert_eq!(prepared(name, given), Ok(meant));
    }
}

#[test]
fn what_stays_wrong_is_told_with_its_path_and_what_came() {
    let problem = prepared("edit", json!({"path": "f", "edits": [{"oldText": "a"}], "x": 1}));
    let problem = problem.unwrap_err();
    assert!(problem.starts_with("invalid arguments for edit, so it did not run:\n- "), "{problem}");
    assert!(problem.contains("\n- edits/0: \"newText\" is a required property"), "{problem}");
    assert!(problem.contains("'x' was unexpected"), "{problem}");
    assert!(problem.ends_with(r#"received: {"path":"f","edits":[{"oldText":"a"}],"x":1}"#));
    let problem = prepared("bash", json!({"command": "x", "timeout": -1})).unwrap_err();
    assert!(problem.contains("- timeout: value is less than the minimum"), "{problem}");
}

#[test]
fn what_is_quoted_back_is_bounded() {
    let problem = prepared("read", json!({"path": ["x".repeat(1 << 20)]})).unwrap_err();
    assert!(problem.len() < 3000 && problem.contains("more]"), "{}", problem.len());
    let mut broken = ToolCall { name: "read".into(), ..call("read", json!({})) };
    broken.raw_arguments = Some("{\"path\": ".to_owned() + &"y".repeat(1 << 20));
    let problem = prepare(tool("read").as_ref(), &broken).unwrap_err();
    assert!(problem.starts_with("the arguments of read are not a JSON object"), "{problem}");
    assert!(problem.contains("received: {\"path\": yyy") && problem.len() < 3000);
}

#[test]
fn schemas_are_plain_objects_and_the_order_is_fixed() {
    let specs: Vec<_> = built_in().iter().map(|tool| tool.spec()).collect();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["read", "bash", "edit", "write", "grep", "find", "ls"]);
    for spec in &specs {
        let text = spec.parameters.to_string();
        for noise in ["$schema", "$ref", "$defs", "\"title\"", "\"format\"", "null"] {
            assert!(!text.contains(noise), "{noise} in {text}");
        }
        assert_eq!(spec.parameters["additionalProperties"], json!(false));
    }
    let edit = &specs[2].parameters;
    assert_eq!(edit["properties"]["edits"]["items"]["additionalProperties"], json!(false));
    assert_eq!(
        specs[0].parameters,
        json!({
            "type": "object",
            "properties": {
                "path": {
                    "description": "File to read, relative to the working folder or absolute.",
                    "type": "string",
                },
                "offset": {"description": "First line to show, from 1.", "type": "integer"},
                "limit": {"description": "Lines to show.", "type": "integer"},
            },
            "required": ["path"],
            "additionalProperties": false,
        })
    );
}
