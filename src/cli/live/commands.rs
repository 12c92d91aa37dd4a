//! The clients of live sessions: `tau logs`, `tau wait`, `tau stop` and `tau send`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::others::{self, Others};
use super::record::{self, CHANGING_HANDS, FoundRecord, LiveRecord};
use super::start;
use crate::args::CliArgs;
use crate::args::live::{LogsArgs, SendArgs, StopArgs, WaitArgs};
use crate::attach::reach::Trouble;
use crate::attach::server::Server;
use crate::attach::ssh::far;
use crate::attach::wire::{FarCommand, FarWord};
use crate::compose::environment::{Environment, OnBadConfig};
use crate::compose::session_lookup;
use crate::headless::answer::ensure_trailing_newline;
use crate::headless::print::NO_TEXT;
use crate::headless::stdin_prompts;
use crate::process::exit::{Exit, Refusal, say, warn};
use crate::process::plain;
use crate::process::runtime;
use crate::serve::facts::{LONG_RETRY, waiting};
use tau_agent::provider::sse::{SseFrame, SseParser};
use tau_agent::session::lock::{self, Life, Owner};
use tau_agent::session::tail::TAIL;
use tau_agent::session::{Access, Session, SessionError, list};
use tau_agent::settings::Paths;
use tau_app::time_format;
use tau_protocol::live_session::LiveState;
use tau_protocol::message::{Message, StopReason};
use tau_protocol::query::{PageFrom, PageGoal};
use tau_protocol::session_row::SessionRow;
use tau_tools::process::left;

/// The report that there was nothing to stop.
pub(crate) const NOTHING_RUNS: &str = "nothing runs in this session";
/// Interval at which `tau wait` and `tau stop` look at the record of a session.
const LOOK: Duration = Duration::from_millis(50);
/// The time for which the process of a session that nobody watches may take to end after its run. Who has waited
/// finds the session free.
const ENDING: Duration = Duration::from_secs(3);

/// A session that was named.
struct NamedSession {
    environment: Environment,
    id: String,
    record: Option<FoundRecord>,
    /// Its file; absent if it has no messages yet.
    file: Option<PathBuf>,
}

impl NamedSession {
    /// The session with this ID, or the only one whose ID begins or ends with it.
    fn find(wanted: &str) -> Result<Self, Refusal> {
        let environment = Environment::read(&CliArgs::without_arguments(), OnBadConfig::Warn)?;
        let root = environment.settings.session_root(&environment.paths);
        let record = find_record(&environment.paths, wanted);
        let (id, file) = match &record {
            Some(found) => (found.record.id.clone(), list::of_id(&root, &found.record.id)),
            None => {
                let path = session_lookup::file_of(&root, wanted)?;
                let row = list::row_of(&path);
                let none =
                    || Refusal::config(format!("no session \"{wanted}\"; `tau sessions --all` lists them"));
                (row.ok_or_else(none)?.id, Some(path))
            }
        };
        let record = record.or_else(|| record::of(&environment.paths, &id));
        Ok(NamedSession { environment, id, record, file })
    }

    /// Fails if another process has it open and cannot be reached.
    fn check_reach(&self) -> Result<(), Refusal> {
        let owner = self.file.as_deref().and_then(lock::read_owner);
        // The process of a record that is ending is not in the way.
        let is_known = |owner: &Owner| {
            self.record.as_ref().is_some_and(|found| found.is_live || found.record.pid == owner.pid)
        };
        match owner.filter(|owner| owner.life() == Life::Runs && !is_known(owner)) {
            Some(owner) => Err(Refusal::config(format!(
                "{owner} has this session open and cannot be reached from here; quit it first"
            ))),
            None => Ok(()),
        }
    }

    /// The number of that process.
    fn process(&self) -> u32 {
        self.record.as_ref().map(|found| found.record.pid).unwrap_or_default()
    }

