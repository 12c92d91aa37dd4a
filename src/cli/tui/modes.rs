//! The modes that are set on the terminal, and the one way to undo them.
//!
//! The set modes are recorded in a few process-wide bits, because they must be undone from anywhere: the end
//! of the program, a panic hook, a signal, the process that waits for a killed one. [`restore`] may be called any number of times from any thread;
//! each mode is undone once. Only [`super::terminal::Tty`] sets them.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::output;

/// A group of modes that is set and reset as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalMode {
    Raw = 1,
    Screen = 2,
    Mouse = 4,
    Title = 8,
    /// The terminal shows that work is in progress.
    Progress = 16,
    /// Like `Progress`, through tmux.
    TmuxProgress = 32,
    BlockCursor = 64,
    BarCursor = 128,
    /// Like `Screen`, on the shell's screen.
    Inline = 256,
}

/// The set modes. All zeros: none.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SetModes {
    modes: AtomicU16,
    /// On the shell's screen: the distance from the cursor to the row below tau's rows; otherwise 0.
    below: AtomicU16,
}

static OWN: SetModes = SetModes { modes: AtomicU16::new(0), below: AtomicU16::new(0) };
static SHARED: OnceLock<&SetModes> = OnceLock::new();

fn now() -> &'static SetModes {
    SHARED.get().copied().unwrap_or(&OWN)
}

/// Records the modes in memory that is shared with the process that waits, which undoes them if this one is
/// killed; remembers the terminal's settings for it. To be called before the first mode is set.
pub(crate) fn share(memory: &'static SetModes) {
    let _ = SHARED.set(memory);
    *FORMER.lock() = tcgetattr(rustix::stdio::stdin()).ok();
}

/// The terminal's settings before raw mode.
static FORMER: Mutex<Option<Termios>> = Mutex::new(None);

/// Time limit of the way out for a terminal that does not read.
const TIMEOUT: Duration = Duration::from_millis(300);

/// Alternate screen, bracketed paste, kitty keyboard flags (disambiguate, event types, alternate keys), focus
/// reports, hidden cursor. A terminal ignores unsupported ones. The keyboard flags come after the alternate
/// screen, since each screen has its own stack.
const SCREEN_ON: &str = "\x1b[?1049h\x1b[?2004h\x1b[>7u\x1b[?1004h\x1b[?25l\x1b[2J";
/// The end of a possibly incomplete frame, of its colours, its link and its scroll region, then [`SCREEN_ON`] in
/// reverse.
const SCREEN_OFF: &str =
    "\x1b[?2026l\x1b]8;;\x1b\\\x1b[r\x1b[0m\x1b[?25h\x1b[?1004l\x1b[<1u\x1b[?2004l\x1b[?1049l";
/// The modes on the shell's screen. Rows do not wrap: a row that a terminal considers too wide must not push
/// the ones below down.
const INLINE_ON: &str = "\x1b[?2004h\x1b[>7u\x1b[?1004h\x1b[?25l\x1b[?7l";
const INLINE_OFF: &str = "\x1b[?2026l\x1b]8;;\x1b\\\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1004l\x1b[<1u\x1b[?2004l";
/// Buttons, movement with a button held, positions beyond column 223. Not `?1003`, which would report every
/// movement.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";
/// The window's title is kept on the terminal's own stack.
const TITLE_ON: &str = "\x1b[22;0t";
const TITLE_OFF: &str = "\x1b[23;0t";
/// Indeterminate progress, and none; from ConEmu: <https://conemu.github.io/en/AnsiEscapeCodes.html>.
const PROGRESS_ON: &str = "\x1b]9;4;3;0\x1b\\";
const PROGRESS_OFF: &str = "\x1b]9;4;0;0\x1b\\";
const TMUX_PROGRESS_ON: &str = "\x1bPtmux;\x1b\x1b]9;4;3;0\x1b\x1b\\\x1b\\";
const TMUX_PROGRESS_OFF: &str = "\x1bPtmux;\x1b\x1b]9;4;0;0\x1b\x1b\\\x1b\\";

/// Steady shapes of the cursor (DECSCUSR), and the user's own one.
const BLOCK_CURSOR: &str = "\x1b[2 q";
const BAR_CURSOR: &str = "\x1b[6 q";
const OWN_CURSOR: &str = "\x1b[0 q";

