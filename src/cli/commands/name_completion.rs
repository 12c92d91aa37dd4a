//! The names that a shell completes: `tau __complete`, which the scripts of `tau completions` call.
//!
//! The argument being typed is found from the definition of the arguments; the placeholder of its value there
//! selects the kind of names. A name that a shell would not accept literally is left out; nothing here fails
//! loudly.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command};

use super::man_pages::definition;
use crate::args::CliArgs;
use crate::compose::environment::{Environment, OnBadConfig, paths};
use crate::compose::mcp_servers;
use crate::compose::session_lookup::{places, short_ids};
use crate::live::record::LiveRecord;
use crate::process::exit::{Exit, say};
use crate::process::plain;
use crate::proxy::tokens::{TOKENS_FILE, TokenTable};
use crate::services::files;
use crate::tui::theme_files::ThemeFiles;
use crate::{compose, live};
use tau_agent::catalogue::login::LOGINS;
use tau_agent::catalogue::search_services::SERVICES;
use tau_agent::session::all;
use tau_agent::settings::config_file::ConfigFile;

use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionState};
use tau_protocol::session_row::SessionRow;
use tau_tools::access::AllFiles;
use tau_tools::toolbox;

/// The word that introduces the scripts' questions.
pub(crate) const WORD: &str = "__complete";
/// The question with all words up to the cursor, one argument each.
pub(crate) const WORDS: &str = "words";
/// The question with the characters that end a word of bash, and the line up to the cursor.
pub(crate) const BASH: &str = "bash";
/// Maximum number of names, and of characters in a description.
const MAX_COUNT: usize = 200;
const MAX_LEN: usize = 60;

/// The kind of names that an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    Models,
    Providers,
    Sessions,
    /// Sessions that are open in a process.
    OpenSessions,
    Themes,
    Servers,
    /// The tokens of `tau proxy`.
    Clients,
    Tools,
    /// Tools, separated by commas.
    ToolList,
    /// Files that a prompt attaches.
    Attachments,
}

impl Names {
    /// The placeholders of values in the definition of the arguments.
    const TABLE: [(&str, Names); 11] = [
        ("MODEL", Names::Models),
        ("PROVIDER", Names::Providers),
        ("SESSION", Names::Sessions),
        ("ID|PATH", Names::Sessions),
        ("ID", Names::Sessions),
        ("ID|URL", Names::OpenSessions),
        ("THEME", Names::Themes),
        ("SERVER", Names::Servers),
        ("CLIENT", Names::Clients),
        ("TOOL", Names::Tools),
        ("A,B", Names::ToolList),
    ];

    /// The names that the argument takes, if it takes any.
    pub(crate) fn of(argument: &Arg) -> Option<Self> {
        let value = argument.get_value_names()?.first()?;
        Self::TABLE.iter().find(|(name, _)| *name == value.as_str()).map(|(_, names)| *names)
    }
}

/// The argument being typed.
#[derive(Debug, Default, PartialEq)]
struct TypedArgument {
    names: Option<Names>,
    /// The words that it can be, if there are only a few.
    words: Vec<(String, String)>,
    /// The typed part of the name.
    start: String,
    /// The command, if any.
    command: Option<String>,
    cwd: Option<PathBuf>,
    session_dir: Option<PathBuf>,
    /// The file of the proxy's tokens.
    tokens: Option<PathBuf>,
    /// Whether the settings of this directory are used.
    trust: bool,
}

/// Answers a script: a line for each name, with its description behind a tab.
pub(crate) fn run(arguments: &[OsString]) -> Exit {
    let arguments: Vec<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let lines = match arguments.split_first() {
        Some((kind, words)) if kind == WORDS => lines(words, ""),
        Some((kind, [breaks, line])) if kind == BASH => lines(&words_of(line), breaks),
        _ => String::new(),
    };
    say(&lines)
}

