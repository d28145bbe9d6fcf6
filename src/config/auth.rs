//! Keys that were stored by hand or by a login: read here, never printed anywhere.

use std::path::Path;

use secrecy::SecretString;
use serde_json::Value;

/// The stored key of a provider: `{"<provider>": {"type": "api_key", "key": "…"}}`.
///
/// # Errors
/// When the file exists and cannot be read or parsed; the text holds no key.
pub fn stored_key(file: &Path, provider: &str) -> Result<Option<SecretString>, String> {
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read {}: {error}", file.display())),
    };
    let all: Value = serde_json::from_slice(&bytes).map_err(|error| {
        format!("{}:{}:{}: not valid JSON", file.display(), error.line(), error.column())
    })?;
    let key = all.get(provider).and_then(|entry| entry.get("key")).and_then(Value::as_str);
    Ok(key.map(|key| SecretString::from(key.to_owned())))
}

/// Every key in the file, to take them out of what leaves this machine. A file that cannot be read
/// holds none that anybody here could have used.
pub fn stored_secrets(file: &Path) -> Vec<String> {
    let bytes = std::fs::read(file).unwrap_or_default();
    let all: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let entries = all.as_object().into_iter().flat_map(serde_json::Map::values);
    let texts = entries.filter_map(Value::as_object).flat_map(serde_json::Map::iter);
    let secrets = texts.filter(|(name, _)| *name != "type").filter_map(|(_, text)| text.as_str());
    secrets.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_key_is_found_and_a_broken_file_is_told_without_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("auth.json");
        assert!(stored_key(&file, "openai").unwrap().is_none());
        std::fs::write(&file, r#"{"openai":{"type":"api_key","key":"k1"}}"#).unwrap();
        assert_eq!(stored_key(&file, "openai").unwrap().unwrap().expose_secret(), "k1");
        assert!(stored_key(&file, "other").unwrap().is_none());
        std::fs::write(&file, r#"{"openai":{"key":"SECRET"#).unwrap();
        let error = stored_key(&file, "openai").unwrap_err();
        assert!(error.contains("auth.json:1:") && !error.contains("SECRET"), "{error}");
    }
}
