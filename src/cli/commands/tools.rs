//! `tau tools`: lists tools, checks the files of custom ones, and runs one.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::table;
use crate::args::CliArgs;
use crate::args::tools::{ToolsAction, ToolsArgs};
use crate::compose::agent::child_env;
use crate::compose::environment::Environment;
use crate::compose::{self, sandbox};
use crate::process::exit::{Exit, Refusal, fail, say, warn, without_numbers};
use crate::process::plain;
use crate::process::signals::Signals;
use tau_agent::extensions::custom_tools;
use tau_agent::extensions::registry::LoadedExtensions;
use tau_agent::permissions::{CallFacts, Verdict};
use tau_protocol::approval::PermissionMode;
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionSource, ExtensionState};
use tau_tools::bash::Bash;
use tau_tools::delegate;
use tau_tools::path_text;
use tau_tools::scratch::Scratch;
use tau_tools::{
    AnyTool, ApprovedPart, Content, OutputLimits, ToolContext, ToolError, ToolOutput, Toolbox,
    toolbox::{self, Availability, BuiltInTool},
};

/// The context of the command.
struct Here {
    cwd: PathBuf,
    environment: Environment,
    loaded: Arc<LoadedExtensions>,
}

impl Here {
    fn read(trust: bool) -> Result<Self, Refusal> {
        let all = CliArgs { trust, ..CliArgs::without_arguments() };
        let (environment, _, cwd) = Environment::read_here(&all)?;
        let loaded = compose::extensions_of(&all, &environment.paths, &environment.settings).load(&cwd);
        Ok(Here { cwd, environment, loaded })
    }

    /// The files that describe tools.
    fn rows(&self) -> impl Iterator<Item = &ExtensionRow> {
        self.loaded.rows.iter().filter(|row| row.kind == ExtensionKind::CustomTool)
    }
}

/// Runs the command; returns the program's end.
pub(crate) fn run(args: &ToolsArgs) -> Result<Exit, Refusal> {
    let trust = match &args.action {
        Some(ToolsAction::Check { trust, .. } | ToolsAction::Run { trust, .. }) => *trust,
        None => args.trust,
    };
    let here = Here::read(trust)?;
    let exit = match &args.action {
        None if args.json => say(&as_json(&here)),
        None => say(&format_list(&here)),
        Some(ToolsAction::Check { files, .. }) if files.is_empty() => check_all(&here),
        Some(ToolsAction::Check { files, .. }) => check(files, here.environment.settings.shell.as_deref()),
        Some(ToolsAction::Run { name, values, output, arguments, .. }) => {
            let tool = here.tool(name)?;
            let arguments = match arguments {
                Some(text) => of_json(text)?,
                None => of_values(values, &tool.spec().parameters)?,
            };
            return run_tool(&here, tool, arguments, output.as_deref());
        }
    };
    Ok(match exit {
        Exit::Ok if !here.environment.notices.is_empty() => Exit::Config,
        exit => exit,
    })
}

/// Whether a built-in tool is on, off, or on in the modes that ask about commands.
fn state(here: &Here, row: &BuiltInTool) -> &'static str {
    let settings = &here.environment.settings;
    match (&settings.tools, row.offered) {
        _ if row.name == delegate::NAME && settings.helpers.enabled() => "on",
        (Some(chosen), _) if chosen.iter().any(|name| name == row.name) => "on",
        (Some(_), _) => "off",
        (None, Availability::Always) => "on",
        (None, Availability::WhereAsked) => "by mode",
        (None, Availability::WhenNamed) => "off",
    }
}

fn format_list(here: &Here) -> String {
    let built_in = toolbox::TABLE.iter().map(|row| {
        [state(here, row).to_owned(), row.name.to_owned(), "built-in".to_owned(), row.summary.to_owned()]
    });
    let custom = here.rows().map(|row| {
        let said = row.description.lines().next().unwrap_or_default();
        [
            row.state.name().to_owned(),
            plain::line(&row.name),
            row.source.name().to_owned(),
            plain::line(&said.chars().take(60).collect::<String>()),
        ]
    });
    let mut text = table::columns(&built_in.chain(custom).collect::<Vec<_>>());
    let wrong = problems(here);
    if !wrong.is_empty() {
        let _ = write!(text, "\nProblems\n{wrong}");
    }
    text
}

/// The faults in files, a line each.
fn problems(here: &Here) -> String {
    let mut wrong = String::new();
    for row in here.rows() {
        let place = row.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        for problem in &row.problems {
            let _ = writeln!(wrong, "{}: {}", plain::line(&place), plain::line(problem));
        }
    }
    wrong
}