    /// The process that has it open, if there is one.
    fn server(&self) -> Result<Option<Server>, Refusal> {
        let network = self.environment.settings.network();
        let server = self.record.as_ref().and_then(|found| others::server_of(found, &network));
        server.transpose().map_err(Refusal::config)
    }
}

/// The record of a live or ended session with this ID, or the only one whose ID begins or ends with it.
pub(crate) fn find_record(paths: &Paths, wanted: &str) -> Option<FoundRecord> {
    if let Some(exact) = record::of(paths, wanted) {
        return Some(exact);
    }
    let matches = |id: &str| !wanted.is_empty() && (id.ends_with(wanted) || id.starts_with(wanted));
    let mut found = record::all(paths).into_values().filter(|found| matches(&found.record.id));
    found.next().filter(|_| found.next().is_none())
}

/// The open sessions of this directory, else of all, but for those of helpers; the last changed one first.
pub(crate) fn open_sessions(paths: &Paths, here: &Path) -> Vec<LiveRecord> {
    let open = record::all(paths).into_values().filter(|found| found.is_live).map(|found| found.record);
    let mut open: Vec<LiveRecord> = open.filter(|record| record.parent.is_none()).collect();
    open.sort_by_key(|record| std::cmp::Reverse(record.changed));
    if open.iter().any(|record| record.directory == here) {
        open.retain(|record| record.directory == here);
    }
    open
}

/// The shortest names of these sessions, with which the commands find them.
pub(crate) fn short_names(records: &[LiveRecord]) -> Vec<String> {
    let row = |record: &LiveRecord| SessionRow { id: record.id.clone(), ..SessionRow::default() };
    session_lookup::short_ids(&records.iter().map(row).collect::<Vec<_>>())
}

fn on_runtime(work: impl Future<Output = Result<Exit, Refusal>>) -> Exit {
    runtime::on_this_thread().and_then(|runtime| runtime.block_on(work)).into()
}

fn to_refusal(trouble: &Trouble) -> Refusal {
    Refusal::config(trouble.text())
}

/// Carries out a command from another machine; returns its end.
pub(crate) fn run_far(FarCommand { id, machine, command }: FarCommand) -> Exit {
    match command {
        FarWord::Logs { follow } => logs_of(&id, follow),
        FarWord::Wait => wait_for(&id, &|id| format!("{machine}#{id}")),
        FarWord::Stop => stop_run(&id),
        FarWord::Send { text } => send_text(&id, &text),
    }
}

/// Runs `tau wait`; returns the end of the session's last run.
pub(crate) fn wait(args: &WaitArgs) -> Exit {
    far::run(&args.id, || FarWord::Wait).unwrap_or_else(|| wait_for(&args.id, &str::to_owned))
}

