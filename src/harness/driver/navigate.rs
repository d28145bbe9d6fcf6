//! Walking the tree: the leaf moves, labels, and what one branch tells another.
//!
//! A move is one append, so it holds after a kill. Model and thinking level follow the branch, and
//! what cannot follow is said.

use serde_json::{Value, json};

use super::Driver;
use super::totals::totals;
use crate::harness::compaction::branch::{self, Walk};
use crate::harness::{ErrorCode, Event, HarnessError, Reply, Summary};
use crate::message::{EntryId, Message, ThinkingLevel, Usage, plain_text};
use crate::session::{Body, Entry, Flush, Kind, Position, Role, SessionError};
use crate::text::tokens;

/// The custom record of a merge.
const MERGE: &str = "harness-tui.merge";
/// Stands for "before the first entry" where the format wants an id.
const ROOT: &str = "root";

/// Where a navigation goes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Goal {
    /// The entry that was chosen.
    pub(super) target: Option<EntryId>,
    /// Where the leaf will be.
    pub(super) leaf: Option<EntryId>,
    pub(super) old_leaf: Option<EntryId>,
    pub(super) editor_text: Option<String>,
    pub(super) label: Option<String>,
}

/// A summary that is ready to be stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub(super) summary: String,
    pub(super) details: Option<Value>,
    pub(super) usage: Option<Usage>,
}

impl Told {
    fn own(words: String) -> Self {
        Self { summary: words, details: None, usage: None }
    }

    fn body(self, from: Option<&EntryId>) -> Body {
        Body::BranchSummary {
            from_id: from.map_or_else(|| ROOT.to_owned(), ToString::to_string),
            summary: self.summary,
            details: self.details,
            usage: self.usage,
            from_hook: None,
        }
    }
}

/// What a navigation or merge comes to.
pub(super) enum Route {
    /// Nothing has to be asked of a model.
    Done(Reply),
    /// A model has to summarise first.
    Ask(Box<Walk>),
}

impl Driver {
    /// Labels an entry at once, also while a turn runs: a label stands between no call and result
    /// that anybody sends.
    pub(super) fn set_label(
        &mut self,
        target: &EntryId,
        label: Option<&str>,
    ) -> Result<Reply, HarnessError> {
        let now = self.session().labels().get(target).cloned();
        let wanted = label.map(str::trim).filter(|label| !label.is_empty());
        if now.as_deref() == wanted && self.session().index().position(target).is_some() {
            return Ok(Reply::Done);
        }
        let entry = self.session().set_label(target, label).map_err(|error| refused(&error))?;
        self.after_write(vec![entry]);
        Ok(Reply::Done)
    }

    /// Plans a navigation; `None` when the leaf is there already.
    pub(super) fn goal(
        &mut self,
        target: Option<EntryId>,
        label: Option<String>,
    ) -> Result<Option<Goal>, HarnessError> {
        let view = self.session().tree();
        let index = view.index();
        let node_id = |at: Option<Position>| at.and_then(|at| index.node(at)).map(|n| n.id.clone());
        let old_leaf = node_id(view.leaf);
        let Some(id) = target else {
            let goal = Goal { target: None, leaf: None, old_leaf, editor_text: None, label };
            return Ok(view.leaf.is_some().then_some(goal));
        };
        let Some(position) = index.position(&id) else {
            return Err(refused(&SessionError::UnknownEntry { id }));
        };
        if branch::is_end(index, position, view.leaf) {
            return Ok(None);
        }
        let node = index.node(position);
        let is_asked = node
            .is_some_and(|node| node.kind == Kind::CustomMessage || node.role == Some(Role::User));
        let (leaf, editor_text) = if is_asked {
            let entry = self.session().entry(&id).map_err(|error| refused(&error))?;
            (node.and_then(|node| node.parent), text_of(&entry))
        } else {
            (Some(position), None)
        };
        let leaf = node_id(branch::above_markers(index, leaf));
        Ok(Some(Goal { target: Some(id), leaf, old_leaf, editor_text, label }))
    }

