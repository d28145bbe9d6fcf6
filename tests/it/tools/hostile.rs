//! Arguments that no schema would let through, texts without sense, trees without end.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Bench, call, tool};
use harness_tui::tools::{built_in, prepare};

/// Every case compiles the schemas of all tools.
const CASES: u32 = 64;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!("[{}]")),
        Just(json!("[[1]]")),
    ];
    let name = "path|edits|oldText|newText|limit|offset|command|timeout|pattern|glob|content|x";
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(name, inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_arguments_make_a_tool_panic(arguments in any_json()) {
        let cwd = std::path::Path::new("/nowhere");
        for tool in built_in() {
            let name = tool.spec().name;
            let _ = tool.summary(&arguments);
            let _ = tool.target(&arguments, cwd);
            let _ = tool.preview(&arguments, cwd);
            let _ = tool.images(&arguments, cwd);
            if let Err(problem) = prepare(tool.as_ref(), &call(&name, arguments.clone())) {
                prop_assert!(problem.len() < 10_000);
            }
        }
    }

    #[test]
    fn a_prepared_call_is_prepared_for_good(arguments in any_json()) {
        for tool in built_in() {
            let name = tool.spec().name;
            if let Ok(once) = prepare(tool.as_ref(), &call(&name, arguments.clone())) {
                let twice = prepare(tool.as_ref(), &call(&name, once.clone()));
                prop_assert_eq!(twice, Ok(once));
            }
        }
    }
}

#[tokio::test]
async fn answers_do_not_repeat_megabytes_of_arguments() {
    let bench = Bench::new();
    let long = "x/".repeat(1 << 20);
    for (name, arguments) in [
        ("read", json!({"path": long})),
        ("ls", json!({"path": long})),
        ("find", json!({"pattern": long})),
        ("find", json!({"pattern": "*", "path": long})),
        ("grep", json!({"pattern": format!("({long}")})),
        ("grep", json!({"pattern": "x", "path": long})),
        ("edit", json!({"path": long, "edits": [{"oldText": "a", "newText": "b"}]})),
        ("write", json!({"path": format!("{long}x"), "content": ""})),
        ("bash", json!({"command": long})),
    ] {
        let text = bench.bad(name, arguments.clone()).await;
        assert!(text.len() < 10_000, "{name}: {}", text.len());
        assert!(tool(name).summary(&arguments).chars().count() <= 200);
    }
}

#[tokio::test]
async fn a_large_ignored_folder_is_not_entered() {
    let bench = Bench::new();
    bench.put(".gitignore", "many/\n");
    bench.put("kept", "needle\n");
    for folder in 0..100 {
        bench.put(&format!("many/{folder}/file"), "needle\n");
    }
    let text = bench.good("find", json!({"pattern": "file"})).await;
    assert!(text.contains("0 matching entries, 1 directories not searched"), "{text}");
    assert_eq!(bench.good("grep", json!({"pattern": "needle"})).await, "kept:1: needle");
}

#[tokio::test]
async fn an_edit_with_thousands_of_pieces_is_refused() {
    let bench = Bench::new();
    bench.put("f", "a\n");
    let edits = vec![json!({"oldText": "a", "newText": "b"}); 5000];
    let text = bench.bad("edit", json!({"path": "f", "edits": edits})).await;
    assert!(text.contains("5000 edits are more than 200"), "{text}");
}
