//! stub
pub fn prepare(
    _: &dyn super::Tool,
    call: &crate::message::ToolCall,
) -> Result<serde_json::Value, String> {
    Ok(call.arguments.clone())
}
