//! Pictures kept by the terminal (kitty graphics protocol) and drawn at their placeholders.

use std::collections::BTreeSet;

use tau_view::frame::Frame;
use tau_view::picture::PreparedPixels;

/// Number of pictures from which the ones that are not on the screen are deleted.
const KEPT: usize = 32;

/// The numbers of the pictures uploaded to the terminal.
#[derive(Debug, Default)]
pub(super) struct KeptPictures(BTreeSet<u32>);

impl KeptPictures {
    /// Writes the uploads of a frame's pictures that the terminal does not have.
    pub(super) fn upload(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        if frame.pictures.iter().next().is_none() {
            return;
        }
        let tmux = within_tmux();
        let mut used = BTreeSet::new();
        for placed in frame.pictures.iter() {
            if let PreparedPixels::Kitty { number, upload } = &placed.what.picture.pixels
                && used.insert(*number)
                && self.0.insert(*number)
            {
                out.extend_from_slice(wrap_for_tmux(upload, tmux).as_bytes());
            }
        }
        if self.0.len() > KEPT {
            let unused: Vec<u32> = self.0.difference(&used).copied().collect();
            for number in unused {
                self.0.remove(&number);
                out.extend_from_slice(wrap_for_tmux(&deletion(number), tmux).as_bytes());
            }
        }
    }

    /// Forgets all of them; returns the sequences that delete them.
    pub(super) fn forget(&mut self) -> String {
        let tmux = !self.0.is_empty() && within_tmux();
        std::mem::take(&mut self.0).into_iter().map(|number| wrap_for_tmux(&deletion(number), tmux)).collect()
    }
}

fn within_tmux() -> bool {
    std::env::var_os("TMUX").is_some_and(|value| !value.is_empty())
}

/// Deletes a picture and its data (`d=I`), without an answer.
fn deletion(number: u32) -> String {
    format!("\x1b_Ga=d,d=I,i={number},q=2\x1b\\")
}

/// The sequences, wrapped for tmux if necessary: each by itself, as it accepts a few thousand bytes at a
/// time.
fn wrap_for_tmux(sequences: &str, tmux: bool) -> String {
    if !tmux {
        return sequences.to_owned();
    }
    let pass = |one: &str| format!("\x1bPtmux;{}\x1b\\", one.replace('\x1b', "\x1b\x1b"));
    sequences.split_inclusive("\x1b\\").map(pass).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ratatui::layout::Rect;

    use super::*;
    use tau_view::picture::{PictureRow, PreparedPicture};

    fn frame(numbers: &[u32]) -> Frame {
        let mut frame = Frame::blank(Rect::new(0, 0, 10, 10));
        for (y, number) in (0..).zip(numbers) {
            let pixels = PreparedPixels::Kitty { number: *number, upload: format!("<{number}>") };
            let picture = Arc::new(PreparedPicture { columns: 2, rows: 1, pixels });
            frame.pictures.place(y, 0..2, PictureRow { picture, row: 0 });
        }
        frame
    }

    fn upload(kept: &mut KeptPictures, numbers: &[u32]) -> String {
        let mut out = Vec::new();
        kept.upload(&frame(numbers), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_picture_is_given_once_and_those_out_of_sight_are_deleted() {
        let mut kept = KeptPictures::default();
        assert_eq!(upload(&mut kept, &[7, 7, 8]), "<7><8>");
        assert_eq!(upload(&mut kept, &[7]), "");
        for number in 100..100 + KEPT as u32 - 2 {
            upload(&mut kept, &[number]);
        }
        let more = upload(&mut kept, &[8, 9]);
        assert!(more.starts_with("<9>\x1b_Ga=d,d=I,i=7,q=2\x1b\\") && !more.contains("i=8,"), "{more:?}");
        assert_eq!(kept.forget(), "\x1b_Ga=d,d=I,i=8,q=2\x1b\\\x1b_Ga=d,d=I,i=9,q=2\x1b\\");
        assert_eq!(kept.forget(), "");
    }

    #[test]
    fn each_sequence_passes_through_tmux_by_itself() {
        let passed = wrap_for_tmux("\x1b_Ga\x1b\\\x1b_Gb\x1b\\", true);
        assert_eq!(passed, "\x1bPtmux;\x1b\x1b_Ga\x1b\x1b\\\x1b\\\x1bPtmux;\x1b\x1b_Gb\x1b\x1b\\\x1b\\");
    }
}
