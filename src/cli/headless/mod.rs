//! Starts the front ends without a screen: print, json and rpc.
//!
//! Their common part is here: a setup that is refused with a message, a runtime of one thread, signals. Their
//! use of an agent is their own.

pub mod answer;
pub mod batch;
pub mod json;
pub mod output_schema;
pub mod print;
pub mod progress;
pub mod prompts;
pub(crate) mod stdin_prompts;

use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::args::CliArgs;
use super::compose::{ComposedAgent, Setup};
use super::rpc;
use crate::compose::environment::paths;
use crate::compose::profile::FrontEndProfile;
use crate::compose::sessions;
use crate::live::off_screen::OffScreen;
use crate::process::crash;
use crate::process::exit::{Exit, Refusal, fail, warn};
use crate::process::runtime;
use crate::process::signals::Signals;
use crate::upkeep;
use output_schema::OutputSchema;
use stdin_prompts::JsonPrompts;
use tau_agent::catalogue::keys::KeySource;
use tau_agent::context::request;
use tau_agent::engine::config::AgentConfig;
use tau_agent::provider::{Failure, FailureKind};
use tau_app::geometry::Motion;

/// The message when there is no prompt.
pub(crate) const NO_PROMPT: &str = "no prompt: pass one as an argument or pipe it in";

/// Runs prompts and prints the answers.
pub fn print(mut args: CliArgs) -> Exit {
    let schema = match output_schema(&mut args) {
        Ok(schema) => schema,
        Err(refusal) => return refusal.fail(),
    };
    let read = |setup: &Setup| {
        let prompts = stdin_prompts::text(&setup.args.prompts).map_err(Refusal::config)?;
        let continues = prompts.is_empty() && needs_no_prompt(&setup.args)?;
        let args = &setup.args;
        Ok(print::PrintOptions {
            continues,
            prompts,
            output: args.output.clone(),
            schema,
            goal: args.goal(),
            timeout: args.timeout.map(Duration::from_secs),
            is_one_of_several: false,
        })
    };
    let profile = print::PROFILE;
    start(args, profile, read, Setup::with_model, async move |(setup, options), mut agent, mut signals| {
        if let Err(refusal) = check(options.continues, &agent.config, &setup, &mut signals).await {
            return refusal.fail();
        }
        agent.config.behavior.join_deltas = true;
        let agent = OffScreen::start(setup.clone(), false).spawn(agent.config, agent.prompt, &setup, None);
        let streams = print::PrintStreams::standard(Motion::new(setup.settings.animations()));
        print::run(agent, options, streams, async || signals.next().await).await
    })
}

/// Runs prompts and writes every event.
pub fn json(mut args: CliArgs) -> Exit {
    let schema = match output_schema(&mut args) {
        Ok(schema) => schema,
        Err(refusal) => return refusal.fail(),
    };
    let read = |setup: &Setup| {
        let input = stdin_prompts::json(&setup.args.prompts).map_err(Refusal::config)?;
        let is_empty = input.prompts.is_empty() && input.first_line.is_none();
        Ok((is_empty && needs_no_prompt(&setup.args)?, input))
    };
    start(
        args,
        json::PROFILE,
        read,
        Setup::with_model,
        async move |(setup, (continues, input)), ComposedAgent { config, prompt, .. }, mut signals| {
            let JsonPrompts { prompts, first_line } = input;
            let (output, goal) = (setup.args.output.clone(), setup.args.goal());
            let timeout = setup.args.timeout.map(Duration::from_secs);
            if let Err(refusal) = check(continues, &config, &setup, &mut signals).await {
                return refusal.fail();
            }
            let input = first_line.map(|first| std::io::Cursor::new(first).chain(tokio::io::stdin()));
            let header = config.session.header().to_owned();
            signals.watch_reader();
            let options =
                json::JsonOptions { continues, prompts, goal, input, header, output, schema, timeout };
            let agent = OffScreen::start(setup.clone(), false).spawn(config, prompt, &setup, None);
            json::run(agent, options, tokio::io::stdout(), async || signals.next().await).await
        },
    )
}

/// Whether to continue, without a prompt, a run that was ended while it waited for a quota. Fails if there is nothing
/// to do without a prompt.
fn needs_no_prompt(args: &CliArgs) -> Result<bool, Refusal> {
    let names_session = args.continue_last || args.session.is_some() || args.session_id.is_some();
    match args.wait_for_quota && names_session {
        false if args.until.is_none() => Err(Refusal::usage(NO_PROMPT)),
        continues => Ok(continues),
    }
}

/// Refuses to continue a session without anything left to answer, and to start without the key of the model.
async fn check(
    continues: bool,
    config: &AgentConfig,
    setup: &Setup,
    signals: &mut Signals,
) -> Result<(), Refusal> {
    if continues && !request::can_continue(&config.session.context().messages) {
        let text = "there is nothing to continue: the last answer of the session is complete; pass a prompt";
        return Err(Refusal::usage(text));
    }
    has_key(setup, signals).await
}

