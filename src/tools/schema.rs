//! JSON schemas of tool arguments, made from the argument structs.
//!
//! One transform takes away what only costs tokens (titles, formats, nulls for optional fields), so
//! that models see names, types and descriptions and nothing else.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::message::ToolOutcome;

/// The schema of `T`: an object without references, further properties refused.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    slim(&mut schema, true);
    schema
}

/// `is_schema` tells a schema from a map of property names, where `title` is a name.
fn slim(value: &mut Value, is_schema: bool) {
    let Value::Object(map) = value else { return };
    if !is_schema {
        map.values_mut().for_each(|inner| slim(inner, true));
        return;
    }
    for noise in ["$schema", "title", "format", "default"] {
        map.shift_remove(noise);
    }
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(properties) = map.get_mut("properties") {
        slim(properties, false);
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(items) = map.get_mut("items") {
        slim(items, true);
    }
}

/// Reads validated arguments into their struct.
///
/// # Errors
/// An outcome that says so; only a caller that did not validate sees it.
pub(crate) fn parse<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, ToolOutcome> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolOutcome::error(format!("invalid arguments for {tool}: {error}")))
}
