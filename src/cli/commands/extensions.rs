//! `tau extensions`: the extensions loaded from files, and their faults.

use std::fmt::Write;

use serde_json::json;

use super::table;
use crate::args::CliArgs;
use crate::args::extensions::ExtensionsArgs;
use crate::compose;
use crate::compose::environment::Environment;
use crate::compose::host::model_by_name;
use crate::process::exit::{Exit, Refusal, say};
use crate::process::plain;
use tau_agent::extensions::registry::LoadedExtensions;
use tau_protocol::extension::{ExtensionKind, ExtensionRow};
use tau_tools::counted::pluralize;

/// Runs the command; returns the program's end.
pub(crate) fn run(args: &ExtensionsArgs) -> Result<Exit, Refusal> {
    let all = CliArgs { trust: args.trust, ..CliArgs::without_arguments() };
    let (environment, _, cwd) = Environment::read_here(&all)?;
    let extensions = compose::extensions_of(&all, &environment.paths, &environment.settings);
    let loaded = extensions.load(&cwd);
    let mut rows = extensions.rows();
    loaded.name_models(&mut rows, |model| model_by_name(&environment.keys, model).err());
    let text = if args.json {
        json!({ "extensions": rows, "problems": loaded.problems }).to_string() + "\n"
    } else {
        format_list(&rows, &loaded)
    };
    Ok(environment.exit(say(&text)))
}

/// The extensions by kind, then the faults.
fn format_list(rows: &[ExtensionRow], loaded: &LoadedExtensions) -> String {
    let mut text = String::new();
    for kind in ExtensionKind::ALL {
        let of_kind: Vec<[String; 5]> = rows.iter().filter(|row| row.kind == kind).map(columns).collect();
        if !of_kind.is_empty() {
            let _ = writeln!(text, "{}", kind.heading());
            text.push_str(&table::columns(&of_kind));
        }
    }
    let mut wrong = String::new();
    for row in rows.iter().filter(|row| !row.problems.is_empty()) {
        let place = row.path.as_ref().map_or_else(|| row.name.clone(), |path| path.display().to_string());
        for problem in &row.problems {
            let _ = writeln!(wrong, "{}: {}", plain::line(&place), plain::line(problem));
        }
    }
    for problem in &loaded.problems {
        let _ = writeln!(wrong, "{}", plain::line(problem));
    }
    if !wrong.is_empty() {
        let _ = write!(text, "\nProblems\n{wrong}");
    }
    text
}

/// State, name, source, tokens and description.
fn columns(row: &ExtensionRow) -> [String; 5] {
    // What a hook runs is to be seen.
    let most = if row.kind == ExtensionKind::Hook { usize::MAX } else { 60 };
    [
        row.state.name().to_owned(),
        plain::line(&row.name),
        row.source.name().to_owned(),
        row.tokens.map(|tokens| pluralize(tokens, "token")).unwrap_or_default(),
        plain::line(&row.description.chars().take(most).collect::<String>()),
    ]
}