fn as_json(here: &Here) -> String {
    let built_in = Toolbox::all();
    let built_in = toolbox::TABLE.iter().map(|row| {
        let spec = built_in.get(row.name).map(|tool| tool.spec());
        json!({
            "name": row.name,
            "label": spec.map(|spec| &spec.label),
            "source": "built-in",
            "state": state(here, row),
            "description": row.summary,
            "parameters": spec.map(|spec| &spec.parameters),
        })
    });
    let custom = here.rows().map(|row| {
        let used =
            here.loaded.tools.iter().find(|tool| tool.name() == row.name && row.state == ExtensionState::On);
        json!({
            "name": row.name,
            "label": used.map(|tool| &tool.spec().label),
            "source": row.source.name(),
            "state": row.state.name(),
            "description": row.description,
            "parameters": used.map(|tool| &tool.spec().parameters),
            "path": row.path.as_deref().map(path_text::text),
            "problems": row.problems,
            "tokens": row.tokens,
        })
    });
    json!({ "tools": built_in.chain(custom).collect::<Vec<Value>>() }).to_string() + "\n"
}

fn check_all(here: &Here) -> Exit {
    let wrong = problems(here);
    if wrong.is_empty() {
        return say(&match here.rows().count() {
            1 => "1 tool, no problems found\n".to_owned(),
            count => format!("{count} tools, no problems found\n"),
        });
    }
    say(&wrong);
    Exit::Config
}

fn check(files: &[PathBuf], shell: Option<&Path>) -> Exit {
    let (mut text, mut is_wrong) = (String::new(), false);
    for file in files {
        let found = custom_tools::read(file, ExtensionSource::User, shell);
        let place = plain::line(&file.display().to_string());
        match found.tool {
            Ok(_) => {
                let _ = writeln!(text, "{place}: fine");
            }
            Err(problems) => {
                is_wrong = true;
                for problem in problems {
                    let said = plain::line(&without_numbers(&problem.text));
                    let _ = match problem.line {
                        Some(line) => writeln!(text, "{place}:{line}: {said}"),
                        None => writeln!(text, "{place}: {said}"),
                    };
                }
            }
        }
    }
    match say(&text) {
        Exit::Ok if is_wrong => Exit::Config,
        exit => exit,
    }
}

impl Here {
    fn tool(&self, name: &str) -> Result<Arc<dyn AnyTool>, Refusal> {
        if let Some(tool) = self.loaded.tools.iter().find(|tool| tool.name() == name) {
            return Ok(Arc::clone(tool) as _);
        }
        if let (Some(shell), "bash") = (&self.environment.settings.shell, name) {
            return Ok(Arc::new(Bash::with_shell(shell)));
        }
        if let Some(tool) = Toolbox::all().get(name) {
            return Ok(Arc::clone(tool));
        }
        let row = self.rows().find(|row| row.name == name);
        Err(match row.and_then(|row| row.problems.first()) {
            Some(problem) => Refusal::config(format!("the tool {name} cannot be used: {problem}")),
            None if row.is_some() => Refusal::config(format!("the tool {name} is off (extensions_off)")),
            None => Refusal::usage(format!("no tool is called {name:?}; run `tau tools` to list them")),
        })
    }
}

pub(crate) fn of_json(text: &str) -> Result<Value, Refusal> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(Refusal::usage("the arguments are not a JSON object, such as '{\"path\": \"src\"}'")),
        Err(error) => Err(Refusal::usage(format!(
            "the arguments are not JSON: {error}; pass a JSON object, or `-a NAME=VALUE`"
        ))),
    }
}

/// The values from flags. Where the tool takes numbers, texts become numbers.
fn of_values(values: &[String], schema: &Value) -> Result<Value, Refusal> {
    let mut arguments = Map::new();
    for text in values {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Refusal::usage(format!("--arg {text:?} has no `=`; write --arg NAME=VALUE")))?;
        let is_list = schema.pointer(&format!("/properties/{name}/type")).is_some_and(|kind| kind == "array");
        if !is_list {
            arguments.insert(name.to_owned(), value.into());
        } else if let Value::Array(list) = arguments.entry(name).or_insert_with(|| json!([])) {
            list.push(value.into());
        }
    }
    Ok(Value::Object(arguments))
}

