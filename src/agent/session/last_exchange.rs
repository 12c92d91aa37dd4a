//! The last exchange of a session, for previews.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::entry::Entry;
use super::foreign::{load, sniff::sniff};
use super::list::is_conversation;
use super::read::lines;
use super::words::{cut, words_of};
use crate::settings::private_files::open_regular;
use tau_protocol::session_row::LastExchange;

/// The bytes at the end of a file that are read for its last exchange.
const END: u64 = 512 * 1024;

/// The last exchange of a session, without reading it completely.
pub fn last_exchange(path: &Path) -> std::io::Result<LastExchange> {
    if let Some(origin) = sniff(path) {
        return load::last_exchange(path, origin);
    }
    let mut file = open_regular(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(END)))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    let mut last = LastExchange::default();
    let people: Vec<&[u8]> = lines(&bytes).filter(|line| is_conversation(line)).collect();
    for line in people.iter().rev() {
        let entry = std::str::from_utf8(line).ok().and_then(Entry::parse);
        match entry.as_ref().and_then(words_of) {
            Some((true, text)) => {
                last.user = cut(&text);
                return Ok(last);
            }
            Some((false, text)) if last.model.is_empty() => last.model = cut(&text),
            _ => {}
        }
    }
    Ok(last)
}
