//! Starts the front ends without a screen: print, json and rpc.
//!
//! What they have in common is here: a set-up that is refused in words, a runtime of one thread,
//! signals. What they do with an agent is their own.

use std::io::IsTerminal;
use std::sync::mpsc;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::args::Args;
use super::compose::{BadFile, Refusal, Setup};
use super::exit::Exit;
use super::signals::Signals;
use super::{crash, fail, json, print, prompts, rpc};
use crate::agent::engine::config::AgentConfig;
use crate::agent::engine::task;

/// What is said when there is no prompt.
const NOTHING: &str = "nothing to do: give a prompt as an argument or on standard input";

/// How long standard input may be silent before it is said that it is waited for.
const SILENCE: Duration = Duration::from_secs(3);

/// Reads standard input. Programs that start others often leave it open with nothing to come; the
/// person is told what keeps tau waiting, because they would think it hangs.
fn saying_what_is_waited_for<T>(read: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    let notice = move || {
        if waiting.recv_timeout(SILENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            fail(
                Exit::Ok,
                "reading standard input, which has not ended (</dev/null gives it nothing to read)",
            );
        }
    };
    // Only the notice is lost where no thread can be created.
    let _ = std::thread::Builder::new().name("stdin notice".to_owned()).spawn(notice);
    let read = read();
    drop(done);
    read
}

/// Works off prompts and prints the answers.
pub fn print(args: Args) -> Exit {
    let piped = match std::io::stdin() {
        stdin if stdin.is_terminal() => Ok(None),
        stdin => saying_what_is_waited_for(|| prompts::read_piped(stdin)).map(Some),
    };
    let prompts = match piped.and_then(|piped| prompts::gather(&args.prompts, piped)) {
        Ok(prompts) => prompts,
        Err(error) => return fail(Exit::Usage, &error),
    };
    if prompts.is_empty() {
        return fail(Exit::Usage, NOTHING);
    }
    let sees = sees(prompts.iter().any(|prompt| !prompt.images.is_empty()));
    let options = print::PrintOptions {
        prompts,
        output: args.output.clone(),
        timeout: args.timeout.map(Duration::from_secs),
    };
    start(args, sees, async move |_, config, mut signals: Signals| {
        let agent = task::spawn(config);
        print::run(agent, options, print::Streams::standard(), async || signals.next().await).await
    })
}

/// Works off prompts and tells every event.
pub fn json(args: Args) -> Exit {
    let input = match saying_what_is_waited_for(|| Input::of(&args, std::io::stdin())) {
        Ok(input) => input,
        Err(error) => return fail(Exit::Usage, &error),
    };
    let Input { prompts, first } = input;
    if prompts.is_empty() && first.is_none() {
        return fail(Exit::Usage, NOTHING);
    }
    let sees = sees(prompts.iter().any(|prompt| !prompt.images.is_empty()));
    let (output, timeout) = (args.output.clone(), args.timeout.map(Duration::from_secs));
    start(args, sees, async move |_, config: AgentConfig, mut signals: Signals| {
        let input = first.map(|first| std::io::Cursor::new(first).chain(tokio::io::stdin()));
        let header = config.session.header().to_owned();
        let options = json::JsonOptions { prompts, input, header, output, timeout };
        json::run(task::spawn(config), options, tokio::io::stdout(), async || signals.next().await).await
    })
}

/// Serves a client on the standard streams.
pub fn rpc(args: Args) -> Exit {
    if let Some(prompt) = args.prompts.first() {
        let text = format!("--mode rpc takes no prompts and no @files: {prompt}; send a prompt command");
        return fail(Exit::Usage, &text);
    }
    let events = args.rpc_events;
    // A client may choose a model later; an address without one has to be asked what it has.
    let check = |setup: Setup| if setup.unnamed() { setup.with_model() } else { Ok(setup) };
    start(args, check, async move |setup, config, mut signals: Signals| {
        let known = rpc::models::Known { catalogue: setup.catalogue, keys: setup.keys };
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let agent = task::spawn(config);
        rpc::run(agent, Box::new(known), events, input, output, async || signals.next().await).await
    })
}

/// Refuses to start without a model, and says when pictures cannot be shown to the one there is.
fn sees(pictures: bool) -> impl FnOnce(Setup) -> Result<Setup, Refusal> {
    move |setup| {
        let mut setup = setup.with_model()?;
        if let Some(model) = setup.model.as_ref().filter(|model| pictures && !model.sees()) {
            let text = format!(
                "{} is not known to take images, so they are not sent; say `input = [\"text\", \"image\"]` \
                 of it in models.toml if it does",
                model.id
            );
            setup.notices.push(text);
        }
        Ok(setup)
    }
}

/// Composes an agent and hands it to a front end; how the program ends.
fn start(
    args: Args,
    check: impl FnOnce(Setup) -> Result<Setup, Refusal>,
    front: impl AsyncFnOnce(Setup, AgentConfig, Signals) -> Exit,
) -> Exit {
    let started = Setup::read(args, BadFile::Refuse).and_then(check).and_then(|setup| {
        let (config, notices) = setup.agent(setup.session()?)?;
        Ok((setup, config, notices))
    });
    let (setup, config, notices) = match started {
        Ok(started) => started,
        Err(refusal) => return fail(refusal.exit, &refusal.text),
    };
    crash::install(setup.paths.state.clone());
    for notice in setup.notices.iter().chain(&notices) {
        fail(Exit::Ok, notice);
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(Exit::Config, &error.to_string()),
    };
    let exit = runtime.block_on(async {
        match Signals::for_batch() {
            Ok(signals) => front(setup, config, signals).await,
            Err(error) => fail(Exit::Config, &error.to_string()),
        }
    });
    runtime.shutdown_background();
    exit
}

/// Where the prompts of `json` come from.
struct Input {
    /// Those of the arguments; piped text is joined to the first, or is one by itself.
    prompts: Vec<prompts::Prompt>,
    /// What was read of lines of JSON to find out that they are some. They are worked after the
    /// arguments.
    first: Option<Vec<u8>>,
}

impl Input {
    /// Piped input is lines of JSON when its first line is one that is understood, else text.
    fn of(args: &Args, mut stdin: std::io::Stdin) -> Result<Input, String> {
        let given = |piped| prompts::gather(&args.prompts, piped);
        if stdin.is_terminal() {
            return Ok(Input { prompts: given(None)?, first: None });
        }
        let first = first_line(&mut stdin).map_err(|error| format!("standard input: {error}"))?;
        let trimmed = String::from_utf8_lossy(&first).trim().to_owned();
        if json::said(&rpc::lines::Line::Record(trimmed)).is_ok() {
            return Ok(Input { prompts: given(None)?, first: Some(first) });
        }
        let piped = prompts::read_piped(std::io::Read::chain(std::io::Cursor::new(first), stdin))?;
        Ok(Input { prompts: given(Some(piped))?, first: None })
    }
}

/// The first line that is not blank, with its end. It is read byte by byte, so that what follows
/// it is left to who reads on.
fn first_line(input: &mut impl std::io::Read) -> std::io::Result<Vec<u8>> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < rpc::lines::LONGEST {
        match input.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => line.extend_from_slice(&byte),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if byte == *b"\n" {
            if !line.trim_ascii().is_empty() {
                break;
            }
            line.clear();
        }
    }
    Ok(line)
}
