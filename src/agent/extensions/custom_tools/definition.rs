//! Reads and checks the file of a custom tool, `tools/NAME.toml`, with line numbers of problems.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::arguments::{Argument, ArgumentKind};
use super::words::{TOOL_DIR, Text, is_name, placeholder_in_shell_text};
use crate::settings::{Problem, line_of, parse_toml};

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_LEN: usize = 8_000;
/// The maximum number of arguments.
const MAX_ARGUMENTS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) description: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) command: ToolCommand,
    /// The title of a call.
    pub(super) title: Option<Text>,
    /// The time limit in seconds.
    pub(super) timeout: Option<u64>,
    pub(super) output: OutputKind,
    /// Its declared access; `None` without a declaration.
    pub(super) access: Option<DeclaredAccess>,
    /// The exit codes of success.
    pub(super) success: Vec<i32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToolCommand {
    /// A program and its arguments.
    Words { program: Text, words: Vec<CommandWord> },
    /// A command line for the user's shell.
    Shell(String),
}

/// One or more words of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandWord {
    Always(Text),
    /// Left out unless the argument has a value other than false.
    When {
        argument: String,
        words: Vec<Text>,
    },
}

/// The kind of a tool's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OutputKind {
    #[default]
    Text,
    /// A unified diff.
    Diff,
    /// The bytes of a picture.
    Image,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DeclaredAccess {
    pub(super) reads: Vec<Text>,
    pub(super) writes: Vec<Text>,
    pub(super) network: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    description: Spanned<String>,
    command: Spanned<toml::Value>,
    #[serde(default)]
    shell: bool,
    title: Option<Spanned<String>>,
    timeout: Option<NonZeroU64>,
    #[serde(default)]
    output: OutputKind,
    #[serde(default)]
    arguments: BTreeMap<Spanned<String>, ArgumentTable>,
    access: Option<AccessTable>,
    success: Option<Vec<i32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgumentTable {
    #[serde(rename = "type", default)]
    kind: ArgumentKind,
    #[serde(default)]
    description: String,
    required: Option<bool>,
    default: Option<toml::Value>,
    #[serde(rename = "enum", default)]
    choices: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccessTable {
    #[serde(default)]
    reads: Vec<Spanned<String>>,
    #[serde(default)]
    writes: Vec<Spanned<String>>,
    #[serde(default)]
    network: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhenTable {
    when: String,
    words: Vec<String>,
}

/// Reads the text of a file. The error returns all problems of the file.
pub(super) fn parse(text: &str) -> Result<Definition, Vec<Problem>> {
    let file: File = parse_toml(text).map_err(|error| vec![error])?;
    let mut check = Check { text, problems: Vec::new() };
    let arguments = check.arguments(file.arguments);
    let description = file.description.get_ref().trim().to_owned();
    if description.is_empty() {
        check.wrong(file.description.span().start, "the description is empty; say what the tool is for");
    } else if description.chars().count() > MAX_DESCRIPTION_LEN {
        let text = format!("the description has more than {MAX_DESCRIPTION_LEN} characters");
        check.wrong(file.description.span().start, text);
    }
    let command = check.command(&file.command, file.shell, &arguments);
    let title = file.title.as_ref().and_then(|title| check.text(title, &arguments));
    let access = file.access.map(|access| DeclaredAccess {
        reads: access.reads.iter().filter_map(|text| check.text(text, &arguments)).collect(),
        writes: access.writes.iter().filter_map(|text| check.text(text, &arguments)).collect(),
        network: access.network,
    });
    match command {
        Some(command) if check.problems.is_empty() => Ok(Definition {
            description,
            arguments,
            command,
            title,
            timeout: file.timeout.map(NonZeroU64::get),
            output: file.output,
            access,
            success: file.success.filter(|codes| !codes.is_empty()).unwrap_or_else(|| vec![0]),
        }),
        _ => Err(check.problems),
    }
}

struct Check<'a> {
    text: &'a str,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn wrong(&mut self, byte: usize, text: impl Into<String>) {
        self.problems.push(Problem { line: Some(line_of(self.text, byte)), text: text.into() });
    }

    /// The arguments in the order of the file.
    fn arguments(&mut self, given: BTreeMap<Spanned<String>, ArgumentTable>) -> Vec<Argument> {
        let mut given: Vec<(Spanned<String>, ArgumentTable)> = given.into_iter().collect();
        given.sort_by_key(|(name, _)| name.span().start);
        if let Some((name, _)) = given.get(MAX_ARGUMENTS) {
            self.wrong(name.span().start, format!("a tool has at most {MAX_ARGUMENTS} arguments"));
        }
        let mut arguments = Vec::new();
        for (name, table) in given {
            let (at, name) = (name.span().start, name.into_inner());
            if !is_name(&name) || name == TOOL_DIR {
                self.wrong(
                    at,
                    format!("`{name}` cannot be the name of an argument; use letters, digits and `_`"),
                );
                continue;
            }
            let default = table.default.map(|value| serde_json::to_value(value).unwrap_or(Value::Null));
            let argument = Argument {
                name,
                kind: table.kind,
                description: table.description.trim().to_owned(),
                is_required: default.is_none() && table.required.unwrap_or(true),
                default,
                choices: table.choices,
            };
            if let Some(problem) = argument.problem() {
                self.wrong(at, problem);
            }
            arguments.push(argument);
        }
        arguments
    }

    fn text(&mut self, text: &Spanned<String>, arguments: &[Argument]) -> Option<Text> {
        self.parse_text(text.get_ref(), text.span().start, arguments)
    }

    fn parse_text(&mut self, text: &str, at: usize, arguments: &[Argument]) -> Option<Text> {
        let is_known = |name: &str| arguments.iter().any(|argument| argument.name == name);
        if text.contains('\0') {
            self.wrong(at, "this text contains a NUL character");
            return None;
        }
        match Text::parse(text, is_known) {
            Ok(text) => Some(text),
            Err(problem) => {
                self.wrong(at, problem);
                None
            }
        }
    }

    fn command(
        &mut self,
        given: &Spanned<toml::Value>,
        shell: bool,
        arguments: &[Argument],
    ) -> Option<ToolCommand> {
        let at = given.span().start;
        match (given.get_ref(), shell) {
            (toml::Value::String(text), true) => self.shell_text(text, at, arguments),
            (toml::Value::Array(words), false) => self.words(words, at, arguments),
            (toml::Value::String(_), false) => {
                self.wrong(
                    at,
                    "command needs a list of words, as [\"wc\", \"-l\"]; a text for a shell needs shell = true",
                );
                None
            }
            (_, true) => {
                self.wrong(at, "with shell = true, command needs a text in quotes");
                None
            }
            (_, false) => {
                self.wrong(at, "command needs a list of words, as [\"wc\", \"-l\"]");
                None
            }
        }
    }

    fn shell_text(&mut self, text: &str, at: usize, arguments: &[Argument]) -> Option<ToolCommand> {
        let is_known = |name: &str| arguments.iter().any(|argument| argument.name == name);
        if let Some(name) = placeholder_in_shell_text(text, is_known) {
            let variable = if name == TOOL_DIR { "$TAU_TOOL_DIR".to_owned() } else { format!("$arg_{name}") };
            self.wrong(at, format!("a shell gets values as variables: write \"{variable}\" for {{{name}}}"));
            return None;
        }
        if text.trim().is_empty() || text.contains('\0') {
            self.wrong(at, "the command is empty or contains a NUL character");
            return None;
        }
        Some(ToolCommand::Shell(text.to_owned()))
    }

    fn words(&mut self, given: &[toml::Value], at: usize, arguments: &[Argument]) -> Option<ToolCommand> {
        let Some((toml::Value::String(program), rest)) = given.split_first() else {
            self.wrong(at, "command needs a program as its first word");
            return None;
        };
        let program = self.parse_text(program, at, arguments)?;
        if program == Text::default() || program.arguments().next().is_some() {
            self.wrong(at, "the program cannot be empty or depend on an argument");
            return None;
        }
        let words = rest.iter().filter_map(|word| self.command_word(word, at, arguments)).collect();
        Some(ToolCommand::Words { program, words })
    }

    fn command_word(
        &mut self,
        given: &toml::Value,
        at: usize,
        arguments: &[Argument],
    ) -> Option<CommandWord> {
        match given {
            toml::Value::String(text) => self.word(text, at, arguments).map(CommandWord::Always),
            toml::Value::Table(table) => {
                let Ok(WhenTable { when, words }) = table.clone().try_into() else {
                    self.wrong(at, "a table in command needs `when` and `words`, as { when = \"all\", words = [\"-a\"] }");
                    return None;
                };
                if !arguments.iter().any(|argument| argument.name == when) {
                    self.wrong(at, format!("no argument is called `{when}`"));
                    return None;
                }
                let words = words.iter().filter_map(|text| self.word(text, at, arguments)).collect();
                Some(CommandWord::When { argument: when, words })
            }
            other => {
                self.wrong(at, format!("{other} is not a word; write it in quotes"));
                None
            }
        }
    }

    fn word(&mut self, text: &str, at: usize, arguments: &[Argument]) -> Option<Text> {
        let text = self.parse_text(text, at, arguments)?;
        let is_list = |name: &str| {
            arguments.iter().any(|argument| argument.name == name && argument.kind == ArgumentKind::Array)
        };
        let list = text.arguments().find(|name| is_list(name)).map(str::to_owned);
        if let Some(name) = list.filter(|_| text.only_argument().is_none()) {
            self.wrong(at, format!("`{name}` is a list, so {{{name}}} has to be a word of its own"));
            return None;
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> String {
        let found = parse(text).err().unwrap_or_default();
        found.iter().map(|problem| format!("{problem}\n")).collect()
    }

    #[test]
    fn mistakes_are_said_with_their_lines() {
        let fine = "description = \"x\"\ncommand = [\"true\"]\n";
        assert_eq!(problems(fine), "");
        for (text, wanted) in [
            ("", "`description` is missing"),
            ("description = 1\n", "line 1: this needs a text in quotes"),
            ("description = \"\"\ncommand = [\"true\"]\n", "line 1: the description is empty"),
            ("description = \"x\"\ncomand = []\n", "line 2: unknown name `comand`; did you mean `command`?"),
            ("description = \"x\"\ncommand = \"ls\"\n", "line 2: command needs a list of words"),
            ("description = \"x\"\ncommand = []\n", "line 2: command needs a program"),
            ("description = \"x\"\ncommand = [\"a\", 1]\n", "line 2: 1 is not a word"),
            ("description = \"x\"\ncommand = [\"{a}\"]\n[arguments.a]\n", "cannot be empty or depend"),
            ("description = \"x\"\ncommand = [\"ls\", \"{a}\"]\n", "line 2: no argument is called `a`"),
            ("description = \"x\"\nshell = true\ncommand = [\"ls\"]\n", "line 3: with shell = true"),
            (
                "description = \"x\"\nshell = true\ncommand = \"ls {a}\"\n[arguments.a]\n",
                "line 3: a shell gets values as variables: write \"$arg_a\" for {a}",
            ),
            (&format!("{fine}[arguments.a]\ntype = \"text\"\n"), "line 4: unknown value `text`"),
            (
                &format!("{fine}[arguments.a]\ntype = \"integer\"\ndefault = \"1\"\n"),
                "not of the type integer",
            ),
            (&format!("{fine}[arguments.a]\nenum = [\"b\"]\ndefault = \"c\"\n"), "is not one of its enum"),
            (
                &format!("{fine}[arguments.a]\ntype = \"boolean\"\nenum = [\"b\"]\n"),
                "only a string or an array",
            ),
            (&format!("{fine}[arguments.\"a b\"]\n"), "line 3: `a b` cannot be the name"),
            (&format!("{fine}[arguments.tool_dir]\n"), "line 3: `tool_dir` cannot be the name"),
            (&format!("{fine}timeout = 0\n"), "line 3: this needs a whole number above 0"),
            (&format!("{fine}output = \"html\"\n"), "line 3: unknown value `html`"),
            (&format!("{fine}[access]\nwrites = [\"{{b}}\"]\n"), "line 4: no argument is called `b`"),
            (
                "description = \"x\"\ncommand = [\"ls\", \"-{a}\"]\n[arguments.a]\ntype = \"array\"\n",
                "line 2: `a` is a list, so {a} has to be a word of its own",
            ),
            (
                "description = \"x\"\ncommand = [\"ls\", {when = \"b\", words = []}]\n",
                "no argument is called `b`",
            ),
            ("description = \"x\"\ncommand = [\"ls\", {if = \"b\"}]\n", "needs `when` and `words`"),
            ("description\n", "line 1: "),
        ] {
            let found = problems(text);
            assert!(found.contains(wanted), "{text}\n{wanted}\n{found}");
        }
    }
}
