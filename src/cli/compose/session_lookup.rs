//! Finds the session that an argument names, before anything is composed from it.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::environment::{Environment, OnBadConfig};
use crate::args::CliArgs;
use crate::commands::table;
use crate::live::record;
use crate::process::exit::Refusal;
use crate::process::plain;
use tau_agent::session::foreign::places::{self, ForeignPlaces};
use tau_agent::session::list;
use tau_agent::settings::Paths;
use tau_app::time_format;
use tau_protocol::live_session::LiveState;
use tau_protocol::session_row::{SessionOrigin, SessionRow};

/// The directory of the session named by the arguments, if it exists. A missing session is refused later.
pub fn directory(args: &CliArgs, on_bad_config: OnBadConfig) -> Option<PathBuf> {
    if args.session.is_none() && args.session_id.is_none() {
        return None;
    }
    let environment = Environment::read(args, on_bad_config).ok()?;
    let root = environment.settings.session_root(&environment.paths);
    let (path, source) = match (&args.session, &args.session_id) {
        (Some(wanted), _) => find(&root, wanted).ok()?,
        (None, Some(id)) if !args.no_session => (list::of_id(&root, id)?, SessionOrigin::Tau),
        (None, _) => return None,
    };
    places::directory(&path, source).filter(|dir| dir.is_dir())
}

/// The session in `cwd` that was changed last, except archived ones; with `printed`, runs of print mode count too.
pub(crate) fn newest(paths: &Paths, root: &Path, cwd: &Path, printed: bool) -> Option<PathBuf> {
    let is_archived = |id: &str| record::of(paths, id).is_some_and(|found| found.record.archived);
    list::newest_of(root, cwd, printed, &|id| !is_archived(id))
}

/// Where other agents keep their sessions; `root` is the folder of tau's own.
pub(crate) fn places(root: &Path) -> ForeignPlaces {
    ForeignPlaces::of(std::env::home_dir().as_deref(), &|name| std::env::var_os(name), root)
}

/// Minimum number of an ID's digits in lists.
const MIN_DIGITS: usize = 4;

/// Short names of sessions: the last digits of their IDs, as many as tell them apart. An ID chosen by a user
/// is short itself. Of sessions of two programs with one ID, the program comes before it; those of one program are
/// named by their files.
pub(crate) fn short_ids(rows: &[SessionRow]) -> Vec<String> {
    let mut sources: HashMap<&str, Vec<SessionOrigin>> = HashMap::new();
    rows.iter().for_each(|row| sources.entry(&row.id).or_default().push(row.source));
    let backwards = |text: &str| text.chars().rev().collect::<String>();
    let ids: BTreeSet<String> = sources.keys().map(|id| id.to_ascii_lowercase()).collect();
    let reversed: BTreeSet<String> = ids.iter().map(|id| backwards(id)).collect();
    let count = |sorted: &BTreeSet<String>, start: &str| {
        sorted.range(start.to_owned()..).take(2).take_while(|id| id.starts_with(start)).count()
    };
    let is_random = |row: &SessionRow| is_uuid(&row.id) || row.source == SessionOrigin::Opencode;
    let end = |id: &str, digits: usize| id.get(id.len().saturating_sub(digits)..).unwrap_or(id).to_owned();
    let short = |row: &SessionRow| {
        let is_alone = |digits: &usize| {
            let name = end(&row.id, *digits).to_ascii_lowercase();
            let own = usize::from(row.id.to_ascii_lowercase().starts_with(&name));
            count(&reversed, &backwards(&name)) == 1 && count(&ids, &name) == own
        };
        let name = match is_random(row) {
            true => end(&row.id, (MIN_DIGITS..12).find(is_alone).unwrap_or(36)),
            false => row.id.clone(),
        };
        let twins = sources.get(row.id.as_str()).map(Vec::as_slice).unwrap_or_default();
        match twins.iter().filter(|source| **source == row.source).count() {
            2.. if !row.path.as_os_str().is_empty() => row.path.display().to_string(),
            1 if twins.len() > 1 => format!("{}:{name}", row.source.name()),
            _ => name,
        }
    };
    rows.iter().map(short).collect()
}

fn is_uuid(id: &str) -> bool {
    id.len() == 36 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// A short name of one session, for messages: as many of its ID's last digits as tell it apart from thousands.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(28..).filter(|_| is_uuid(id)).unwrap_or(id)
}

