//! `--record FILE` and `--replay FILE`: a run as a file of stamped messages.
//!
//! The first line has the facts known at start, every other line a message. Keys typed into a secret input
//! are recorded as `*`. Folding the file reproduces the run, down to the last frame.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ratatui::layout::Rect;

use tau_app::boot::Boot;
use tau_app::key::{Key, KeyCode};
use tau_app::{Model, Msg, StampedMsg, boot, update};
use tau_tools::user_error::UserError;
use tau_view::color::ColorDepth;
use tau_view::frame::Frame;
use tau_view::{Memo, view, wrap};

/// A recording being written.
pub struct Recording(File);

impl Recording {
    /// Starts a recording; the file must not exist yet.
    pub fn begin(path: &Path, boot: &Boot) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let mut recording = Recording(file);
        recording.line(boot)?;
        Ok(recording)
    }

    /// Adds a message.
    pub fn add(&mut self, stamped: &StampedMsg, secret: bool) -> io::Result<()> {
        if !secret {
            return self.line(stamped);
        }
        let msg = match &stamped.msg {
            Msg::Key(key) if key.typed_char().is_some() => Msg::Key(Key::plain(KeyCode::Char('*'))),
            Msg::Paste(_) => Msg::Paste("*".to_owned()),
            other => other.clone(),
        };
        self.line(&StampedMsg { at: stamped.at, msg })
    }

    fn line(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

/// Folds a recording; returns the final model. The error is a sentence with the file and the line.
pub fn replay(path: &Path) -> Result<Model, UserError> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    // Opened without blocking: a FIFO would wait for a writer, and a device never ends.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| named(&error))?;
    if !file.metadata().map_err(|error| named(&error))?.is_file() {
        return Err(named(&"not a regular file; give the file that --record wrote").into());
    }
    let mut lines = BufReader::new(file).lines();
    let first =
        lines.next().ok_or_else(|| named(&"the recording is empty"))?.map_err(|error| named(&error))?;
    let first: Boot = serde_json::from_str(&first).map_err(|error| named(&format!("line 1: {error}")))?;
    let (mut model, _) = boot(first);
    for (index, line) in lines.enumerate() {
        let line = line.map_err(|error| named(&error))?;
        let stamped: StampedMsg =
            serde_json::from_str(&line).map_err(|error| named(&format!("line {}: {error}", index + 2)))?;
        (model, _) = update(model, stamped);
    }
    Ok(model)
}

/// The text of a model's frame.
pub fn frame(model: &Model) -> String {
    let area = Rect::new(0, 0, model.size.width, model.size.height);
    let mut frame = Frame::blank(area);
    view(model, &mut Memo::new(ColorDepth::True, Default::default()), &mut frame);
    let mut text = String::new();
    for y in 0..area.height {
        let mut row = String::new();
        let mut x = 0;
        while x < area.width {
            let symbol = frame.buffer()[(x, y)].symbol();
            row.push_str(symbol);
            x += u16::try_from(wrap::cells(symbol)).unwrap_or(1).max(1);
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}
