//! Reads what is new in sessions, for the index: on a few threads, newest sessions first.
//!
//! tau's own files and pi's are only appended to, so reading continues where it ended. Others are converted as a
//! whole, and entries that are stored already are left out.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use super::said::text_of;
use super::store::{FileRow, NewText, Store, compress, most_entries};
use super::tokens;
use crate::secrets::redact::Redactor;
use crate::session::entry::Entry;
use crate::session::foreign::load;
use crate::session::read::bare;
use crate::session::survey::hash;
use crate::settings::private_files::open_regular;
use tau_protocol::session_row::SessionOrigin;

/// The maximum length of a row's text, in bytes: what is looked at again for each hit.
const PIECE: usize = 256 * 1024;
/// The bytes of text that are stored together.
const PART: usize = 4 * 1024 * 1024;
/// The parts that wait to be stored.
const WAITING: usize = 4;
/// The bytes before a position by which a file is recognised.
const TAIL: usize = 256;
/// The maximum number of threads that read.
const READERS: usize = 4;

/// A file whose content is not, or not all, in the index.
#[derive(Debug)]
pub(super) struct Stale<'a> {
    pub(super) path: &'a Path,
    pub(super) origin: SessionOrigin,
    pub(super) size: i64,
    pub(super) modified: i64,
    pub(super) known: Option<FileRow>,
}

/// A stale file with everything that its reader needs.
struct Job<'a> {
    file: &'a Stale<'a>,
    known: FileRow,
    /// The stored entries of a file that is read as a whole.
    hashes: HashMap<u32, u64>,
}

/// A part that was read.
struct Part {
    job: usize,
    texts: Vec<NewText>,
    /// Remove entries from this number on first.
    cut: Option<u32>,
    /// The state after it.
    known: FileRow,
    is_last: bool,
}

/// Stores what is new in `files`; `stored` is called for each of them with its number in the index, and between
/// them with `None`, and returns whether to continue.
pub(super) fn gather(
    store: &Store,
    files: &[Stale<'_>],
    redactor: &Redactor,
    stored: &mut dyn FnMut(Option<(usize, i64)>) -> bool,
) -> io::Result<()> {
    let jobs =
        store.all_or_nothing(|| files.iter().map(|file| job(store, file)).collect::<io::Result<Vec<_>>>())?;
    let (sender, parts) = sync_channel::<Part>(WAITING);
    let next = AtomicUsize::new(0);
    let readers = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, READERS);
    std::thread::scope(|scope| {
        for _ in 0..readers.min(jobs.len()) {
            let (sender, mut redactor, next, jobs) = (sender.clone(), redactor.clone(), &next, &jobs);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { return };
                    let mut reader = Reader {
                        job,
                        at,
                        redactor: &mut redactor,
                        sender: &sender,
                        part: Vec::new(),
                        bytes: 0,
                    };
                    // A file that cannot be read now is read with the next search.
                    if let Err(error) = reader.read() {
                        tracing::debug!(%error, path = %job.file.path.display(), "a session was not indexed");
                    }
                }
            });
        }
        drop(sender);
        // Leaving the loop drops the receiver, which ends the readers.
        let mut parts = parts.into_iter();
        while let Some(first) = parts.next() {
            let mut bytes = size_of_part(&first);
            let mut together = vec![first];
            while bytes < PART {
                let Some(part) = parts.next() else { break };
                bytes = bytes.saturating_add(size_of_part(&part));
                together.push(part);
            }
            store.all_or_nothing(|| together.iter().try_for_each(|part| put(store, part)))?;
            for part in together.iter().filter(|part| part.is_last) {
                if !stored(Some((part.job, part.known.id))) {
                    return Ok(());
                }
            }
            if !stored(None) {
                return Ok(());
            }
        }
        Ok(())
    })
}

fn size_of_part(part: &Part) -> usize {
    part.texts
        .iter()
        .map(|text| text.text.len().saturating_add(text.words.len()))
        .sum::<usize>()
        .saturating_add(1024)
}

fn job<'a>(store: &Store, file: &'a Stale<'a>) -> io::Result<Job<'a>> {
    let known = match file.known {
        Some(known) => known,
        None => store.add_file(file.path)?,
    };
    let is_whole = !is_appended(file.origin) && known.next > 0;
    let hashes = if is_whole { store.hashes(known.id)? } else { HashMap::new() };
    Ok(Job { file, known, hashes })
}

/// Whether the files of this program are only appended to, one entry a line.
fn is_appended(origin: SessionOrigin) -> bool {
    matches!(origin, SessionOrigin::Tau | SessionOrigin::Pi)
}

