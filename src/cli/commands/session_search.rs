//! `tau sessions search`: finds words in all that was said in sessions.

use std::collections::HashMap;
use std::path::Path;

use serde_json::json;

use crate::args::sessions::SessionsArgs;
use crate::commands::export;
use crate::compose;
use crate::compose::environment::Environment;
use crate::compose::session_lookup::{places, short_ids};
use crate::process::exit::{Exit, Refusal, say, warn};
use crate::process::plain;
use tau_agent::session::all;
use tau_agent::session::search::{SearchLimits, SearchScope, SessionHit, has_words, search};
use tau_protocol::session_row::SessionRow;
use tau_tools::counted::pluralize;
use tau_tools::path_text;

/// Runs the command. Fails when the settings or the index cannot be read.
pub(crate) fn run(args: &SessionsArgs, query: &str, limit: usize) -> Result<Exit, Refusal> {
    if !has_words(query) {
        return Err(Refusal::usage(
            "there is no word to search for; `tau sessions search WORDS` finds what was said",
        ));
    }
    let environment = Environment::of_sessions(args.session_dir.as_deref())?;
    let root = environment.settings.session_root(&environment.paths);
    let here = if args.all { None } else { Some(compose::here()?) };
    let others = places(&root);
    others.troubles().iter().for_each(|trouble| warn(trouble));
    let scope = SearchScope {
        root: &root,
        others: &others,
        cwd: here.as_deref(),
        index: &environment.paths.search_index(),
        list_index: &environment.paths.session_index(),
        secrets: &export::secrets(&environment.keys),
    };
    let mut hits = Vec::new();
    // One more tells whether there are more.
    let total = limit.saturating_add(1);
    let limits = SearchLimits { per_session: total, total };
    search(&scope, query, limits, &mut |hit| {
        hits.extend(hit);
        true
    })
    .map_err(Refusal::config)?;
    // Those in sessions that were not in the index yet come last.
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.session.modified));
    if hits.len() > limit {
        hits.truncate(limit);
        let limit = pluralize(limit as u64, "hit");
        warn(&format!("there are more than {limit}; --limit shows more"));
    }
    let text = match args.json {
        true => as_json(&hits),
        false => {
            // As in the list, so that `--session` takes them.
            let rows = match hits.is_empty() {
                true => Vec::new(),
                false => all::rows(&root, &others, here.as_deref(), &environment.paths.session_index()),
            };
            as_text(&hits, &rows, args.all)
        }
    };
    match say(&text) {
        Exit::Ok if hits.is_empty() => {
            let where_else = if args.all { "" } else { "; --all searches the sessions of all directories" };
            warn(&format!("nothing found{where_else}"));
            Ok(Exit::Model)
        }
        exit => Ok(exit),
    }
}

fn as_json(hits: &[SessionHit]) -> String {
    let line = |hit: &SessionHit| {
        let session = &hit.session;
        let hit = json!({
            "id": session.id,
            "source": session.source,
            "title": session.title(),
            "directory": path_text::text(&session.cwd),
            "path": path_text::text(&session.path),
            "entry": hit.entry,
            "text": hit.text,
        });
        hit.to_string()
    };
    match hits {
        [] => "[]\n".to_owned(),
        hits => format!("[\n{}\n]\n", hits.iter().map(line).collect::<Vec<_>>().join(",\n")),
    }
}

/// The hits below their sessions, which are named as among `rows`.
fn as_text(hits: &[SessionHit], rows: &[SessionRow], all: bool) -> String {
    let names: HashMap<&Path, String> =
        rows.iter().map(|row| row.path.as_path()).zip(short_ids(rows)).collect();
    let mut text = String::new();
    let mut last: Option<&Path> = None;
    for hit in hits {
        let session = &hit.session;
        if last != Some(session.path.as_path()) {
            let name = names.get(session.path.as_path()).unwrap_or(&session.id);
            let place = if all { format!("  {}", session.cwd.display()) } else { String::new() };
            let head = format!("{name}  {}  {}{place}", session.source.name(), session.title());
            text.push_str(&plain::line(&head));
            text.push('\n');
            last = Some(&session.path);
        }
        text.push_str(&format!("  {}\n", plain::line(&hit.text)));
    }
    text
}