/// The sessions as a table: short name, whose it is, age, messages, state unless idle, title, and the directory
/// if `all` are meant.
pub(crate) fn rows_as_table(
    rows: &[SessionRow],
    state: &dyn Fn(&SessionRow) -> LiveState,
    all: bool,
) -> String {
    let now = jiff::Timestamp::now().as_millisecond();
    let lines = rows.iter().zip(short_ids(rows)).map(|(row, id)| {
        let directory = if all { plain::line(&row.cwd.display().to_string()) } else { String::new() };
        let age = time_format::age(now.saturating_sub(row.modified));
        let is_counted = row.messages > 0 || !row.source.is_foreign();
        let messages = if is_counted { row.messages.to_string() } else { String::new() };
        let source = row.source.name().to_owned();
        let state = Some(state(row)).filter(|state| *state != LiveState::Idle).map(LiveState::name);
        let state = state.unwrap_or_default().to_owned();
        let title = match &row.helper {
            Some(kind) => format!("↳ {kind}: {}", row.title()),
            None => row.title(),
        };
        [plain::line(&id), source, age, messages, state, plain::line(&cut(&title)), directory]
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

/// The file of the session of tau named by `wanted`: a path, an id, its beginning or its last digits, perhaps with the
/// program before it (`claude:ID`). Fails when there is no such session, or more than one.
pub(crate) fn file_of(root: &Path, wanted: &str) -> Result<PathBuf, Refusal> {
    let refused = match find_among(root, &ForeignPlaces::default(), wanted) {
        Ok((path, _)) => return Ok(path),
        Err(refused) if wanted.is_empty() => return Err(refused),
        Err(refused) => refused,
    };
    match find(root, wanted) {
        Ok((_, source)) if source.is_foreign() => Err(Refusal::config(format!(
            "the session \"{wanted}\" is of {}; `tau --session {wanted}` continues it in a copy, which is one of tau",
            source.program()
        ))),
        _ => Err(refused),
    }
}

/// Like [`file_of`], for sessions of all agents; and the program that wrote it. Fails when there is no such
/// session, or more than one.
pub(crate) fn find(root: &Path, wanted: &str) -> Result<(PathBuf, SessionOrigin), Refusal> {
    find_among(root, &places(root), wanted)
}

fn find_among(
    root: &Path,
    places: &ForeignPlaces,
    wanted: &str,
) -> Result<(PathBuf, SessionOrigin), Refusal> {
    let path = Path::new(wanted);
    if wanted.contains('/') || wanted.ends_with(".jsonl") {
        return Ok((path.to_owned(), places.origin(path)));
    }
    let program =
        wanted.split_once(':').and_then(|(name, id)| Some((name.parse::<SessionOrigin>().ok()?, id)));
    let (program, id) = program.map_or((None, wanted), |(program, id)| (Some(program), id));
    // The only session has not been named by nothing, as by an unset variable of a script.
    if id.is_empty() {
        return Err(Refusal::config("the ID of the session is empty; `tau sessions --all` lists them"));
    }
    let own = list::with_id(root, id).into_iter().map(|path| (path, SessionOrigin::Tau));
    let here = std::env::current_dir().ok();
    let mut several: Vec<_> = own.chain(places.with_id(id, here.as_deref())).collect();
    several.retain(|(_, source)| program.is_none_or(|program| program == *source));
    match several.as_slice() {
        [only] => return Ok(only.clone()),
        [] => {
            return Err(Refusal::config(format!("no session \"{wanted}\"; `tau sessions --all` lists them")));
        }
        _ => {}
    }
    let row_of = |(path, source): &(PathBuf, SessionOrigin)| match source {
        SessionOrigin::Tau => list::row_of(path),
        source => places::row_of(path, *source),
    };
    let mut rows: Vec<SessionRow> = several.iter().filter_map(row_of).collect();
    // A copy of tau has the ID of the session that it continues, and comes first.
    if let Some(first) = rows.iter().find(|row| row.id == id).map(|row| row.source) {
        rows.retain(|row| row.id == id && row.source == first);
    }
    // In this directory's list, a name only has to differ from the others there.
    let is_here = |cwd: &Path| {
        here.as_deref().is_some_and(|here| cwd == here || cwd.canonicalize().is_ok_and(|cwd| cwd == here))
    };
    let in_here = |row: &&SessionRow| is_here(&row.cwd);
    let chosen = match (rows.as_slice(), rows.iter().filter(in_here).collect::<Vec<_>>().as_slice()) {
        ([only], _) => Some((only.path.clone(), only.source)),
        (_, [only]) => Some((only.path.clone(), only.source)),
        // Opening it says what is wrong.
        ([], _) => several.first().cloned(),
        _ => None,
    };
    chosen.ok_or_else(|| {
        let table = rows_as_table(&rows, &|_| LiveState::Idle, true);
        Refusal::config(format!(
            "{} sessions have an ID that begins or ends with \"{id}\"; give one of these:\n{}",
            rows.len(),
            table.trim_end()
        ))
    })
}
