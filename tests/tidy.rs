//! The house rules, enforced on the source: documentation, sizes, import direction, words.
//!
//! Each rule is one test over every file, and counts the files it saw, so that none passes because it
//! checked nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A file of ours. `path` is relative to the project, with `/`.
pub struct Source {
    pub path: String,
    pub text: String,
}

impl Source {
    /// The lines with their numbers, up to the unit tests.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let own = |line: &&str| !line.starts_with("#[cfg(test)]");
        self.text.lines().take_while(own).enumerate().map(|(number, line)| (number + 1, line))
    }

    /// The code lines: no comments, no text in quotes.
    fn code(&self) -> impl Iterator<Item = (usize, String)> {
        self.lines().map(|(number, line)| (number, without_comments_and_strings(line)))
    }

    fn is_test(&self) -> bool {
        self.path.starts_with("tests/") || self.path.ends_with("/tests.rs")
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn collect(folder: &Path, sources: &mut Vec<Source>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            sources.push(Source { path: relative, text: std::fs::read_to_string(&path).unwrap() });
        }
    }
}

/// Every Rust file of the project.
fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for folder in ["src", "tests", "examples"] {
        collect(&root().join(folder), &mut sources);
    }
    sources
}

/// The product's own files.
pub fn product() -> Vec<Source> {
    let product: Vec<Source> =
        sources().into_iter().filter(|source| source.path.starts_with("src/") && !source.is_test()).collect();
    assert!(product.len() > 50, "only {} files were seen", product.len());
    product
}

/// Fails with all faults, not just the first.
#[track_caller]
pub fn report(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// A line without its comment and with its quoted texts emptied. Good enough for rules about names: a quote
/// in a character literal is recognised, a text over several lines is not.
pub fn without_comments_and_strings(line: &str) -> String {
    let mut code = String::new();
    let mut chars =
        line.replace("'\"'", "' '").replace("\\\"", "").chars().collect::<Vec<_>>().into_iter().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '/' if !quoted && chars.peek() == Some(&'/') => break,
            _ if quoted => {}
            _ => code.push(c),
        }
    }
    code
}

#[test]
fn every_file_says_what_it_is_for() {
    let files = sources();
    assert!(files.len() > 50, "only {} files were seen", files.len());
    let faults: Vec<String> = files
        .iter()
        .filter(|source| !source.text.starts_with("//! "))
        .map(|source| format!("{}: does not begin with `//!`", source.path))
        .collect();
    report(&faults);
}

#[test]
fn no_file_is_long() {
    let faults: Vec<String> = sources()
        .iter()
        .map(|source| (source, source.text.lines().count()))
        .filter(|(_, lines)| *lines > 600)
        .map(|(source, lines)| format!("{}: {lines} lines (600 are allowed)", source.path))
        .collect();
    report(&faults);
}

/// The functions of a file: name, first line, length in lines. A function ends with the closing
/// brace at its own indentation, which rustfmt guarantees.
fn functions(source: &Source) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    let mut open: Vec<(String, usize, String)> = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        let indentation = line.len() - line.trim_start().len();
        if let Some(name) = function_name(line) {
            let end = format!("{}}}", &line[..indentation]);
            if !line.trim_end().ends_with([';', '}']) {
                open.push((name, number, end));
            }
            continue;
        }
        if open.last().is_some_and(|(_, _, end)| {
            line == end || line.trim_end() == format!("{};", &end[..end.len() - 1])
        }) {
            let (name, start, _) = open.pop().unwrap();
            found.push((name, start + 1, number - start + 1));
        }
    }
    found
}

