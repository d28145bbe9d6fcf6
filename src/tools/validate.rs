//! From what a model wrote to arguments a tool can trust.
//!
//! Models send numbers as text, null for "not given" and one value where a list is asked. Such slips
//! are mended by the schema before it judges, and what remains wrong is told in full, because a
//! model that is told exactly what is wrong gets it right the next time.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::message::{ToolCall, ToolSpec};
use crate::text::truncate;

use super::Tool;

/// Problems listed in one answer.
const MAX_PROBLEMS: usize = 10;
/// Bytes of one problem's text.
const MAX_PROBLEM_BYTES: usize = 300;
/// Bytes of the received arguments that are quoted back.
const MAX_QUOTED_BYTES: usize = 2000;

/// The arguments a tool runs with: repaired, coerced and valid.
///
/// # Errors
/// Text for the model: each problem with its path, and what was received (bounded).
pub fn prepare(tool: &dyn Tool, call: &ToolCall) -> Result<Value, String> {
    let spec = tool.spec();
    if let Some(raw) = &call.raw_arguments {
        return Err(format!(
            "the arguments of {} are not a JSON object, so it did not run. Call it again with valid \
             JSON.\nreceived: {}",
            spec.name,
            truncate::excerpt(raw, MAX_QUOTED_BYTES)
        ));
    }
    let arguments = match &call.arguments {
        Value::Null => Value::Object(Map::new()),
        given => given.clone(),
    };
    let mut arguments = tool.repair(arguments);
    coerce(&mut arguments, &spec.parameters);
    let text = problems(&arguments, &spec)?;
    if text.is_empty() {
        return Ok(arguments);
    }
    let received = call.arguments.to_string();
    Err(format!(
        "invalid arguments for {}, so it did not run:{text}\nreceived: {}",
        spec.name,
        truncate::excerpt(&received, MAX_QUOTED_BYTES)
    ))
}

/// One line for each thing that the schema refuses; empty when it refuses nothing.
fn problems(arguments: &Value, spec: &ToolSpec) -> Result<String, String> {
    // Compiled for each call: a tool's schema has a handful of properties and the tools may change.
    let validator = jsonschema::validator_for(&spec.parameters)
        .map_err(|error| format!("the schema of {} cannot be used: {error}", spec.name))?;
    let mut errors = validator.iter_errors(arguments);
    let mut text = String::new();
    for error in errors.by_ref().take(MAX_PROBLEMS) {
        let path = error.instance_path().to_string();
        let place = if path.is_empty() { "arguments" } else { path.trim_start_matches('/') };
        let message = error.masked().to_string();
        let _ = write!(text, "\n- {place}: {}", truncate::excerpt(&message, MAX_PROBLEM_BYTES));
    }
    let more = errors.count();
    if more > 0 {
        let _ = write!(text, "\n- {more} more");
    }
    Ok(text)
}

/// Changes a value towards its schema where the meaning is plain. Follows the schema, so its depth
/// bounds the work.
fn coerce(value: &mut Value, schema: &Value) {
    if let Some(mended) = mend(value, schema.get("type").and_then(Value::as_str)) {
        *value = mended;
    }
    match value {
        Value::Object(map) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return;
            };
            let is_required = |name: &str| {
                let required = schema.get("required").and_then(Value::as_array);
                required.is_some_and(|names| names.iter().any(|known| known == name))
            };
            map.retain(|name, inner| !inner.is_null() || is_required(name));
            for (name, inner) in map.iter_mut() {
                if let Some(schema) = properties.get(name) {
                    coerce(inner, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| coerce(item, schema));
            }
        }
        _ => {}
    }
}

fn mend(value: &Value, wanted: Option<&str>) -> Option<Value> {
    match (wanted?, value) {
        ("integer", Value::String(text)) => text.trim().parse::<i64>().ok().map(Value::from),
        ("integer", Value::Number(number)) => whole(number.as_f64().filter(|_| number.is_f64())?),
        ("number", Value::String(text)) => {
            let number = text.trim().parse::<f64>().ok()?;
            whole(number).or_else(|| serde_json::Number::from_f64(number).map(Value::Number))
        }
        ("boolean", Value::String(text)) => match text.trim() {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            _ => None,
        },
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
        ("array", Value::Array(_) | Value::Null) => None,
        ("array", Value::String(text)) => match list_in(text) {
            Some(list) => Some(list),
            None => Some(Value::Array(vec![value.clone()])),
        },
        ("array", _) => Some(Value::Array(vec![value.clone()])),
        ("object", Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => None,
    }
}

/// The integer that a float stands for, if it is one.
fn whole(number: f64) -> Option<Value> {
    /// Up to here every integer has an exact float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then(|| Value::from(number as i64))
}

/// The list written in a string: JSON text of an array, or of one object.
fn list_in(text: &str) -> Option<Value> {
    match serde_json::from_str(text.trim()).ok()? {
        list @ Value::Array(_) => Some(list),
        one @ Value::Object(_) => Some(Value::Array(vec![one])),
        _ => None,
    }
}
