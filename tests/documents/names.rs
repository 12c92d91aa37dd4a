//! Names in the documents exist, and existing names are documented: settings, variables, flags, commands,
//! wire records.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use clap::CommandFactory;
use serde_json::{Value, json};
use tau::agent::extensions::ExtensionOptions;
use tau::agent::extensions::places::Places;
use tau::agent::extensions::registry::LoadedExtensions;
use tau::agent::settings::Settings;
use tau::agent::settings::table::TABLE;
use tau::agent::settings::trust::Project;
use tau::app::slash;
use tau::cli::args::CliArgs;
use tau::cli::args::attach::AttachArgs;
use tau::cli::args::attempts::AttemptsArgs;
use tau::cli::args::batch::BatchArgs;
use tau::cli::args::export::ExportArgs;
use tau::cli::args::import::ImportArgs;
use tau::cli::args::login::LoginArgs;
use tau::cli::args::mcp::McpArgs;
use tau::cli::args::mcp_serve::McpServeArgs;
use tau::cli::args::models::ModelsArgs;
use tau::cli::args::packages::AddArgs;
use tau::cli::args::proxy::ProxyArgs;
use tau::cli::args::serve::ServeArgs;
use tau::cli::args::tools::ToolsArgs;
use tau::cli::args::undo::{DiffArgs, UndoArgs};
use tau::cli::args::uninstall::UninstallArgs;
use tau::cli::args::update::UpdateArgs;
use tau::cli::args::worktree::WorktreeArgs;
use tokio::io::AsyncWriteExt;

use super::{document, documents, report, rows};
use crate::harness::root;
use crate::time_limit::InTime;

/// The time limit for the program.
const LIMIT: Duration = Duration::from_secs(60);

/// The text in backticks; empty for a cell without any.
fn name(cell: &str) -> &str {
    cell.split('`').nth(1).unwrap_or_default()
}

/// The line of the config.toml example that sets `key`.
fn line_of(example: &str, key: &str) -> String {
    let (group, inner) = key.split_once('.').unwrap_or(("", key));
    let mut table = "";
    for line in example.lines() {
        if line.starts_with('[') {
            table = line.trim_start_matches('[').split(']').next().unwrap_or_default();
            if group.is_empty() && table.split('.').next() == Some(key) {
                return format!("[{key}]\n");
            }
        } else if table == group && line.split(' ').next() == Some(inner) {
            return if group.is_empty() { line.to_owned() } else { format!("[{group}]\n{line}\n") };
        }
    }
    String::new()
}

#[test]
fn every_setting_is_in_the_example_and_in_the_table() {
    let document = document("docs/configuration.md");
    let blocks = document.fenced();
    let example = blocks.iter().find(|block| block.language == "toml").expect("an example").text;
    let in_files = TABLE.iter().filter(|row| row.columns.in_files);
    let all: BTreeSet<String> = in_files.map(|row| row.key.to_owned()).collect();
    let table = document.table("settings");
    let named = table.iter().map(|row| name(&row[0]).to_owned()).filter(|name| !name.is_empty());
    assert_eq!(named.collect::<BTreeSet<String>>(), all);
    for key in &all {
        assert!(!line_of(example, key).is_empty(), "`{key}` is not in the example");
    }
}

#[test]
fn the_table_of_settings_is_true() {
    let document = document("docs/configuration.md");
    let blocks = document.fenced();
    let example = blocks.iter().find(|block| block.language == "toml").expect("an example").text;
    let command = CliArgs::command();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join(".tau")).expect("a folder");
    let mut faults = Vec::new();
    for row in TABLE {
        let key = row.key;
        if let Some(variable) = row.columns.env {
            let values = ["7", "anthropic-messages", "high", "http://h", "ask", "off", "1", "all", "false"];
            let set = |value: &str| {
                let set =
                    Settings::default().with_env(&|asked| (asked == variable).then(|| value.to_owned()));
                set.ok().map(|set| format!("{set:?}"))
            };
            let set = values.into_iter().find_map(set).unwrap_or_default();
            let field = key.rsplit('.').next().unwrap_or(key);
            if !set.contains(&format!("{field}: Some(")) {
                faults.push(format!("{key}: the variable {variable} does not set it: {set}"));
            }
        }
        let long = row.columns.flag.map_or_else(|| key.replace('_', "-"), |flag| flag.name.to_owned());
        let has_flag = command.get_arguments().any(|known| known.get_long() == Some(&long));
        // `--proxy` names an app server, the setting an HTTP proxy.
        let has_flag = has_flag && key != "proxy";
        if has_flag != row.columns.flag.is_some_and(|flag| flag.name == long) {
            faults.push(format!("{key}: whether there is a flag: {has_flag}"));
        }
        if !row.columns.in_files {
            continue;
        }
        std::fs::write(folder.path().join(".tau/config.toml"), line_of(example, key)).expect("write");
        let takes = Project::of(folder.path()).expect("a project").settings().is_ok();
        if takes != row.columns.project {
            faults.push(format!("{key}: a project may set it: {takes}"));
        }
    }
    report(&faults);
}