fn function_name(line: &str) -> Option<String> {
    let mut rest = line.trim_start();
    for word in ["pub ", "pub(crate) ", "pub(super) ", "const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    Some(name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

#[test]
fn no_function_is_long() {
    let mut seen = 0;
    let mut faults = Vec::new();
    for source in sources() {
        for (name, start, length) in functions(&source) {
            seen += 1;
            if length > 80 {
                faults.push(format!("{}:{start}: `{name}` has {length} lines (80 are allowed)", source.path));
            }
        }
    }
    assert!(seen > 150, "only {seen} functions were seen");
    report(&faults);
}

#[test]
fn every_public_item_is_documented() {
    let kinds = ["fn", "async fn", "const fn", "struct", "enum", "trait", "type", "const", "static"];
    let mut seen = 0;
    let mut faults = Vec::new();
    for source in product() {
        let lines: Vec<&str> = source.lines().map(|(_, line)| line).collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(item) = line.trim_start().strip_prefix("pub ") else { continue };
            if !kinds.iter().any(|kind| item.strip_prefix(kind).is_some_and(|rest| rest.starts_with(' '))) {
                continue;
            }
            seen += 1;
            if !is_documented(&lines[..index]) {
                faults.push(format!("{}:{}: {}", source.path, index + 1, line.trim()));
            }
        }
    }
    assert!(seen > 150, "only {seen} items were seen");
    report(&faults);
}

/// True if a doc comment precedes the item, with only attributes between.
fn is_documented(above: &[&str]) -> bool {
    for line in above.iter().rev().map(|line| line.trim()) {
        if line.starts_with("///") {
            return true;
        }
        // The lines of an attribute, which rustfmt may have split.
        if !(line.starts_with("#[") || line.ends_with(")]") || line.ends_with(',') || line == "#[derive(") {
            return false;
        }
    }
    false
}

/// Names that parts of the product must not use although their crates could; except in the listed files.
const FORBIDDEN: [(&str, &str, &[&str]); 10] = [
    ("src/", "crossterm", &["src/cli/tui/"]),
    ("src/", "reqwest", &["src/agent/provider/http.rs", "src/agent/provider/http/"]),
    ("src/app/", "std::fs", &[]),
    ("src/app/", "std::env", &[]),
    ("src/app/", "std::process", &[]),
    ("src/app/", "ratatui::Terminal", &[]),
    ("src/app/", "ratatui::backend", &[]),
    ("src/view/", "std::fs", &[]),
    ("src/view/", "std::env", &[]),
    ("src/view/", "std::process", &[]),
];

/// The parts of `tools` that `app` may use: plain data and pure functions.
const TOOLS_FOR_APP: &[&str] = tau::tools::words!(
    "details path_text access vt user plan compare counted invisible jobs::row delegate::report pairs"
);

#[test]
fn nothing_names_what_is_not_for_it() {
    let mut seen = 0;
    let mut faults = Vec::new();
    for source in product() {
        for (number, line) in source.code() {
            seen += usize::from(line.contains("crate::"));
            let named = FORBIDDEN.iter().filter(|(folder, name, except)| {
                source.path.starts_with(folder)
                    && !except.iter().any(|place| source.path.starts_with(place))
                    && names(&line, name)
            });
            faults.extend(named.map(|(_, name, _)| format!("{}:{number}: names `{name}`", source.path)));
            let is_plain = |name: &&str| line.contains(&format!("tau_tools::{name}"));
            if source.path.starts_with("src/app/")
                && names(&line, "tau_tools")
                && !TOOLS_FOR_APP.iter().any(is_plain)
            {
                faults.push(format!("{}:{number}: names more of `tools` than plain data", source.path));
            }
        }
    }
    assert!(seen > 20, "only {seen} imports were seen");
    report(&faults);
}

/// True if `line` contains `name` as a complete path, not as part of a longer name.
fn names(line: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[test]
fn the_rule_about_names_sees_what_it_should() {
    let cases = [
        ("use crossterm::event;", "crossterm", true),
        ("use ratatui::backend::CrosstermBackend;", "crossterm", false),
        ("let x = tokio::spawn(y);", "tokio", true),
        ("use tokio_util::sync;", "tokio", false),
        ("use crate::cli;", "crate::cli", true),
        ("use crate::client;", "crate::cli", false),
    ];
    for (line, name, expected) in cases {
        assert_eq!(names(line, name), expected, "{line}");
    }
    assert_eq!(without_comments_and_strings(r#"let a = "tokio"; // tokio"#), "let a = ; ");
    let body = |lines: usize| format!("//! x\nfn long() {{\n{}}}\n", "    x();\n".repeat(lines));
    for (lines, length) in [(3, 5), (90, 92)] {
        let source = Source { path: "x.rs".into(), text: body(lines) };
        assert_eq!(functions(&source), [("long".to_owned(), 2, length)]);
    }
}

/// Meaningless names.
const EMPTY_WORDS: [&str; 6] = ["utils", "helpers", "common", "manager", "handler", "misc"];

#[test]
fn names_say_something() {
    let mut seen = 0;
    let mut faults = Vec::new();
    for source in sources() {
        let mut names: Vec<(usize, String)> = vec![(0, source.path.clone())];
        for (number, line) in source.code() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let items =
                words.windows(2).filter(|pair| ["struct", "enum", "trait", "type", "mod"].contains(&pair[0]));
            names.extend(items.map(|pair| (number, pair[1].to_owned())));
        }
        seen += names.len();
        for (number, name) in names {
            let parts = parts(&name);
            if let Some(word) = EMPTY_WORDS.iter().find(|word| parts.contains(**word)) {
                faults.push(format!("{}:{number}: `{word}` in `{name}`", source.path));
            }
        }
    }
    assert!(seen > 150, "only {seen} names were seen");
    report(&faults);
}

/// Participles that are not regular.
const PARTICIPLES: &[&str] = tau::tools::words!(
    "begun bought brought built caught chosen done drawn found given gone held hidden kept known laid led left lost \
     made met paid said seen sent shown spent spoken stuck taken taught thrown told understood won written"
);
/// Names that are right: a direction, a method of another crate's trait, and what the schema of the server's API names.
const NOT_PARTICIPLES: &[&str] = tau::tools::words!("left matched Accepted Forked Moved Restored Said");

/// Whether a name is a participle alone, which says neither who nor what: `shown`, `listed`, `Known`.
fn is_bare_participle(name: &str) -> bool {
    let word = name.to_lowercase();
    let is_regular =
        word.ends_with("ed") && !["need", "sed", "seed", "feed", "speed"].contains(&word.as_str());
    (is_regular || PARTICIPLES.contains(&word.as_str()))
        && !NOT_PARTICIPLES.contains(&name)
        && !name.contains('_')
        && name.chars().skip(1).all(char::is_lowercase)
}

#[test]
fn names_are_no_bare_participles() {
    assert!(["shown", "listed", "Known"].into_iter().all(is_bare_participle));
    assert!(!["visible_rows", "feed", "list", "KnownModel"].into_iter().any(is_bare_participle));
    let mut faults = Vec::new();
    for source in sources().into_iter().filter(|source| source.path.starts_with("src/")) {
        for (number, line) in source.code() {
            // Constructors are named after the variant that they make.
            let words =
                line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            let words: Vec<&str> = words.collect();
            let items =
                words.windows(2).filter(|pair| ["fn", "struct", "enum", "trait", "type"].contains(&pair[0]));
            for name in items.map(|pair| pair[1]) {
                if is_bare_participle(name) && !line.contains("-> Self") {
                    faults.push(format!("{}:{number}: `{name}` says neither who nor what", source.path));
                }
            }
        }
    }
    report(&faults);
}

/// The words of a path or a name, in lower case.
fn parts(name: &str) -> BTreeSet<String> {
    let mut spaced = String::new();
    for c in name.chars() {
        if c.is_uppercase() {
            spaced.push(' ');
        }
        spaced.extend(if c.is_alphanumeric() { c.to_lowercase().next() } else { Some(' ') });
    }
    spaced.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
fn nothing_is_left_for_later() {
    // Composed here, so that this file does not match itself.
    let marks = ["TO".to_owned() + "DO", "FIX".to_owned() + "ME", "X".repeat(3)];
    let mut faults = Vec::new();
    for source in sources() {
        for (number, line) in source.text.lines().enumerate() {
            if marks.iter().any(|mark| names(line, mark)) {
                faults.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    report(&faults);
}

/// The maximum size of ARCHITECTURE.md in bytes, so that it is read.
const MAX_ARCHITECTURE: usize = 8_192;
/// The maximum number of lines of CHANGELOG.md before the first release: one page.
const MAX_CHANGELOG: usize = 60;

fn architecture() -> String {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    assert!(text.len() <= MAX_ARCHITECTURE, "ARCHITECTURE.md has {} bytes", text.len());
    let lines = std::fs::read_to_string(root().join("CHANGELOG.md")).expect("CHANGELOG.md").lines().count();
    assert!(lines <= MAX_CHANGELOG, "CHANGELOG.md has {lines} lines");
    text
}

/// A module's first sentence, on one line.
fn summary(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let end = paragraph.find(". ").unwrap_or(paragraph.len());
    paragraph[..end].trim_end_matches(['.', ':']).to_owned()
}

#[test]
fn the_map_names_every_module() {
    const HEAD: &str = "# Modules\n\nEvery module with the first sentence of its documentation. Made by \
                        `TAU_BLESS=1 cargo test --test all -- the_map`;\n[ARCHITECTURE.md](../ARCHITECTURE.md) explains.\n";
    let mut rooms = std::collections::BTreeMap::<String, Vec<String>>::new();
    let mut seen = 0;
    for source in product() {
        let (folder, file) = source.path.rsplit_once('/').expect("a folder");
        let name = file.trim_end_matches(".rs");
        let row = match name {
            "mod" | "lib" => format!("{}.\n", summary(&source.text)),
            _ => format!("- `{name}`: {}", summary(&source.text)),
        };
        seen += 1;
        let rows = rooms.entry(folder.to_owned()).or_default();
        rows.insert(if row.starts_with('-') { rows.len() } else { 0 }, row);
    }
    assert!(seen > 30, "only {seen} modules were seen");
    let rooms: Vec<String> =
        rooms.iter().map(|(folder, rows)| format!("\n## `{folder}`\n\n{}\n", rows.join("\n"))).collect();
    crate::harness::generated("docs/map.md", &(HEAD.to_owned() + &rooms.concat()));
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let map = architecture();
    let files = sources();
    let mut seen = 0;
    let mut faults = Vec::new();
    for line in map.lines().filter(|line| line.starts_with("- **Law")) {
        seen += 1;
        let mut guards =
            line.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains(".rs::")).peekable();
        if guards.peek().is_none() {
            faults.push(format!("names no test: {line}"));
        }
        for guard in guards {
            let (path, test) = guard.split_once("::").unwrap();
            let function = format!("fn {test}(");
            let there = files.iter().any(|source| source.path == path && source.text.contains(&function));
            if !there {
                faults.push(format!("`{guard}` does not exist"));
            }
        }
    }
    assert!(seen >= 8, "only {seen} laws were seen");
    report(&faults);
}

/// Places that open trusted files: those of the kernel, newly written ones, or ones named by the user, who
/// may name a pipe.
const OPENS: &[&str] = tau::tools::words!(
    "src/tools/regular_files.rs src/tools/process/ src/tools/replace_file.rs src/agent/session/lock.rs \
     src/cli/process/signals.rs src/cli/tui/editor.rs src/cli/serve/mod.rs src/cli/attach/start.rs"
);

/// A pipe or a device in the place of a file must not block, so files are read by `regular_files`.
#[test]
fn files_are_opened_in_one_way() {
    let mut faults = Vec::new();
    let is_known = |path: &str| path.contains("/tests/") || OPENS.iter().any(|known| path.starts_with(known));
    for source in product().iter().filter(|source| !is_known(&source.path)) {
        for (number, line) in source.code() {
            let is_folder = line.contains("sync_all");
            let opens = *tau::tools::words!(
                "fs::read( read_to_string(& read_to_string(path read_to_string(file File::open("
            );
            let own = ["SessionFile::open(", "TokenFile::open("].iter().any(|own| line.contains(own));
            if opens.iter().any(|name| line.contains(name)) && !is_folder && !own {
                faults.push(format!("{}:{number}: read it with tools/regular_files", source.path));
            }
        }
    }
    report(&faults);
}
