//! Runs one task: a clone if it wants one, tau in a process of its own, and the command that decides.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::results::{BatchFolder, CheckResult, TaskResult, last_line, tail};
use super::spent::Run;
use super::tasks::{BatchTask, TaskList, option};
use crate::args::CliArgs;
use crate::compose::agent::{child_env, user_shell};
use crate::compose::environment::{Environment, OnBadConfig};
use crate::headless::json::input;
use crate::process::plain;
use crate::rpc::lines::InputLine;
use crate::worktrees::git::reason;
use crate::worktrees::patch::write_patch;
use tau_agent::settings::private_files::LockFile;
use tau_tools::TerminalOutput;
use tau_tools::process::git::without_repository;
use tau_tools::process::{self, CommandIo, CommandLine, Flow, left};
use tau_tools::sandbox::SandboxPolicy;
use tau_tools::scratch::Scratch;
use tau_tools::user_error::UserError;

/// Maximum time of a command that decides.
const CHECK: Duration = Duration::from_secs(3600);
/// Time that a stopped tau has to save its session, and one whose batch was killed to notice that.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// The reason for which a stopped task has no result.
const STOPPED: &str = "stopped";

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// There is a result, of this attempt or an earlier one.
    Result(Box<TaskResult>),
    /// No result: the task can be run again. The reason.
    Missing(String),
    /// No result, as the limit of 24 hours is reached, for other tasks too. The reason.
    DaySpent(String),
    /// No result, as a signal ended tau. Its number, and the reason.
    Killed(u8, String),
}

/// The degree in which a batch is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stopping {
    #[default]
    No,
    /// Everything that runs saves its state.
    Orderly,
    /// At once.
    Now,
}

/// Runs a task that this process has claimed, and writes its result.
pub(super) async fn run(
    tasks: &TaskList,
    task: &BatchTask,
    folder: &BatchFolder,
    claim: &LockFile,
    stopping: watch::Receiver<Stopping>,
) -> Outcome {
    match attempt(tasks, task, folder, claim, stopping).await {
        Ok(Outcome::Result(result)) => match folder.write(&result) {
            Ok(true) => Outcome::Result(result),
            // Another machine was faster; its result counts.
            Ok(false) => match folder.result(task) {
                Ok(Some(earlier)) => Outcome::Result(Box::new(earlier)),
                Ok(None) => Outcome::Missing("its result was removed".to_owned()),
                Err(refusal) => Outcome::Missing(refusal.text),
            },
            Err(error) => Outcome::Missing(format!("its result cannot be written: {error}")),
        },
        Ok(missing) => missing,
        Err(error) => Outcome::Missing(error.into()),
    }
}

async fn attempt(
    tasks: &TaskList,
    task: &BatchTask,
    folder: &BatchFolder,
    claim: &LockFile,
    mut stopping: watch::Receiver<Stopping>,
) -> Result<Outcome, UserError> {
    let started = Instant::now();
    let place = tokio::select! {
        place = place(tasks, task, folder) => place,
        _ = next_stop(&mut stopping, Stopping::No) => return Ok(Outcome::Missing(STOPPED.to_owned())),
    };
    let (directory, base) = place.inspect_err(|why| folder.note_failure(&task.id, why.as_ref()))?;
    let run = tau(task, &directory, folder, claim, &mut stopping).await.map_err(|error| error.to_string())?;
    let Some(exit_code) = run.result() else {
        let (signal, is_day_spent) = (run.signal, run.is_day_spent());
        let why = run.why(|| last_line(&folder.error_file(&task.id))).unwrap_or_default();
        return Ok(match signal {
            Some(signal) => Outcome::Killed(signal, why),
            None if is_day_spent => Outcome::DaySpent(why),
            None => Outcome::Missing(why),
        });
    };
    let (patch, uncollected) = match base {
        Some(base) => collect_change(&directory, base, task, folder).await,
        None => (None, None),
    };
    // What the run has done to its folder is no reason to run it again.
    let unusable = directory.join(".").metadata().err().filter(|_| task.check.is_some());
    let unusable = unusable.map(|error| format!("the check cannot run in {}: {error}", directory.display()));
    let check = match &task.check {
        Some(command) if unusable.is_none() => {
            let session = run.session.as_deref().unwrap_or_default();
            match run_check(command, &directory, session, claim, &mut stopping).await? {
                Some(check) => Some(check),
                None => return Ok(Outcome::Missing(STOPPED.to_owned())),
            }
        }
        Some(_) | None => None,
    };
    let ended_well = exit_code == 0 && unusable.is_none();
    let passed = check.as_ref().map_or(ended_well, |check| check.exit_code == Some(0));
    Ok(Outcome::Result(Box::new(TaskResult {
        id: task.id.clone(),
        task: task.hash.clone(),
        passed,
        exit_code,
        reason: run.reason,
        error: unusable.or(run.error),
        check,
        cost: run.cost,
        estimated: run.estimated,
        tokens: run.tokens,
        seconds: started.elapsed().as_secs_f64(),
        text: run.text,
        session: run.session,
        patch,
        uncollected,
        machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        ended: jiff::Timestamp::now().to_string(),
    })))
}

