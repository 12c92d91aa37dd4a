//! The modes that are set on the terminal, and the one way to take them back.
//!
//! Which modes are set is known to a few process-wide bits, because they must be undone from
//! anywhere: the end of the program, a panic hook, a signal. [`restore`] may be called any
//! number of times from any thread; each mode is undone once. [`super::terminal::Tty`] is the
//! only one that sets them.

use std::io;
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
    /// The terminal shows that something is under way.
    Progress = 16,
    /// The same, through tmux.
    TmuxProgress = 32,
    BlockCursor = 64,
    BarCursor = 128,
    /// As `Screen`, on the shell's screen.
    Inline = 256,
}

static SET: AtomicU16 = AtomicU16::new(0);
/// On the shell's screen: the distance from the cursor to the row below what is shown; 0 without that.
static BELOW: AtomicU16 = AtomicU16::new(0);
/// The terminal's settings before raw mode.
static FORMER: Mutex<Option<Termios>> = Mutex::new(None);

/// How long the way out waits for a terminal that does not read.
const TIMEOUT: Duration = Duration::from_millis(300);

/// Alternate screen, bracketed paste, kitty keyboard flags (disambiguate, event types,
/// alternate keys), focus reports, hidden cursor. A terminal that does not know one ignores it.
/// The keyboard flags come after the alternate screen, since each screen has its own stack.
const SCREEN_ON: &str = "\x1b[?1049h\x1b[?2004h\x1b[>7u\x1b[?1004h\x1b[?25l\x1b[2J";
/// The end of a frame that may be half out and of its colours, then [`SCREEN_ON`] backwards.
const SCREEN_OFF: &str = "\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?1004l\x1b[<1u\x1b[?2004l\x1b[?1049l";
/// The same on the shell's screen. Rows do not wrap: one that a terminal takes for wider than it is must
/// not push those below down.
const INLINE_ON: &str = "\x1b[?2004h\x1b[>7u\x1b[?1004h\x1b[?25l\x1b[?7l";
const INLINE_OFF: &str = "\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1004l\x1b[<1u\x1b[?2004l";
/// Buttons, movement with a button held, positions beyond column 223. Not `?1003`, which would
/// report every movement.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";
/// The window's title is kept on the terminal's own stack.
const TITLE_ON: &str = "\x1b[22;0t";
const TITLE_OFF: &str = "\x1b[23;0t";
/// Progress that is not known in numbers, and none; from ConEmu:
/// <https://conemu.github.io/en/AnsiEscapeCodes.html>.
const PROGRESS_ON: &str = "\x1b]9;4;3;0\x1b\\";
const PROGRESS_OFF: &str = "\x1b]9;4;0;0\x1b\\";
const TMUX_PROGRESS_ON: &str = "\x1bPtmux;\x1b\x1b]9;4;3;0\x1b\x1b\\\x1b\\";
const TMUX_PROGRESS_OFF: &str = "\x1bPtmux;\x1b\x1b]9;4;0;0\x1b\x1b\\\x1b\\";

/// Shapes of the cursor (DECSCUSR) that do not blink, and the one that the user has set.
const BLOCK_CURSOR: &str = "\x1b[2 q";
const BAR_CURSOR: &str = "\x1b[6 q";
const OWN_CURSOR: &str = "\x1b[0 q";

/// Whether `mode` is set.
pub(crate) fn is_set(mode: TerminalMode) -> bool {
    SET.load(Ordering::SeqCst) & mode as u16 != 0
}

/// Marks `mode` as set; the sequence to send first, `None` if it was set already.
pub fn set(mode: TerminalMode) -> Option<&'static str> {
    let before = SET.fetch_or(mode as u16, Ordering::SeqCst);
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

/// Marks `mode` as not set; the sequence to send, `None` if it was not set.
pub(crate) fn unset(mode: TerminalMode) -> Option<&'static str> {
    let before = SET.fetch_and(!(mode as u16), Ordering::SeqCst);
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

/// Takes raw mode, also when something else has changed the terminal's settings meanwhile. What
/// was typed before stays to be read.
///
/// # Errors
/// Standard input is no terminal.
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
    // A panic while the lock is held must not keep the terminal from being restored.
    let Some(former) = FORMER.try_lock() else { return };
    if let Some(former) = former.as_ref().filter(|_| unset(TerminalMode::Raw).is_some()) {
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, former);
    }
}

/// What undoes every mode but raw mode, in the reverse order of setting them.
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
    let below = match BELOW.swap(0, Ordering::SeqCst) {
        0 => String::new(),
        1 => "\r\n".to_owned(),
        rows => format!("\x1b[{}B\r\n", rows - 1),
    };
    below + &modes.into_iter().filter_map(unset).collect::<String>()
}

/// On the shell's screen: how many rows of what is shown are below the cursor; `None` when nothing is
/// shown. What follows when the terminal is restored is written below them.
pub(crate) fn set_region(below: Option<u16>) {
    BELOW.store(below.map_or(0, |rows| rows.saturating_add(1)), Ordering::SeqCst);
}

/// Takes every mode back, waiting a moment at most. Idempotent; for the end of the program, the
/// panic hook and the path of a signal. Errors are of no use here: the terminal may be gone.
pub(crate) fn restore() {
    let bytes = undo();
    if !bytes.is_empty() {
        let _ = output::write_within(output::terminal(), bytes.as_bytes(), TIMEOUT);
    }
    leave_raw();
}
