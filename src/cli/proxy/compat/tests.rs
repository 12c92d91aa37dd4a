//! Every format reads what clients send and refuses what cannot be passed on.

use serde_json::{Value, json};

use super::*;
use tau_agent::provider::wire_format;
use tau_protocol::message::{Block, Message, ToolCall};
use tau_protocol::model::{Api, Model};

/// Reasoning that a client of chat completions was given comes back in its field.
#[test]
fn reasoning_of_chat_completions_is_read_back() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": "said", "reasoning_content": "thought"}]});
    let read = || Dialect::Chat.read(&body).unwrap();
    for (api, kept) in [(Api::OpenaiCompletions, true), (Api::AnthropicMessages, false)] {
        let model = Model { api, ..Model::openai_compatible("http://h.example", "m") };
        let request = read().into_request(model.into(), None);
        let Message::Assistant(said) = &*request.messages[1] else { panic!() };
        let is_there = said
            .content
            .iter()
            .any(|block| matches!(block, Block::Thinking { thinking, .. } if thinking == "thought"));
        assert_eq!(is_there, kept, "{api:?}");
    }
}

/// Anthropic counts thinking in the limit of an answer, which is the client's.
#[test]
fn a_limit_stays_as_it_is_and_thinking_fits_into_it() {
    let model = Model {
        api: Api::AnthropicMessages,
        reasoning: true,
        max_tokens: 64_000,
        ..Model::openai_compatible("http://h.example", "m")
    };
    let encode = |dialect: Dialect, fields: Value| {
        let mut body =
            json!({"model": "m", "temperature": 0.5, "messages": [{"role": "user", "content": "x"}]});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let request = dialect.read(&body).unwrap().into_request(model.clone().into(), None);
        wire_format(request.model.api).unwrap().encode(&request).unwrap().body
    };
    let messages = |limit: u64, budget: u64| {
        let thinking = json!({"type": "enabled", "budget_tokens": budget});
        encode(Dialect::Messages, json!({"max_tokens": limit, "thinking": thinking}))
    };
    for (limit, budget, wanted) in [(5_000, 4_096, 3_976), (20_000, 4_096, 4_096), (2_048, 1_024, 1_024)] {
        let body = messages(limit, budget);
        assert_eq!(
            (&body["max_tokens"], &body["thinking"]["budget_tokens"]),
            (&json!(limit), &json!(wanted))
        );
    }
    for body in [
        messages(2_047, 1_024),
        encode(Dialect::Chat, json!({"max_completion_tokens": 1_000, "reasoning_effort": "high"})),
    ] {
        assert!(body["max_tokens"].as_u64() < Some(2_048), "{body}");
        assert_eq!((&body["thinking"]["type"], &body["temperature"]), (&json!("disabled"), &json!(0.5)));
    }
    for body in [
        encode(Dialect::Chat, json!({"max_completion_tokens": 4_000, "reasoning_effort": "high"})),
        encode(
            Dialect::Responses,
            json!({"max_output_tokens": 4_000, "reasoning": {"effort": "high"}, "input": "x"}),
        ),
    ] {
        assert_eq!((&body["max_tokens"], &body["thinking"]["budget_tokens"]), (&json!(4_000), &json!(2_976)));
    }
}

/// Requests that cannot be read, and words of the reason.
fn faulty_requests() -> Vec<(Dialect, Value, &'static str)> {
    let user = json!([{"role": "user", "content": "x"}]);
    vec![
        (Dialect::Chat, json!({"messages": user}), "`model` is missing"),
        (Dialect::Chat, json!({"model": "m", "messages": []}), "no message of a user"),
        (Dialect::Chat, json!({"model": 5, "messages": user}), "`model` must be a string"),
        (
            Dialect::Chat,
            json!({"model": "m", "messages": [{"role": "system", "content": "x"}]}),
            "no message of a user",
        ),
        (Dialect::Chat, json!({"model": "m", "messages": user, "max_tokens": -1}), "a whole number"),
        (Dialect::Responses, json!({"model": "m", "input": "x", "max_output_tokens": "5"}), "a whole number"),
        (Dialect::Messages, json!({"model": "m", "messages": user, "max_tokens": 1.5}), "a whole number"),
        (
            Dialect::Messages,
            json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "@@"}}]}]}),
            "not base64",
        ),
        (
            Dialect::Chat,
            json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url",
                "image_url": {"url": "data:image/png;base64,@@"}}]}]}),
            "not base64",
        ),
        (
            Dialect::Chat,
            json!({"model": "m", "messages": user, "max_completion_tokens": 0}),
            "a whole number",
        ),
    ]
}

