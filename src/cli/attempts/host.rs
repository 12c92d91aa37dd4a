//! Attempts that a screen begins: a process of its own runs them, and ends with the screen.
//!
//! The order comes on its standard input, which stays open for as long as the screen wants the attempts: its end stops
//! them, whether the screen closed it or was killed. So none of them goes unnoticed. The records of `--json` come back.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;

use super::{uncounted, words};
use crate::args::{CliArgs, command_words};
use crate::process::plain;
use crate::services::call::Call;
use tau_agent::settings::Paths;
use tau_app::request::ScreenReply;
use tau_protocol::attempt::{AttemptNews, AttemptOrder, AttemptRow};
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

/// The first argument of the process that runs the attempts of a screen. Nobody types it.
pub(crate) const WORD: &str = "--attempts-host";
/// Maximum size of what the process says about itself, in bytes.
const MAX_SAID: u64 = 64 * 1024;
/// Maximum number of these lines that the user sees.
const SHOWN: usize = 3;
/// Time that the process has to end by itself after its last word.
const GRACE: Duration = Duration::from_secs(5);

/// The order, as it is sent to the process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostOrder {
    pub order: AttemptOrder,
    #[serde(with = "tau_tools::path_text")]
    pub directory: PathBuf,
    /// The most that all may cost together, in US dollars.
    pub most: Option<f64>,
    /// The setting or flag that this comes from, as a part of a sentence.
    pub limit: String,
}

impl HostOrder {
    /// The arguments of `tau -n` for the order, with the flags of the screen that also apply to attempts.
    pub(super) fn arguments(self, of_screen: &[OsString]) -> CliArgs {
        let all = std::iter::once(OsString::from("tau")).chain(of_screen.iter().cloned());
        let known = CliArgs::read(command_words::as_flags(all.collect()))
            .unwrap_or_else(|_| CliArgs::without_arguments());
        let AttemptOrder { count, check, task: _, models, thinking, mode, spent: _, session: _ } = self.order;
        let plain = CliArgs::without_arguments();
        let mut args = CliArgs {
            settings: known.settings,
            proxy: known.proxy,
            proxy_token: known.proxy_token,
            system_prompt: known.system_prompt,
            no_tools: known.no_tools,
            no_context_files: known.no_context_files,
            trust: known.trust,
            max_turns: known.max_turns,
            max_tokens: known.max_tokens,
            timeout: known.timeout,
            json: true,
            attempts: Some(count),
            until: Some(check),
            max_cost: self.most,
            cwd: Some(self.directory),
            ..plain
        };
        args.settings.0.permission_mode = Some(mode);
        if !models.is_empty() {
            args.settings.0.model = Some(models.join(","));
        }
        args.settings.0.thinking = thinking.or(args.settings.0.thinking);
        args
    }
}

/// The attempts that this process has begun for its screen.
#[derive(Debug, Default)]
pub(crate) struct HostedAttempts {
    host: Mutex<Option<Host>>,
    /// Those of attached screens.
    pub far: watch::Sender<FarAttempts>,
}

/// The attempts that an attached screen began last.
#[derive(Clone, Debug, Default)]
pub(crate) enum FarAttempts {
    /// None that is known.
    #[default]
    Unknown,
    AtWork,
    Ended(Result<AttemptNews, UserError>),
}

/// Running attempts.
#[derive(Debug)]
struct Host {
    order: AttemptOrder,
    /// Their id; empty until the copies are made.
    id: String,
    /// Held open for as long as they are wanted.
    lifeline: Option<ChildStdin>,
    attempts: BTreeMap<u64, Hosting>,
    /// The dollars reported so far.
    reported: f64,
}

/// One of them, as far as it is known.
#[derive(Debug)]
struct Hosting {
    begun: Instant,
    rounds: u64,
    dollars: f64,
    estimated: bool,
    reached: bool,
    has_ended: bool,
}

/// The last record of a process.
#[derive(Debug, Default)]
struct Last {
    /// Whether all attempts have ended.
    is_complete: bool,
    reached: u64,
    cost: Option<f64>,
    estimated: bool,
}