    /// Moves the leaf, with the summary when there is one, then tells everybody.
    pub(super) fn go(&mut self, goal: Goal, told: Option<Told>) -> Result<Reply, HarnessError> {
        let leaf = goal.leaf.as_ref();
        let moved = match told {
            None => self.session().move_leaf(leaf, Some("navigate")).map(|()| Vec::new()),
            Some(told) => {
                let bodies = vec![told.body(goal.old_leaf.as_ref())];
                self.session().append_under(leaf, bodies, Flush::Sync)
            }
        };
        let mut written = moved.map_err(|error| refused(&error))?;
        let summary_entry = written.last().map(|entry| entry.id.clone());
        let labelled = summary_entry.as_ref().or(goal.target.as_ref());
        if let (Some(target), Some(label)) = (labelled, &goal.label)
            && !label.trim().is_empty()
        {
            // The move is done; what did not come along is said.
            match self.session().set_label(target, Some(label)) {
                Ok(entry) => written.push(entry),
                Err(error) => self.emit(Event::Notice { text: error.to_string() }),
            }
        }
        self.after_write(written);
        let new_leaf = self.session().leaf().cloned();
        self.arrive();
        self.emit(Event::SessionTree {
            old_leaf: goal.old_leaf,
            new_leaf: new_leaf.clone(),
            summary_entry: summary_entry.clone(),
        });
        self.tell_usage();
        Ok(Reply::Navigated { leaf: new_leaf, editor_text: goal.editor_text, summary_entry })
    }

    /// A navigation as far as it goes without a model.
    pub(super) fn navigate(
        &mut self,
        target: Option<EntryId>,
        summary: Summary,
        label: Option<String>,
    ) -> Result<(Route, Option<Goal>), HarnessError> {
        self.machine.may_begin()?;
        self.settle_cut_turn()?;
        let wished = target.clone().zip(label.clone());
        let Some(goal) = self.goal(target, label)? else {
            if let Some((target, label)) = wished {
                self.set_label(&target, Some(&label))?;
            }
            let leaf = self.session().leaf().cloned();
            let reply = Reply::Navigated { leaf, editor_text: None, summary_entry: None };
            return Ok((Route::Done(reply), None));
        };
        match summary {
            Summary::None => Ok((Route::Done(self.go(goal, None)?), None)),
            Summary::Own(words) => {
                let told = Told::own(own(words)?);
                Ok((Route::Done(self.go(goal, Some(told))?), None))
            }
            Summary::Generated { instructions, replace } => {
                let Some(from) = goal.old_leaf.clone() else {
                    return Ok((Route::Done(self.go(goal, None)?), None));
                };
                // A message that is written anew comes back to the editor: it is not left behind.
                let walk = self.walk(from, goal.target.as_ref(), instructions, replace)?;
                if walk.entries.is_empty() {
                    // Nothing was said on the way: there is nothing to tell.
                    return Ok((Route::Done(self.go(goal, None)?), None));
                }
                Ok((Route::Ask(Box::new(walk)), Some(goal)))
            }
        }
    }

    /// A merge as far as it goes without a model.
    pub(super) fn merge(&mut self, from: EntryId, summary: Summary) -> Result<Route, HarnessError> {
        self.machine.may_begin()?;
        self.settle_cut_turn()?;
        let view = self.session().tree();
        let Some(position) = view.index().position(&from) else {
            return Err(refused(&SessionError::UnknownEntry { id: from }));
        };
        if view.index().path(view.leaf).binary_search(&position).is_ok() {
            return Err(HarnessError::new(
                ErrorCode::InvalidArgument,
                format!("{from} is on the active branch already: choose the end of another one"),
            ));
        }
        let leaf = self.session().leaf().cloned();
        match summary {
            Summary::None => Err(HarnessError::new(
                ErrorCode::InvalidArgument,
                "a merge needs a summary: write one, or let the model write it",
            )),
            Summary::Own(words) => self.store_merge(&from, Told::own(own(words)?)).map(Route::Done),
            Summary::Generated { instructions, replace } => {
                let walk = self.walk(from, leaf.as_ref(), instructions, replace)?;
                if walk.entries.is_empty() {
                    return Err(HarnessError::new(
                        ErrorCode::InvalidArgument,
                        "there is nothing to bring over: nobody said anything on that branch",
                    ));
                }
                Ok(Route::Ask(Box::new(walk)))
            }
        }
    }