/// The folder in which a task works, and the commit of its clone if it has one.
async fn place(
    tasks: &TaskList,
    task: &BatchTask,
    folder: &BatchFolder,
) -> Result<(PathBuf, Option<String>), UserError> {
    if let Some(repository) = tasks.repository(task) {
        let (clone, base) = clone_repository(&repository, task, folder).await?;
        return Ok((clone, Some(base)));
    }
    let directory = tasks.directory(task).ok_or("it has no folder")?;
    match directory.is_dir() {
        true => Ok((directory, None)),
        false => Err(format!("{} is not a folder", directory.display()).into()),
    }
}

/// The flags of a task, for tau.
fn flags(task: &BatchTask, directory: &Path) -> Vec<String> {
    let mut flags = vec!["--json".to_owned(), "--name".to_owned(), task.id.clone()];
    flags.extend(["--cwd".to_owned(), directory.display().to_string()]);
    flags.extend(task.options().into_iter().map(|(field, value)| option(field, &value)));
    flags
}

/// A prompt as JSON mode reads it: as text, unless its first line would be taken for a command.
fn input_of(prompt: &str) -> Cow<'_, str> {
    let first = prompt.trim_start().lines().next().unwrap_or_default();
    match input::parse(&InputLine::Record(first.trim().to_owned())) {
        Ok(_) => Cow::Owned(format!("{}\n", json!({ "type": "message", "content": prompt }))),
        Err(_) => Cow::Borrowed(prompt),
    }
}

/// Runs tau on the task; its events go to the task's file.
async fn tau(
    task: &BatchTask,
    directory: &Path,
    folder: &BatchFolder,
    claim: &LockFile,
    stopping: &mut watch::Receiver<Stopping>,
) -> io::Result<Run> {
    let mut command = Command::new(std::env::current_exe()?);
    without_repository(command.as_std_mut());
    command.args(flags(task, directory)).stdout(Stdio::piped());
    // Its prompt is the content of the claim, which it holds, too: if this process is killed, nobody works in its folder
    // until it has ended.
    command.stdin(Stdio::from(claim.input(&input_of(&task.prompt))?));
    command.stderr(File::create(folder.error_file(&task.id))?);
    // A signal of the terminal is passed on once, by this process.
    command.process_group(0).kill_on_drop(true);
    let begun = command.spawn();
    let mut child = begun.inspect_err(|error| folder.note_failure(&task.id, &error.to_string()))?;
    let mut run = Run::default();
    folder.begin_another(&task.id)?;
    let mut events = File::create(folder.run_file(&task.id))?;
    let Some(out) = child.stdout.take() else { return Ok(run) };
    let mut out = BufReader::new(out);
    let mut line = Vec::new();
    let mut told = Stopping::No;
    loop {
        tokio::select! {
            read = out.read_until(b'\n', &mut line) => {
                if read? == 0 {
                    break;
                }
                events.write_all(&line)?;
                run.take(&line);
                line.clear();
            }
            next = next_stop(stopping, told) => {
                told = next;
                stop(&child, told);
            }
        }
    }
    // Its end is what the process says, not its last event.
    run.exit = None;
    let ended = tokio::time::timeout(GRACE, child.wait()).await;
    if let Ok(status) = ended {
        use std::os::unix::process::ExitStatusExt;
        let status = status?;
        run.exit = status.code().and_then(|code| u8::try_from(code).ok());
        if let Some(signal) = status.signal() {
            run.reason = format!("its process was ended by signal {signal}");
            run.signal = u8::try_from(signal).ok();
        }
    }
    Ok(run)
}

/// The next degree of stopping above this one.
async fn next_stop(stopping: &mut watch::Receiver<Stopping>, told: Stopping) -> Stopping {
    let next = stopping.wait_for(|next| *next as u8 > told as u8).await.map(|next| *next);
    match next {
        Ok(next) => next,
        Err(_) => std::future::pending().await,
    }
}

fn stop(child: &Child, how: Stopping) {
    let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()) else { return };
    match how {
        Stopping::No => {}
        // It may have ended.
        Stopping::Orderly => drop(Pid::from_raw(pid).map(|pid| kill_process_group(pid, Signal::TERM))),
        // With what it has started, which does not end with it.
        Stopping::Now => drop(tokio::task::spawn_blocking(move || left::stop_tree(pid))),
    }
}

