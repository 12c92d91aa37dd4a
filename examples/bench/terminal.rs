//! A terminal for measuring: single-threaded, so that no hand-over is measured.
//!
//! It answers the queries of programs at start (device attributes, cursor, colours, keyboard), since some
//! wait for that before they paint.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use memchr::memmem;
use pty_process::Size;
use pty_process::blocking::{Command, Pty};
use rustix::event::{PollFd, PollFlags, Timespec};

/// Columns and rows.
const SIZE: (u16, u16) = (120, 40);

/// The query for the cursor's position. The answer depends on it.
const CURSOR: &str = "\x1b[6n";
/// Queries and the answers of a plain modern terminal.
const ANSWERS: [(&str, &str); 7] = [
    ("\x1b[c", "\x1b[?62;22c"),
    ("\x1b[0c", "\x1b[?62;22c"),
    ("\x1b[>q", "\x1bP>|bench 1\x1b\\"),
    (CURSOR, ""),
    ("\x1b[?u", "\x1b[?0u"),
    ("\x1b]10;?", "\x1b]10;rgb:c0c0/c0c0/c0c0\x1b\\"),
    ("\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
];

/// A program in a terminal.
pub struct Terminal {
    pty: Pty,
    child: Child,
    screen: vt100::Parser,
    received: usize,
    open: bool,
    _home: Option<tempfile::TempDir>,
}

impl Terminal {
    /// Starts a program with a separate home and the demo model at full speed.
    pub fn start(program: &Path, args: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), program, args)
    }

    /// Starts a program in this home, which is removed behind it.
    pub fn start_in(home: tempfile::TempDir, program: &Path, args: &[&str]) -> Self {
        let mut terminal = Self::start_at(home.path(), program, args);
        terminal._home = Some(home);
        terminal
    }

    /// Starts a program in a home, which stays.
    pub fn start_at(home: &Path, program: &Path, args: &[&str]) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        let (columns, rows) = SIZE;
        pty.resize(Size::new(rows, columns)).unwrap();
        let child = Command::new(program)
            .args(args)
            .env("HOME", home)
            .env("TAU_HOME", home.join("tau"))
            .env("TAU_DEMO_SPEED", "max")
            // With a real model the first start would ask for it.
            .env("TAU_PERMISSION_MODE", "auto")
            .env("BENCH_KEY", "x")
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .current_dir(home)
            .spawn(pts)
            .unwrap();
        let screen = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
        Terminal { pty, child, screen, received: 0, open: true, _home: None }
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The number of bytes the program has written.
    pub fn received(&self) -> usize {
        self.received
    }

    /// The screen as text.
    pub fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Types raw bytes.
    pub fn type_keys(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen satisfies `ready`; true if it did in time.
    pub fn wait_until(&mut self, patience: Duration, mut ready: impl FnMut(&vt100::Screen) -> bool) -> bool {
        let end = Instant::now() + patience;
        loop {
            if ready(self.screen.screen()) {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.open {
                return false;
            }
            self.take(left);
        }
    }

    /// Waits until nothing was written for `quiet`, at most for `patience`.
    pub fn wait_quiet(&mut self, quiet: Duration, patience: Duration) {
        let end = Instant::now() + patience;
        while self.open && Instant::now() < end && self.take(quiet) {}
    }

    /// Reads output within `patience`; true if there was any.
    fn take(&mut self, patience: Duration) -> bool {
        let timeout = Timespec::try_from(patience).unwrap();
        let fd = self.pty.as_fd();
        let mut polled = [PollFd::new(&fd, PollFlags::IN)];
        if rustix::event::poll(&mut polled, Some(&timeout)).unwrap() == 0 {
            return false;
        }
        let mut buffer = [0; 64 * 1024];
        let count = self.pty.read(&mut buffer).unwrap_or(0);
        self.open = count > 0;
        self.received += count;
        self.show(buffer.get(..count).unwrap_or_default());
        true
    }

    /// Processes output for the screen, and answers each query when it occurs.
    fn show(&mut self, mut bytes: &[u8]) {
        while let Some((end, question, answer)) = first_question(bytes) {
            self.screen.process(&bytes[..end]);
            bytes = &bytes[end..];
            let (row, column) = self.screen.screen().cursor_position();
            let position = format!("\x1b[{};{}R", row + 1, column + 1);
            let answer = if question == CURSOR { &position } else { answer };
            let _ = self.pty.write_all(answer.as_bytes());
        }
        self.screen.process(bytes);
    }
}

/// The first query in the output: its end, the query and its answer.
fn first_question(bytes: &[u8]) -> Option<(usize, &'static str, &'static str)> {
    let asked = ANSWERS.iter().filter_map(|(question, answer)| {
        let end = memmem::find(bytes, question.as_bytes())? + question.len();
        Some((end, *question, *answer))
    });
    asked.min_by_key(|(end, ..)| *end)
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
