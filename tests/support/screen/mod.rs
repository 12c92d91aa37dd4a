//! A terminal to run programs in: a pty at one end, a screen of cells at the other.
//!
//! Every wait is for something to appear and bounded by [`TIMEOUT`]; there are no fixed sleeps. Programs get
//! a home of their own, so that nothing of the user's is read or written.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};
use rustix::termios::Termios;

use crate::time_limit::JoinInTime;

/// The number of rows above the screen that the terminal keeps.
const SCROLLBACK: usize = 5_000;
/// The longest wait for anything.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Slightly longer than a prompt must be on the screen before a key counts.
pub const SEEN: Duration = Duration::from_millis(450);

/// How long the terminal waits for the end of a frame.
const FRAME_LIMIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 150_000_000 };

/// The terminal's content so far.
struct Shown {
    parser: vt100::Parser,
    log: Vec<u8>,
    /// The length of the part of `log` that is on the screen.
    parsed: usize,
    closed: bool,
}

impl Shown {
    /// Shows the output, except that of an unfinished frame (mode 2026), unless it is late.
    fn show(&mut self, late: bool) {
        const BEGIN: &[u8] = b"\x1b[?2026h";
        const END: &[u8] = b"\x1b[?2026l";
        let bytes = &self.log[self.parsed..];
        let last = |mark: &[u8]| bytes.windows(mark.len()).rposition(|window| window == mark);
        let begun = last(BEGIN).filter(|begin| last(END).is_none_or(|end| end < *begin));
        // The mark itself may have arrived in parts.
        let part = (1..BEGIN.len()).find(|length| bytes.ends_with(&BEGIN[..*length]));
        let whole = begun.unwrap_or(bytes.len() - part.unwrap_or(0));
        let whole = if late { bytes.len() } else { whole };
        self.parser.process(&bytes[..whole]);
        self.parsed += whole;
    }
}

/// A program in a terminal.
pub struct Screen {
    pty: Option<Arc<Pty>>,
    child: Child,
    shown: Arc<(Mutex<Shown>, Condvar)>,
    before: Termios,
    home: tempfile::TempDir,
    /// Reads the pty until the other end of its pipe is dropped.
    reader: Option<(JoinHandle<()>, PipeWriter)>,
}

impl Screen {
    /// Starts tau.
    pub fn start(args: &[&str], columns: u16, rows: u16) -> Self {
        Self::program(Path::new(env!("CARGO_BIN_EXE_tau")), args, columns, rows)
    }

    /// Starts tau after a shell script that creates files in its directory and sets variables, and waits for
    /// its composer.
    pub fn prepared(script: &str, args: &str, columns: u16, rows: u16) -> Self {
        let script = format!("{script}\nexec \"$TAU_BIN\" {args}");
        let screen = Self::program(Path::new("/bin/sh"), &["-c", &script], columns, rows);
        screen.wait_until("composer", |cells| cells.alternate_screen() && composer(cells).is_some());
        screen
    }

    /// Starts tau on the screen of a shell that has written two lines, after a script like that of
    /// [`Screen::prepared`], and waits for its composer. Afterwards the shell prints tau's exit, and waits.
    pub fn inline(script: &str, args: &str, columns: u16, rows: u16) -> Self {
        // The emulator cuts rows that become too long, as xterm does.
        let script = format!(
            "export XTERM_VERSION=1\n{script}\necho shell one; echo shell two\n\"$TAU_BIN\" --inline {args}\n\
             echo \"exit=$?\"; cat"
        );
        let screen = Self::program(Path::new("/bin/bash"), &["-c", &script], columns, rows);
        screen.wait_until("composer", |cells| composer(cells).is_some());
        screen
    }

    /// The terminal's content, scrollback and screen, as rows without trailing blanks.
    pub fn rows(&self) -> Vec<String> {
        let mut shown = self.shown();
        let cells = shown.parser.screen_mut();
        let width = cells.size().1.get();
        let mut rows = Vec::new();
        for offset in (1..=cells.scrollback_len()).rev() {
            cells.set_scrollback(offset);
            rows.extend(cells.rows(0, width).next());
        }
        cells.set_scrollback(0);
        rows.extend(cells.rows(0, width));
        rows.iter().map(|row| row.trim_end().to_owned()).collect()
    }