/// Names in a text that begin with `TAU_`.
fn variables(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for piece in text.split("TAU_").skip(1) {
        let rest: String = piece.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
        found.extend((!rest.is_empty()).then(|| format!("TAU_{rest}")));
    }
    found
}

fn sources(folder: &str) -> String {
    let mut text = String::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                text.push_str(&std::fs::read_to_string(path).expect("a file"));
            }
        }
    }
    text
}

#[test]
fn every_variable_is_documented_and_exists() {
    let mut product = variables(&sources("src"));
    // Unit tests read it; CONTRIBUTING.md has it.
    product.remove("TAU_BLESS");
    let known = variables(&["src", "tests", "examples"].map(sources).concat());
    let configuration = variables(&document("docs/configuration.md").text);
    let missing = product.difference(&configuration);
    let missing = missing.map(|name| format!("docs/configuration.md does not name {name}"));
    let mut faults: Vec<String> = missing.collect();
    for document in documents() {
        let unknown = variables(&document.text).into_iter().filter(|name| !known.contains(name));
        faults.extend(unknown.map(|name| format!("{}: nothing reads {name}", document.path)));
    }
    report(&faults);
}

/// Flags of programs other than tau.
const OTHERS: &[&str] = tau::tools::words!(
    "address alone archived delete do dry-run exec-path force grep hard iglob profile prune registry release repo runs tau \
     upload-pack user user-site writable"
);

/// The flags in a text, without their dashes.
fn flags(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "`'\"()[],;=".contains(c));
    words.filter_map(|word| word.strip_prefix("--")).filter(|flag| flag.starts_with(char::is_alphabetic))
}

#[test]
fn every_flag_in_the_documents_exists() {
    let commands = [
        CliArgs::command(),
        ModelsArgs::command(),
        ExportArgs::command(),
        ImportArgs::command(),
        DiffArgs::command(),
        UndoArgs::command(),
        McpArgs::command().find_subcommand("add").unwrap().clone(),
        ToolsArgs::command().find_subcommand("run").unwrap().clone(),
        ServeArgs::command(),
        AttachArgs::command(),
        McpServeArgs::command(),
        ProxyArgs::command(),
        LoginArgs::command(),
        UpdateArgs::command(),
        AddArgs::command(),
        UninstallArgs::command(),
        ProxyArgs::command().find_subcommand("add").unwrap().clone(),
        McpArgs::command().find_subcommand("login").unwrap().clone(),
        BatchArgs::command(),
        AttemptsArgs::command().find_subcommand("take").unwrap().clone(),
        WorktreeArgs::command().find_subcommand("add").unwrap().clone(),
    ];
    let known: BTreeSet<&str> =
        commands.iter().flat_map(|command| command.get_arguments().filter_map(|it| it.get_long())).collect();
    let (mut seen, mut faults) = (0, Vec::new());
    for document in documents() {
        let shell = document.fenced().into_iter().filter(|block| block.language == "sh");
        let lines: Vec<&str> =
            shell.flat_map(|block| block.text.lines()).chain(document.code_spans()).collect();
        for line in lines.into_iter().filter(|line| !line.contains("cargo ") && !line.ends_with("--")) {
            let own = line.split('|').filter(|part| !part.trim_start().starts_with("less"));
            for flag in own.flat_map(flags) {
                seen += 1;
                if !known.contains(flag) && !OTHERS.contains(&flag) {
                    faults.push(format!("{}: there is no --{flag}: {line}", document.path));
                }
            }
        }
    }
    assert!(seen > 60, "only {seen} flags were seen");
    report(&faults);
}

