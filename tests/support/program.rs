//! The program without a screen: a process with an empty home, its end, and chat answers for it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use super::server::{Act, stream};

/// The exit of a process and its output.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// Its lines of JSON.
    pub fn records(&self) -> Vec<Value> {
        let record = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.out.lines().map(record).collect()
    }
}

/// The program with nothing configured.
pub fn bare(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("HOME", dir).env("PATH", path).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs it to its end, with this input.
pub async fn run(command: &mut Command, input: Option<&str>) -> Ended {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().unwrap();
    if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
        // A program that does not read its input is not a failure of the test.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut pipe, text.as_bytes()).await;
    }
    let output = timeout(Duration::from_secs(60), child.wait_with_output()).await.expect("it does not end");
    let output = output.unwrap();
    Ended {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The flags of a model behind this server.
pub fn own_model(url: &str) -> [&str; 6] {
    ["--base-url", url, "--api-key", "x", "--model", "m"]
}

/// `models.toml` with the model `own/m` behind this server; `facts` are lines about it, and further models.
pub fn models_file(url: &str, facts: &str) -> String {
    format!(
        "[vendors.own]\nbase_url = \"{url}\"\napi = \"openai-completions\"\napi_key = \"x\"\n\
         [[vendors.own.models]]\nid = \"m\"\n{facts}"
    )
}

/// The body of a request.
pub fn body(request: &str) -> Value {
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).unwrap()
}

/// The names of the tools in a request.
pub fn offered_tools(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

/// The result of the call in the last request.
pub fn last_result(requests: &[Value]) -> String {
    let messages = requests.last().and_then(|request| request["messages"].as_array()).unwrap();
    let result = messages.iter().rfind(|message| message["role"] == "tool").expect("a result");
    result["content"].as_str().map_or_else(|| result["content"].to_string(), str::to_owned)
}

/// The text of a message in a request.
pub fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    }
}

/// A chat answer with this text.
pub fn says(text: &str) -> Act {
    chat(json!({ "content": text }), "stop", None)
}

/// A chat answer that calls a tool.
pub fn calls(name: &str, arguments: &Value) -> Act {
    calling(&[(name, arguments.clone())])
}

/// A chat answer with these calls: tool and arguments.
pub fn calling(calls: &[(&str, Value)]) -> Act {
    chat(delta_of(calls), "tool_calls", None)
}

/// A chat answer with these calls, which used this many tokens.
pub fn calls_all(calls: &[(&str, Value)], tokens: u64) -> Act {
    chat(delta_of(calls), "tool_calls", Some(tokens))
}

/// A chat answer with this text, which used this many tokens.
pub fn says_using(text: &str, tokens: u64) -> Act {
    chat(json!({ "content": text }), "stop", Some(tokens))
}

fn delta_of(calls: &[(&str, Value)]) -> Value {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"index": index, "id": format!("c{}", index + 1), "type": "function", "function": function})
    };
    json!({ "tool_calls": calls.iter().enumerate().map(call).collect::<Vec<_>>() })
}

fn chat(delta: Value, reason: &str, tokens: Option<u64>) -> Act {
    let delta = json!({"choices": [{"index": 0, "delta": delta}]});
    let mut end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    if let Some(tokens) = tokens {
        end["usage"] = json!({"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens});
    }
    Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")))
}

/// A chat answer that begins with this and then stalls.
pub fn stalls(text: &str) -> Act {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    Act::Stall(stream(&format!("data: {delta}\n\n")))
}
