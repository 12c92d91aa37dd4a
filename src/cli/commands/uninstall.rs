//! `tau uninstall`: removes the program, and with `--purge` what it has written.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use super::table;
use crate::args::CliArgs;
use crate::args::uninstall::UninstallArgs;
use crate::compose::environment::{Environment, OnBadConfig};
use crate::process::exit::{Exit, Refusal, say, warn};
use crate::process::plain;
use crate::upkeep::origin::Origin;
use crate::upkeep::retention;
use crate::upkeep::written::{self, SharedFolder, Size, WrittenFiles};
use crate::worktrees;
use tau_agent::session::list;
use tau_agent::settings::paths::in_short;
use tau_tools::counted::{byte_size, pluralize};
use tau_tools::user_error::UserError;

/// Runs the command; returns the program's end.
pub fn run(args: &UninstallArgs) -> Result<Exit, Refusal> {
    let environment = Environment::read(&CliArgs::without_arguments(), OnBadConfig::Warn)?;
    let origin = Origin::here();
    let found = written::find(&environment.settings, &environment.paths, &std::env::temp_dir()).map_err(
        |SharedFolder(folder)| {
            let folder = plain::line(&in_short(&folder));
            Refusal::config(format!(
                "{folder} holds more than tau's files; remove them yourself, `tau doctor` says where"
            ))
        },
    )?;
    let mut rows = Vec::new();
    if let Origin::Script(folder) = &origin {
        rows.push(WrittenFiles::new(written::PROGRAM, folder.parts()));
    }
    if args.purge {
        rows.extend(found.iter().cloned());
        refuse_if_open(&environment)?;
    }
    let listed = format_list(&rows);
    let mut exit = Exit::Ok;
    if !rows.is_empty() {
        let chosen = if args.yes { (0..rows.len()).collect() } else { choose(&listed, rows.len())? };
        if args.yes {
            say(&listed);
        }
        if chosen.iter().any(|row| rows.get(*row).is_some_and(|row| row.kind == written::WORKTREES)) {
            worktrees::forget_all(&environment.paths);
        }
        exit = remove(&rows, &chosen);
    }
    let paths = &environment.paths;
    let emptied = [&paths.cache, &paths.state, &paths.data, &paths.config];
    for folder in emptied.into_iter().filter(|_| args.purge) {
        written::remove_if_empty(folder);
    }
    if let Origin::Script(folder) = &origin {
        let _ = std::fs::remove_dir(folder.path());
    }
    say(&rest(&origin, &found, args.purge));
    Ok(exit)
}

/// Refuses while a session is open, which would be written again.
fn refuse_if_open(environment: &Environment) -> Result<(), Refusal> {
    let root = environment.settings.session_root(&environment.paths);
    let mut open = None;
    list::list(&root, None, &mut |row| {
        open = retention::is_open(&row.path).then(|| row.title());
        open.is_none()
    });
    match open {
        Some(title) => {
            let title = plain::line(&title);
            Err(Refusal::config(format!("the session \"{title}\" is open; end tau there, then try again")))
        }
        None => Ok(()),
    }
}

/// The rows with numbers, sizes and places.
fn format_list(rows: &[WrittenFiles]) -> String {
    let row = |(at, row): (usize, &WrittenFiles)| {
        let places: Vec<String> = row.paths.iter().take(3).map(|path| plain::line(&in_short(path))).collect();
        let more = row.paths.len().saturating_sub(places.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let size = format!("{} in {}", byte_size(row.size.bytes), pluralize(row.size.files, "file"));
        [(at + 1).to_string(), row.kind.to_owned(), size, format!("{}{more}", places.join(", "))]
    };
    let lines: Vec<[String; 4]> = rows.iter().enumerate().map(row).collect();
    let sum = rows.iter().fold(Size::default(), |sum, row| sum.plus(row.size));
    let kept = rows.iter().flat_map(|row| &row.kept);
    let kept: String =
        kept.map(|path| format!("not tau's, stays: {}\n", plain::line(&in_short(path)))).collect();
    format!("{}together {}\n{kept}", table::columns(&lines), byte_size(sum.bytes))
}

/// Asks which rows to remove.
fn choose(listed: &str, count: usize) -> Result<BTreeSet<usize>, Refusal> {
    if !std::io::stdin().is_terminal() {
        say(listed);
        return Err(Refusal::usage("nothing was removed: nobody can be asked here; --yes removes all of it"));
    }
    say(&format!("{listed}Remove which? Type all, or numbers such as 1 3; Enter removes nothing: "));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(Refusal::config)?;
    parse_choice(&answer, count).map_err(|why| Refusal::usage(format!("nothing was removed: {why}")))
}

/// The rows in an answer.
fn parse_choice(answer: &str, count: usize) -> Result<BTreeSet<usize>, UserError> {
    let words = || answer.split([' ', ',', '\t', '\n', '\r']).filter(|word| !word.is_empty());
    if words().eq(["all"]) {
        return Ok((0..count).collect());
    }
    let row = |word: &str| {
        let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        number
            .filter(|row| *row < count)
            .ok_or_else(|| UserError::new(format!("there is no {} in the list", plain::line(word))))
    };
    words().map(row).collect()
}

/// Removes the chosen rows, and says so.
fn remove(rows: &[WrittenFiles], chosen: &BTreeSet<usize>) -> Exit {
    let mut exit = Exit::Ok;
    let mut text = String::new();
    for row in chosen.iter().filter_map(|row| rows.get(*row)) {
        let failures: Vec<(&PathBuf, std::io::Error)> =
            row.paths.iter().filter_map(|path| Some((path, row.remove(path).err()?))).collect();
        for (path, error) in &failures {
            warn(&format!("cannot remove {}: {error}", plain::line(&in_short(path))));
            exit = Exit::Model;
        }
        if failures.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "removed: {}, {}", row.kind, byte_size(row.size.bytes));
        }
    }
    if chosen.is_empty() {
        text.push_str("nothing was removed\n");
    }
    say(&text);
    exit
}

/// Names the command that is left to run, and the files that stay.
fn rest(origin: &Origin, found: &[WrittenFiles], purge: bool) -> String {
    let mut text = match origin {
        Origin::Script(_) => String::new(),
        Origin::Packager(packager) => {
            format!("tau was installed by {}; to remove the program:\n  {}\n", packager.name, packager.remove)
        }
        Origin::Archive(folder) => {
            format!("tau is in {}; remove this folder\n", plain::line(&in_short(folder)))
        }
        Origin::Unknown(path) => {
            format!("the program is {}; remove this file\n", plain::line(&in_short(path)))
        }
    };
    let sum = found.iter().fold(Size::default(), |sum, row| sum.plus(row.size));
    if !purge && sum.files > 0 {
        let size = byte_size(sum.bytes);
        let _ = writeln!(text, "settings, sessions and other files stay ({size}); --purge removes them, too");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_rows_or_all() {
        assert_eq!(parse_choice("all\n", 3), Ok(BTreeSet::from([0, 1, 2])));
        assert_eq!(parse_choice(" 3, 1 \n", 3), Ok(BTreeSet::from([0, 2])));
        assert_eq!(parse_choice("\n", 3), Ok(BTreeSet::new()));
        for wrong in ["4", "0", "-1", "1 x", "all 1", "y"] {
            assert!(parse_choice(wrong, 3).is_err(), "{wrong}");
        }
    }
}
