//! `tau proxy`: an app server that holds the keys, and its tokens.
//!
//! `tokens` is the file of tokens, `ledger` their usage, `server` the HTTP side. Clients are `tau --proxy`
//! and the library ([`tau_agent::provider::proxy::Proxy`]).

mod compat;
pub mod ledger;
pub mod server;
pub mod tokens;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::args::CliArgs;
use super::args::proxy::{LimitArgs, ProxyAction, ProxyArgs};
use super::serve::accept::{Listener, accept, raise_file_limit};
use crate::commands::table;
use crate::compose::environment::{Environment, OnBadConfig};
use crate::process::exit::{Exit, Refusal, fail, say, warn};
use crate::process::signals::{CaughtSignal, Signals};
use crate::process::{log, plain};
use ledger::{Ledger, Tally};
use server::{Accounts, Serving};
use tau_agent::demo::DemoTransport;
use tau_agent::provider::key_refresh::KeyRefresh;
use tau_agent::provider::scripted::Router;
use tau_agent::settings::private_files::{LockFile, SharedFile, read_json};
use tau_app::token_count;
use tau_tools::counted::pluralize;
use tokens::{TokenFile, TokenRow, TokenTable};

/// Maximum size of the usage file, in bytes.
const MAX_LEDGER: u64 = 64 * 1024 * 1024;
/// Time for running answers once the server ends.
const GRACE: Duration = Duration::from_secs(10);
/// Minimum interval between saves of the usage.
const SAVING: Duration = Duration::from_secs(1);

/// Runs the command; returns the program's end.
pub fn run(args: &ProxyArgs) -> Result<Exit, Refusal> {
    let environment = Environment::read(&CliArgs::without_arguments(), OnBadConfig::Refuse)?;
    let file = args.tokens.clone().unwrap_or_else(|| environment.paths.config.join(tokens::TOKENS_FILE));
    match &args.action {
        None => serve(args, environment, file),
        Some(ProxyAction::Add { name, limits }) => add(&environment.paths.shared_file(file), name, limits),
        Some(ProxyAction::Remove { name }) => {
            tokens::change(&environment.paths.shared_file(file), name, None).map_err(Refusal::config)?;
            Ok(say(&format!("removed {name}\n")))
        }
        Some(ProxyAction::List) => {
            let table = TokenTable::read(&file).map_err(Refusal::config)?;
            let ledger = read_ledger(&usage_file(&environment))?;
            Ok(say(&format_list(&table, &ledger)))
        }
    }
}

/// The file with the usage of each token.
fn usage_file(environment: &Environment) -> PathBuf {
    environment.paths.data.join("proxy-usage.json")
}

fn add(file: &SharedFile, name: &str, limits: &LimitArgs) -> Result<Exit, Refusal> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_@".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        let text = "name the token with up to 64 letters, digits, `.`, `-`, `_` and `@`";
        return Err(Refusal::usage(text));
    }
    if let Some(model) = limits.models.iter().find(|model| !model.contains('/')) {
        return Err(Refusal::usage(format!("--allow {model}: write it as PROVIDER/MODEL or PROVIDER/*")));
    }
    let token = tokens::new_token().map_err(Refusal::config)?;
    let LimitArgs { models, requests_per_minute, at_once, tokens_per_day, dollars_per_day } = limits.clone();
    let sha256 = tokens::hash(token.expose());
    let row = TokenRow { sha256, models, requests_per_minute, at_once, tokens_per_day, dollars_per_day };
    tokens::change(file, name, Some(&row)).map_err(Refusal::config)?;
    warn(&format!("added {name} to {}; this is its token, which is not shown again:", file.path().display()));
    Ok(say(&format!("{}\n", token.expose())))
}