fn lines(words: &[String], breaks: &str) -> String {
    let typed = parse_words(words);
    // The part that bash replaces begins behind the last of these.
    let whole = words.last().map_or("", String::as_str);
    let is_flag = whole.len() > typed.start.len();
    // Readline keeps `@` with the word behind it, although it is a break.
    let behind =
        |at: usize| if typed.start.get(at..).is_some_and(|rest| rest.starts_with('@')) { at } else { at + 1 };
    let cut = typed.start.rfind(|c| breaks.contains(c)).map_or(0, behind);
    let cut = if is_flag && !breaks.contains('=') { 0 } else { cut };
    let flag = match is_flag && !breaks.is_empty() && !breaks.contains('=') {
        true => whole.strip_suffix(typed.start.as_str()).unwrap_or_default(),
        false => "",
    };
    let mut seen = BTreeSet::new();
    let found = typed.names.map_or_else(|| typed.words.clone(), |names| find_names(names, &typed));
    let found = found.into_iter().filter(|(name, _)| name.starts_with(&typed.start) && is_plain(name));
    let found = found.filter(|(name, _)| seen.insert(name.clone())).take(MAX_COUNT);
    found.fold(String::new(), |mut text, (name, about)| {
        let about: String = plain::line(&about).chars().take(MAX_LEN).collect();
        text.push_str(flag);
        text.push_str(name.get(cut..).unwrap_or_default());
        if !about.trim().is_empty() {
            text.push('\t');
            text.push_str(about.trim());
        }
        text.push('\n');
        text
    })
}

/// Whether every shell accepts the name literally.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+=,%-".contains(c);
    !name.is_empty() && !name.starts_with(['-', '=']) && name.chars().all(is_plain)
}

/// The words of a line of bash, as far as its quotes are plain.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_inside) = (Vec::new(), String::new(), None, false);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (None, ' ' | '\t' | '\n') => {
                if is_inside {
                    words.push(std::mem::take(&mut word));
                }
                is_inside = false;
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => word.extend(rest.next()),
            (Some(open), c) if c == open => quote = None,
            (_, c) => word.push(c),
        }
        is_inside = true;
    }
    words.push(word);
    words
}

/// The argument being typed, which is the last of these words; the first is the program.
fn parse_words(words: &[String]) -> TypedArgument {
    let mut tau = definition();
    // Commands get the flags that they share with the command above.
    tau.build();
    let mut typed = TypedArgument::default();
    let Some((last, before)) = words.split_last().filter(|(_, before)| !before.is_empty()) else {
        return typed;
    };
    let (mut command, mut place) = (&tau, 0_usize);
    let (mut open, mut is_end): (Option<&Arg>, bool) = (None, false);
    for (at, word) in before.iter().enumerate().skip(1) {
        if let Some(argument) = open.take() {
            note(&mut typed, argument, word);
        } else if is_end {
            place = place.saturating_add(1);
        } else if word == "--" {
            is_end = true;
        } else if let Some((argument, value)) = flag(command, word) {
            match (argument, value) {
                (Some(argument), Some(value)) => note(&mut typed, argument, value),
                (argument, None) => {
                    typed.trust |= argument.is_some_and(|argument| argument.get_long() == Some("trust"));
                    open = argument.filter(|argument| takes_word(argument));
                }
                (None, Some(_)) => {}
            }
        } else {
            // Among tau's own commands, only the first word is one.
            let is_first = at == 1 || command.get_name() != tau.get_name();
            match command.find_subcommand(word).filter(|_| is_first && place == 0) {
                Some(inner) => {
                    typed.command.get_or_insert_with(|| inner.get_name().to_owned());
                    command = inner;
                }
                None => place = place.saturating_add(1),
            }
        }
    }
    let (argument, start) = match (open, flag(command, last).filter(|_| !is_end)) {
        (Some(argument), _) => (Some(argument), last.as_str()),
        (None, Some((argument, value))) => (argument.filter(|_| value.is_some()), value.unwrap_or_default()),
        (None, None) => (command.get_positionals().nth(place), last.as_str()),
    };
    typed.names = match argument {
        Some(argument) => Names::of(argument),
        // A prompt.
        None if command.get_name() == tau.get_name() && start.starts_with('@') => Some(Names::Attachments),
        None => None,
    };
    typed.words = match argument {
        Some(argument) => words_for(argument),
        None if command.get_name() == "help" && place == 0 => commands(command),
        None => Vec::new(),
    };
    start.clone_into(&mut typed.start);
    typed
}

