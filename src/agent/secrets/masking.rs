//! Masks output of tools and commands, and restores values for tools that write files.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use super::vault::Vault;
use super::visible::{self, Visible};
use tau_protocol::message::BashExecution;
use tau_protocol::placeholder;
use tau_tools::delegate;
use tau_tools::sandbox::SandboxDenial;
use tau_tools::secret_cuts::SecretFinder;
use tau_tools::user_error::UserError;
use tau_tools::{ChangeFacts, Content, Details, FileDiff, ToolKind, ToolOutput, ToolSpec, toolbox};

/// The secrets of an agent, and output of commands that is held back until it is unambiguous.
#[derive(Clone, Debug, Default)]
pub struct Masking {
    pub vault: Vault,
    streams: HashMap<Option<String>, Stream>,
}

impl Masking {
    /// Masks the secrets of this vault.
    pub fn new(vault: Vault) -> Self {
        Masking { vault, streams: HashMap::new() }
    }

    /// Finds the secrets of texts that are cut before they are masked.
    pub(crate) fn finder(&self) -> SecretFinder {
        self.vault.finder()
    }

    pub(crate) fn answer(&mut self, output: &mut ToolOutput) {
        for content in &mut output.content {
            if let Content::Text { text } = content {
                self.text(text);
            }
        }
        self.details(&mut output.details);
    }

    /// Masks the partial answer of a tool. A possible beginning of a secret is held back.
    pub(crate) fn partial_answer(&mut self, output: &mut ToolOutput) {
        if self.vault.is_on {
            for content in &mut output.content {
                if let Content::Text { text } = content {
                    text.truncate(settled_length(&self.vault, text));
                }
            }
            if let Details::Terminal(terminal) = &mut output.details {
                terminal.text.truncate(settled_length(&self.vault, &terminal.text));
            }
        }
        self.answer(output);
    }

    pub(crate) fn text(&mut self, text: &mut String) {
        if let Some(masked) = self.vault.mask(text) {
            *text = masked;
        }
    }

    /// Masks the description of a tool. Those of tau's own have no secrets, but that of `delegate` lists kinds from files.
    pub(crate) fn description(&mut self, tool: &mut ToolSpec) {
        if tool.name == delegate::NAME || !toolbox::TABLE.iter().any(|row| row.name == tool.name) {
            self.text(&mut tool.description);
            self.texts(&mut tool.parameters);
        }
    }