impl HostedAttempts {
    /// Begins attempts, and waits for their end; early replies to the call tell what they cost meanwhile.
    pub async fn run(&self, paths: &Paths, order: HostOrder, call: &Call) -> Result<AttemptNews, UserError> {
        let count = order.order.count;
        let mut child = self.begin(order).await?;
        let said = child.stderr.take().map(|err| tokio::spawn(last_lines(err)));
        let mut last = Last::default();
        if let Some(out) = child.stdout.take() {
            let mut lines = BufReader::new(out).lines();
            while !last.is_complete
                && let Ok(Some(line)) = lines.next_line().await
            {
                if let Some((dollars, estimated)) = self.take(&line, &mut last) {
                    self.note_reported_cost(paths);
                    let news = AttemptNews { dollars, estimated, ..AttemptNews::default() };
                    call.send_early(ScreenReply::AttemptNews(news)).await;
                }
            }
        }
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
        let said = match said {
            // Whatever else still holds its standard error is not waited for.
            Some(said) => {
                tokio::time::timeout(GRACE, said).await.ok().and_then(Result::ok).unwrap_or_default()
            }
            None => Vec::new(),
        };
        let ended = self.host.lock().take();
        let dollars = ended.as_ref().map_or(0.0, Host::unreported_cost);
        if let Some(host) = &ended {
            uncounted::note(paths, &host.id, host.reported + dollars);
        }
        let has_begun = ended.is_some_and(|host| !host.attempts.is_empty());
        ending(count, &last, has_begun, dollars, &said)
    }

    /// Starts the process, and gives it its order.
    async fn begin(&self, order: HostOrder) -> Result<Child, UserError> {
        let cannot = |error: std::io::Error| UserError::new("cannot start the attempts").because(error);
        if self.host.lock().is_some() {
            return Err(UserError::new("attempts are already running").remedy("/attempts shows them"));
        }
        let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
        command.arg(WORD).args(std::env::args_os().skip(1));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A signal of the terminal is for the screen alone.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(cannot)?;
        let line = serde_json::to_string(&order).map_err(UserError::of)?;
        let mut lifeline = child.stdin.take();
        if let Some(stdin) = &mut lifeline {
            stdin.write_all(format!("{line}\n").as_bytes()).await.map_err(cannot)?;
        }
        let (order, id) = (order.order, String::new());
        *self.host.lock() = Some(Host { order, id, lifeline, attempts: BTreeMap::new(), reported: 0.0 });
        Ok(child)
    }

    /// Takes a record; returns the dollars to report now, and whether any of them are estimated.
    fn take(&self, line: &str, last: &mut Last) -> Option<(f64, bool)> {
        let record: Value = serde_json::from_str(line).ok()?;
        let number = |name: &str| record.get(name).and_then(Value::as_u64);
        let cost = record.get("cost").and_then(Value::as_f64);
        let estimated = record.get("estimated").and_then(Value::as_bool).unwrap_or_default();
        let (mut host, kind) = (self.host.lock(), record.get("type").and_then(Value::as_str)?);
        let host = host.as_mut()?;
        match kind {
            "attempt_start" => {
                host.id = record.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
                let begun = Instant::now();
                let new = Hosting {
                    begun,
                    rounds: 0,
                    dollars: 0.0,
                    estimated: false,
                    reached: false,
                    has_ended: false,
                };
                host.attempts.insert(number("attempt")?, new);
                None
            }
            "attempt_progress" => {
                let attempt = host.attempts.get_mut(&number("attempt")?)?;
                attempt.rounds = number("rounds").unwrap_or(attempt.rounds);
                attempt.dollars = cost.unwrap_or(attempt.dollars);
                attempt.estimated = estimated;
                Some((host.report_cost(), estimated))
            }
            "attempt_end" => {
                let attempt = host.attempts.get_mut(&number("attempt")?)?;
                attempt.has_ended = true;
                attempt.reached = record.get("reached").and_then(Value::as_bool).unwrap_or_default();
                attempt.dollars = cost.unwrap_or(attempt.dollars);
                attempt.estimated = estimated;
                Some((host.report_cost(), estimated))
            }
            "attempts_end" => {
                let reached = number("reached").unwrap_or_default();
                *last = Last { is_complete: true, reached, cost, estimated };
                None
            }
            _ => None,
        }
    }

    /// Notes what the session counts of their cost.
    fn note_reported_cost(&self, paths: &Paths) {
        if let Some(host) = self.host.lock().as_ref() {
            uncounted::note(paths, &host.id, host.reported);
        }
    }

    /// Asks the attempts to end; returns whether any were at work.
    pub fn stop(&self) -> bool {
        self.host.lock().as_mut().is_some_and(|host| {
            host.lifeline = None;
            true
        })
    }