/// The words that a value can be, with a description of each.
fn words_for(argument: &Arg) -> Vec<(String, String)> {
    let words = argument.get_possible_values().into_iter().filter(|word| !word.is_hide_set());
    let about = |word: &PossibleValue| word.get_help().map(ToString::to_string).unwrap_or_default();
    words.map(|word| (word.get_name().to_owned(), about(&word))).collect()
}

fn commands(command: &Command) -> Vec<(String, String)> {
    let all = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let about = |inner: &Command| inner.get_about().map(ToString::to_string).unwrap_or_default();
    all.map(|inner| (inner.get_name().to_owned(), about(inner))).collect()
}

/// Parses a word as a flag of the command, with the value in it; `None` if it is not a flag.
fn flag<'a>(command: &'a Command, word: &'a str) -> Option<(Option<&'a Arg>, Option<&'a str>)> {
    let arguments = || command.get_arguments();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        return Some((arguments().find(|argument| argument.get_long() == Some(name)), value));
    }
    let short = word.strip_prefix('-').filter(|rest| !rest.is_empty())?;
    for (at, letter) in short.char_indices() {
        let known = arguments().find(|argument| argument.get_short() == Some(letter));
        if let Some(argument) = known.filter(|argument| takes_word(argument)) {
            let value = short.get(at.saturating_add(letter.len_utf8())..).filter(|value| !value.is_empty());
            return Some((Some(argument), value));
        }
    }
    Some((None, None))
}

/// Whether the word behind the flag is its value.
fn takes_word(argument: &Arg) -> bool {
    let takes = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    takes && !argument.is_require_equals_set()
}

/// Notes the command's directory, for look-ups there.
fn note(typed: &mut TypedArgument, argument: &Arg, value: &str) {
    match argument.get_long() {
        Some("cwd") => typed.cwd = Some(PathBuf::from(value)),
        Some("session-dir") => typed.session_dir = Some(PathBuf::from(value)),
        Some("tokens") => typed.tokens = Some(PathBuf::from(value)),
        _ => {}
    }
}

/// The names, with a description of each.
fn find_names(names: Names, typed: &TypedArgument) -> Vec<(String, String)> {
    let mut flags = CliArgs { trust: typed.trust, ..CliArgs::without_arguments() };
    flags.settings.0.session_dir.clone_from(&typed.session_dir);
    let here = || typed.cwd.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    if names == Names::Attachments {
        let path = typed.start.trim_start_matches('@');
        let files = files::complete(&here(), path, &AllFiles).into_iter();
        return files.map(|file| (format!("@{file}"), String::new())).collect();
    }
    if matches!(names, Names::Servers | Names::Tools | Names::ToolList) {
        let read = Environment::read_in(&flags, OnBadConfig::Warn, &here());
        let Ok((environment, project)) = read else { return Vec::new() };
        if names == Names::Tools {
            return tools(&flags, &environment, &here());
        }
        if names == Names::ToolList {
            let named = typed.start.rfind(',').and_then(|at| typed.start.get(..=at)).unwrap_or_default();
            let others = tools(&flags, &environment, &here()).into_iter();
            let others = others.filter(|(name, _)| !named.split(',').any(|other| other == name));
            return others.map(|(name, about)| (format!("{named}{name}"), about)).collect();
        }
        let servers =
            mcp_servers::read(&ConfigFile::read(&environment.paths), &environment.paths, &project).servers;
        return servers.into_iter().map(|known| (known.server.name, String::new())).collect();
    }
    if names == Names::Themes {
        let Ok(paths) = paths() else { return Vec::new() };
        let all = ThemeFiles::new(paths.config.join("themes")).all_names();
        return all.into_iter().map(|name| (name, String::new())).collect();
    }
    let Ok(environment) = Environment::read(&flags, OnBadConfig::Warn) else { return Vec::new() };
    match names {
        Names::Models => models(&environment, &typed.start),
        Names::Providers => {
            if typed.command.as_deref() == Some("login") {
                return LOGINS.iter().map(|row| (row.alias.to_owned(), row.name.to_owned())).collect();
            }
            let mut all = environment.catalogue.providers();
            if typed.command.as_deref() == Some("auth") {
                all.extend(environment.keys.stored_providers());
                all.extend(SERVICES.iter().map(|service| service.id.to_owned()));
            }
            all.into_iter().map(|name| (name, String::new())).collect()
        }
        Names::Sessions => sessions(&environment, &here(), typed),
        Names::OpenSessions => {
            let open = open_sessions(&environment, &here(), &typed.start);
            if open.is_empty() { sessions(&environment, &here(), typed) } else { open }
        }
        Names::Clients => {
            let file = typed.tokens.clone().unwrap_or_else(|| environment.paths.config.join(TOKENS_FILE));
            let table = TokenTable::read(&file).unwrap_or_default();
            table.tokens.into_keys().map(|name| (name, String::new())).collect()
        }
        Names::Themes | Names::Servers | Names::Tools | Names::ToolList | Names::Attachments => Vec::new(),
    }
}