    fn texts(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.texts(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.texts(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(crate) fn details(&mut self, details: &mut Details) {
        match details {
            Details::None | Details::Image { .. } => {}
            Details::Text { text } => self.text(text),
            Details::Lines(facts) => self.text(&mut facts.file_path),
            Details::Diff(diff) => self.diff(diff),
            Details::Terminal(terminal) => {
                self.text(&mut terminal.text);
                self.denial(&mut terminal.blocked);
                // The model's own text is already in its call; the user's replacement may have secrets.
                let command = terminal.command.as_mut().filter(|_| terminal.edited.is_some());
                let commands = terminal.edited.iter_mut().chain(command);
                commands.for_each(|command| self.text(command));
            }
            Details::Paths { paths, .. } => paths.iter_mut().for_each(|path| self.text(path)),
            Details::Helper(report) => report.texts_mut().for_each(|text| self.text(text)),
        }
    }

    fn denial(&mut self, denial: &mut Option<SandboxDenial>) {
        let names = denial.iter_mut().flat_map(|denial| denial.path.iter_mut().chain(&mut denial.renamed));
        names.for_each(|name| self.text(name));
    }

    /// Masks a change. Its hunks keep their lines.
    pub fn diff(&mut self, diff: &mut FileDiff) {
        self.text(&mut diff.path);
        diff.facts.iter_mut().flat_map(ChangeFacts::texts_mut).for_each(|text| self.text(text));
        for hunk in &mut diff.hunks {
            let split = |line: &String| line.chars().next().map_or(0, char::len_utf8);
            let bodies: Vec<&str> =
                hunk.lines.iter().map(|line| line.get(split(line)..).unwrap_or_default()).collect();
            let Some(masked) = self.vault.mask_lines(&bodies.join("\n")) else { continue };
            for (line, body) in hunk.lines.iter_mut().zip(masked.split('\n')) {
                line.truncate(split(line));
                line.push_str(body);
            }
        }
    }

    /// Masks output of a command. A possible beginning of a secret is held back.
    pub(crate) fn command_output(&mut self, id: &Option<String>, delta: String) -> String {
        if !self.vault.is_on && self.streams.is_empty() {
            return delta;
        }
        self.streams.entry(id.clone()).or_default().push(&mut self.vault, &delta)
    }

    /// Records that the user types into a command, which echoes it.
    pub(crate) fn note_typing(&mut self, id: &Option<String>) {
        self.streams.entry(id.clone()).or_default().is_echo = true;
    }

    /// Masks the final message of a command, and returns the rest of its output that was held back.
    pub(crate) fn finish_command(&mut self, id: &Option<String>, message: &mut BashExecution) -> String {
        self.text(&mut message.output);
        self.text(&mut message.command);
        self.denial(&mut message.blocked);
        let stream = self.streams.remove(id);
        stream.map(|stream| self.vault.mask_from(&stream.text, stream.shown)).unwrap_or_default()
    }

    /// The arguments that a call is carried out with: with values for placeholders if the tool writes files.
    /// Fails with an error for the model: the tool does not support placeholders, or one has no value.
    pub(crate) fn arguments(&self, tool: &str, arguments: &Value) -> Result<Option<Value>, UserError> {
        let Some(first) = first_placeholder(arguments) else { return Ok(None) };
        if ToolKind::of(tool) != ToolKind::Write {
            return Err(refusal(tool, &first).into());
        }
        let mut arguments = arguments.clone();
        self.fill(&mut arguments)?;
        Ok(Some(arguments))
    }

    fn fill(&self, value: &mut Value) -> Result<(), UserError> {
        match value {
            Value::String(text) => {
                if let Some(filled) =
                    self.vault.unmask(text).map_err(|unknown| missing_value_message(&unknown))?
                {
                    *text = filled;
                }
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.fill(item)),
            Value::Object(fields) => fields.values_mut().try_for_each(|field| self.fill(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
}

/// The first placeholder in the arguments.
fn first_placeholder(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => placeholder::find(text).next().map(|(_, placeholder)| placeholder.to_string()),
        Value::Array(items) => items.iter().find_map(first_placeholder),
        Value::Object(fields) => fields.values().find_map(first_placeholder),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn refusal(tool: &str, placeholder: &str) -> String {
    let instead = match ToolKind::of(tool) {
        ToolKind::Command => {
            "a command line can be seen by other programs. Let the command read the value itself, for example \
             from the file it is in (`set -a; . ./.env; set +a`) or from an environment variable"
        }
        _ => "only write and edit take placeholders",
    };
    format!("not run: {placeholder} stands for a secret that you have not seen, and {instead}")
}

fn missing_value_message(placeholder: &str) -> String {
    format!(
        "not written: there is no value for {placeholder}. It is from an earlier run of tau, or was changed. \
         Read the file that has the secret again to get a placeholder that works, or ask the user to write it"
    )
}

/// The length of the text that can be shown if it continues: the rest may turn out to be a secret.
fn settled_length(vault: &Vault, text: &str) -> usize {
    let settled = match Visible::of(text) {
        Some(visible) => visible.raw_at(vault.settled_length(&visible.text), text.len()),
        None => vault.settled_length(text),
    };
    settled.min(visible::incomplete(text))
}

/// The maximum bytes of a command's output that are held back.
const HELD: usize = 64 * 1024;
/// The maximum bytes of a line that are remembered as context for the rest.
const LINE: usize = 4 * 1024;

/// The bytes of earlier lines that are remembered: an encoded secret may begin there, too shortly to be held back.
const CONTEXT: usize = 256;

/// The output of a running command: the incomplete line, and the part that is held back.
#[derive(Clone, Default)]
struct Stream {
    text: String,
    /// The length of the part of `text` that was passed on.
    shown: usize,
    /// Whether the rest of the line is an echo of the user's input.
    is_echo: bool,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} bytes)", self.text.len())
    }
}

impl Stream {
    fn push(&mut self, vault: &mut Vault, delta: &str) -> String {
        self.text.push_str(delta);
        let mut out = String::new();
        if self.is_echo {
            let rest = self.text.get(self.shown..).unwrap_or_default();
            let end = rest.find('\n');
            let echo = end.map_or(rest.len(), |end| end + 1);
            out.push_str(rest.get(..echo).unwrap_or_default());
            self.is_echo = end.is_none();
            self.shown += echo;
        }
        let mut ready = settled_length(vault, &self.text).max(self.shown);
        if self.text.len() - ready > HELD {
            ready = self.text.len();
        }
        out.push_str(&vault.mask_from(self.text.get(..ready).unwrap_or_default(), self.shown));
        self.shown = ready;
        self.forget();
        out
    }

    /// Drops complete lines, except the last ones, and the beginning of a very long one.
    fn forget(&mut self) {
        let last = self.text.floor_char_boundary(self.shown.saturating_sub(CONTEXT));
        let line = self.text.get(..last).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let from = line.max(self.text.floor_char_boundary(self.shown.saturating_sub(LINE)));
        self.text.drain(..from);
        self.shown -= from;
    }
}

#[cfg(test)]
mod stream_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use tau_tools::{Hunk, TerminalOutput};

    const TOKEN: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

    fn plain(text: &str) -> String {
        let found: Vec<_> = placeholder::find(text).map(|(_, found)| found).collect();
        found.iter().fold(text.to_owned(), |text, found| {
            text.replace(&found.to_string(), &format!("<{}>", found.kind))
        })
    }

    #[test]
    fn output_cut_anywhere_shows_no_part_of_a_secret() {
        let key =
            "-----BEGIN PRIVATE KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\r\n-----END PRIVATE KEY-----";
        let whole = format!(
            "start\r\nAPI_TOKEN=zx81-Q7rr-99aB\r\nx \u{1b}[31m{TOKEN}\u{1b}[0m y\r\n{key}\r\nhttps://u:p4ssw0rd!@h/\r\nend"
        );
        let expected = "start\r\nAPI_TOKEN=<token>\r\nx \u{1b}[31m<github token>\u{1b}[0m y\r\n<private key>\r\nhttps://u:<password>@h/\r\nend";
        for size in 1..40 {
            let mut masking = Masking::default();
            let id = Some("1".to_owned());
            let mut out = String::new();
            let chars: Vec<char> = whole.chars().collect();
            for piece in chars.chunks(size) {
                out.push_str(&masking.command_output(&id, piece.iter().collect()));
                let leaked = ["zx81", "A1b2", "MIIE", "p4ss"].into_iter().find(|part| out.contains(part));
                assert_eq!(leaked, None, "in pieces of {size}: {out:?}");
            }
            out.push_str(&masking.finish_command(&id, &mut message("")));
            // A single letter is shown before it is known what it begins.
            let out = plain(&out).replace("g<github", "<github").replace("-<private", "<private");
            assert_eq!(out, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn prompts_and_what_is_typed_appear_at_once() {
        let mut masking = Masking::default();
        let id = None;
        for prompt in
            ["[sudo] password for me: ", "Password: ", "Enter passphrase for key '/a/b': ", "50% ", "a x"]
        {
            assert_eq!(masking.command_output(&id, prompt.to_owned()), prompt);
            masking.command_output(&id, "\n".to_owned());
        }
        assert_eq!(masking.command_output(&id, "token: ".to_owned()), "token: ");
        masking.note_typing(&id);
        assert_eq!(masking.command_output(&id, "a".to_owned()), "a");
        assert_eq!(masking.command_output(&id, "b\r\nAPI_TOKEN=zx81".to_owned()), "b\r\nAPI_TOKEN=");
    }

    #[test]
    fn every_part_of_an_answer_is_masked() {
        let mut masking = Masking::default();
        let terminal = TerminalOutput { text: format!("a\n{TOKEN}"), ..TerminalOutput::default() };
        let mut output = ToolOutput::new(format!("x {TOKEN}"), Details::Terminal(terminal));
        let mut partial = output.clone();
        masking.partial_answer(&mut partial);
        assert_eq!(partial.content, [Content::text("x ")]);
        masking.answer(&mut output);
        let lines = [
            "-A=1", "+API_TOKEN=zx81-Q7rr-99aB", " -----BEGIN PRIVATE KEY-----", " MIIEvQIBADANBgkqhkiG",
            " -----END PRIVATE KEY-----", " z",
        ];
        let hunk = Hunk { old_start: 1, new_start: 1, lines: lines.map(str::to_owned).to_vec() };
        let mut diff = Details::Diff(FileDiff { hunks: vec![hunk], ..FileDiff::default() });
        masking.details(&mut diff);
        let Details::Diff(diff) = diff else { unreachable!() };
        let lines: Vec<String> = diff.hunks[0].lines.iter().map(|line| plain(line)).collect();
        assert_eq!(lines, ["-A=1", "+API_TOKEN=<token>", " <private key>", " …", " …", " z"]);
        let Details::Terminal(terminal) = output.details else { unreachable!() };
        assert_eq!((plain(&terminal.text).as_str(), output.content.len()), ("a\n<github token>", 1));
    }

    #[test]
    fn writers_get_values_and_others_a_reason() {
        let mut masking = Masking::default();
        let placeholder = masking.vault.mask(TOKEN).unwrap_or_default();
        let args = serde_json::json!({"path": "a", "edits": [{"new": format!("x={placeholder}")}]});
        let filled = masking.arguments("edit", &args);
        let expected = serde_json::json!({"path": "a", "edits": [{"new": format!("x={TOKEN}")}]});
        assert_eq!(filled, Ok(Some(expected)));
        assert!(masking.arguments("bash", &args).is_err_and(|why| why.contains("command line")));
        let unknown = serde_json::json!({"content": "[secret 7-zzzz: token]"});
        assert!(masking.arguments("write", &unknown).is_err_and(|why| why.contains("earlier run")));
        assert_eq!(masking.arguments("bash", &serde_json::json!({"command": "ls"})), Ok(None));
    }

    fn message(output: &str) -> BashExecution {
        BashExecution { output: output.to_owned(), exit_code: Some(0), ..BashExecution::default() }
    }
}