    /// Starts any program.
    pub fn program(program: &Path, args: &[&str], columns: u16, rows: u16) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(Size::new(rows, columns)).unwrap();
        let before = rustix::termios::tcgetattr(pty.as_fd()).unwrap();
        let work = home.path().join("work");
        std::fs::create_dir(&work).unwrap();
        let child = Command::new(program)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("TAU_HOME", home.path().join("tau"))
            .env("TAU_BIN", env!("CARGO_BIN_EXE_tau"))
            // Regardless of other servers on this machine.
            .env("TAU_LOCAL_SERVERS", "false")
            // Otherwise tau asks for it at the first start.
            .env("TAU_PERMISSION_MODE", "auto")
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .current_dir(work)
            .spawn(pts)
            .unwrap();
        let cells = |n: u16| n.max(1).try_into().unwrap();
        let parser = vt100::Parser::new(cells(rows), cells(columns), SCROLLBACK);
        let shown = Arc::new((
            Mutex::new(Shown { parser, log: Vec::new(), parsed: 0, closed: false }),
            Condvar::new(),
        ));
        let pty = Arc::new(pty);
        let (reader, sink) = (Arc::clone(&pty), Arc::clone(&shown));
        let (stopped, stop) = std::io::pipe().unwrap();
        let thread = std::thread::spawn(move || read_all(&reader, &stopped, &sink));
        Screen { pty: Some(pty), child, shown, before, home, reader: Some((thread, stop)) }
    }

    /// The folder for the program's `TAU_HOME`.
    pub fn tau_home(&self) -> std::path::PathBuf {
        self.home.path().join("tau")
    }

    /// The home directory of the program; it runs in `work` there.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The program's process id.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Types raw bytes.
    pub fn type_keys(&self, keys: &str) {
        let pty = self.pty.as_deref().unwrap();
        let mut writer = pty;
        writer.write_all(keys.as_bytes()).unwrap();
    }

    /// Types raw bytes and does not read what the program writes, until the terminal takes no more of it.
    pub fn type_keys_unread(&self, keys: &str) {
        let pty = self.pty.as_deref().unwrap();
        // Reading ends when the lock is needed.
        let _unread = self.shown.0.lock().unwrap();
        self.type_keys(keys);
        let (end, mut full, mut since) = (Instant::now() + TIMEOUT, 0, Instant::now());
        while full == 0 || since.elapsed() < Duration::from_millis(500) {
            assert!(Instant::now() < end, "{keys:?} makes the program write nothing");
            let waiting = rustix::io::ioctl_fionread(pty).unwrap();
            if waiting != full {
                (full, since) = (waiting, Instant::now());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// Resizes the terminal, which signals the program.
    pub fn resize(&self, columns: u16, rows: u16) {
        // Under the lock, so that nothing drawn for the new size meets the old one.
        let mut shown = self.shown.0.lock().unwrap();
        self.pty.as_ref().unwrap().resize(Size::new(rows, columns)).unwrap();
        shown.parser.screen_mut().set_size(rows.try_into().unwrap(), columns.try_into().unwrap());
    }

    /// Waits until the screen satisfies `ready`.
    pub fn wait_until(&self, what: &str, mut ready: impl FnMut(&vt100::Screen) -> bool) {
        let (lock, changed) = &*self.shown;
        let end = Instant::now() + TIMEOUT;
        let mut shown = lock.lock().unwrap();
        while !ready(shown.parser.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "no {what} within {TIMEOUT:?}:\n{}\n{}",
                shown.parser.screen().contents(),
                String::from_utf8_lossy(&shown.log).escape_debug()
            );
            shown = changed.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Waits until `text` is on the screen.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("{text:?}"), |screen| screen.contents().contains(text));
    }

    /// Waits until the composer holds `text`, line ends included.
    pub fn wait_for_composer(&self, text: &str) {
        self.wait_until(&format!("composer with {text:?}"), |cells| composer(cells).as_deref() == Some(text));
    }

    /// Replaces tau's config.toml, reloads it, and waits for this message of tau.
    pub fn reload(&self, config: &str, says: &str) {
        std::fs::write(self.tau_home().join("config.toml"), config).unwrap();
        self.type_keys("/reload");
        self.wait_for_composer("/reload");
        self.type_keys("\r");
        self.wait_for(says);
    }

    /// Presses a key until it has led to `effect`. In a prompt a key counts only after it has been on the
    /// screen for a while.
    pub fn press_until(&self, key: &str, effect: &str) {
        let end = Instant::now() + TIMEOUT;
        while !self.text().contains(effect) {
            assert!(Instant::now() < end, "{key:?} does not lead to {effect:?}:\n{}", self.text());
            std::thread::sleep(SEEN);
            // Before the mark appears, keys are for the draft.
            let asks = |text: &str| text.contains("┃   1 Yes, ");
            while asks(&self.text()) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(10));
            }
            self.type_keys(key);
            let soon = Instant::now() + Duration::from_secs(5);
            while Instant::now() < soon && !self.text().contains(effect) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Waits until `text` is on the screen, and returns its column and row, from 0.
    pub fn find(&self, text: &str) -> (u16, u16) {
        let mut found = None;
        self.wait_until(&format!("{text:?}"), |cells| {
            let width = cells.size().1.get();
            found = cells.rows(0, width).enumerate().find_map(|(row, line)| {
                let column = line.find(text)?;
                // No searched row contains wide characters.
                Some((line[..column].chars().count() as u16, row as u16))
            });
            found.is_some()
        });
        found.unwrap()
    }

    /// Sends a mouse report: the left button pressed, moved or released in a cell.
    pub fn mouse(&self, what: MouseReport, (column, row): (u16, u16)) {
        let (button, end) = match what {
            MouseReport::Press => (0, 'M'),
            MouseReport::Drag => (32, 'M'),
            MouseReport::Release => (0, 'm'),
        };
        self.type_keys(&format!("\x1b[<{button};{};{}{end}", column + 1, row + 1));
    }

    /// The texts passed to the terminal for its clipboard (OSC 52).
    pub fn copied(&self) -> Vec<String> {
        use base64::Engine;
        let log = String::from_utf8_lossy(&self.bytes()).into_owned();
        let coded = log.split("\x1b]52;c;").skip(1).filter_map(|rest| rest.split(['\x1b', '\x07']).next());
        let decode = |coded: &str| base64::engine::general_purpose::STANDARD.decode(coded).unwrap();
        coded.map(|coded| String::from_utf8(decode(coded)).unwrap()).collect()
    }

    /// The screen as text.
    pub fn text(&self) -> String {
        self.screen(vt100::Screen::contents)
    }

    /// The content, locked; if the caller already holds it, as in [`Self::wait_until`], this waits at most
    /// [`TIMEOUT`].
    #[track_caller]
    fn shown(&self) -> MutexGuard<'_, Shown> {
        let end = Instant::now() + TIMEOUT;
        loop {
            match self.shown.0.try_lock() {
                Ok(shown) => return shown,
                Err(TryLockError::Poisoned(shown)) => return shown.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    assert!(Instant::now() < end, "the screen is looked at while it is waited for");
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    /// Reads the screen.
    pub fn screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shown().parser.screen())
    }

    /// Everything the program has written.
    pub fn bytes(&self) -> Vec<u8> {
        self.shown().log.clone()
    }

    /// Closes the terminal, like a closed window.
    pub fn close(&mut self) {
        let (thread, stop) = self.reader.take().unwrap();
        drop(stop);
        thread.join_in_time("the end of the reading thread");
        drop(self.pty.take());
    }

    /// True if the terminal's own settings are the same as before the program started.
    pub fn settings_are_as_before(&self) -> bool {
        let now = rustix::termios::tcgetattr(self.pty.as_ref().unwrap().as_fd()).unwrap();
        let before = &self.before;
        (now.local_modes, now.input_modes, now.output_modes, now.control_modes)
            == (before.local_modes, before.input_modes, before.output_modes, before.control_modes)
    }

    /// Waits for the program's exit and for the last of its output.
    pub fn wait_exit(&mut self) -> ExitStatus {
        let end = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(2));
        };
        let (lock, changed) = &*self.shown;
        let shown = lock.lock().unwrap();
        drop(changed.wait_timeout_while(shown, Duration::from_secs(1), |shown| !shown.closed).unwrap());
        status
    }
}