/// Requests for what tau cannot pass on, and words of the reason.
fn unsupported_requests() -> Vec<(Dialect, Value, &'static str)> {
    let user = json!([{"role": "user", "content": "x"}]);
    vec![
        (Dialect::Chat, json!({"model": "m", "messages": user, "n": 2}), "`n`"),
        (
            Dialect::Chat,
            json!({"model": "m", "messages": user, "parallel_tool_calls": false}),
            "`parallel_tool_calls`",
        ),
        (
            Dialect::Messages,
            json!({"model": "m", "max_tokens": 1, "messages": user,
                "tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
            "`disable_parallel_tool_use`",
        ),
        (
            Dialect::Messages,
            json!({"model": "m", "max_tokens": 1, "messages": user,
                "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}}}),
            "`format`",
        ),
        (
            Dialect::Messages,
            json!({"model": "m", "max_tokens": 1, "messages": user, "output_format": {"type": "json_schema"}}),
            "`output_format`",
        ),
        (Dialect::Chat, json!({"model": "m", "messages": user, "stop": ["x"]}), "`stop`"),
        (Dialect::Chat, json!({"model": "m", "messages": user, "tool_choice": "required"}), "tool choices"),
        (
            Dialect::Chat,
            json!({"model": "m", "messages": user, "response_format": {"type": "json_schema"}}),
            "`response_format`",
        ),
        (
            Dialect::Chat,
            json!({"model": "m", "messages": [{"role": "tool", "tool_call_id": "c9", "content": "x"}]}),
            "no such call",
        ),
        (
            Dialect::Chat,
            json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url",
                "image_url": {"url": "http://169.254.169.254/"}}]}]}),
            "fetches none",
        ),
        (
            Dialect::Responses,
            json!({"model": "m", "input": "x", "previous_response_id": "r"}),
            "previous_response_id",
        ),
        (Dialect::Messages, json!({"model": "m", "messages": user}), "`max_tokens` is missing"),
        (
            Dialect::Messages,
            json!({"model": "m", "max_tokens": 1, "messages": user, "tool_choice": {"type": "any"}}),
            "tool choices",
        ),
    ]
}

#[test]
fn what_cannot_be_passed_on_is_refused() {
    for (dialect, body, why) in faulty_requests().into_iter().chain(unsupported_requests()) {
        let error = dialect.read(&body).expect_err(why);
        assert!(error.contains(why), "{body}: {error}");
    }
}

#[test]
fn fields_that_ask_for_nothing_are_accepted() {
    let user = json!([{"role": "user", "content": "x"}]);
    for (field, value) in [
        ("stop", json!(null)),
        ("stop", json!([])),
        ("functions", json!([])),
        ("logprobs", json!(false)),
        ("parallel_tool_calls", json!(true)),
    ] {
        let mut body = json!({"model": "m", "messages": user});
        body[field] = value;
        assert!(Dialect::Chat.read(&body).is_ok(), "{body}");
    }
}