/// Waits for a session; `in_use` makes an ID one that the user can use.
fn wait_for(id: &str, in_use: &dyn Fn(&str) -> String) -> Exit {
    let named = match NamedSession::find(id) {
        Ok(named) => named,
        Err(refusal) => return refusal.fail(),
    };
    if let Err(refusal) = named.check_reach() {
        return refusal.fail();
    }
    let (mut told, mut ended, mut was_at_work, mut lock) = (false, None, false, None);
    let (mut retry_at, mut was_suspended, mut was_unsaved) = (None, false, false);
    loop {
        let Some(found) = record::of(&named.environment.paths, &named.id) else {
            if let Some(end) = lock.as_mut().and_then(record::end_in) {
                return Exit::Command(end);
            }
            if let Some(end) = named.file.as_deref().and_then(end_of_helper) {
                return end;
            }
            if was_at_work {
                let id = in_use(&named.id);
                let text = format!("how the run has ended is not known; see its answers: tau logs {id}");
                return Refusal { exit: Exit::Crash, text }.fail();
            }
            warn("no run of this session is known; it is idle");
            return Exit::Ok;
        };
        if found.is_interrupted() {
            let text = interruption_notice(&found, &in_use(&named.id));
            return Refusal { exit: end_of(&found), text }.fail();
        }
        if found.is_live {
            lock = record::open_lock(&named.environment.paths, &named.id).or(lock);
        }
        let state = found.state();
        was_at_work |= state.is_at_work();
        let is_suspended = state == LiveState::Suspended;
        if is_suspended && !was_suspended {
            warn(&record::silence(found.record.pid));
        }
        was_suspended = is_suspended;
        match (state, found.record.exit) {
            (LiveState::Suspended, _) => {}
            (LiveState::Running, _) => {
                if std::mem::replace(&mut retry_at, found.record.retry_at) != found.record.retry_at {
                    warn_of_retry(&found);
                }
                if !std::mem::replace(&mut was_unsaved, found.record.unsaved) {
                    warn_of_unsaved(&found);
                }
            }
            (LiveState::Waiting, _) => {
                if !std::mem::replace(&mut told, true) {
                    warn_of_question(&in_use(&named.id));
                }
            }
            (_, code) => {
                let since = *ended.get_or_insert_with(Instant::now);
                let is_ending = found.is_live
                    && found.record.background
                    && !found.record.watched
                    && since.elapsed() < ENDING;
                if !is_ending {
                    warn_of_failure(&named, Some(&found));
                    return code.map_or(Exit::Ok, Exit::Command);
                }
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// How the last run of a helper has ended, as its session says: nothing else is kept of it.
fn end_of_helper(file: &Path) -> Option<Exit> {
    list::row_of(file)?.helper?;
    let session = Session::open_tail(file, Access::Read, TAIL).ok()?;
    let page = session.branch_page(PageFrom::Before { position: None }, PageGoal::Next).ok()?;
    let answer = match page.messages.last()?.as_ref() {
        Message::Assistant(answer) if answer.stop_reason != StopReason::ToolUse => answer,
        _ => {
            let limit = session.limit_of_run();
            let by = if limit.is_some() { "by a limit " } else { "" };
            warn(&format!("its last run was stopped {by}before its last answer"));
            return Some(limit.map_or(Exit::Aborted, Exit::from));
        }
    };
    if let Some(reason) = &answer.error_message {
        warn(&format!("the run has failed: {}", plain::line(reason)));
    }
    Some(match Exit::from(answer.stop_reason) {
        Exit::Ok if answer.text().trim().is_empty() => Exit::Model,
        exit => exit,
    })
}

fn warn_of_question(id: &str) {
    warn(&format!("the session waits for you: tau attach {id}"));
}

/// Tells the user that a session waits for its provider, if it does.
fn warn_of_retry(FoundRecord { record, .. }: &FoundRecord) {
    let Some(at) = record.retry_at else { return };
    let left = at.saturating_sub(jiff::Timestamp::now().as_millisecond());
    warn_of_wait(&record.last_line, left);
}

fn warn_of_wait(state: &str, left: i64) {
    warn(&format!("the session is {state}; it tries again in {}", time_format::seconds(left)));
}

/// Tells the user why the last run of a session has failed or was stopped, if it was.
fn warn_of_failure(named: &NamedSession, found: Option<&FoundRecord>) {
    let record = found.map(|found| &found.record);
    if record.is_some_and(|record| record.state.is_at_work()) {
        return;
    }
    if let Some(record) = record.filter(|record| record.exit == Some(Exit::Model.code())) {
        let reason = if record.last_line.is_empty() { NO_TEXT } else { &record.last_line };
        warn(&format!("the run has failed: {reason}"));
    } else if let Some(file) = &named.file
        && let Ok(session) = Session::open_tail(file, Access::Read, TAIL)
        && let Some(end) = session.limit_of_run()
    {
        warn(end.report());
    }
}

/// The end of a process that was interrupted at work: by a signal, else by a kill or a crash.
fn end_of(found: &FoundRecord) -> Exit {
    found.record.exit.map_or(Exit::Crash, Exit::Command)
}

fn interruption_notice(FoundRecord { record, .. }: &FoundRecord, id: &str) -> String {
    let what = match record.unsaved {
        true => format!("the end of the run could not be saved and is lost ({})", record.last_line),
        false => "the process of the session ended during its run".to_owned(),
    };
    format!("{what}; to continue: tau send {id} continue")
}

/// Tells the user that the end of a run is not saved yet, if that is so.
fn warn_of_unsaved(FoundRecord { record, is_live }: &FoundRecord) {
    if record.unsaved && *is_live {
        let LiveRecord { last_line, pid, .. } = record;
        warn(&format!(
            "{last_line}; process {pid} has the end of the run in memory and tries again; `kill {pid}` gives it up"
        ));
    }
}

/// Runs `tau -b`: prints the session's id once its prompt is saved; returns the program's end. `arguments` are those of
/// the program, without its name.
pub(crate) fn begin(arguments: &[OsString]) -> Exit {
    let id = match start::begin(arguments, None) {
        Ok(id) => id,
        Err(exit) => return exit,
    };
    let exit = say(&format!("{id}\n"));
    // Who has no ID starts another one.
    if exit != Exit::Ok && stop_run(&id) == Exit::Ok {
        warn(&format!("the session {id} was stopped, as its ID could not be printed"));
    }
    exit
}

/// Runs `tau stop`; returns the program's end.
pub(crate) fn stop(args: &StopArgs) -> Exit {
    far::run(&args.id, || FarWord::Stop).unwrap_or_else(|| stop_run(&args.id))
}

fn stop_run(id: &str) -> Exit {
    on_runtime(async {
        let named = NamedSession::find(id)?;
        named.check_reach()?;
        let network = named.environment.settings.network();
        let others = Others::new(named.environment.paths.clone(), network);
        let is_stopped = others.stop(&named.id).await.map_err(Refusal::config)?;
        match (is_stopped, processes_after_run(&named).await) {
            (true, 0) => {}
            (true, _) => warn("its background jobs continue; `tau jobs` lists and stops them"),
            (false, 0) => warn(NOTHING_RUNS),
            (false, _) => {
                warn(&format!("{NOTHING_RUNS} but background jobs; `tau jobs` lists and stops them"));
            }
        }
        record::of(&named.environment.paths, &named.id).iter().for_each(warn_of_unsaved);
        Ok(Exit::Ok)
    })
}

/// The number of a session's processes that still run once its run has ended, which is waited for a moment.
async fn processes_after_run(named: &NamedSession) -> usize {
    let count = || {
        let hosts = record::hosts(&named.environment.paths);
        left::all_beside(&hosts).into_iter().filter(|process| process.is_of(&named.id)).count()
    };
    let is_at_work =
        || record::of(&named.environment.paths, &named.id).is_some_and(|found| found.state().is_at_work());
    let end = Instant::now() + ENDING;
    while count() > 0 && is_at_work() && Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
    count()
}

/// Runs `tau send`; returns the program's end.
pub(crate) fn send(args: &SendArgs) -> Exit {
    let text = match stdin_prompts::message(&args.text) {
        Ok(text) => text,
        Err(error) => return Refusal::config(error).fail(),
    };
    if text.trim().is_empty() {
        return Refusal::usage("the message is empty: pass it as an argument or pipe it in").fail();
    }
    far::run(&args.id, || FarWord::Send { text: text.clone() }).unwrap_or_else(|| send_text(&args.id, &text))
}

fn send_text(id: &str, text: &str) -> Exit {
    if let Err(why) = others::refuse_command(text) {
        return Refusal::usage(why).fail();
    }
    on_runtime(async {
        let end = Instant::now() + CHANGING_HANDS;
        let named = loop {
            let named = match NamedSession::find(id) {
                Err(_) if is_foreign(id) => return Ok(continue_in_copy(id, text)),
                found => found?,
            };
            if let (Some(server), Some(found)) = (named.server()?, &named.record) {
                let paths = &named.environment.paths;
                match others::deliver(&server, paths, &found.record, &mut others::one(text)).await {
                    Ok(true) => return Ok(Exit::Ok),
                    Err(trouble) if !trouble.is_brief() => return Err(to_refusal(&trouble)),
                    // The next process to open the session gets it.
                    Ok(false) | Err(_) => {}
                }
            }
            match named.check_reach() {
                Ok(()) => break named,
                Err(refusal) if Instant::now() > end => return Err(refusal),
                // It may be about to serve the session.
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        };
        let arguments = [start::AGAIN, "-b", "--session", &named.id].map(OsString::from);
        Ok(start::begin(&arguments, Some(text)).map_or_else(|exit| exit, |_| Exit::Ok))
    })
}

/// Whether a session of another agent has this ID.
fn is_foreign(id: &str) -> bool {
    Environment::read(&CliArgs::without_arguments(), OnBadConfig::Warn).is_ok_and(|environment| {
        let root = environment.settings.session_root(&environment.paths);
        session_lookup::find(&root, id).is_ok_and(|(_, source)| source.is_foreign())
    })
}

/// Continues a session of another agent in one of tau, and prints the ID of that.
fn continue_in_copy(id: &str, text: &str) -> Exit {
    let arguments = ["-b", "--session", id].map(OsString::from);
    start::begin(&arguments, Some(text)).map_or_else(|exit| exit, |id| say(&format!("{id}\n")))
}

/// Runs `tau logs`; returns the program's end.
pub(crate) fn logs(args: &LogsArgs) -> Exit {
    let follow = args.follow;
    far::run(&args.id, || FarWord::Logs { follow }).unwrap_or_else(|| logs_of(&args.id, follow))
}

fn logs_of(id: &str, follows: bool) -> Exit {
    on_runtime(async {
        let named = NamedSession::find(id)?;
        let server = named.server()?.filter(|_| follows);
        let Some(server) = server else {
            let texts = named.file.as_deref().map(|file| answers(file, None)).transpose()?;
            let printed = print(&texts.unwrap_or_default());
            warn_of_failure(&named, named.record.as_ref());
            named.record.iter().for_each(warn_of_unsaved);
            if follows {
                named.check_reach()?;
            }
            return Ok(printed);
        };
        let history = format!("/api/sessions/{}/history", named.id);
        let page = others::in_time(named.process(), server.get(&history)).await;
        let page: Value = page.map_err(|trouble| to_refusal(&trouble))?;
        let start = page.get("start").and_then(Value::as_u64).filter(|start| *start > 0);
        let mut texts = match (&named.file, start) {
            (Some(file), Some(start)) => answers(file, Some(start))?,
            _ => Vec::new(),
        };
        let messages = page.get("messages").and_then(Value::as_array);
        texts.extend(messages.into_iter().flatten().filter_map(answer_in));
        let printed = print(&texts);
        let after = page.get("replayFrom").and_then(Value::as_str).unwrap_or_default();
        let found = record::of(&named.environment.paths, &named.id);
        if printed != Exit::Ok || !found.as_ref().is_some_and(|found| found.record.state.is_at_work()) {
            warn_of_failure(&named, found.as_ref());
            return Ok(printed);
        }
        found.iter().for_each(warn_of_retry);
        let is_told = found.as_ref().is_some_and(|found| found.state() == LiveState::Waiting);
        if is_told {
            warn_of_question(&named.id);
        }
        let output = Following { id: named.id.clone(), is_told, ..Following::default() };
        let events = format!("/api/sessions/{}/events?after={after}", named.id);
        let followed = follow(&server, &events, output).await;
        if let (Err(_), Some(found)) = (&followed, &found) {
            // One that was killed may not have ended yet.
            others::still_has(&named.environment.paths, &found.record).await;
        }
        match record::of(&named.environment.paths, &named.id) {
            Some(found) if found.is_interrupted() => {
                Err(Refusal { exit: end_of(&found), text: interruption_notice(&found, &named.id) })
            }
            found => {
                warn_of_failure(&named, found.as_ref());
                followed
            }
        }
    })
}

/// Prints the pieces of answers until the run ends.
async fn follow(server: &Server, path: &str, mut output: Following) -> Result<Exit, Refusal> {
    let mut stream = server.events(path).await.map_err(|trouble| to_refusal(&trouble))?;
    let mut parser = SseParser::default();
    while let Some(bytes) = stream.chunk().await.map_err(Refusal::config)? {
        let mut text = String::new();
        let parsed = parser.push(&bytes, |frame| output.take(frame, &mut text));
        if say(&plain::text(&text)) != Exit::Ok || parsed.is_err() || output.is_over {
            break;
        }
    }
    Ok(Exit::Ok)
}

/// The state of the output of [`follow`].
#[derive(Default)]
struct Following {
    /// The session's id.
    id: String,
    /// Whether the user was told that it waits.
    is_told: bool,
    /// Whether a line of the current answer is open.
    is_open: bool,
    is_over: bool,
}

impl Following {
    fn take(&mut self, frame: &SseFrame, text: &mut String) {
        let Ok(event) = serde_json::from_str::<Value>(&frame.data) else { return };
        let field = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        match frame.event.as_str() {
            "message_update" => {
                let update = event.get("assistantMessageEvent").cloned().unwrap_or_default();
                if field(&update, "type").as_deref() == Some("text_delta")
                    && let Some(piece) = field(&update, "delta")
                {
                    self.is_open = true;
                    text.push_str(&piece);
                }
            }
            "message_end" if std::mem::take(&mut self.is_open) => text.push('\n'),
            "message_end" => {
                text.extend(
                    event.get("message").and_then(answer_in).map(|text| ensure_trailing_newline(&text)),
                );
            }
            "auto_retry_start" => {
                let delay = event.get("delayMs").and_then(Value::as_u64).unwrap_or_default();
                let why = field(&event, "errorMessage").unwrap_or_default();
                if delay >= LONG_RETRY {
                    warn_of_wait(&plain::line(&waiting(&why)), i64::try_from(delay).unwrap_or(i64::MAX));
                }
            }
            "approval_requested" | "extension_ui_request" if !self.is_told => {
                self.is_told = true;
                warn_of_question(&self.id);
            }
            // The model has what it waited for.
            "message_start" => self.is_told = false,
            "gap" => {
                warn(
                    "a part was left out, because it came faster than it was read; `tau logs` prints it all",
                );
            }
            "agent_settled" | "session_closed" => self.is_over = true,
            _ => {}
        }
    }
}

fn print(texts: &[String]) -> Exit {
    let text: String = texts.iter().map(|text| ensure_trailing_newline(&plain::text(text))).collect();
    say(&text)
}

/// The text of a message of the model, in its JSON.
pub(crate) fn answer_in(message: &Value) -> Option<String> {
    if message.get("role").and_then(Value::as_str) != Some("assistant") {
        return None;
    }
    let blocks = message.get("content").and_then(Value::as_array)?;
    let text = |block: &Value| {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        block.get("text").and_then(Value::as_str).filter(|_| is_text).map(str::to_owned)
    };
    let text: String = blocks.iter().filter_map(text).collect();
    (!text.trim().is_empty()).then_some(text)
}

/// The texts of the answers of a session's branch before a position, oldest first.
fn answers(file: &Path, before: Option<u64>) -> Result<Vec<String>, Refusal> {
    let failed = |error: SessionError| Refusal::config(error);
    let session = Session::open_tail(file, Access::Read, TAIL).map_err(failed)?;
    let (mut pages, mut position) = (Vec::new(), before);
    loop {
        let page = session.branch_page(PageFrom::Before { position }, PageGoal::Next).map_err(failed)?;
        pages.push(page.messages);
        position = Some(page.place.start as u64);
        if page.left.is_none() || page.place.start == 0 {
            break;
        }
    }
    let text = |message: &Message| match message {
        Message::Assistant(answer) => Some(answer.text()).filter(|text| !text.trim().is_empty()),
        _ => None,
    };
    Ok(pages.iter().rev().flatten().filter_map(|message| text(message)).collect())
}
