//! A custom tool as a tool of the agent.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::definition::{CommandWord, DeclaredAccess, Definition, ToolCommand};
use super::run::{Call, Program};
use super::words::{Text, quote_words, word};
use super::{arguments, run};
use crate::extensions::call_title;
use tau_protocol::extension::ExtensionSource;
use tau_tools::shell_word;
use tau_tools::{
    Access, AnyTool, ApprovedPart, PreparedCall, PreparingCall, Preview, ToolContext, ToolError, ToolSpec,
    args, paths,
};

/// The maximum length of a program argument (Linux: 128 KB with its NUL), and of a variable with its name.
const MAX_WORD_LEN: usize = 127 * 1024;
/// The host for tools that only declare that they use the network.
const SOME_HOST: &str = "the network";
/// The prefix of an argument's variable.
const VARIABLE: &str = "arg_";
/// Marks the end of a program's options.
const END_OF_OPTIONS: &str = "--";

/// A custom tool.
#[derive(Debug)]
pub struct CustomTool {
    spec: ToolSpec,
    definition: Definition,
    place: ToolPlace,
}

/// The origin of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolPlace {
    /// The file that describes it.
    pub(super) path: PathBuf,
    pub(super) source: ExtensionSource,
    /// The shell that runs its command if that is a command line; bash by default.
    pub(super) shell: Option<PathBuf>,
}

impl PartialEq for CustomTool {
    fn eq(&self, other: &Self) -> bool {
        let Self { spec, definition, place } = self;
        *spec == other.spec && *definition == other.definition && *place == other.place
    }
}

impl Eq for CustomTool {}

impl CustomTool {
    /// Makes a tool that models call by `name`.
    pub(super) fn new(name: &str, place: ToolPlace, definition: Definition) -> Self {
        let only_reads =
            definition.access.as_ref().is_some_and(|access| access.writes.is_empty() && !access.network);
        let spec = ToolSpec {
            name: name.to_owned(),
            label: args::label(name),
            description: definition.description.clone(),
            parameters: arguments::schema(&definition.arguments),
            // A project's declarations may change without the user's approval.
            read_only: only_reads && place.source == ExtensionSource::User,
        };
        CustomTool { spec, definition, place }
    }

    /// The name that models call it by.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The access of a call with these arguments in this directory.
    pub fn touches(&self, args: Value, cwd: &Path) -> Result<Access, ToolError> {
        let values = arguments::values(args, &self.spec, &self.definition.arguments)?;
        Ok(self.access(&values, cwd))
    }

    fn tool_dir(&self) -> String {
        let folder = self.place.path.parent().unwrap_or(Path::new("/"));
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
    }

    /// The process of a call with these values.
    fn program(&self, values: &Map<String, Value>) -> Result<Program, ToolError> {
        let tool_dir = self.tool_dir();
        let mut variables = vec![("TAU_TOOL_DIR".to_owned(), tool_dir.clone())];
        match &self.definition.command {
            ToolCommand::Shell(text) => {
                variables.extend(self.shell_variables(text, values)?);
                let shell = self.place.shell.clone().unwrap_or_else(|| PathBuf::from("bash"));
                Ok(Program::Shell { shell, text: text.clone(), variables })
            }
            ToolCommand::Words { program, words } => {
                let program = program.fill(values, &tool_dir).concat();
                let words = self.words(words, values, &tool_dir)?;
                Ok(Program::Words { program: locate_program(&program, &tool_dir), words, variables })
            }
        }
    }

    /// The values as variables of a shell. Values that are too long are left out; it is an
    /// error if the text names them.
    fn shell_variables(
        &self,
        text: &str,
        values: &Map<String, Value>,
    ) -> Result<Vec<(String, String)>, ToolError> {
        let mut variables = Vec::new();
        for (name, value) in values {
            let (variable, value) = (format!("{VARIABLE}{name}"), join_lines(value));
            if value.contains('\0') {
                return Err(self.refusal(&format!("`{name}` contains a NUL character")));
            }
            if variable.len() + value.len() < MAX_WORD_LEN {
                variables.push((variable, value));
            } else if text.contains(&variable) {
                return Err(self.too_long(name));
            }
        }
        Ok(variables)
    }

    fn words(
        &self,
        given: &[CommandWord],
        values: &Map<String, Value>,
        tool_dir: &str,
    ) -> Result<Vec<String>, ToolError> {
        let mut all = Vec::new();
        for word in given {
            match word {
                CommandWord::Always(text) => self.add(text, values, tool_dir, &mut all)?,
                CommandWord::When { argument, words } => {
                    let is_given = values.get(argument).is_some_and(|value| *value != Value::Bool(false));
                    for text in words.iter().filter(|_| is_given) {
                        self.add(text, values, tool_dir, &mut all)?;
                    }
                }
            }
        }
        Ok(all)
    }

