//! What the terminal says: keys, mouse, pastes and focus, in the words of `app::key`.
//!
//! A thread of its own reads, because the parser behind it may wait in the middle of a sequence,
//! which must never stop the program. The end of the terminal is watched apart from reading: on
//! a closed terminal that parser would spin. While an editor has the terminal, [`Input::pause`]
//! keeps the thread from taking the editor's keys. What a key means is not known here.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crossterm::event::{Event, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use tokio::sync::{mpsc, oneshot};

use crate::app::key::{Key, KeyCode, Mods, Mouse, MouseButton, MouseKind};

/// One thing the terminal said.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    Key(Key),
    Mouse(Mouse),
    /// Pasted text, with `\n` for every kind of line end. Control characters are still in it.
    Paste(String),
    /// The window was entered.
    FocusGained,
    /// The window was left.
    FocusLost,
    /// The terminal is closed; nothing follows.
    Ended,
}

/// Events that wait for the program. A full queue makes the thread wait, so nothing is lost.
const QUEUE: usize = 256;
/// How long [`Input::pause`] waits for the thread to let go.
const PAUSE_PATIENCE: Duration = Duration::from_millis(200);

/// The reading end of the terminal.
#[derive(Debug)]
pub struct Input {
    events: mpsc::Receiver<Said>,
    hang_up: oneshot::Receiver<()>,
    gate: Arc<Gate>,
    /// Writing to it wakes the thread out of its wait for the terminal.
    wake: io::PipeWriter,
}

