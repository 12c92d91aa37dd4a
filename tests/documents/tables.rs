//! Tables that are generated from the code.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use clap::CommandFactory;
use tau::agent::catalogue::PROVIDERS;
use tau::app::{action, slash};
use tau::cli::args::CliArgs;
use tau::cli::process::exit::Exit;

use super::settings;
use crate::harness::root;

/// Compares the text between `<!-- NAME -->` and `<!-- /NAME -->` with the table, or writes it.
#[track_caller]
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
    assert!(now == table, "the table of {name} in {document} is old; TAU_BLESS=1 writes it again");
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), " --- |".repeat(head.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

#[test]
fn every_key_is_listed() {
    let rows = action::TABLE.iter().map(|row| {
        let names: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
        vec![names.join(" "), row.help.to_owned(), format!("`{}`", row.name)]
    });
    check("docs/keys.md", "keys", &table(&["Keys", "What they do", "Name"], rows));
}

#[test]
fn every_slash_command_is_listed() {
    let rows = slash::TABLE.iter().map(|row| {
        let text = format!("/{} {}", row.name, row.arguments);
        vec![format!("`{}`", text.trim()), row.help.to_string()]
    });
    check("docs/keys.md", "commands", &table(&["Command", "What it does"], rows));
}

#[test]
fn every_other_name_is_listed() {
    let others = |row: &slash::CommandRow| {
        let is_its = |(_, name): &&(&str, &str)| *name == row.name;
        let names = slash::ALIASES.iter().filter(is_its).map(|(alias, _)| format!("`/{alias}`"));
        names.collect::<Vec<_>>().join(" ")
    };
    let rows = slash::TABLE.iter().map(|row| vec![format!("`/{}`", row.name), others(row)]);
    let rows = rows.filter(|row| !row[1].is_empty());
    check("docs/keys.md", "other names", &table(&["Command", "Other names"], rows));
}

#[test]
fn every_exit_code_is_listed() {
    let rows = Exit::rows().map(|(code, meaning)| vec![code, meaning.to_owned()]);
    check("docs/headless.md", "exit codes", &table(&["Code", "Meaning"], rows));
}

#[test]
fn every_flag_is_listed() {
    let command = CliArgs::command();
    let flags = command.get_arguments().filter_map(|flag| {
        let long = flag.get_long()?;
        let short = flag.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
        let value = flag.get_value_names().filter(|_| flag.get_action().takes_values());
        let optional = flag.is_require_equals_set();
        let value = value.map(|names| match names.join(" ") {
            names if optional => format!("[={names}]"),
            names => format!(" {names}"),
        });
        let value = value.unwrap_or_default();
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        Some(vec![format!("`{short}--{long}{value}`"), help])
    });
    check("docs/configuration.md", "flags", &table(&["Flag", "What it does"], flags));
}

#[test]
fn every_tool_is_listed() {
    let rows = tau::tools::toolbox::TABLE.iter().map(|row| {
        let default = row.offered.name();
        vec![format!("`{}`", row.name), row.summary.to_owned(), default.to_owned()]
    });
    check("docs/tools.md", "tools", &table(&["Tool", "What it does", "Default"], rows));
}

#[test]
fn every_provider_is_listed() {
    let rows = PROVIDERS.iter().map(|provider| {
        let api = serde_json::to_value(provider.api).expect("a name");
        let api = api.as_str().expect("a name").to_owned();
        let key = match provider.env {
            "" if tau::agent::catalogue::login::of_provider(provider.id).is_some() => "a login".to_owned(),
            "" => "[its own tools](providers.md#clouds)".to_owned(),
            variable => format!("`{variable}`"),
        };
        vec![format!("`{}`", provider.id), provider.name.to_owned(), key, api]
    });
    let head = ["Provider", "Name", "Key in", "Wire format"];
    check("docs/models.md", "providers", &table(&head, rows));
}

#[test]
fn every_token_of_a_theme_is_listed() {
    let dark = std::fs::read_to_string(root().join("themes/dark.toml")).expect("the dark theme");
    let dark: toml::Table = dark.parse().expect("a theme");
    let value = |name: &str| dark["colors"][name].as_str().expect("a style").to_owned();
    let tokens = tau::view::theme::ThemeToken::ALL.iter().map(|token| token.name());
    let rows = tokens.map(|name| vec![format!("`{name}`"), format!("`{}`", value(name))]);
    check("docs/themes.md", "tokens", &table(&["Name", "In the dark theme"], rows));
}

/// The rule of tests/contrast.rs, in numbers.
#[test]
fn the_contrast_of_every_theme_is_listed() {
    use tau::view::theme::ColorDepth;
    let rows = crate::contrast::coloured().map(|(name, theme)| {
        let least = |depth| {
            let pair = crate::contrast::hardest(&theme.at_depth(depth));
            let on = pair.on.filter(|on| *on != pair.token).map(|on| format!(" in `{}`", on.name()));
            // Rounded down, like `tau theme check`.
            let ratio = (pair.ratio * 100.0).floor() / 100.0;
            format!("{ratio:.2}:1 (`{}`{})", pair.token.name(), on.unwrap_or_default())
        };
        let promised = format!("{}:1", theme.contrast());
        vec![format!("`{name}`"), promised, least(ColorDepth::True), least(ColorDepth::Ansi256)]
    });
    let head = ["Theme", "Promised", "Least in true colour", "Least in 256 colours"];
    check("docs/themes.md", "contrast", &table(&head, rows));
}

#[test]
fn every_setting_is_listed() {
    check("docs/configuration.md", "settings", &settings::markdown_table());
}

/// Editors read it to complete and check `config.toml`.
#[test]
fn the_schema_of_config_toml_is_that_of_the_settings() {
    let path = root().join("docs/config.schema.json");
    if std::env::var_os("TAU_BLESS").is_some() {
        std::fs::write(&path, settings::schema()).expect("write");
    }
    let text = std::fs::read_to_string(&path).expect("the schema");
    assert!(text == settings::schema(), "{} is old; TAU_BLESS=1 writes it again", path.display());
}