fn put(store: &Store, part: &Part) -> io::Result<()> {
    if let Some(from) = part.cut {
        store.cut(part.known.id, from)?;
    }
    part.texts.iter().try_for_each(|text| store.put(part.known.id, text))?;
    store.set_file(&part.known)
}

struct Reader<'a> {
    job: &'a Job<'a>,
    at: usize,
    redactor: &'a mut Redactor,
    sender: &'a SyncSender<Part>,
    part: Vec<NewText>,
    bytes: usize,
}

impl Reader<'_> {
    fn read(&mut self) -> io::Result<()> {
        if is_appended(self.job.file.origin) { self.read_lines() } else { self.read_whole() }
    }

    /// Reads the lines after those that were read before.
    fn read_lines(&mut self) -> io::Result<()> {
        let mut file = open_regular(self.job.file.path)?;
        let mut known = FileRow { size: -1, ..self.job.known };
        let mut cut = None;
        if known.read > 0 && tail_hash(&file, known.read)? != known.tail {
            // It is another file now.
            (known.read, known.next, cut) = (0, 0, Some(0));
        }
        file.seek(SeekFrom::Start(known.read))?;
        let mut lines = BufReader::with_capacity(256 * 1024, &file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = lines.read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            let entry = std::str::from_utf8(bare(&line)).ok().and_then(Entry::parse);
            let next = entry.as_ref().map_or(known.next, |entry| self.add(known.next, entry));
            // A line without its end may still be written: it is read again with the next one.
            if line.last() != Some(&b'\n') {
                break;
            }
            known.read = known.read.saturating_add(length as u64);
            known.next = next;
            if self.bytes > PART {
                known.tail = tail_hash(&file, known.read)?;
                if !self.send(cut.take(), known, false) {
                    return Ok(());
                }
            }
        }
        known.tail = if known.read > 0 { tail_hash(&file, known.read)? } else { 0 };
        (known.size, known.modified) = (self.job.file.size, self.job.file.modified);
        self.send(cut, known, true);
        Ok(())
    }

    /// Reads the whole session, and leaves out what is stored.
    fn read_whole(&mut self) -> io::Result<()> {
        let entries = load::entries(self.job.file.path, self.job.file.origin)?;
        let mut known = FileRow { size: -1, ..self.job.known };
        let mut count = 0;
        for entry in &entries {
            count = self.add(count, entry);
            known.next = known.next.max(count);
            if self.bytes > PART && !self.send(None, known, false) {
                return Ok(());
            }
        }
        known.next = count;
        (known.size, known.modified) = (self.job.file.size, self.job.file.modified);
        self.send(Some(count), known, true);
        Ok(())
    }

    /// Adds the text of an entry in rows from this number on; returns the next number.
    fn add(&mut self, mut number: u32, entry: &Entry) -> u32 {
        let text = text_of(entry);
        if text.is_empty() {
            return number;
        }
        // Those of the pieces of a text follow each other.
        let mut hash = hash(text.as_bytes());
        let first = number;
        while self.job.hashes.get(&number) == Some(&hash) {
            (number, hash) = (number.saturating_add(1), hash.wrapping_add(1));
        }
        if number > first {
            return number;
        }
        for text in pieces(&self.redactor.text(&text)) {
            if number >= most_entries() {
                break;
            }
            let new = NewText {
                number,
                entry: entry.id.to_string(),
                hash,
                words: tokens::distinct(text),
                text: compress(text),
            };
            self.bytes = self.bytes.saturating_add(new.text.len()).saturating_add(new.words.len());
            self.part.push(new);
            (number, hash) = (number.saturating_add(1), hash.wrapping_add(1));
        }
        number
    }

    /// Sends the collected part; false if nobody waits for it any more.
    fn send(&mut self, cut: Option<u32>, known: FileRow, is_last: bool) -> bool {
        self.bytes = 0;
        let texts = std::mem::take(&mut self.part);
        self.sender.send(Part { job: self.at, texts, cut, known, is_last }).is_ok()
    }
}

/// A text in pieces, which end with a line or a word where they can.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while rest.len() > PIECE {
        let most = rest.floor_char_boundary(PIECE);
        let bytes = rest.as_bytes().get(..most).unwrap_or_default();
        let end = memchr::memrchr(b'\n', bytes).or_else(|| memchr::memrchr(b' ', bytes));
        let (piece, more) = rest.split_at(end.map_or(most, |at| at.saturating_add(1)));
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    pieces
}

/// The hash of the bytes before a position.
fn tail_hash(file: &std::fs::File, end: u64) -> io::Result<u64> {
    let from = end.saturating_sub(TAIL as u64);
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(from)).unwrap_or_default()];
    match file.read_exact_at(&mut bytes, from) {
        // It is shorter now.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        read => read.map(|()| hash(&bytes)),
    }
}
