//! The last exchange of a session, for previews.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::entry::Entry;
use super::foreign::{load, sniff::sniff};
use super::list::is_conversation;
use super::read::lines;
use super::words::{exchange_of, words_of};
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
    let people: Vec<&[u8]> = lines(&bytes).filter(|line| is_conversation(line)).collect();
    let entries = people.iter().rev().filter_map(|line| Entry::parse(std::str::from_utf8(line).ok()?));
    Ok(exchange_of(entries.filter_map(|entry| words_of(&entry))))
}