/// Runs a tool in the directory like the model's calls, but without asking: the user is the caller.
fn run_tool(
    here: &Here,
    tool: Arc<dyn AnyTool>,
    arguments: Value,
    output: Option<&Path>,
) -> Result<Exit, Refusal> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(Refusal::config)?;
    let cancel = CancellationToken::new();
    let context = here.context(cancel.clone())?;
    let (result, stopped) = runtime.block_on(async {
        let mut signals = Signals::for_batch().map_err(Refusal::config)?;
        let call = here.carry_out(tool, arguments, context);
        let mut call = std::pin::pin!(call);
        let mut stopped = None;
        loop {
            tokio::select! {
                result = &mut call => return Ok::<_, Refusal>((result, stopped)),
                caught = signals.next() => if let Some(exit) = caught.exit() {
                    stopped = Some(exit);
                    cancel.cancel();
                },
            }
        }
    })?;
    Ok(match (result, stopped) {
        (Err(Failure::Denied(why)), _) => fail(Exit::Refused, &why),
        (_, Some(exit)) => exit,
        (Ok(result), None) => print_result(&result, output)?,
        (
            Err(Failure::Tool(ToolError::Refused { message, .. } | ToolError::Aborted { message, .. })),
            None,
        ) => fail(Exit::Model, &plain::text(&message)),
    })
}

/// The reason why a call has no result.
enum Failure {
    /// A user's rule or the sandbox forbids it.
    Denied(String),
    Tool(ToolError),
}

impl Here {
    fn context(&self, cancel: CancellationToken) -> Result<ToolContext, Refusal> {
        let Environment { paths, settings, keys, .. } = &self.environment;
        let scratch =
            Arc::new(Scratch::new(&std::env::temp_dir()).map_err(Refusal::config)?.owned_by(&paths.owner()));
        Ok(ToolContext {
            cancel,
            env: Arc::new(child_env(keys, settings, "tools")),
            sandbox: Arc::new(sandbox::policy(settings, paths, &self.cwd)),
            files: self.environment.all_rules().file_filter(&self.cwd, std::env::home_dir().as_deref()),
            limits: OutputLimits { images: true, ..OutputLimits::default() },
            default_timeout: settings.bash_timeout,
            ..ToolContext::new(&self.cwd, scratch)
        })
    }

    async fn carry_out(
        &self,
        tool: Arc<dyn AnyTool>,
        arguments: Value,
        context: ToolContext,
    ) -> Result<ToolOutput, Failure> {
        let policy = Arc::clone(&context.sandbox);
        let prepared = tool.prepare(arguments, context).await.map_err(Failure::Tool)?;
        let home = std::env::home_dir();
        let judgement = self.environment.all_rules().judge(&CallFacts {
            mode: PermissionMode::Auto,
            tool: &tool.spec().name,
            access: &prepared.access,
            read_only: tool.spec().read_only,
            cwd: &self.cwd,
            home: home.as_deref(),
        });
        if judgement.verdict == Verdict::Deny {
            let reasons: Vec<String> = judgement.reasons.into_iter().map(|reason| reason.text).collect();
            return Err(Failure::Denied(format!("not run: {}", reasons.join("; "))));
        }
        if let Some(denial) = prepared.access.writes.iter().find_map(|path| policy.check_write(path).err()) {
            return Err(Failure::Denied(format!("not run: the sandbox blocks {denial}")));
        }
        prepared.apply(ApprovedPart::all()).await.map_err(Failure::Tool)
    }
}

/// Prints a result, and writes its picture to a file if there is one.
fn print_result(result: &ToolOutput, output: Option<&Path>) -> Result<Exit, Refusal> {
    let mut text = String::new();
    let mut picture = None;
    for content in &result.content {
        match content {
            Content::Text { text: said } => {
                text.push_str(&plain::text(said));
                if !text.ends_with('\n') {
                    text.push('\n');
                }
            }
            Content::Image { data, .. } => picture = picture.or(Some(data)),
        }
    }
    match (picture, output) {
        (Some(data), Some(file)) => {
            let failed = |error: &dyn std::fmt::Display| Refusal {
                exit: Exit::Model,
                text: format!("cannot write {}: {error}", file.display()),
            };
            let bytes = BASE64_STANDARD.decode(data).map_err(|error| failed(&error))?;
            std::fs::write(file, bytes).map_err(|error| failed(&error))?;
        }
        (Some(_), None) => warn("the result is a picture; --output FILE writes it to a file"),
        (None, Some(_)) => warn("the result is not a picture, so no file was written"),
        (None, None) => {}
    }
    Ok(say(&text))
}
