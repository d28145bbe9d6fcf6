//! Setters: at once in memory, in the file now when idle or at the next save point while a turn runs.
//!
//! A set of the same value writes nothing.

use serde_json::{Map, Value, json};

use crate::message::{Message, ThinkingLevel};
use crate::policy::Profile;
use crate::session::{Body, Flush, request_view};

use super::Driver;
use crate::harness::turn::{Effect, Signature};
use crate::harness::{ErrorCode, Event, HarnessError, Reply};

/// A session name longer than this is cut: it has to fit a status line and a picker.
const MAX_NAME: usize = 200;

impl Driver {
    pub(super) fn set_model(&mut self, reference: &str) -> Result<Reply, HarnessError> {
        let model = (self.setup.models)(reference)?;
        if model.spec.reference() == self.model.spec.reference() {
            return Ok(Reply::Done);
        }
        self.model = model;
        self.sign();
        let spec = self.model.spec.clone();
        let body = Body::ModelChange { provider: spec.provider.clone(), model_id: spec.id.clone() };
        let event = Event::ModelUpdate {
            model: spec.reference(),
            context_window: spec.context_window,
            known: spec.known,
        };
        self.record_setting(body, event)
    }

    pub(super) fn set_thinking(&mut self, level: ThinkingLevel) -> Result<Reply, HarnessError> {
        if level == self.thinking {
            return Ok(Reply::Done);
        }
        self.thinking = level;
        let body = Body::ThinkingLevelChange { thinking_level: level.name().into() };
        self.record_setting(body, Event::ThinkingLevelUpdate { level })
    }

    pub(super) fn set_profile(&mut self, profile: Profile) -> Result<Reply, HarnessError> {
        if profile == self.profile {
            return Ok(Reply::Done);
        }
        self.profile = profile;
        let body = Body::Custom {
            custom_type: "harness-tui.settings".into(),
            data: Some(json!({"v": 1, "approval": profile.name()})),
        };
        self.record_setting(body, Event::ApprovalProfileUpdate { profile })
    }

    pub(super) fn set_name(&mut self, name: &str) -> Result<Reply, HarnessError> {
        let name: String = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let name: String = name.chars().take(MAX_NAME).collect();
        if self.session().name().unwrap_or_default() == name {
            return Ok(Reply::Done);
        }
        let body = Body::SessionInfo { name: Some(name.clone()) };
        self.record_setting(body, Event::SessionInfoChanged { name })
    }

    fn record_setting(&mut self, body: Body, event: Event) -> Result<Reply, HarnessError> {
        self.emit(event);
        if self.machine.turn_id().is_some() {
            self.settings.push(body);
            return Ok(Reply::Done);
        }
        // Before the first message nothing is on disk; the preface of the first turn says it all.
        if self.session().leaf().is_none()
            && !matches!(body, Body::SessionInfo { .. } | Body::Custom { .. })
        {
            return Ok(Reply::Done);
        }
        let effects = vec![Effect::Append { bodies: vec![body], flush: Flush::Sync }];
        self.perform(effects).map(|()| Reply::Done)
    }

    /// At a save point: what setters said while the step ran.
    pub(super) fn take_settings(&mut self) {
        if !self.settings.is_empty() {
            let bodies = std::mem::take(&mut self.settings);
            self.pending.push(Effect::Append { bodies, flush: Flush::Lazy });
        }
    }

    /// Who the machine signs as when it has to write an answer that nobody finished.
    pub(super) fn sign(&mut self) {
        self.machine.signature = Signature {
            api: self.model.provider.api().to_owned(),
            provider: self.model.spec.provider.clone(),
            model: self.model.spec.id.clone(),
        };
    }

    /// Model and level must stand before the first user message of every root.
    pub(super) fn preface(&mut self) -> Vec<Body> {
        let spec = &self.model.spec;
        let wanted = (spec.provider.clone(), spec.id.clone());
        let level = self.thinking;
        let (model, thinking) = match self.session().context() {
            Ok(context) => (context.model.clone(), context.thinking_level),
            Err(_) => (None, None),
        };
        let mut bodies = Vec::new();
        if model.as_ref() != Some(&wanted) {
            bodies.push(Body::ModelChange { provider: wanted.0, model_id: wanted.1 });
        }
        if thinking != Some(level) {
            bodies.push(Body::ThinkingLevelChange { thinking_level: level.name().into() });
        }
        bodies
    }

    /// What the turn freezes at its start, for its record.
    pub(super) fn options(&self) -> Map<String, Value> {
        let mut options = self.setup.labels.clone();
        options.insert("max_turns".into(), self.setup.max_turns.into());
        options.insert("model".into(), self.model.spec.reference().into());
        options.insert("thinking_level".into(), self.thinking.name().into());
        options.insert("approval".into(), self.profile.name().into());
        options
    }

    /// Going on without a new message needs something the model has not answered yet.
    pub(super) fn can_go_on(&mut self) -> Result<(), HarnessError> {
        let context = self
            .session()
            .context()
            .map_err(|error| HarnessError::new(ErrorCode::Session, error.to_string()))?;
        match request_view(&context).last().map(AsRef::as_ref) {
            Some(Message::User(_) | Message::ToolResult(_)) => Ok(()),
            _ => Err(HarnessError::new(
                ErrorCode::InvalidState,
                "nothing to go on with: the last message was answered",
            )),
        }
    }
}
