//! The full screen front end.
//!
//! [`terminal`] writes, [`input`] reads and [`decode`] understands,
//! [`modes`] knows what is to be undone, [`output`] never
//! blocks. crossterm and the terminal are named in this folder only.

pub mod decode;
pub mod input;
pub mod modes;
pub mod output;
pub mod terminal;

use super::crash;
use super::exit::Exit;
use super::signals::{Caught, Signals};
use crate::app::key::{Key, KeyCode};
use input::{Input, Said};
use ratatui::style::Style;
use terminal::{MouseCapture, Tty};

/// A stand-in loop: a composer of one line.
pub async fn run() -> Exit {
    let (Ok(mut tty), Ok(mut input), Ok(mut signals)) =
        (Tty::enter(MouseCapture::On), Input::start(), Signals::for_screen())
    else {
        return Exit::Config;
    };
    let mut text = String::new();
    let _ = tty.set_title("tau");
    loop {
        let line = format!("> {text}");
        let drawn = tty.draw(|buffer, area| {
            let row = area.height.saturating_sub(1);
            buffer.set_stringn(0, row, &line, area.width.into(), Style::new());
            Some((u16::try_from(line.chars().count()).unwrap_or(u16::MAX).min(area.width - 1), row))
        });
        if drawn.is_err() {
            return Exit::HungUp;
        }
        let said = tokio::select! {
            () = crash::crashed() => return Exit::Crash,
            said = input.next() => said,
            caught = signals.next() => {
                match (caught, caught.exit()) {
                    (_, Some(exit)) => return exit,
                    (Caught::Suspend, _) => drop(tty.suspend()),
                    (Caught::Continue, _) => drop(tty.resume()),
                    (Caught::Resize, _) => tty.redraw(),
                    _ => {}
                }
                continue;
            }
        };
        match said {
            Said::Ended => return Exit::HungUp,
            Said::Key(key) => match (key.typed(), key.to_string().as_str()) {
                (Some(typed), _) => text.push(typed),
                (_, "ctrl+d") if text.is_empty() => {
                    let _ = tty.farewell("bye");
                    return Exit::Ok;
                }
                (_, "ctrl+z") => drop(tty.suspend()),
                _ if key == Key::plain(KeyCode::Backspace) => drop(text.pop()),
                _ => {}
            },
            Said::Paste(pasted) => text.push_str(&pasted.replace('\n', "|")),
            _ => {}
        }
    }
}
