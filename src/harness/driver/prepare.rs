//! Looking at a call before it may run: lookup, repair, validation, policy, and what binds a yes.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::message::{ToolCall, ToolOutcome};
use crate::policy::{Verdict, judge};
use crate::tools::{self, Tool};

use super::Driver;
use crate::harness::batch::{Prepared, Ready};
use crate::harness::{CallKey, ErrorCode, HarnessError, HeldCall};

/// A pre-image larger than this is not hashed: the card could not show such an edit anyway.
const MAX_PRE_IMAGE: u64 = 64 * 1024 * 1024;

impl Driver {
    pub(super) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let position = self.specs.iter().position(|spec| spec.name == name)?;
        self.setup.tools.get(position)
    }

    pub(super) fn prepare(&self, ordinal: usize, call: &ToolCall) -> Prepared {
        let Some(tool) = self.tool(&call.name) else {
            let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
            let text = format!("Tool {} not found. You have: {}.", call.name, names.join(", "));
            return Prepared::Refused { outcome: ToolOutcome::error(text), scope: None };
        };
        let arguments = match tools::prepare(&**tool, call) {
            Ok(arguments) => arguments,
            Err(text) => {
                return Prepared::Refused { outcome: ToolOutcome::error(text), scope: None };
            }
        };
        let target = tool.target(&arguments, &self.setup.cwd);
        let images = target.as_ref().and_then(|_| tool.images(&arguments, &self.setup.cwd));
        let (pre_image, post_image) = match images {
            Some(images) => (images.before, Some(images.after)),
            None => (target.as_deref().and_then(pre_image), None),
        };
        let ready = Box::new(Ready {
            summary: tool.summary(&arguments),
            hash: self.hash(&call.name, &arguments, pre_image.as_deref()),
            pre_image,
            post_image,
            idempotent: tool.idempotent(),
            sequential: tool.sequential(),
            decision: None,
            arguments,
        });
        let rule = session_rule(&call.name, &ready.arguments, target.as_deref());
        match judge(self.profile, tool.access()) {
            Verdict::Allow => Prepared::Ready(ready),
            Verdict::Hold(_) if self.allowed.contains(&rule) => {
                let decision = Some("session".to_owned());
                Prepared::Ready(Box::new(Ready { decision, ..*ready }))
            }
            Verdict::Hold(reason) if self.setup.unattended => Prepared::Refused {
                outcome: ToolOutcome::error(format!(
                    "This call {reason} and needs the user's approval, but nobody can give it in \
                     this run. Do what you can without it, and say what could not be done."
                )),
                scope: Some("unattended"),
            },
            Verdict::Hold(reason) => {
                let held = self.held(ordinal, call, &**tool, &ready, reason, rule);
                Prepared::Held(ready, Box::new(held))
            }
            Verdict::Deny(reason) => Prepared::Refused {
                outcome: ToolOutcome::error(format!("This call is not allowed: {reason}.")),
                scope: Some("policy"),
            },
        }
    }

    /// A yes counts only for what the card shows. When the file or the rules have changed since, a
    /// fresh card takes its place, or the call is no longer allowed at all.
    ///
    /// # Errors
    /// `invalid_state`: the answer does not count.
    pub(super) fn check_card(&mut self, key: &CallKey) -> Result<(), HarnessError> {
        // Whether anything waits under this key at all is for the machine to say.
        let Some((call, shown)) = self.machine.asked(key) else { return Ok(()) };
        let refuse = |text: &str| Err(HarnessError::new(ErrorCode::InvalidState, text));
        match self.prepare(key.ordinal as usize, &call) {
            Prepared::Held(ready, held) if ready.hash != shown => {
                let effects = self.machine.ask_again(ready, held);
                self.perform(effects)?;
                refuse("the file has changed since this was shown: look at it again, then decide")
            }
            Prepared::Refused { .. } => {
                refuse("this call is not allowed any more: say no, or change the approval profile")
            }
            Prepared::Ready(_) | Prepared::Held(..) => Ok(()),
        }
    }

    fn held(
        &self,
        ordinal: usize,
        call: &ToolCall,
        tool: &dyn Tool,
        ready: &Ready,
        reason: String,
        session_rule: String,
    ) -> HeldCall {
        HeldCall {
            key: CallKey {
                turn: self.machine.turn_id().cloned().unwrap_or_default(),
                step: self.machine.step_number(),
                ordinal: u32::try_from(ordinal).unwrap_or(u32::MAX),
            },
            tool: call.name.clone(),
            arguments: ready.arguments.clone(),
            summary: ready.summary.clone(),
            reason,
            hash: ready.hash.clone(),
            preview: tool.preview(&ready.arguments, &self.setup.cwd),
            session_rule,
            since: self.now(),
        }
    }

    /// SHA-256 of everything a yes is bound to.
    pub(super) fn hash(&self, tool: &str, arguments: &Value, pre_image: Option<&str>) -> String {
        let bound = json!({
            "tool": tool,
            "arguments": arguments,
            "cwd": self.setup.cwd.to_string_lossy(),
            "pre_image": pre_image,
        });
        hex(&Sha256::digest(bound.to_string().as_bytes()))
    }
}

/// The SHA-256 of a file as it is; `None` when there is none.
fn pre_image(path: &Path) -> Option<String> {
    let facts = std::fs::metadata(path).ok()?;
    if !facts.is_file() || facts.len() > MAX_PRE_IMAGE {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    Some(hex(&Sha256::digest(&bytes)))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What a yes for the session allows: the rule, which is also the words shown for it.
fn session_rule(tool: &str, arguments: &Value, target: Option<&Path>) -> String {
    let command = arguments.get("command").and_then(Value::as_str);
    match (target, command) {
        (Some(path), _) => format!("edits and writes to {}", path.display()),
        (None, Some(command)) => format!("the exact command: {command}"),
        (None, None) => format!("{tool} with exactly these arguments: {arguments}"),
    }
}