fn format_list(table: &TokenTable, ledger: &Ledger) -> String {
    if table.tokens.is_empty() {
        return "no tokens; create one with `tau proxy add NAME`\n".to_owned();
    }
    let now = jiff::Timestamp::now().as_second();
    let used = |tally: Tally| {
        let tokens = match tally.tokens() {
            1 => "1 token".to_owned(),
            more => format!("{} tokens", token_count::tokens(more)),
        };
        format!("{}, {tokens}, ${:.2}", pluralize(tally.requests, "request"), tally.dollars)
    };
    let row = |(name, row): (&String, &TokenRow)| {
        let account = ledger.accounts.get(name).cloned().unwrap_or_default();
        let models = if row.models.is_empty() { "all".to_owned() } else { row.models.join(" ") };
        [plain::line(name), plain::line(&models), limits(row), used(account.today(now)), used(account.total)]
    };
    let head = ["NAME", "MODELS", "LIMITS", "TODAY", "TOTAL"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(table.tokens.iter().map(row)).collect();
    table::columns(&rows)
}

fn limits(row: &TokenRow) -> String {
    let limits: Vec<String> = [
        row.requests_per_minute.map(|most| format!("{most}/min")),
        row.at_once.map(|most| format!("{most} at once")),
        row.tokens_per_day.map(|most| format!("{} tokens/day", token_count::tokens(most))),
        row.dollars_per_day.map(|most| format!("${most}/day")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if limits.is_empty() { "-".to_owned() } else { limits.join(", ") }
}

fn read_ledger(file: &Path) -> Result<Ledger, Refusal> {
    let wrong = |error| Refusal::config(format!("{}: {error}; repair it, or move it away", file.display()));
    Ok(read_json(file, MAX_LEDGER).map_err(wrong)?.unwrap_or_default())
}

fn serve(args: &ProxyArgs, environment: Environment, file: PathBuf) -> Result<Exit, Refusal> {
    if let Some(filter) = log::effective_filter(std::env::var("TAU_LOG").ok().as_deref(), false) {
        log::start(&environment.paths.state, &filter).map_err(Refusal::config)?;
    }
    let used = usage_file(&environment);
    let lock = LockFile::try_take(&used.with_extension("json.lock")).map_err(Refusal::config)?;
    let Some(_lock) = lock else {
        let text = format!("another tau proxy counts in {}; end it first", used.display());
        return Err(Refusal::config(text));
    };
    let ledger = read_ledger(&used)?;
    let mut tokens = TokenFile::open(file.clone()).map_err(Refusal::config)?;
    if tokens.current().map_err(Refusal::config)?.tokens.is_empty() {
        warn(&format!("no tokens in {}; create one with `tau proxy add NAME`", file.display()));
    }
    environment.notices.iter().for_each(|notice| warn(notice));
    let direct = Arc::new(environment.direct());
    let serving = Arc::new(Serving {
        tokens: Mutex::new(tokens),
        accounts: Accounts::new(ledger, used),
        upstream: Arc::new(Router::new(
            Arc::new(DemoTransport::default()),
            Arc::new(KeyRefresh::new(direct, Arc::clone(&environment.keys) as _)),
        )),
        catalogue: environment.catalogue,
        keys: environment.keys,
        ending: CancellationToken::new(),
        answers: TaskTracker::new(),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Refusal::config(format!("cannot start: {error}")))?;
    let exit = runtime.block_on(listen(args, Arc::clone(&serving)));
    runtime.shutdown_background();
    if let Err(error) = serving.accounts.save() {
        return Ok(fail(Exit::Config, &error));
    }
    exit
}

/// Serves until a signal arrives; running answers get [`GRACE`] to end.
async fn listen(args: &ProxyArgs, serving: Arc<Serving>) -> Result<Exit, Refusal> {
    raise_file_limit();
    let mut signals = Signals::for_batch()
        .map_err(|error| Refusal::config(format!("cannot watch for signals: {error}")))?;
    let listener = tokio::net::TcpListener::bind(args.listen).await.map_err(|error| {
        Refusal::config(format!("cannot listen on {}: {error}; choose another with --listen", args.listen))
    })?;
    let address = listener.local_addr().map_err(Refusal::config)?;
    let shown = say(&format!("listening on http://{address}\n"));
    if shown != Exit::Ok {
        return Ok(shown);
    }
    let saving = tokio::spawn(save_changes(Arc::clone(&serving)));
    let (stop, stopped) = watch::channel(false);
    let app = server::routes(Arc::clone(&serving), compat::serve::routes());
    let mut server = std::pin::pin!(accept(Listener::Tcp(listener), move || app.clone(), stopped));
    let exit = tokio::select! {
        exit = end(&mut signals) => exit,
        () = &mut server => Exit::Ok,
    };
    stop.send_replace(true);
    serving.answers.close();
    let mut cut = std::pin::pin!(async {
        tokio::select! {
            () = tokio::time::sleep(GRACE) => {}
            _ = end(&mut signals) => {}
        }
    });
    tokio::select! {
        () = async { server.as_mut().await; serving.answers.wait().await } => {}
        () = &mut cut => {
            // Every answer ends with an error event, and is counted.
            serving.ending.cancel();
            let _ = tokio::time::timeout(SAVING, async {
                server.await;
                serving.answers.wait().await;
            })
            .await;
        }
    }
    saving.abort();
    Ok(exit)
}

/// The end requested by a signal.
async fn end(signals: &mut Signals) -> Exit {
    loop {
        let caught: CaughtSignal = signals.next().await;
        if let Some(exit) = caught.exit() {
            return exit;
        }
    }
}

/// Saves the usage after it has changed.
async fn save_changes(serving: Arc<Serving>) {
    loop {
        serving.accounts.wait_for_change().await;
        let saved = {
            let serving = Arc::clone(&serving);
            tokio::task::spawn_blocking(move || serving.accounts.save()).await
        };
        if let Ok(Err(error)) = saved {
            tracing::error!(%error, "cannot save what was used");
            warn(&error);
        }
        tokio::time::sleep(SAVING).await;
    }
}
