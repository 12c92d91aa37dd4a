//! Detects calls that a model writes as text, and reminds it to make them.
//!
//! Models that were not trained on a server's call format fall back to one of their own. Nothing in text is
//! ever run.

use serde_json::{Value, json};

use crate::engine::base::clock::now;
use tau_protocol::message::{CustomMessage, Message};

/// The maximum number of reminders in a run.
pub(crate) const MAX_REMINDERS: u32 = 2;
/// The type of the reminder.
const NOTE: &str = "tau.written_call";
/// Text before the name of a tool, for models that write calls between tags.
const BEFORE_NAME: [&str; 9] = [
    "<function=", "<invoke name=\"", "<tool name=\"", "<tool_call name=\"", "<｜tool▁sep｜>",
    "<|tool_call_begin|>", "[TOOL_CALLS]", "to=functions.", "<function name=\"",
];
/// Text before a JSON object that is a call.
const BEFORE_OBJECT: [&str; 6] =
    ["<tool_call>", "<function_call>", "<|tool_call|>", "[TOOL_CALLS]", "<|python_tag|>", "<tool_use>"];
/// Text before a bare name, with a tag of an argument or the closing tag behind it.
const BEFORE_BARE: &str = "<tool_call>";
const BEHIND_BARE: [&str; 2] = ["<arg_key>", "</tool_call>"];
/// The prefix that some models put before the name.
const NAMESPACE: &str = "functions.";
/// Fields of such an object: the name and the arguments.
const NAMES: [&str; 4] = ["name", "tool", "tool_name", "function"];
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "input", "args", "tool_input"];

/// The tool that is called in this text of an answer, if any.
pub(crate) fn find_called_tool(text: &str, is_tool: &dyn Fn(&str) -> bool) -> Option<String> {
    let prose = without_code(text);
    let is_known = |(name, _): &(&str, &str)| is_tool(name);
    let tagged = BEFORE_NAME.iter().flat_map(|tag| after(&prose, tag)).map(name_and_rest).find(is_known);
    let bare = || {
        let is_call = |rest: &str| BEHIND_BARE.iter().any(|tag| rest.trim_start().starts_with(tag));
        after(&prose, BEFORE_BARE).map(name_and_rest).find(|call| is_known(call) && is_call(call.1))
    };
    let tagged = tagged.or_else(bare).map(|(name, _)| name.to_owned());
    let objects =
        || BEFORE_OBJECT.iter().flat_map(|tag| after(&prose, tag)).find_map(|rest| of_object(rest, is_tool));
    tagged.or_else(objects).or_else(|| of_object(last_object(text)?, is_tool))
}

/// The message that asks the model to make the call.
pub(crate) fn reminder(tool: &str) -> Message {
    let text = format!(
        "[tau] Your answer has a call of `{tool}` in its text. Text is not run, so nothing was done. If you want \
         the call, make it as a tool call, not in the text."
    );
    Message::Custom(CustomMessage::new_hidden(NOTE, text, Some(json!({ "tool": tool })), now()))
}

fn after<'a>(text: &'a str, tag: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(tag).filter_map(move |(at, _)| text.get(at + tag.len()..)).map(str::trim_start)
}

/// The name at the beginning of the text, and what is behind it.
fn name_and_rest(text: &str) -> (&str, &str) {
    let text = text.strip_prefix(NAMESPACE).unwrap_or(text);
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
    text.split_at(end.unwrap_or(text.len()))
}

/// The tool of a call that is a JSON object at the beginning of the text, alone or in a list.
fn of_object(text: &str, is_tool: &dyn Fn(&str) -> bool) -> Option<String> {
    let value = serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok()?;
    let call = match &value {
        Value::Array(calls) => calls.first()?,
        call => call,
    };
    let call = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let name = NAMES.iter().find_map(|field| call.get(field)?.as_str())?;
    let has_arguments = ARGUMENTS.iter().any(|field| call.get(field).is_some());
    (has_arguments && is_tool(name)).then(|| name.to_owned())
}

/// The text from a JSON object on that makes up all of an answer, or its end in a code block.
fn last_object(text: &str) -> Option<&str> {
    let text = text.trim();
    let body = match text.strip_suffix("```") {
        Some(fenced) => {
            let (_, block) = fenced.trim_end().rsplit_once("```")?;
            block.split_once('\n')?.1.trim()
        }
        None => text,
    };
    (body.starts_with(['{', '[']) && body.ends_with(['}', ']'])).then_some(body)
}

/// The text without code blocks and text between backticks.
fn without_code(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            prose.extend(line.split('`').step_by(2));
            prose.push('\n');
        }
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_text_are_found() {
        let is_tool = |name: &str| matches!(name, "bash" | "mcp__x-y__read");
        let found = [
            "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>",
            "I look.\n<function=bash>\n<parameter=command>ls</parameter>\n</function>",
            "<function_calls><invoke name=\"bash\"><parameter name=\"command\">ls</parameter></invoke>",
            "[TOOL_CALLS][{\"name\":\"bash\",\"arguments\":{}}]",
            "[TOOL_CALLS]bash{\"command\":\"ls\"}",
            "<|python_tag|>{\"type\":\"function\",\"name\":\"bash\",\"parameters\":{}}",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n",
            "<|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{\"command\":\"ls\"}<|tool_call_end|>",
            "<|tool_calls_section_begin|><|tool_call_begin|>bash<|tool_call_argument_begin|>{}<|tool_call_end|>",
            "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
            "I look.<tool_call>bash</tool_call>",
            "Now:\n```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```",
            "{\"tool\": \"bash\", \"parameters\": {\"command\": \"ls\"}}",
            "{\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"{}\"}}",
        ];
        for text in found {
            assert_eq!(find_called_tool(text, &is_tool).as_deref(), Some("bash"), "{text}");
        }
        assert!(find_called_tool("<invoke name=\"mcp__x-y__read\">", &is_tool).is_some());
        let other = [
            "All done.",
            "Models write `<tool_call>{\"name\": \"bash\", \"arguments\": {}}</tool_call>` then.",
            "```xml\n<invoke name=\"bash\">\n```\nis how it looks.",
            "```json\n{\"name\": \"bash\", \"arguments\": {}}\n```\nThis is what a call looks like.",
            "<function=unknown>",
            "The tag <tool_call>bash is how it begins.",
            "<|tool_call_begin|>functions.unknown:0",
            "{\"name\": \"bash\", \"version\": 1}",
            "{\"name\": \"my-package\", \"arguments\": []}",
            "```json\n{\"name\": \"demo\", \"scripts\": {}}\n```",
        ];
        for text in other {
            assert_eq!(find_called_tool(text, &is_tool), None, "{text}");
        }
    }
}
