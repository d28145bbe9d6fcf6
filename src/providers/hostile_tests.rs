//! Random streams against both decoders: nothing may panic, and what was shown is what is kept.

use std::sync::Arc;

use proptest::prelude::*;

use crate::message::{Message, Part, Partial, ThinkingLevel};
use crate::providers::anthropic_decode::MessagesDecoder;
use crate::providers::classify::Tried;
use crate::providers::exchange::{Decoder, Step};
use crate::providers::openai_decode::ChatDecoder;
use crate::providers::sse::Event;
use crate::providers::{Request, Timeouts, catalogue};

fn request() -> Request {
    Request {
        model: catalogue::model("demo", "demo"),
        system: String::new(),
        messages: vec![Arc::new(Message::user("x", 1))],
        tools: Vec::new(),
        thinking: ThinkingLevel::Off,
        session_id: String::new(),
        timeouts: Timeouts::default(),
    }
}

/// Pieces of the chat format, sound and unsound.
const CHAT: [&str; 16] = [
    r#"{"choices":[{"delta":{"content":"<think>"}}]}"#,
    r#"{"choices":[{"delta":{"content":"</think>é"}}]}"#,
    r#"{"choices":[{"delta":{"content":null,"role":null,"tool_calls":null}}]}"#,
    r#"{"choices":[{"delta":{"reasoning_content":"p"}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":"","content":[{"text":"q"},{"thinking":"r"},5]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x"}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"y","arguments":{}}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":-1},5,null,{"index":99999999999999999999}]}}]}"#,
    r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"choices":[{"delta":{},"finish_reason":""}],"usage":{"prompt_tokens":18446744073709551615,"completion_tokens":18446744073709551615}}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":9}}}"#,
    r#"{"choices":{"0":1},"error":null}"#,
    "[DONE]",
    "{",
];

/// Pieces of the messages format, sound and unsound.
const MESSAGES: [&str; 15] = [
    r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":18446744073709551615}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"é"}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"x","input":{"a":1}}}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking"}}"#,
    r#"{"type":"content_block_start"}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"t"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"p"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":18446744073709551615}}"#,
    r#"{"type":5}"#,
    r#"{"type":"message_stop"}"#,
];

/// Feeds the pieces; checks the deltas against the message, if there is one.
fn feed(mut decoder: impl Decoder, pieces: &[String]) {
    let mut partial = Partial::default();
    for data in pieces {
        let event = Event { name: None, data: data.clone() };
        let step = decoder.event(&event);
        decoder.take().iter().for_each(|delta| partial.apply(delta));
        match step {
            Ok(Step::Done) => break,
            Ok(Step::More | Step::Tail) => {}
            Err(_) => return,
        }
    }
    let end = decoder.end();
    decoder.take().iter().for_each(|delta| partial.apply(delta));
    if let Ok(message) = end {
        assert_eq!(partial.content(), message.content);
        let mut ids: Vec<_> = message.tool_calls().map(|call| call.id.clone()).collect();
        assert!(ids.iter().all(|id| !id.is_empty()));
        ids.sort();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "{:?}", message.content);
        assert!(!message.content.contains(&Part::Unknown));
    }
}

fn pieces(of: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let known = prop::sample::select(of).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![30 => known, 1 => "\\PC{0,20}"], 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_chat_stream_breaks_the_decoder(pieces in pieces(&CHAT)) {
        let tried = Tried { provider: "p".into(), what: "POST u".into() };
        feed(ChatDecoder::new(&request(), tried), &pieces);
    }

    #[test]
    fn no_messages_stream_breaks_the_decoder(pieces in pieces(&MESSAGES)) {
        let tried = Tried { provider: "p".into(), what: "POST u".into() };
        feed(MessagesDecoder::new(&request(), tried), &pieces);
    }
}