/// The user's own tools, then those of tau.
fn tools(flags: &CliArgs, environment: &Environment, here: &Path) -> Vec<(String, String)> {
    let loaded = compose::extensions_of(flags, &environment.paths, &environment.settings).load(here);
    let used = |row: &&ExtensionRow| row.kind == ExtensionKind::CustomTool && row.state == ExtensionState::On;
    let own = loaded.rows.iter().filter(used).map(|row| (row.name.clone(), row.description.clone()));
    let built_in = toolbox::TABLE.iter().map(|row| (row.name.to_owned(), row.summary.to_owned()));
    own.chain(built_in).collect()
}

/// The available models, then the others; without their providers, too, if the word begins so.
fn models(environment: &Environment, start: &str) -> Vec<(String, String)> {
    let configured = environment.catalogue.usable_models(&environment.keys);
    let all = || configured.iter().chain(environment.catalogue.models());
    let mut named: Vec<_> = all().map(|model| (model.reference(), model.name.clone())).collect();
    // For an empty word, both names of each model are too much; before a slash the provider is already named.
    let has_provider =
        start.is_empty() || start.contains('/') && named.iter().any(|(name, _)| name.starts_with(start));
    if !has_provider {
        named.extend(all().map(|model| (model.id.clone(), format!("{} of {}", model.name, model.provider))));
    }
    named
}

/// The commands that refuse sessions of other agents.
const FOR_OWN: [&str; 5] = ["wait", "logs", "stop", "diff", "undo"];

/// The sessions of this directory, else of all; newest first. Their names are the last digits of their IDs,
/// or the IDs if the word begins one.
fn sessions(environment: &Environment, here: &Path, typed: &TypedArgument) -> Vec<(String, String)> {
    let root = environment.settings.session_root(&environment.paths);
    let start = typed.start.as_str();
    let is_for_own = typed.command.as_deref().is_some_and(|command| FOR_OWN.contains(&command));
    let of = |cwd: Option<&Path>| {
        let mut rows = all::rows(&root, &places(&root), cwd, &environment.paths.session_index());
        rows.retain(|row| !(row.printed || is_for_own && row.source.is_foreign()));
        let short = short_ids(&rows);
        let names = |(row, short): (&SessionRow, String)| match short.starts_with(start) {
            true => Some((short, row.title())),
            false => row.id.starts_with(start).then(|| (row.id.clone(), row.title())),
        };
        rows.iter().zip(short).filter_map(names).collect::<Vec<_>>()
    };
    let near = of(Some(here));
    if near.is_empty() { of(None) } else { near }
}