    /// Adds a word. A value that the program would read as an option is refused, because the model could use
    /// it to change the tool's purpose.
    fn add(
        &self,
        text: &Text,
        values: &Map<String, Value>,
        tool_dir: &str,
        all: &mut Vec<String>,
    ) -> Result<(), ToolError> {
        let is_free = |argument: &arguments::Argument| argument.choices.is_empty() && argument.kind.is_text();
        let known = || self.definition.arguments.iter().filter(|argument| is_free(argument));
        let is_of_model = text.first_arguments().any(|name| known().any(|argument| argument.name == name));
        for word in text.fill(values, tool_dir) {
            let name = text.arguments().next().unwrap_or_default();
            if word.contains('\0') {
                return Err(self.refusal(&format!("`{name}` contains a NUL character")));
            }
            if word.len() > MAX_WORD_LEN {
                return Err(self.too_long(name));
            }
            let is_option =
                word.len() > 1 && word.starts_with('-') && !all.iter().any(|it| it == END_OF_OPTIONS);
            if is_option && is_of_model {
                return Err(self.refusal(&format!(
                    "`{name}` begins with `-`, so the program would take it for an option; write it differently, \
                     such as ./-x for a file"
                )));
            }
            all.push(word);
        }
        Ok(())
    }

    fn refusal(&self, why: &str) -> ToolError {
        ToolError::refused(format!("{}: {why}", self.spec.name))
    }

    fn too_long(&self, name: &str) -> ToolError {
        self.refusal(&format!("`{name}` is too long for a command line; pass at most {MAX_WORD_LEN} bytes"))
    }

    /// The access of a call.
    fn access(&self, values: &Map<String, Value>, cwd: &Path) -> Access {
        let declared = self.definition.access.as_ref();
        let DeclaredAccess { reads, writes, network } = declared.cloned().unwrap_or_default();
        let tool_dir = self.tool_dir();
        let resolved = |texts: &[Text]| {
            let words = texts.iter().flat_map(|text| text.fill(values, &tool_dir));
            words.filter(|path| !path.is_empty()).map(|path| paths::resolve(cwd, &path)).collect()
        };
        let access = Access {
            reads: resolved(&reads),
            writes: resolved(&writes),
            network: if network { vec![SOME_HOST.to_owned()] } else { Vec::new() },
            unknown: declared.is_none() || self.place.source != ExtensionSource::User,
            program: true,
            ..Access::default()
        };
        values.values().fold(access, |access, value| access.with_texts_of(value))
    }

    fn call(&self, args: Value, context: &ToolContext) -> Result<(Call, Access), ToolError> {
        let values = arguments::values(args, &self.spec, &self.definition.arguments)?;
        let access = self.access(&values, &context.cwd);
        let input = serde_json::to_vec(&values).unwrap_or_default();
        let program = self.program(&values)?;
        let call = Call {
            program,
            input,
            name: self.spec.name.clone(),
            timeout: self.definition.timeout.or(context.default_timeout).filter(|seconds| *seconds > 0),
            output: self.definition.output,
            success: self.definition.success.clone(),
        };
        Ok((call, access))
    }
}

/// The location of a program: paths are relative to the folder of the tool's file, not to the working
/// directory.
fn locate_program(program: &str, tool_dir: &str) -> String {
    if !program.contains('/') {
        return program.to_owned();
    }
    paths::resolve(Path::new(tool_dir), program).to_string_lossy().into_owned()
}

/// A value as one text; a list has one line per value.
fn join_lines(value: &Value) -> String {
    match value {
        Value::Array(list) => list.iter().map(word).collect::<Vec<_>>().join("\n"),
        other => word(other),
    }
}

/// The command of a call, for display.
fn command_text(program: &Program) -> String {
    match program {
        Program::Words { program, words, .. } => {
            let all: Vec<String> = std::iter::once(program).chain(words).cloned().collect();
            quote_words(&all)
        }
        Program::Shell { text, variables, .. } => {
            let own = variables.iter().filter(|(name, _)| name.starts_with(VARIABLE));
            let lines = own.map(|(name, value)| format!("{name}={}\n", shell_word::quote(value)));
            format!("{}{text}", lines.collect::<String>())
        }
    }
}

impl AnyTool for CustomTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        match (&self.definition.title, args.as_object()) {
            (Some(title), Some(values)) => {
                let text = title.display(values);
                call_title::short(&text)
            }
            _ => call_title::of_arguments(args),
        }
    }

    fn prepares_from_arguments(&self) -> bool {
        true
    }

    fn canonical(&self, args: Value) -> Value {
        args::fit_to_schema(args.clone(), &self.spec).unwrap_or(args)
    }

    fn prepare(&self, args: Value, context: ToolContext) -> PreparingCall<'_> {
        Box::pin(async move {
            let (call, access) = self.call(args, &context)?;
            let preview = Preview::Command { command: command_text(&call.program) };
            let apply = move |approved: ApprovedPart| async move {
                if approved.edited.is_some() {
                    return Err(self.refusal("the command of a custom tool cannot be edited"));
                }
                let sandbox = approved.sandbox.unwrap_or_else(|| context.sandbox.clone());
                run::carry_out(call, ToolContext { sandbox, ..context }).await
            };
            Ok(PreparedCall::new(access, apply).preview(preview))
        })
    }
}
