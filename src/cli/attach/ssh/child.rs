//! The user's ssh, as a process whose standard streams lead to a program on another machine.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::process::{plain, stderr};
use tau_agent::settings::servers::SshAddress;
use tau_tools::user_error::UserError;

/// The variable that names another program in place of ssh.
const PROGRAM: &str = "TAU_SSH";
/// Maximum length of a line that is waited for, and of everything before it, in bytes.
const MAX_LINE: usize = 4 << 20;
/// Lines of ssh that are kept, and their length in bytes.
const KEPT: usize = 8;
const MAX_SAID: u64 = 4 * 1024;

/// Time that an ssh whose connection has ended has for its last words.
const MOMENT: Duration = Duration::from_millis(500);

/// Whether ssh may ask the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// On the terminal, where what it says is shown, too.
    Terminal,
    /// Not at all: a screen has the terminal.
    Nobody,
}

/// An ssh that runs. Dropping it ends it.
#[derive(Debug)]
pub(super) struct SshChild {
    child: Child,
    pub input: Option<ChildStdin>,
    pub output: Option<ChildStdout>,
    said: StderrLog,
    reading: Option<JoinHandle<()>>,
}

/// The messages of ssh, and of the other machine beside its output: those that are not shown are kept.
#[derive(Clone, Debug, Default)]
struct StderrLog {
    lines: Arc<Mutex<VecDeque<String>>>,
    is_shown: Arc<AtomicBool>,
}

impl Drop for SshChild {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl SshChild {
    /// Starts ssh with a command for the other machine, for a shell there, and an input. Fails when there is no
    /// such program.
    pub fn start(address: &SshAddress, command: &str, input: Stdio, asks: Asks) -> Result<Self, UserError> {
        let program = std::env::var_os(PROGRAM).filter(|name| !name.is_empty());
        let program = program.unwrap_or_else(|| OsString::from("ssh"));
        let mut ssh = Command::new(&program);
        ssh.args(["-T", "-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes"]);
        ssh.args(["-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"]);
        if asks == Asks::Nobody {
            ssh.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]);
            // What the keyboard sends to the screen's group is not for it.
            ssh.process_group(0);
        }
        ssh.args(address.arguments()).arg(command);
        ssh.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = ssh
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", plain::line(&program.to_string_lossy())))?;
        let said = StderrLog::default();
        said.is_shown.store(asks == Asks::Terminal, Ordering::Relaxed);
        let reading = child.stderr.take().map(|err| {
            let said = said.clone();
            std::thread::spawn(move || said.read(err))
        });
        Ok(SshChild { input: child.stdin.take(), output: child.stdout.take(), child, said, reading })
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush())
    }

    /// The rest of the next line of output that begins with one of these marks, and the mark. Others are what a
    /// shell prints at its start. Reads nothing beyond it. `None` at the end of the output, or of the time.
    pub fn line(
        &mut self,
        marks: &[&'static str],
        limit: Option<Duration>,
    ) -> Option<(&'static str, String)> {
        let end = limit.map(|limit| Instant::now() + limit);
        let (mut line, mut seen) = (Vec::new(), 0);
        while seen < MAX_LINE {
            let byte = self.byte(end)?;
            seen += 1;
            if byte != b'\n' {
                line.push(byte);
                continue;
            }
            let text = String::from_utf8_lossy(&line).into_owned();
            for mark in marks {
                if let Some(rest) = text.strip_prefix(mark) {
                    return Some((mark, rest.trim_end().to_owned()));
                }
            }
            line.clear();
        }
        None
    }

    fn byte(&mut self, end: Option<Instant>) -> Option<u8> {
        let output = self.output.as_mut()?;
        if let Some(end) = end {
            let left = end.saturating_duration_since(Instant::now());
            let left =
                Timespec { tv_sec: i64::try_from(left.as_secs()).ok()?, tv_nsec: left.subsec_nanos().into() };
            let mut polled = [PollFd::new(output, PollFlags::IN)];
            if rustix::event::poll(&mut polled, Some(&left)).ok()? == 0 {
                return None;
            }
        }
        let mut byte = [0];
        output.read_exact(&mut byte).ok()?;
        Some(byte[0])
    }

    /// Shows nothing more of what ssh says: a screen takes the terminal.
    pub fn be_quiet(&self) {
        self.said.is_shown.store(false, Ordering::Relaxed);
    }

    /// Waits for its end, and until what it said is shown; returns its exit code, if it has one.
    pub fn end(mut self) -> Option<i32> {
        (self.input, self.output) = (None, None);
        let code = self.child.wait().ok().and_then(|status| status.code());
        self.finish_reading();
        code
    }

    /// Ends it, unless it does so by itself in a moment; returns the last that it said and that was not shown.
    pub fn stop(mut self) -> String {
        (self.input, self.output) = (None, None);
        let end = Instant::now() + MOMENT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.finish_reading();
        let lines = self.said.lines.lock();
        lines.iter().rfind(|line| !line.trim().is_empty()).cloned().unwrap_or_default()
    }

    fn finish_reading(&self) {
        // A process that ssh has started may hold the stream for longer.
        let end = Instant::now() + MOMENT;
        while self.reading.as_ref().is_some_and(|reading| !reading.is_finished()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl StderrLog {
    fn read(&self, err: impl Read) {
        let mut err = BufReader::new(err);
        loop {
            let mut line = Vec::new();
            match err.by_ref().take(MAX_SAID).read_until(b'\n', &mut line) {
                Ok(count) if count > 0 => {}
                _ => return,
            }
            let text = plain::line(&String::from_utf8_lossy(&line));
            if self.is_shown.load(Ordering::Relaxed) {
                stderr::write(format!("{text}\n").as_bytes());
                continue;
            }
            let mut lines = self.lines.lock();
            if lines.len() >= KEPT {
                lines.pop_front();
            }
            lines.push_back(text);
        }
    }
}