/// Codex and others offer such tools unasked.
#[test]
fn tools_that_are_no_functions_are_left_out() {
    let user = json!([{"role": "user", "content": "x"}]);
    let function = json!({"name": "read", "parameters": {}, "input_schema": {}});
    let mut of_responses = function.clone();
    of_responses["type"] = "function".into();
    let of_chat = json!({"type": "function", "function": function});
    for (dialect, field, own, kinds) in [
        (
            Dialect::Responses,
            "input",
            of_responses,
            &["namespace", "web_search", "custom", "local_shell", ""][..],
        ),
        (Dialect::Chat, "messages", of_chat, &["custom", "web_search", ""]),
        (Dialect::Messages, "messages", function, &["web_search_20250305", "bash_20250124"]),
    ] {
        for kind in kinds {
            let tools = json!([{"type": kind, "name": "other", "tools": [own]}, own]);
            let mut body = json!({"model": "m", "max_tokens": 5, "tools": tools});
            body[field] = user.clone();
            let asked = dialect.read(&body).unwrap();
            let names: Vec<&str> = asked.tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names, ["read"], "{dialect:?} {kind:?}");
        }
    }
}

#[test]
fn arguments_that_are_no_json_are_the_same_in_every_form() {
    let model = tau_protocol::model::Model::default();
    let call = ToolCall {
        id: "c".into(),
        name: "read".into(),
        arguments: Value::String("{\"path\": oops".into()),
        thought_signature: None,
    };
    let mut message = tau_agent::provider::assemble::Assembler::new(&model, 0).message();
    message.content = vec![Block::ToolCall(call.clone())];
    let escaped = r#"{\"path\": oops"#;
    for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Messages] {
        let facts = || AnswerFacts { id: "x".into(), model: "m".into(), created: 1, with_usage: false };
        let whole = dialect.writer(facts()).whole(&message).to_string();
        let mut writer = dialect.writer(facts());
        writer.begin();
        writer.delta(&Delta::ToolCallStart { content_index: 0, id: "c".into(), tool_name: "read".into() });
        let streamed = writer.delta(&Delta::ToolCallEnd { content_index: 0, tool_call: call.clone() });
        let streamed: String = streamed.iter().map(|line| line.data.clone()).collect();
        for form in [whole, streamed] {
            assert!(form.contains(escaped) && !form.contains(r#"\\\""#), "{dialect:?}: {form}");
        }
    }
}

#[test]
fn a_signature_that_comes_late_still_ends_its_block() {
    let facts = || AnswerFacts { id: "x".into(), model: "m".into(), created: 1, with_usage: false };
    let model = tau_protocol::model::Model::default();
    let mut message = tau_agent::provider::assemble::Assembler::new(&model, 0).message();
    message.stop_reason = tau_protocol::message::StopReason::Stop;
    let mut writer = Dialect::Messages.writer(facts());
    let mut lines = writer.begin();
    lines.extend(writer.delta(&Delta::ThinkingStart { content_index: 0 }));
    lines.extend(writer.delta(&Delta::ThinkingDelta { content_index: 0, delta: "hm".into() }));
    lines.extend(writer.delta(&Delta::ThinkingEnd { content_index: 0, content: String::new() }));
    lines.extend(writer.signature(0, "sig", false));
    lines.extend(writer.signature(1, "hidden", true));
    lines.extend(writer.delta(&Delta::TextStart { content_index: 2 }));
    lines.extend(writer.end(&message));
    let said: Vec<String> = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(&line.data).unwrap())
        .map(|data| {
            let kind =
                data["content_block"]["type"].as_str().or(data["delta"]["type"].as_str()).unwrap_or_default();
            format!("{} {} {kind}", data["type"].as_str().unwrap(), data["index"])
        })
        .collect();
    let expected = [
        "message_start null ",
        "content_block_start 0 thinking",
        "content_block_delta 0 thinking_delta",
        "content_block_delta 0 signature_delta",
        "content_block_stop 0 ",
        "content_block_start 1 redacted_thinking",
        "content_block_stop 1 ",
        "content_block_start 2 text",
        "content_block_stop 2 ",
        "message_delta null ",
        "message_stop null ",
    ];
    assert_eq!(said, expected);
}