    /// Whether any are at work, or their copies are being made.
    pub fn is_at_work(&self) -> bool {
        self.host.lock().is_some()
    }

    /// The order whose copies are being made.
    pub fn preparing(&self) -> Option<AttemptOrder> {
        self.host.lock().as_ref().filter(|host| host.id.is_empty()).map(|host| host.order.clone())
    }

    /// Whether the attempts with this id are at work for this screen.
    pub fn runs(&self, id: &str) -> bool {
        self.host.lock().as_ref().is_some_and(|host| host.id == id)
    }

    /// Completes the row of an attempt that is at work for this screen.
    pub fn complete(&self, id: &str, row: &mut AttemptRow) {
        let host = self.host.lock();
        let Some(host) = host.as_ref().filter(|host| host.id == id) else { return };
        let Some(known) = host.attempts.get(&u64::from(row.number)) else { return };
        if known.has_ended {
            return;
        }
        row.time = words::time(known.begun.elapsed().as_secs() as f64);
        row.cost = words::money(Some(known.dollars), known.estimated);
        if host.lifeline.is_none() {
            row.outcome = "stopping".to_owned();
        } else if known.rounds > 0 {
            row.outcome = format!("at work, round {}", known.rounds);
        }
    }
}

impl Host {
    /// Takes the dollars not yet reported for the next report.
    fn report_cost(&mut self) -> f64 {
        let dollars = self.unreported_cost();
        self.reported += dollars;
        dollars
    }

    /// The dollars not yet reported.
    fn unreported_cost(&self) -> f64 {
        (self.attempts.values().map(|attempt| attempt.dollars).sum::<f64>() - self.reported).max(0.0)
    }
}

/// The last lines of the process about itself, without those about its progress.
async fn last_lines(err: impl tokio::io::AsyncRead + Unpin) -> Vec<String> {
    let mut said = Vec::new();
    // What comes after that is lost, and the process continues.
    let _ = err.take(MAX_SAID).read_to_end(&mut said).await;
    let said = String::from_utf8_lossy(&said).into_owned();
    let lines = said.lines().filter_map(|line| line.strip_prefix("tau: "));
    lines.filter(|line| !line.starts_with("attempt ")).map(plain::line).collect()
}

/// The report on attempts that have ended.
fn ending(
    count: u32,
    last: &Last,
    has_begun: bool,
    dollars: f64,
    said: &[String],
) -> Result<AttemptNews, UserError> {
    let why = said.iter().rev().take(SHOWN).rev().cloned().collect::<Vec<_>>().join("\n");
    if !has_begun {
        let why = if why.is_empty() { "their process ended".to_owned() } else { why };
        return Err(UserError::new("the attempts did not start").because(why));
    }
    let mut text = match last.is_complete {
        true => {
            let cost = words::money(last.cost, last.estimated);
            format!("{} of {count} succeeded, {cost}", last.reached)
        }
        false => format!("the process of {} ended first", pluralize(u64::from(count), "attempt")),
    };
    if !why.is_empty() {
        text.push('\n');
        text.push_str(&why);
    }
    Ok(AttemptNews { ended: true, dollars, estimated: last.estimated, said: text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::approval::PermissionMode;

    #[test]
    fn attempts_have_the_flags_of_the_screen_but_its_session() {
        let order = AttemptOrder {
            count: 3,
            check: "make".to_owned(),
            task: "--fix it".to_owned(),
            models: vec!["a".to_owned(), "b".to_owned()],
            thinking: None,
            mode: PermissionMode::Edits,
            spent: 0.0,
            session: String::new(),
        };
        let order =
            HostOrder { order, directory: "/x".into(), most: Some(2.0), limit: "--max-cost".to_owned() };
        let flags = ["-c", "--temperature", "1", "--max-cost", "9", "--trust", "--model", "z", "a prompt"];
        let args = order.clone().arguments(&flags.map(OsString::from));
        assert_eq!((args.attempts, args.until.as_deref(), args.max_cost), (Some(3), Some("make"), Some(2.0)));
        assert_eq!(args.settings.0.model.as_deref(), Some("a,b"));
        assert!(args.trust && args.json && !args.continue_last && args.prompts.is_empty());
        assert!(args.settings.0.temperature.is_some());
        // Those of `tau board` are none of a screen.
        assert_eq!(order.arguments(&["--nonsense".into()]).attempts, Some(3));
    }
}