    /// Stores a merge under the leaf: the summary, and the record of where it came from.
    pub(super) fn store_merge(
        &mut self,
        from: &EntryId,
        told: Told,
    ) -> Result<Reply, HarnessError> {
        let leaf = self.session().leaf().map(ToString::to_string);
        let record = Body::Custom {
            custom_type: MERGE.to_owned(),
            data: Some(json!({"v": 1, "from": from.as_str(), "leaf": leaf})),
        };
        let (added, usage) = (tokens::of_text(&told.summary), told.usage.clone());
        let bodies = vec![told.body(Some(from)), record];
        let entries = self.session().append(bodies, Flush::Sync).map_err(|it| refused(&it))?;
        let entry = entries.first().map(|entry| entry.id.clone());
        self.after_write(entries);
        self.record.context_tokens += added;
        self.record.estimated = true;
        usage.iter().for_each(|usage| self.record.totals.add(usage));
        self.tell_usage();
        entry.map(|entry| Reply::Stored { entry }).ok_or_else(|| {
            HarnessError::new(ErrorCode::Session, "the summary was not stored: try again")
        })
    }

    /// What lies between `from` and where the path to `to` leaves it.
    fn walk(
        &mut self,
        from: EntryId,
        to: Option<&EntryId>,
        instructions: Option<String>,
        replace: bool,
    ) -> Result<Walk, HarnessError> {
        let view = self.session().tree();
        let between = branch::between(view.index(), &from, to);
        let entries = view.reader.entries(&between).map_err(|error| refused(&error))?;
        let entries = branch::telling(entries);
        Ok(Walk { from, entries, instructions, replace })
    }

    /// Tells of entries that were written directly.
    fn after_write(&mut self, entries: Vec<std::sync::Arc<Entry>>) {
        self.publish_tree();
        for entry in entries {
            self.emit(Event::EntryAppended { entry });
        }
        for notice in self.session().take_notices() {
            self.emit(Event::Notice { text: notice.text });
        }
    }

    /// What follows the branch after a move: model, thinking level, and the counts.
    fn arrive(&mut self) {
        // From the index and the settings alone: a long branch is read with the next prompt.
        self.record = totals(&self.setup.session.tree());
        let Ok(settings) = self.session().settings() else { return };
        if let Some((provider, id)) = &settings.model {
            self.follow_model(&format!("{provider}/{id}"));
        }
        let level = settings.thinking_level.unwrap_or(self.thinking);
        self.follow_thinking(level);
    }

    fn follow_model(&mut self, reference: &str) {
        if *reference == self.model.spec.reference() {
            return;
        }
        match (self.setup.models)(reference) {
            Ok(model) => {
                self.model = model;
                self.sign();
                let spec = &self.model.spec;
                self.emit(Event::ModelUpdate {
                    model: spec.reference(),
                    context_window: spec.context_window,
                    known: spec.known,
                });
            }
            Err(error) => {
                let text = format!(
                    "this branch's model {reference} cannot be used ({error}); staying with {}",
                    self.model.spec.reference()
                );
                self.emit(Event::Notice { text });
            }
        }
    }

    fn follow_thinking(&mut self, level: ThinkingLevel) {
        if level != self.thinking {
            self.thinking = level;
            self.emit(Event::ThinkingLevelUpdate { level });
        }
    }
}

/// The text of a message that a person may send again.
fn text_of(entry: &Entry) -> Option<String> {
    match &entry.body {
        Body::Message { message: message @ Message::User(_), .. } => Some(message.text()),
        Body::CustomMessage { content, .. } => Some(plain_text(content)),
        _ => None,
    }
}

fn own(words: String) -> Result<String, HarnessError> {
    if words.trim().is_empty() {
        let text = "the summary is empty: write what should be remembered";
        return Err(HarnessError::new(ErrorCode::InvalidArgument, text));
    }
    Ok(words)
}

/// What the session refused, as the harness says it.
pub(super) fn refused(error: &SessionError) -> HarnessError {
    let code = match error {
        SessionError::UnknownEntry { .. } => ErrorCode::InvalidArgument,
        _ => ErrorCode::Session,
    };
    HarnessError::new(code, error.to_string())
}
