//! Runs a hook as a process: its input, its output up to a limit, and its end.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use super::Hook;
use super::answer::HookEnd;
use super::facts::{DIRECTORY, HookFacts};
use crate::settings::hooks::HookCommand;
use crate::settings::package_folders::PackageFolders;
use tau_tools::counted::pluralize;
use tau_tools::deadline;
use tau_tools::process::server::{ServerCommand, ServerProcess};

/// The maximum bytes of each stream of a hook that are kept.
const MAX_SIZE: usize = 256 * 1024;
/// The time that the streams are read after the hook has ended.
const GRACE: Duration = Duration::from_millis(200);

/// Runs a hook with this standard input. Everything that it started ends with it.
pub(super) async fn run(hook: &Hook, input: &[u8], facts: &HookFacts) -> HookEnd {
    let mut variables = DIRECTORY.map(|name| (name.to_owned(), OsString::from(&facts.cwd))).to_vec();
    match hook.package.as_ref().map(PackageFolders::prepare).transpose() {
        Ok(folders) => variables.extend(folders.into_iter().flatten()),
        Err(error) => return HookEnd::trouble(format!("cannot be started: {error}")),
    }
    let (program, arguments) = match facts.in_project(&hook.command) {
        HookCommand::Line(line) => (facts.shell.clone().into_os_string(), vec!["-c".to_owned(), line]),
        HookCommand::Program(program, arguments) => (program.into(), arguments),
    };
    let sandbox = facts.policy(&hook.command, hook.package.as_ref());
    let command = ServerCommand {
        program: &program,
        arguments: &arguments,
        cwd: &facts.cwd,
        variables: &variables,
        sandbox: &sandbox,
    };
    let (mut process, pipes) = match ServerProcess::spawn(command, &facts.env, &facts.scratch) {
        Ok(started) => started,
        Err(error) => return HookEnd::trouble(format!("cannot be started: {error}")),
    };
    let mut stdin = pipes.stdin;
    let write = async move {
        // A hook that does not read its input has closed it, which is not an error.
        let _ = stdin.write_all(input).await;
        drop(stdin);
    };
    let mut write = std::pin::pin!(write);
    let (mut out, mut err) = (Stream::new(pipes.stdout), Stream::new(pipes.stderr));
    let deadline = Instant::now().checked_add(hook.timeout);
    let (mut written, mut status, mut grace) = (false, None, Instant::now());
    let mut trouble = None;
    while trouble.is_none() && (status.is_none() || out.is_open || err.is_open) {
        tokio::select! {
            biased;
            () = deadline::until(deadline) => {
                trouble = Some(format!(
                    "did not end within {} and was killed",
                    pluralize(hook.timeout.as_secs(), "second")
                ));
            }
            ended = process.wait(), if status.is_none() => match ended {
                Ok(ended) => {
                    status = Some(ended);
                    grace = Instant::now() + GRACE;
                }
                Err(error) => trouble = Some(format!("cannot be waited for: {error}")),
            },
            () = sleep_until(grace), if status.is_some() => break,
            () = &mut write, if !written => written = true,
            () = out.read(), if out.is_open => {}
            () = err.read(), if err.is_open => {}
        }
    }
    process.end(Duration::ZERO).await;
    let code = status.and_then(|status| status.code());
    let cut = out.is_cut.then(|| format!("wrote more than {} KB", MAX_SIZE / 1024));
    HookEnd { code, out: out.text(), err: err.text(), cut, trouble }
}

/// An output stream of a hook and the first bytes read from it.
struct Stream<R> {
    from: R,
    bytes: Vec<u8>,
    is_open: bool,
    is_cut: bool,
}

impl<R: AsyncRead + Unpin> Stream<R> {
    fn new(from: R) -> Self {
        Stream { from, bytes: Vec::new(), is_open: true, is_cut: false }
    }

    /// Reads the next piece. Cancel safe.
    async fn read(&mut self) {
        let read: io::Result<usize> = self.from.read_buf(&mut self.bytes).await;
        self.is_open = read.is_ok_and(|length| length > 0);
        self.is_cut |= self.bytes.len() > MAX_SIZE;
        self.bytes.truncate(MAX_SIZE);
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