/// The open sessions, named as in [`sessions`].
fn open_sessions(environment: &Environment, here: &Path, start: &str) -> Vec<(String, String)> {
    let open = live::commands::open_sessions(&environment.paths, here);
    let short = live::commands::short_names(&open);
    let name =
        |record: &LiveRecord, short: String| if short.starts_with(start) { short } else { record.id.clone() };
    open.iter().zip(short).map(|(record, short)| (name(record, short), record.title.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, names: Option<Names>, start: &str) {
        let typed = parse_words(&words_of(line));
        assert_eq!((typed.names, typed.start.as_str()), (names, start), "{line}");
    }

    #[test]
    fn the_argument_that_is_typed_is_found() {
        for (line, start) in
            [("tau --model ", ""), ("tau --model=cl", "cl"), ("tau -p --trust --model 'cl", "cl")]
        {
            check(line, Some(Names::Models), start);
        }
        check("tau --provider anth", Some(Names::Providers), "anth");
        check("tau -C /srv --session 4f", Some(Names::Sessions), "4f");
        check("tau --fork ", Some(Names::Sessions), "");
        check("tau --theme d", Some(Names::Themes), "d");
        check("tau export ", Some(Names::Sessions), "");
        check("tau export --session-dir /x 4", Some(Names::Sessions), "4");
        check("tau undo ", Some(Names::Sessions), "");
        check("tau attach 4", Some(Names::OpenSessions), "4");
        check("tau attach localhost:1 4", Some(Names::Sessions), "4");
        check("tau diff ", Some(Names::Sessions), "");
        check("tau auth set ", Some(Names::Providers), "");
        check("tau auth remove a", Some(Names::Providers), "a");
        check("tau auth check a", Some(Names::Providers), "a");
        check("tau mcp test ", Some(Names::Servers), "");
        check("tau mcp logout --trust d", Some(Names::Servers), "d");
        check("tau acp --model ", Some(Names::Models), "");
        check("tau proxy remove l", Some(Names::Clients), "l");
        check("tau tools run ", Some(Names::Tools), "");
        check("tau --tools read,b", Some(Names::ToolList), "read,b");
        check("tau @src/m", Some(Names::Attachments), "@src/m");
        check("tau -p look at @m", Some(Names::Attachments), "@m");
        check("tau permissions test --tool b", Some(Names::Tools), "b");
        for line in [
            "tau ", "tau", "", "tau --mod", "tau --model x ", "tau --model x --thinking ", "tau export 4f ",
            "tau mcp add ", "tau proxy add ", "tau -- export ", "tau -p export ", "tau --no-such ",
        ] {
            assert_eq!(parse_words(&words_of(line)).names, None, "{line}");
        }
        let there = parse_words(&words_of("tau -C /srv --session-dir=/s --session "));
        assert_eq!((there.cwd, there.session_dir), (Some("/srv".into()), Some("/s".into())));
        let there = parse_words(&words_of("tau proxy remove --tokens /x/t.toml "));
        assert_eq!((there.names, there.tokens), (Some(Names::Clients), Some("/x/t.toml".into())));
        assert!(
            parse_words(&words_of("tau tools run --trust ")).trust
                && !parse_words(&words_of("tau tools run ")).trust
        );
    }

    /// Every argument that takes a name is in the table: its placeholder is not used for anything else.
    #[test]
    fn every_argument_that_takes_a_name_is_known() {
        fn all(command: &Command, found: &mut Vec<String>) {
            found.extend(
                command
                    .get_arguments()
                    .filter_map(|argument| Some(argument.get_value_names()?.first()?.to_string())),
            );
            command.get_subcommands().for_each(|inner| all(inner, found));
        }
        let mut found = Vec::new();
        all(&definition(), &mut found);
        for (name, _) in Names::TABLE {
            assert!(found.iter().any(|known| known == name), "{name}");
        }
        for word in ["MODEL", "PROVIDER", "SESSION", "THEME", "SERVER"] {
            let odd: Vec<_> = found.iter().filter(|known| known.contains(word) && *known != word).collect();
            assert!(odd.iter().all(|known| known.contains('/') || known.starts_with("NO_")), "{odd:?}");
        }
    }

    #[test]
    fn names_that_a_shell_would_read_are_left_out() {
        for name in ["anthropic/claude-opus-5", "qwen3:8b", "4f2a", "a@b", "x.y_z+1"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "", "-x", "a b", "$(touch x)", "a;b", "`x`", "a\nb", "a'b", "a\"b", "a\\b", "é", "=x", "a*", "~x",
        ] {
            assert!(!is_plain(name), "{name}");
        }
        let words = words_of("tau 'a b' \"c\\\"d\" e\\ f 'g");
        assert_eq!(words, ["tau", "a b", "c\"d", "e f", "g"]);
        assert_eq!(words_of("tau  x "), ["tau", "x", ""]);
    }
}
