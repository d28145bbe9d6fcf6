//! The built-in offline model: no account, no network, and honest about it.
//!
//! It exists so that a newcomer can try every part of the program at once. What it does is decided
//! by [`demo_rules`](crate::providers::demo_rules), a pure function; this file only plays the answer
//! in small pieces.

use std::time::Duration;

use futures_util::stream::BoxStream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::message::{Message, StopReason, ThinkingLevel};
use crate::providers::answer::Answer;
use crate::providers::demo_rules::{Done, Reply, Scene, reply};
use crate::providers::demo_summary;
use crate::providers::playback::{Beat, pieces, play};
use crate::providers::script::estimate;
use crate::providers::{Provider, Request, StreamEvent};
use crate::text::tokens;

/// Characters per delta and the pause between two: about 500 characters a second, slow enough to be
/// seen and fast enough not to bore.
const PIECE: usize = 4;
const PAUSE: Duration = Duration::from_millis(8);

/// The `demo` provider.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demo;

impl Provider for Demo {
    fn api(&self) -> &'static str {
        "demo"
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, StreamEvent> {
        let reply = reply(&scene(&request));
        play(beats(&request, &reply), cancel)
    }
}

/// What the rules look at: the last user text and what was done since.
fn scene(request: &Request) -> Scene {
    let mut scene = Scene {
        tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
        system: request.system.clone(),
        ..Scene::default()
    };
    for message in &request.messages {
        match &**message {
            Message::User(_) => {
                let text = message.text();
                let text = demo_summary::quoted(&text).unwrap_or(text);
                if !text.trim().is_empty() {
                    scene.prompts.push(text);
                    scene.done.clear();
                }
            }
            Message::Assistant(answer) => {
                scene.done.extend(answer.tool_calls().map(|call| Done {
                    id: call.id.clone(),
                    tool: call.name.clone(),
                    arguments: call.arguments.clone(),
                    output: String::new(),
                    is_error: true,
                }));
            }
            Message::ToolResult(result) => {
                let call = scene.done.iter_mut().rev().find(|done| done.id == result.tool_call_id);
                if let Some(done) = call {
                    done.output = message.text();
                    done.is_error = result.is_error;
                }
            }
            _ => {}
        }
    }
    scene
}

fn beats(request: &Request, reply: &Reply) -> Vec<Beat> {
    let mut answer = Answer::new(request, "demo");
    let mut beats = vec![Beat::Emit(StreamEvent::Connected { status: 200 })];
    let mut push = |answer: &mut Answer| {
        if !reply.at_once {
            beats.push(Beat::Wait(PAUSE));
        }
        beats.extend(answer.take().into_iter().map(|delta| Beat::Emit(StreamEvent::Delta(delta))));
    };
    if request.thinking != ThinkingLevel::Off {
        for piece in pieces(&reply.thinking, PIECE) {
            answer.thinking(piece, None);
            push(&mut answer);
        }
    }
    for piece in pieces(&reply.text, PIECE) {
        answer.text(piece);
        push(&mut answer);
    }
    // Ids that differ within one prompt: the number of calls so far goes on.
    let before = scene(request).done.len();
    let mut said = tokens::of_text(&reply.text);
    for (n, (tool, arguments)) in reply.calls.iter().enumerate() {
        let block = answer.start_call(&format!("demo_{}", before + n + 1), tool);
        let json = Value::to_string(arguments);
        said += tokens::of_text(&json);
        for piece in pieces(&json, PIECE * 4) {
            answer.call_piece(block, piece);
            push(&mut answer);
        }
        answer.end_call(block);
    }
    let stop = if reply.calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
    let message = answer.finish(stop, estimate(request, said));
    push(&mut answer);
    beats.push(Beat::Emit(StreamEvent::Finished(Box::new(message))));
    beats
}