/// Runs the command that decides as a command of the session; `None` if the batch was stopped meanwhile.
async fn run_check(
    command: &str,
    directory: &Path,
    session: &str,
    claim: &LockFile,
    stopping: &mut watch::Receiver<Stopping>,
) -> Result<Option<CheckResult>, UserError> {
    let cannot = |error: io::Error| format!("the check cannot be run: {error}");
    let (Environment { settings, keys, .. }, _) =
        Environment::read_in(&CliArgs::without_arguments(), OnBadConfig::Warn, directory)
            .map_err(|refusal| refusal.text)?;
    let (shell, sandbox) = (user_shell(&settings), SandboxPolicy::off());
    let line = CommandLine {
        program: shell.as_os_str(),
        arguments: &["-c", command],
        variables: &[],
        cwd: directory,
        timeout: Some(CHECK.as_secs()),
        sandbox: &sandbox,
        files: None,
    };
    let env = child_env(&keys, &settings, session).without_repository();
    // The end of the output, which is in memory, is enough.
    let scratch = Scratch::with_limit(&std::env::temp_dir(), 0);
    let cancel = CancellationToken::new();
    let mut ignored = |_: &str, _: &TerminalOutput| {};
    // It holds the claim as its input, as tau did.
    let stdin = claim.input("").map_err(cannot)?;
    let io = CommandIo::Streams { flow: Flow::LITTLE, stdin, stdout: None };
    let run = process::run(io, line, &env, &scratch, cancel.clone(), &mut ignored, Arc::default());
    let mut run = std::pin::pin!(run);
    let finished = tokio::select! {
        finished = &mut run => finished.map_err(cannot)?,
        _ = next_stop(stopping, Stopping::No) => {
            cancel.cancel();
            run.await.map_err(cannot)?;
            return Ok(None);
        }
    };
    if let Some(path) = &finished.spilled.path {
        // It is empty.
        let _ = std::fs::remove_file(path);
    }
    let (start, end) = finished.capture.plain();
    Ok(Some(CheckResult {
        exit_code: finished.output.exit_code.filter(|_| !finished.timed_out),
        signal: finished.output.signal.filter(|_| !finished.timed_out),
        seconds: finished.duration_ms as f64 / 1_000.0,
        output: tail(if end.is_empty() { &start } else { &end }),
    }))
}

/// Clones the repository of a task again; returns the clone and its commit.
async fn clone_repository(
    repository: &str,
    task: &BatchTask,
    folder: &BatchFolder,
) -> Result<(PathBuf, String), UserError> {
    let place = folder.work(&task.id);
    if place.exists() {
        std::fs::remove_dir_all(&place)
            .map_err(|error| format!("cannot remove {}: {error}", place.display()))?;
    }
    let path = place.display().to_string();
    git(&["clone", "--quiet", "--", repository, &path]).await?;
    if let Some(revision) = &task.revision {
        let commit = commit(&path, revision).await?;
        git(&["-C", &path, "checkout", "--quiet", "--detach", &commit]).await?;
    }
    let head = git(&["-C", &path, "rev-parse", "--verify", "--quiet", "HEAD"]).await;
    let base = head.map_err(|_| UserError::new("the repository has no commit"))?;
    Ok((place, base.trim().to_owned()))
}

/// The commit of a branch, a tag or a commit in a clone.
async fn commit(path: &str, revision: &str) -> Result<String, UserError> {
    let branch = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    for name in [revision.to_owned(), format!("origin/{branch}")] {
        let wanted = format!("{name}^{{commit}}");
        if let Ok(commit) = git(&["-C", path, "rev-parse", "--verify", "--quiet", &wanted]).await {
            return Ok(commit.trim().to_owned());
        }
    }
    Err(format!("the repository has no branch, tag or commit {}", plain::line(revision)).into())
}

/// Writes what changed in a clone since this commit; returns the file, and what is not in it.
async fn collect_change(
    clone: &Path,
    base: String,
    task: &BatchTask,
    folder: &BatchFolder,
) -> (Option<PathBuf>, Option<String>) {
    let (clone, to) = (clone.to_owned(), BatchFolder::patch(&task.id));
    let file = folder.path().join(&to);
    let write = move || {
        let written = write_patch(&clone, &base, &file);
        if written.is_err() {
            // That of an earlier run, or a part of this one's.
            let _ = std::fs::remove_file(&file);
        }
        written
    };
    match tokio::task::spawn_blocking(write).await.unwrap_or_else(|error| Err(UserError::of(error))) {
        Ok(missing) => (Some(to), missing),
        Err(why) => (None, Some(format!("there is no patch: {}", plain::line(why.as_ref())))),
    }
}

async fn git(arguments: &[&str]) -> Result<String, UserError> {
    let mut command = Command::new("git");
    without_repository(command.as_std_mut());
    command.args(arguments).stdin(Stdio::null()).env("GIT_TERMINAL_PROMPT", "0").kill_on_drop(true);
    let output = command.output().await.map_err(|error| format!("cannot run git: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(plain::line(&reason(&String::from_utf8_lossy(&output.stderr))).into())
}