/// Reads the file of `--output-schema`, and informs the model in the system prompt.
fn output_schema(args: &mut CliArgs) -> Result<Option<OutputSchema>, Refusal> {
    let schema = args.output_schema.as_deref().map(OutputSchema::read).transpose()?;
    args.appended.extend(schema.iter().map(OutputSchema::instructions));
    Ok(schema)
}

/// Serves a client on the standard streams.
pub fn rpc(args: CliArgs) -> Exit {
    if let Some(prompt) = args.prompts.first() {
        let text =
            format!("--mode rpc takes no prompts or @files, but got {prompt}; send a prompt command instead");
        return fail(Exit::Usage, &text);
    }
    if args.until.is_some() {
        return fail(
            Exit::Usage,
            "--until is for prompts of the command line; send a set_goal command instead",
        );
    }
    let events = args.rpc_events;
    // A client may choose a model later; a server whose address was given must be asked now.
    let read = |_: &Setup| Ok(());
    start(
        args,
        rpc::PROFILE,
        read,
        Setup::with_model_if_asked,
        async move |(setup, ()), agent, mut signals| {
            let ComposedAgent { config, prompt, .. } = agent;
            let agent = OffScreen::start(setup.clone(), true).spawn(config, prompt.clone(), &setup, None);
            let host = rpc::host::SetupHost::new(setup, prompt);
            let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
            rpc::run(agent, Box::new(host), events, input, output, async || signals.next().await).await
        },
    )
}

/// Serves an editor on the standard streams.
pub(crate) fn acp(args: CliArgs) -> Exit {
    match paths() {
        Ok(paths) => crash::install(paths.state),
        Err(error) => return fail(Exit::Config, &error),
    }
    with_signals(async move |mut signals: Signals| {
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        super::acp::run(args, input, output, async || signals.next().await).await
    })
}

/// Refuses to start without the key of the model.
pub(crate) async fn has_key(setup: &Setup, signals: &mut Signals) -> Result<(), Refusal> {
    let Some(model) = &setup.model else { return Ok(()) };
    let found = tokio::select! {
        // Waiting for a command that prints the key must not delay the exit.
        exit = signals.exit() => return Err(Refusal { exit, text: "stopped while reading the API key".to_owned() }),
        found = setup.keys.key(model) => found,
    };
    match found {
        Err(failure) if is_missing_key(&failure) => Err(no_key(setup, &model.provider, failure)),
        // Any other fault is reported with the request that needs the key.
        _ => Ok(()),
    }
}

/// Whether a failure is due to a missing key.
pub(crate) fn is_missing_key(failure: &Failure) -> bool {
    failure.kind == FailureKind::Config
}

/// The failure, with a hint that works without the screen.
pub(crate) fn no_key(setup: &Setup, provider: &str, failure: Failure) -> Refusal {
    let own = failure.hint.filter(|hint| !hint.contains("/login"));
    let hint = own.or_else(|| setup.catalogue.missing_key_advice(provider, &setup.keys));
    Refusal::config(hint.map_or(failure.message.clone(), |hint| format!("{}; {hint}", failure.message)))
}

/// Composes an agent and passes it to a front end, with what `read` finds in the working directory and on standard
/// input; returns the program's end.
fn start<T>(
    args: CliArgs,
    profile: FrontEndProfile,
    read: impl FnOnce(&Setup) -> Result<T, Refusal>,
    check: impl FnOnce(Setup) -> Result<Setup, Refusal>,
    front_end: impl AsyncFnOnce((Setup, T), ComposedAgent, Signals) -> Exit,
) -> Exit {
    let started = Setup::read(args, profile).and_then(|setup| {
        prompts::check_readable(&setup).map_err(Refusal::config)?;
        let given = read(&setup)?;
        setup.args.output.as_deref().map_or(Ok(()), answer::check_writable).map_err(Refusal::config)?;
        let mut session = sessions::open(&setup)?;
        session.survey();
        let setup = check(setup.continuing(&session))?;
        let agent = setup.agent(session)?;
        Ok(((setup, given), agent))
    });
    let (given, agent) = match started {
        Ok(started) => started,
        Err(refusal) => return refusal.fail(),
    };
    let setup = &given.0;
    crash::install(setup.paths.state.clone());
    setup.notices.iter().chain(&agent.notices).for_each(|notice| warn(notice));
    with_signals(async move |signals| front_end(given, agent, signals).await)
}

/// Runs a front end on a runtime of one thread; returns the program's end.
pub(crate) fn with_signals(front_end: impl AsyncFnOnce(Signals) -> Exit) -> Exit {
    let runtime = match runtime::on_this_thread() {
        Ok(runtime) => runtime,
        Err(refusal) => return refusal.fail(),
    };
    let exit = runtime.block_on(async {
        match Signals::for_batch() {
            Ok(signals) => {
                if let Ok(paths) = paths() {
                    upkeep::sweep_scratch_later(&paths);
                }
                front_end(signals).await
            }
            Err(error) => fail(Exit::Config, &format!("cannot watch for signals: {error}")),
        }
    });
    // Blocking work, for example a write without a reader, must not delay the exit.
    runtime.shutdown_background();
    exit
}
