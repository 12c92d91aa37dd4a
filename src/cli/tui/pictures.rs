//! A thread that decodes, scales and encodes pictures, one at a time.
//!
//! The input is hostile: a file of any kind and size. The sizes of the file, of the picture and of the memory
//! for decoding are limited; anything but a picture is not shown.

mod encode;
mod sixel;

use std::collections::VecDeque;
use std::io::{self, Cursor};
use std::sync::mpsc as blocking;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::{ImageReader, Limits, RgbaImage};
use tokio::sync::mpsc;

use tau_view::picture::{PictureJob, PictureKey, PictureOutcome, PreparedPicture};

/// Maximum size of a file, in bytes of base64.
const MAX_BASE64: usize = 32 * 1024 * 1024;
/// Maximum length of a side, in pixels.
const MAX_SIDE: u32 = 16_384;
/// Maximum memory for decoding, in bytes.
const MAX_DECODED: u64 = 192 * 1024 * 1024;

/// A finished job.
pub(crate) type FinishedPicture = (PictureKey, PictureOutcome);

/// The thread, started for the first picture.
pub struct PictureWorker {
    jobs: Option<blocking::Sender<PictureJob>>,
    done: mpsc::UnboundedReceiver<FinishedPicture>,
    sender: mpsc::UnboundedSender<FinishedPicture>,
}

impl Default for PictureWorker {
    fn default() -> Self {
        let (sender, done) = mpsc::unbounded_channel();
        PictureWorker { jobs: None, done, sender }
    }
}

impl PictureWorker {
    /// Starts a job. Fails when no more threads can be created.
    pub(crate) fn start(&mut self, job: PictureJob) -> io::Result<()> {
        if self.jobs.is_none() {
            let (jobs, queue) = blocking::channel();
            let done = self.sender.clone();
            std::thread::Builder::new().name("pictures".to_owned()).spawn(move || work(&queue, &done))?;
            self.jobs = Some(jobs);
        }
        if let Some(jobs) = &self.jobs {
            // The thread ends with the program.
            let _ = jobs.send(job);
        }
        Ok(())
    }

    /// The next finished job.
    pub(crate) async fn next(&mut self) -> FinishedPicture {
        match self.done.recv().await {
            Some(done) => done,
            // Not while the sender exists.
            None => std::future::pending().await,
        }
    }
}

fn work(queue: &blocking::Receiver<PictureJob>, done: &mpsc::UnboundedSender<FinishedPicture>) {
    let mut waiting: VecDeque<PictureJob> = VecDeque::new();
    while let Some(job) = waiting.pop_front().or_else(|| queue.recv().ok()) {
        waiting.extend(queue.try_iter());
        // While a window is resized, only the last size counts.
        let is_old = waiting.iter().any(|newer| newer.key.id == job.key.id);
        let outcome = if is_old { PictureOutcome::Dropped } else { prepare(&job) };
        if done.send((job.key, outcome)).is_err() {
            return;
        }
    }
}

fn prepare(job: &PictureJob) -> PictureOutcome {
    let prepared = decode(job.picture.data()).and_then(|picture| {
        let (columns, rows) = job.key.room.fit(picture.dimensions());
        let pixels = encode::pixels(&picture, job.key, columns, rows)?;
        Some(PreparedPicture { columns, rows, pixels })
    });
    prepared.map_or(PictureOutcome::Failed, PictureOutcome::Prepared)
}

/// Decodes a picture; of an animation, the first frame. `None` if it cannot be decoded or is too large.
fn decode(base64: &str) -> Option<RgbaImage> {
    if base64.len() > MAX_BASE64 {
        return None;
    }
    let bytes = BASE64_STANDARD.decode(base64).ok()?;
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED);
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    reader.limits(limits);
    Some(reader.decode().ok()?.into_rgba8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_picture_is_not_shown() {
        for data in ["", "AAAA", "not base64", "iVBORw0KGgo="] {
            assert!(decode(data).is_none(), "{data:?}");
        }
    }

    #[test]
    fn a_small_file_of_a_huge_picture_is_not_decoded() {
        let mut header = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        header.extend([0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 8, 6, 0, 0, 0]);
        assert!(decode(&BASE64_STANDARD.encode(header)).is_none());
    }
}