/// Whether `mode` is set.
pub(crate) fn is_set(mode: TerminalMode) -> bool {
    now().modes.load(Ordering::SeqCst) & mode as u16 != 0
}

/// Marks `mode` as set; returns the sequence to send first, `None` if it was already set.
pub fn set(mode: TerminalMode) -> Option<&'static str> {
    let before = now().modes.fetch_or(mode as u16, Ordering::SeqCst);
    (before & mode as u16 == 0).then_some(match mode {
        TerminalMode::Raw => "",
        TerminalMode::Screen => SCREEN_ON,
        TerminalMode::Inline => INLINE_ON,
        TerminalMode::Mouse => MOUSE_ON,
        TerminalMode::Title => TITLE_ON,
        TerminalMode::Progress => PROGRESS_ON,
        TerminalMode::TmuxProgress => TMUX_PROGRESS_ON,
        TerminalMode::BlockCursor => BLOCK_CURSOR,
        TerminalMode::BarCursor => BAR_CURSOR,
    })
}

/// Marks `mode` as not set; returns the sequence to send, `None` if it was not set.
pub(crate) fn unset(mode: TerminalMode) -> Option<&'static str> {
    let before = now().modes.fetch_and(!(mode as u16), Ordering::SeqCst);
    (before & mode as u16 != 0).then_some(match mode {
        TerminalMode::Raw => "",
        TerminalMode::Screen => SCREEN_OFF,
        TerminalMode::Inline => INLINE_OFF,
        TerminalMode::Mouse => MOUSE_OFF,
        TerminalMode::Title => TITLE_OFF,
        TerminalMode::Progress => PROGRESS_OFF,
        TerminalMode::TmuxProgress => TMUX_PROGRESS_OFF,
        TerminalMode::BlockCursor | TerminalMode::BarCursor => OWN_CURSOR,
    })
}

/// Enters raw mode, even if another program has changed the terminal's settings in the meantime. Earlier
/// input remains readable. Fails when standard input is not a terminal.
pub(crate) fn enter_raw() -> io::Result<()> {
    let stdin = rustix::stdio::stdin();
    let mut former = FORMER.lock();
    if set(TerminalMode::Raw).is_some() || former.is_none() {
        *former = Some(tcgetattr(stdin)?);
    }
    if let Some(mut raw) = former.clone() {
        raw.make_raw();
        tcsetattr(stdin, OptionalActions::Now, &raw)?;
    }
    Ok(())
}

fn leave_raw() {
    // The shell has set its own, and the system would stop whoever changes them.
    if output::is_of_others() {
        return;
    }
    // A panic while the lock is held must not keep the terminal from being restored.
    let Some(former) = FORMER.try_lock() else { return };
    if let Some(former) = former.as_ref().filter(|_| unset(TerminalMode::Raw).is_some()) {
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, former);
    }
}

/// The sequences that undo every mode but raw mode, in reverse order of setting them.
pub(crate) fn undo() -> String {
    let modes = [
        TerminalMode::BarCursor,
        TerminalMode::BlockCursor,
        TerminalMode::TmuxProgress,
        TerminalMode::Progress,
        TerminalMode::Title,
        TerminalMode::Mouse,
        TerminalMode::Screen,
        TerminalMode::Inline,
    ];
    let below = match now().below.swap(0, Ordering::SeqCst) {
        0 => String::new(),
        1 => "\r\n".to_owned(),
        rows => format!("\x1b[{}B\r\n", rows - 1),
    };
    below + &modes.into_iter().filter_map(unset).collect::<String>()
}

/// Sets, on the shell's screen, the number of tau's rows below the cursor; `None` when there are none. Output
/// after restoring the terminal is written below them.
pub(crate) fn set_region(below: Option<u16>) {
    now().below.store(below.map_or(0, |rows| rows.saturating_add(1)), Ordering::SeqCst);
}

/// Undoes every mode, waiting only briefly. Idempotent; for the end of the program, the panic hook and signal
/// handling. Errors are ignored: the terminal may be gone.
pub(crate) fn restore() {
    let bytes = undo();
    if !bytes.is_empty() {
        let _ = output::write_within(output::terminal(), bytes.as_bytes(), TIMEOUT);
    }
    leave_raw();
}
