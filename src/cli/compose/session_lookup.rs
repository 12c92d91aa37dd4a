//! Finds the session that an argument names, before anything is composed from it.

use std::path::{Path, PathBuf};

use super::environment::{Environment, OnBadConfig};
use crate::args::CliArgs;
use crate::commands::table;
use crate::process::exit::Refusal;
use crate::process::plain;
use tau_agent::session::list;
use tau_app::time_format;
use tau_protocol::session_row::SessionRow;

/// The directory of the session named by the arguments, if it exists. A missing session is refused later.
pub fn directory(args: &CliArgs, on_bad_config: OnBadConfig) -> Option<PathBuf> {
    if args.session.is_none() && args.session_id.is_none() {
        return None;
    }
    let environment = Environment::read(args, on_bad_config).ok()?;
    let root = environment.settings.session_root(&environment.paths);
    let path = match (&args.session, &args.session_id) {
        (Some(wanted), _) => file_of(&root, wanted).ok()?,
        (None, Some(id)) if !args.no_session => list::of_id(&root, id)?,
        (None, _) => return None,
    };
    list::directory(&path).filter(|dir| dir.is_dir())
}

/// Minimum number of an ID's digits in lists.
const MIN_DIGITS: usize = 4;

/// Short names of sessions: the last digits of their IDs, as many as tell them apart. An ID chosen by a user
/// is short itself.
pub(crate) fn short_ids(rows: &[SessionRow]) -> Vec<String> {
    let is_random = |id: &str| id.len() == 36 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let end = |id: &str, digits: usize| id.get(id.len().saturating_sub(digits)..).unwrap_or(id).to_owned();
    let short = |row: &SessionRow| {
        let others = || rows.iter().filter(|other| other.id != row.id);
        let is_alone = |digits: &usize| {
            let name = end(&row.id, *digits);
            !others().any(|other| other.id.ends_with(&name) || other.id.starts_with(&name))
        };
        match is_random(&row.id) {
            true => end(&row.id, (MIN_DIGITS..12).find(is_alone).unwrap_or(36)),
            false => row.id.clone(),
        }
    };
    rows.iter().map(short).collect()
}

/// The sessions as a table: short name, age, messages, title, and the directory if `all` is set.
pub(crate) fn rows_as_table(rows: &[SessionRow], all: bool) -> String {
    let now = jiff::Timestamp::now().as_millisecond();
    let lines = rows.iter().zip(short_ids(rows)).map(|(row, id)| {
        let directory = if all { plain::line(&row.cwd.display().to_string()) } else { String::new() };
        let age = time_format::age(now.saturating_sub(row.modified));
        [plain::line(&id), age, row.messages.to_string(), plain::line(&cut(&row.title())), directory]
    });
    table::columns(&lines.collect::<Vec<_>>())
}

/// A title of at most 60 characters.
fn cut(title: &str) -> String {
    match title.char_indices().nth(MAX_TITLE) {
        Some((end, _)) => format!("{}…", title.get(..end).unwrap_or(title).trim_end()),
        None => title.to_owned(),
    }
}

/// Maximum number of characters of a title.
const MAX_TITLE: usize = 60;

/// The file of the session named by `wanted`: a path, an id, its beginning or its last digits.
///
/// # Errors
/// When there is no such session, or more than one.
pub(crate) fn file_of(root: &Path, wanted: &str) -> Result<PathBuf, Refusal> {
    let path = Path::new(wanted);
    if wanted.contains('/') || wanted.ends_with(".jsonl") {
        return Ok(path.to_owned());
    }
    match list::with_id(root, wanted).as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Refusal::config(format!("no session \"{wanted}\"; `tau sessions --all` lists them"))),
        several => {
            let rows: Vec<SessionRow> = several.iter().filter_map(|path| list::row_of(path)).collect();
            let table = rows_as_table(&rows, true);
            Err(Refusal::config(format!(
                "{} sessions have an ID that begins or ends with \"{wanted}\"; give one of these:\n{}",
                several.len(),
                table.trim_end()
            )))
        }
    }
}