/// Waits until the terminal is closed, which needs no reading; false when [`Input`] was dropped.
fn terminal_ended(dropped: &io::PipeReader) -> bool {
    let stdin = rustix::stdio::stdin();
    loop {
        let mut polled = [PollFd::new(&stdin, PollFlags::empty()), PollFd::new(dropped, PollFlags::empty())];
        match rustix::event::poll(&mut polled, None) {
            Ok(_) => return polled.first().is_some_and(|fd| !fd.revents().is_empty()),
            Err(Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}

/// What the thread is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Read,
    Pause,
    Stop,
}

/// The order to the thread, and whether it keeps its hands off the terminal.
#[derive(Debug)]
struct Gate {
    state: Mutex<(Order, bool)>,
    changed: Condvar,
}

impl Input {
    /// Starts to read standard input, which must be a terminal. Needs a tokio runtime.
    ///
    /// # Errors
    /// The system gives no pipe or no thread.
    pub fn start() -> io::Result<Self> {
        let (sender, events) = mpsc::channel(QUEUE);
        let (woken, wake) = io::pipe()?;
        let gate = Arc::new(Gate { state: Mutex::new((Order::Read, false)), changed: Condvar::new() });
        let (ended, hang_up) = oneshot::channel();
        let dropped = woken.try_clone()?;
        let watch = std::thread::Builder::new().name("terminal end".to_owned()).stack_size(64 * 1024);
        watch.spawn(move || {
            if terminal_ended(&dropped) {
                let _ = ended.send(());
            }
        })?;
        let thread = Reader { sender, woken, gate: Arc::clone(&gate) };
        let reader = std::thread::Builder::new().name("terminal input".to_owned()).stack_size(256 * 1024);
        reader.spawn(move || thread.run())?;
        Ok(Input { events, hang_up, gate, wake })
    }

    /// The next thing the terminal says. Safe to drop before it answers.
    pub async fn next(&mut self) -> Said {
        tokio::select! {
            biased;
            said = self.events.recv() => said.unwrap_or(Said::Ended),
            _ = &mut self.hang_up, if !self.hang_up.is_terminated() => Said::Ended,
        }
    }

    /// What has come and was not yet asked for; never waits.
    pub fn waiting(&mut self) -> Option<Said> {
        self.events.try_recv().ok()
    }

    /// Leaves the terminal's keys to another program until [`Input::resume`].
    pub fn pause(&self) {
        self.order(Order::Pause);
        let state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.gate.changed.wait_timeout_while(state, PAUSE_PATIENCE, |(_, idle)| !*idle);
    }

    /// Reads again.
    pub fn resume(&self) {
        self.order(Order::Read);
    }

    fn order(&self, order: Order) {
        self.gate.state.lock().unwrap_or_else(PoisonError::into_inner).0 = order;
        self.gate.changed.notify_all();
        let _ = io::Write::write(&mut &self.wake, b"!");
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.order(Order::Stop);
    }
}

/// The thread that reads.
struct Reader {
    sender: mpsc::Sender<Said>,
    woken: io::PipeReader,
    gate: Arc<Gate>,
}

impl Reader {
    fn run(mut self) {
        while self.allowed() {
            match self.wait() {
                Ok(Awake::Terminal) if self.drain().is_err() => break,
                Ok(Awake::Terminal) => {}
                Ok(Awake::Order) => {
                    let _ = io::Read::read(&mut self.woken, &mut [0; 64]);
                }
                Err(_) => break,
            }
        }
    }

    /// Waits while paused; false when it is over.
    fn allowed(&self) -> bool {
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.0 == Order::Pause {
            state.1 = true;
            self.gate.changed.notify_all();
            state = self.gate.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.1 = false;
        state.0 == Order::Read
    }

    /// Waits for the terminal or an order.
    fn wait(&self) -> io::Result<Awake> {
        let stdin = rustix::stdio::stdin();
        let woken = self.woken.as_fd();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&woken, PollFlags::IN)];
        loop {
            match rustix::event::poll(&mut polled, None) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let [terminal, order] = polled.map(|fd| fd.revents());
        if order.contains(PollFlags::IN) {
            return Ok(Awake::Order);
        }
        if terminal.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Awake::Terminal)
    }

    /// Hands on all that is there.
    fn drain(&self) -> io::Result<()> {
        while crossterm::event::poll(Duration::ZERO)? {
            let Some(said) = translate(crossterm::event::read()?) else { continue };
            self.sender.blocking_send(said).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

enum Awake {
    Terminal,
    Order,
}

/// An event in our words; none when it says nothing to us: the release of a key, a movement of
/// the mouse without a button, a size (which comes as a signal).
fn translate(event: Event) -> Option<Said> {
    match event {
        Event::Key(key) => translate_key(key).map(Said::Key),
        Event::Mouse(mouse) => translate_mouse(mouse).map(Said::Mouse),
        Event::Paste(text) => Some(Said::Paste(unify_line_ends(&text))),
        Event::FocusGained => Some(Said::FocusGained),
        Event::FocusLost => Some(Said::FocusLost),
        Event::Resize(..) => None,
    }
}

fn translate_key(event: KeyEvent) -> Option<Key> {
    use crossterm::event::KeyCode as Theirs;
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let mods = translate_mods(event.modifiers);
    let code = match event.code {
        Theirs::Char(character) => KeyCode::Char(legacy(character, mods)),
        Theirs::Enter => KeyCode::Enter,
        Theirs::Esc => KeyCode::Esc,
        Theirs::Tab => KeyCode::Tab,
        Theirs::BackTab => return Some(Key::new(KeyCode::Tab, mods.with(Mods::SHIFT))),
        Theirs::Backspace => KeyCode::Backspace,
        Theirs::Delete => KeyCode::Delete,
        Theirs::Insert => KeyCode::Insert,
        Theirs::Home => KeyCode::Home,
        Theirs::End => KeyCode::End,
        Theirs::PageUp => KeyCode::PageUp,
        Theirs::PageDown => KeyCode::PageDown,
        Theirs::Up => KeyCode::Up,
        Theirs::Down => KeyCode::Down,
        Theirs::Left => KeyCode::Left,
        Theirs::Right => KeyCode::Right,
        Theirs::F(number) => KeyCode::F(number),
        _ => return None,
    };
    Some(Key::new(code, mods))
}

/// The bytes 0x1c to 0x1f are Ctrl with one of `\ ] ^ _`; the parser calls them Ctrl+4 to
/// Ctrl+7, the keys below which they stood on a VT220.
fn legacy(character: char, mods: Mods) -> char {
    match character {
        '4' if mods == Mods::CTRL => '\\',
        '5' if mods == Mods::CTRL => ']',
        '6' if mods == Mods::CTRL => '^',
        '7' if mods == Mods::CTRL => '_',
        _ => character,
    }
}

fn translate_mods(theirs: KeyModifiers) -> Mods {
    let table = [
        (KeyModifiers::CONTROL, Mods::CTRL),
        (KeyModifiers::ALT, Mods::ALT),
        (KeyModifiers::META, Mods::ALT),
        (KeyModifiers::SHIFT, Mods::SHIFT),
        (KeyModifiers::SUPER, Mods::SUPER),
    ];
    let held = table.into_iter().filter(|(modifier, _)| theirs.contains(*modifier));
    held.fold(Mods::NONE, |mods, (_, ours)| mods.with(ours))
}

fn translate_mouse(event: MouseEvent) -> Option<Mouse> {
    use crossterm::event::MouseButton as Theirs;
    let button = |theirs| match theirs {
        Theirs::Left => MouseButton::Left,
        Theirs::Middle => MouseButton::Middle,
        Theirs::Right => MouseButton::Right,
    };
    let kind = match event.kind {
        MouseEventKind::Down(theirs) => MouseKind::Down(button(theirs)),
        MouseEventKind::Up(theirs) => MouseKind::Up(button(theirs)),
        MouseEventKind::Drag(theirs) => MouseKind::Drag(button(theirs)),
        MouseEventKind::ScrollUp => MouseKind::ScrollUp,
        MouseEventKind::ScrollDown => MouseKind::ScrollDown,
        MouseEventKind::ScrollLeft => MouseKind::ScrollLeft,
        MouseEventKind::ScrollRight => MouseKind::ScrollRight,
        MouseEventKind::Moved => return None,
    };
    Some(Mouse { kind, column: event.column, row: event.row, mods: translate_mods(event.modifiers) })
}

/// Terminals send pasted line ends as CR, some as CRLF.
fn unify_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::{KeyCode as Theirs, KeyEventState};

    #[test]
    fn keys_have_one_form_whatever_the_terminal() {
        let (none, ctrl, alt, shift) =
            (KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT);
        // (as the parser gives it, as we call it)
        let cases = [
            (Theirs::Char('a'), none, "a"),
            (Theirs::Char('A'), shift, "A"),
            (Theirs::Char('?'), shift, "?"),
            (Theirs::Char('ß'), shift, "ß"),
            (Theirs::Char('o'), ctrl, "ctrl+o"),
            (Theirs::Char('P'), ctrl, "ctrl+shift+p"),
            (Theirs::Char('p'), ctrl | shift, "ctrl+shift+p"),
            (Theirs::Char('B'), alt | shift, "alt+shift+b"),
            (Theirs::Char('7'), ctrl, "ctrl+_"),
            (Theirs::Char('4'), ctrl, "ctrl+\\"),
            (Theirs::Char('7'), alt, "alt+7"),
            (Theirs::Char('j'), ctrl, "ctrl+j"),
            (Theirs::Char(' '), ctrl, "ctrl+space"),
            (Theirs::Enter, shift, "shift+enter"),
            (Theirs::Enter, alt, "alt+enter"),
            (Theirs::BackTab, shift, "shift+tab"),
            (Theirs::BackTab, none, "shift+tab"),
            (Theirs::Tab, shift, "shift+tab"),
            (Theirs::F(12), none, "f12"),
        ];
        for (code, modifiers, expected) in cases {
            let key = translate_key(KeyEvent::new(code, modifiers));
            assert_eq!(key.map(|key| key.to_string()).as_deref(), Some(expected), "{code:?} {modifiers:?}");
        }
    }

    #[test]
    fn releases_and_bare_modifiers_are_dropped_and_repeats_are_presses() {
        let event =
            |code, kind| KeyEvent { code, modifiers: KeyModifiers::NONE, kind, state: KeyEventState::NONE };
        let a = Theirs::Char('a');
        assert!(translate_key(event(a, KeyEventKind::Release)).is_none());
        assert_eq!(
            translate_key(event(a, KeyEventKind::Repeat)),
            translate_key(event(a, KeyEventKind::Press))
        );
        assert!(translate_key(event(Theirs::CapsLock, KeyEventKind::Press)).is_none());
    }

    #[test]
    fn pasted_line_ends_are_line_feeds() {
        for (pasted, text) in [("a\rb", "a\nb"), ("a\r\nb\r", "a\nb\n"), ("a\n\rb", "a\n\nb"), ("", "")] {
            assert_eq!(translate(Event::Paste(pasted.into())), Some(Said::Paste(text.into())));
        }
    }

    #[test]
    fn the_mouse_is_reported_but_not_its_wandering() {
        let event = |kind| MouseEvent { kind, column: 3, row: 4, modifiers: KeyModifiers::SHIFT };
        assert!(translate_mouse(event(MouseEventKind::Moved)).is_none());
        assert_eq!(
            translate_mouse(event(MouseEventKind::ScrollUp)),
            Some(Mouse { kind: MouseKind::ScrollUp, column: 3, row: 4, mods: Mods::SHIFT })
        );
    }
}