/// Checks that each of the texts is in one row, in this order.
#[track_caller]
pub fn check_order(rows: &[String], texts: &[&str]) {
    let mut last = 0;
    for text in texts {
        let places: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].contains(text)).collect();
        assert_eq!(places.len(), 1, "{text:?} is in rows {places:?} of\n{}", rows.join("\n"));
        assert!(places[0] >= last, "{text:?} is too early in\n{}", rows.join("\n"));
        last = places[0];
    }
}

/// The action of the left mouse button.
#[derive(Clone, Copy)]
pub enum MouseReport {
    Press,
    Drag,
    Release,
}

/// The text in tau's composer, as shown between its two rules.
pub fn composer(cells: &vt100::Screen) -> Option<String> {
    let rows: Vec<String> = cells.rows(0, cells.size().1.get()).collect();
    let bottom = rows.iter().rposition(|row| row.starts_with("──"))?;
    let top = rows[..bottom].iter().rposition(|row| row.starts_with("──"))?;
    let lines = rows[top + 1..bottom].iter().map(|row| row.chars().skip(2).collect::<String>());
    Some(lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n"))
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(mut pty: &Pty, stopped: &PipeReader, shown: &(Mutex<Shown>, Condvar)) {
    let mut buffer = [0; 64 * 1024];
    let mut held = false;
    loop {
        let mut polled = [PollFd::new(pty, PollFlags::IN), PollFd::new(stopped, PollFlags::empty())];
        let in_time = rustix::event::poll(&mut polled, held.then_some(&FRAME_LIMIT)).unwrap() > 0;
        if !polled[1].revents().is_empty() {
            return;
        }
        let count = if in_time { pty.read(&mut buffer).unwrap_or(0) } else { 0 };
        let mut state = shown.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.log.extend_from_slice(&buffer[..count]);
        state.show(!in_time || count == 0);
        held = state.parsed < state.log.len();
        state.closed = in_time && count == 0;
        shown.1.notify_all();
        if state.closed {
            return;
        }
    }
}
