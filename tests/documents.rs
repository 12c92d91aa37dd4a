//! The README's tables are made from the code: `TAU_BLESS=1` writes them anew.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use tau::agent::settings::{Paths, Settings};
use tau::app::{action, slash};
use tau::cli::exit::Exit;

use crate::harness::root;

/// The rows between `<!-- NAME -->` and `<!-- /NAME -->`.
fn check(document: &str, name: &str, table: &str) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _writing = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let path = root().join(document);
    let text = std::fs::read_to_string(&path).expect("the document");
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = text.split_once(&open).unwrap_or_else(|| panic!("{document} has no {open}"));
    let (now, after) = rest.split_once(&close).unwrap_or_else(|| panic!("{document} has no {close}"));
    if std::env::var_os("TAU_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{open}{table}{close}{after}")).expect("write");
        return;
    }
    assert!(now == table, "the table of {name} in {document} is old; TAU_BLESS=1 writes it anew");
}

#[test]
fn the_readme_lists_every_key_and_command() {
    let mut keys = "| Keys | What they do | Name |\n| --- | --- | --- |\n".to_owned();
    for row in action::TABLE {
        let names: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
        let _ = writeln!(keys, "| {} | {} | `{}` |", names.join(" "), row.help, row.name);
    }
    check("README.md", "keys", &keys);
    let mut commands = "| Command | What it does |\n| --- | --- |\n".to_owned();
    for row in slash::TABLE {
        let text = format!("/{} {}", row.name, row.arguments);
        let _ = writeln!(commands, "| `{}` | {} |", text.trim(), row.help);
    }
    check("README.md", "commands", &commands);
}

#[test]
fn the_readme_lists_every_exit_code() {
    let mut codes = "| Code | Meaning |\n| --- | --- |\n".to_owned();
    for (code, meaning) in Exit::rows() {
        let _ = writeln!(codes, "| {code} | {meaning} |");
    }
    check("README.md", "exit codes", &codes);
}

#[test]
fn the_settings_of_the_readme_can_be_used() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the document");
    let example = text.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```"));
    let (example, _) = example.expect("an example of config.toml");
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config.toml"), example).unwrap();
    let paths = Paths::discover(Some(home.path())).unwrap();
    let settings = Settings::load(&paths).unwrap();
    let serde_json::Value::Object(all) = serde_json::to_value(&settings).unwrap() else {
        panic!("no object")
    };
    let lines: Vec<&str> = example.lines().map(|line| line.trim_start_matches('[')).collect();
    for name in all.keys() {
        assert!(lines.iter().any(|line| line.starts_with(name.as_str())), "`{name}` is not in the example");
    }
}
