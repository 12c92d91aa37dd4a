//! Examples in the documents, parsed by the product's own parsers.

use std::path::Path;

use serde_json::Value;
use tau::agent::catalogue::Catalogue;
use tau::agent::extensions::custom_tools;
use tau::agent::protocol::extension::ExtensionSource;
use tau::agent::session::Session;
use tau::agent::session::entry::Body;
use tau::agent::settings::trust::Project;
use tau::agent::settings::{Paths, Settings};
use tau::app::keymap::Keymap;
use tau::cli::proxy::tokens::TokenTable;
use tau::view::theme::Theme;

use super::{document, documents, report};
use crate::harness::root;

/// The problem with a file of this name and text; the first line of an example names it.
fn trouble(text: &str) -> Option<String> {
    let home = tempfile::tempdir().expect("a folder");
    let paths = Paths::under(home.path());
    let write = |name: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("write");
    };
    match text.lines().next().unwrap_or_default().trim_start_matches("# ") {
        "config.toml" => {
            write("config.toml");
            let settings = Settings::load(&paths).map_err(|error| error.to_string());
            settings
                .map(|settings| {
                    Keymap::new(&settings.keys.unwrap_or_default()).1.pop().map(|fault| fault.text)
                })
                .unwrap_or_else(Some)
        }
        ".tau/config.toml" => {
            write(".tau/config.toml");
            let project = Project::of(home.path()).expect("a project");
            project.settings().err().map(|error| error.to_string())
        }
        "models.toml" => {
            write("models.toml");
            Catalogue::load(&paths, &Settings::default(), None).err().map(|error| error.to_string())
        }
        "proxy.toml" => TokenTable::parse(text).err().map(String::from),
        name if name.starts_with("tools/") => {
            write(name);
            let found = custom_tools::read(&home.path().join(name), ExtensionSource::User, None);
            found.tool.err().map(|problems| format!("{problems:?}"))
        }
        name if name.starts_with("themes/") => Theme::parse(text).err().map(|error| error.to_string()),
        other => Some(format!("the first line names no file: {other}")),
    }
}

#[test]
fn files_of_settings_are_understood() {
    let (mut seen, mut faults) = (0, Vec::new());
    for document in documents() {
        let is_ours = |text: &str| !text.starts_with("# Cargo.toml");
        for block in
            document.fenced().into_iter().filter(|block| block.language == "toml" && is_ours(block.text))
        {
            seen += 1;
            let fault = trouble(block.text).map(|fault| format!("{}: {fault}", document.path));
            faults.extend(fault);
        }
    }
    assert!(seen >= 6, "only {seen} examples were seen");
    report(&faults);
    assert!(trouble("# config.toml\nmodle = 'x'").is_some_and(|fault| fault.contains("modle")));
    assert!(trouble("# config.toml\n[keys]\nmodels = ['hyper+x']").is_some());
    assert!(trouble("# .tau/config.toml\nshell = 'x'").is_some());
    assert!(trouble("# tools/x.toml\ndescription = 'x'").is_some_and(|fault| fault.contains("command")));
    assert!(trouble("# models.toml\n[vendor.x]").is_some());
    assert!(trouble("# proxy.toml\n[tokens.x]").is_some_and(|fault| fault.contains("sha256")));
    assert!(trouble("# themes/x.toml\n[colors]\nnothing = 'red'").is_some());
}

#[test]
fn lines_of_json_are_json() {
    let (mut seen, mut faults) = (0, Vec::new());
    for document in documents() {
        for block in document.fenced().into_iter().filter(|block| block.language == "json") {
            for line in block.text.lines() {
                seen += 1;
                if let Err(error) = serde_json::from_str::<Value>(line) {
                    faults.push(format!("{}: {error}: {line}", document.path));
                }
            }
        }
    }
    assert!(seen > 20, "only {seen} lines were seen");
    report(&faults);
}

#[test]
fn the_session_of_the_format_is_one() {
    let document = document("docs/session-format.md");
    let blocks = document.fenced();
    let block = blocks.iter().find(|block| block.language == "json").expect("a session");
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("session.jsonl");
    std::fs::write(&path, format!("{}\n", block.text)).expect("write");
    let session = Session::open(&path).expect("a session");
    let entries = session.tree().entries();
    assert_eq!((session.skipped_lines(), entries.len()), (0, block.text.lines().count() - 1));
    assert!(entries.iter().all(|entry| !matches!(entry.body, Body::Other { .. })), "{entries:?}");
    assert_eq!(session.info().name.as_deref(), Some("red build"));
    assert_eq!(session.context().messages.len(), 4);
}

/// The lines without their indentation.
fn flat(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn rust_in_the_documents_is_part_of_an_example() {
    let sources = std::fs::read_dir(root().join("examples")).expect("the examples").flatten();
    let sources: Vec<String> = sources
        .map(|entry| entry.path())
        .filter(|path: &std::path::PathBuf| path.extension().is_some_and(|end| end == Path::new("rs")))
        .map(|path| flat(&std::fs::read_to_string(path).expect("an example")))
        .collect();
    let (mut seen, mut faults) = (0, Vec::new());
    for document in documents() {
        for block in document.fenced().into_iter().filter(|block| block.language == "rust") {
            seen += 1;
            if !sources.iter().any(|source| source.contains(&flat(block.text))) {
                faults.push(format!("{}: in no example:\n{}", document.path, block.text));
            }
        }
    }
    assert!(seen >= 2, "only {seen} blocks were seen");
    report(&faults);
}