#[test]
fn every_slash_command_in_the_documents_exists() {
    let mut faults = Vec::new();
    let brought_along =
        LoadedExtensions::from_places(&Places::default(), &ExtensionOptions::default()).commands();
    for document in documents() {
        for span in document.code_spans() {
            let word = span.split(' ').next().unwrap_or_default();
            let Some(command) = word.strip_prefix('/').filter(|word| word.len() > 1) else { continue };
            let is_one = command.chars().all(|c| c.is_ascii_lowercase()) && command != "command";
            let is_known = slash::TABLE.iter().any(|row| row.name == command)
                || slash::unlisted_commands().any(|(row, _)| row.name == command)
                || brought_along.iter().any(|known| known.name == command);
            if is_one && !is_known {
                faults.push(format!("{}: there is no {word}", document.path));
            }
        }
    }
    report(&faults);
}

#[test]
fn every_key_on_the_page_for_newcomers_exists() {
    let keys = document("docs/keys.md");
    let known: BTreeSet<&str> = keys.code_spans().into_iter().collect();
    let page = document("docs/coming-from.md");
    let is_key = |span: &&str| {
        ["ctrl+", "alt+", "shift+"].iter().any(|start| span.starts_with(start)) || *span == "esc"
    };
    let named: Vec<&str> = page.code_spans().into_iter().filter(is_key).collect();
    assert!(named.len() > 8, "only {named:?} were seen");
    let unknown: Vec<&&str> = named.iter().filter(|key| !known.contains(*key)).collect();
    assert!(unknown.is_empty(), "docs/keys.md does not have {unknown:?}");
}

/// Fields whose contents come from other programs and models.
const FREE: [&str; 5] = ["args", "arguments", "details", "entry", "entries"];

/// The names of fields in a record.
fn fields(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(key, _)| !FREE.contains(&key.as_str())) {
                found.insert(key.clone());
                fields(value, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| fields(value, found)),
        _ => {}
    }
}

/// True if the page has the word in backticks, or as a JSON name.
fn has(page: &str, word: &str) -> bool {
    page.contains(&format!("`{word}`")) || page.contains(&format!("\"{word}\""))
}

#[test]
fn the_page_of_the_wire_names_every_record_and_field() {
    let page = document("docs/rpc.md").text;
    let (mut seen, mut missing) = (0, BTreeSet::new());
    for entry in std::fs::read_dir(root().join("tests/golden/rpc")).expect("the goldens") {
        for line in std::fs::read_to_string(entry.expect("a file").path()).expect("a golden").lines() {
            let record: Value = serde_json::from_str(line).expect("a record");
            let mut words = BTreeSet::new();
            fields(&record, &mut words);
            let types = [&record["type"], &record["command"], &record["assistantMessageEvent"]["type"]];
            words.extend(types.iter().filter_map(|word| word.as_str()).map(str::to_owned));
            seen += words.len();
            missing.extend(words.into_iter().filter(|word| !has(&page, word)));
        }
    }
    // A client sent this to be refused.
    missing.remove("nosuch");
    assert!(seen > 500, "only {seen} words were seen");
    assert!(missing.is_empty(), "docs/rpc.md does not name {missing:?}");
}

/// The commands in the page's tables: those with a column for `data`.
fn commands_of_the_page() -> Vec<String> {
    let page = document("docs/rpc.md").text;
    let tables = page.split("\n\n").filter(|part| part.starts_with("| `type` |") && part.contains("`data`"));
    let cells = tables.flat_map(rows).map(|row| row[0].clone());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[tokio::test]
async fn every_command_of_the_wire_is_known_to_the_program() {
    let commands = commands_of_the_page();
    assert!(commands.len() >= 33, "only {} commands were seen", commands.len());
    let home = tempfile::tempdir().expect("a folder");
    let mut program = crate::support::program::bare(home.path());
    program.args(["--mode", "rpc", "--model", "demo"]).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut child = program.spawn().expect("the program");
    let lines: String =
        commands.iter().map(|kind| format!("{}\n", json!({ "id": kind, "type": kind }))).collect();
    child
        .stdin
        .take()
        .expect("its input")
        .write_all(lines.as_bytes())
        .in_time("a reader of the input")
        .await
        .expect("write");
    let output =
        tokio::time::timeout(LIMIT, child.wait_with_output()).await.expect("in time").expect("output");
    let records = String::from_utf8(output.stdout).expect("UTF-8");
    let records: Vec<Value> = records.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for kind in &commands {
        let answer =
            records.iter().find(|record| record["id"] == json!(kind) && record["type"] == "response");
        let answer = answer.unwrap_or_else(|| panic!("{kind} was not answered: {records:?}"));
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(!error.starts_with("Unknown command"), "{kind}: {error}");
    }
}
