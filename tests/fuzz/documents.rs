//! Files: sessions, settings, lists of models, themes.

use std::path::Path;
use std::sync::Arc;

use tau::agent::catalogue::Catalogue;
use tau::agent::protocol::message::Message;

use tau::agent::session::last_exchange::last_exchange;
use tau::agent::session::outline::outline;
use tau::agent::session::{Access, Session, list};
use tau::agent::settings::{Paths, Settings, write};
use tau::view::theme::{Theme, ThemeToken};
use tempfile::TempDir;

use super::driver::{behavior, files, magnitude};
use super::{Target, as_text, run};
use crate::session_search::hits;
use crate::support::session_files::{HEADER, opened_soon, user};

thread_local! {
    /// A folder for the files of a target, which has its own thread. In memory if possible, since every
    /// saved file is also synced.
    pub static FOLDER: TempDir =
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
}

/// A session of each version of the format.
fn sessions() -> Vec<Vec<u8>> {
    let answer = r#"{"role":"assistant","content":[{"type":"text","text":"hello"},{"type":"toolCall","id":"c1","name":"ls","arguments":{"path":"."}}],"api":"openai-completions","provider":"p","model":"m","stopReason":"toolUse","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"timestamp":2}"#;
    let result = r#"{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[{"type":"text","text":"a.rs"}],"isError":false,"timestamp":3}"#;
    let time = r#""timestamp":"2026-01-02T03:04:06.000Z""#;
    let third = format!(
        "{HEADER}\n{{\"type\":\"model_change\",\"id\":\"a0\",\"parentId\":null,{time},\"provider\":\"p\",\"modelId\":\"m\"}}\n\
         {{\"type\":\"message\",\"id\":\"a1\",\"parentId\":\"a0\",{time},\"message\":{{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":1}}}}\n\
         {{\"type\":\"message\",\"id\":\"a2\",\"parentId\":\"a1\",{time},\"message\":{answer}}}\n\
         {{\"type\":\"message\",\"id\":\"a3\",\"parentId\":\"a2\",{time},\"message\":{result}}}\n\
         {{\"type\":\"thinking_level_change\",\"id\":\"a4\",\"parentId\":\"a3\",{time},\"thinkingLevel\":\"high\"}}\n\
         {{\"type\":\"compaction\",\"id\":\"a5\",\"parentId\":\"a4\",{time},\"summary\":\"short\",\"firstKeptEntryId\":\"a3\",\"tokensBefore\":9}}\n\
         {{\"type\":\"label\",\"id\":\"a6\",\"parentId\":\"a5\",{time},\"targetId\":\"a1\",\"label\":\"here\"}}\n\
         {{\"type\":\"session_info\",\"id\":\"a7\",\"parentId\":\"a6\",{time},\"name\":\"mine\"}}\n\
         {{\"type\":\"message\",\"id\":\"a8\",\"parentId\":\"a1\",{time},\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"again\"}}],\"timestamp\":4}}}}\n"
    );
    let first = format!(
        "{{\"type\":\"session\",\"id\":\"s1\",{time},\"cwd\":\"/srv\",\"provider\":\"p\",\"modelId\":\"m\",\"thinkingLevel\":\"off\"}}\n\
         {{\"type\":\"message\",{time},\"message\":{{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":1}}}}\n\
         {{\"type\":\"message\",{time},\"message\":{answer}}}\n\
         {{\"type\":\"compaction\",{time},\"summary\":\"short\",\"firstKeptEntryIndex\":2,\"tokensBefore\":9}}\n"
    );
    let second = third.replace("\"version\":3", "\"version\":2");
    let document = format!(
        "{{\"type\":\"metadata\",\"id\":\"d1\",{time},\"cwd\":\"/srv\",\"config\":{{}}}}\n\
         {{\"type\":\"message\",{time},\"message\":{{\"role\":\"user\",\"content\":\"hi\"}}}}\n\
         {{\"type\":\"event\",{time},\"event\":{{\"type\":\"message_end\",\"message\":{answer}}}}}\n"
    );
    let newer = third.replace("\"version\":3", "\"version\":4");
    let torn = format!("{}\0\0\0{{\"type\":\"message\",\"id\":\"b1\",\"par", third);
    let own = [third, first, second, document, newer, torn].map(String::into_bytes);
    let foreign = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sessions"));
    own.into_iter().chain(foreign.into_iter().filter(|bytes| bytes.starts_with(b"{\"type\""))).collect()
}

const ENTRIES: &[&str] = &[
    "{\"type\":\"message\",\"id\":\"z\",\"parentId\":null,\"timestamp\":\"\",\"message\":{\"role\":\"user\",\"content\":\"z\"}}\n",
    "\"parentId\":\"a1\"",
    "\"parentId\":\"a9\"",
    "\"id\":\"a1\"",
    "\"type\":\"session\"",
    "\"version\":3",
    "\"version\":1",
    "\"role\":\"toolResult\"",
    "\"role\":\"bashExecution\"",
    "\"role\":\"custom\"",
    "\"type\":\"branch_summary\"",
    "\"type\":\"custom\"",
    "\"type\":\"leaf\"",
    "\"fromId\":\"a1\"",
    "\"firstKeptEntryId\":\"a8\"",
    "\"firstKeptEntryIndex\":1",
    "\"timestamp\":\"9999-12-31T23:59:59.999Z\"",
    "\"timestamp\":-1",
    "\0\0\0",
    "\n",
];

#[test]
fn session_files() {
    run(Target { name: "session_files", check: check_session, seeds: sessions(), words: ENTRIES, cases: 60 });
}

/// The messages of a session as written.
fn messages(session: &Session) -> Vec<String> {
    session.context().messages.iter().map(|message| serde_json::to_string(&**message).unwrap()).collect()
}

fn check_session(input: &[u8]) -> u64 {
    FOLDER.with(|folder| {
        let folder = tempfile::tempdir_in(folder.path()).unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, input).unwrap();
        let looked_at = Session::open_as(&path, Access::Read);
        assert_eq!(std::fs::read(&path).unwrap(), input, "looking at a file changes nothing");
        let _ = last_exchange(&path);
        list::list(folder.path(), None, &mut |_| true);
        hits(folder.path(), None, "hi again");
        let Ok(looked_at) = looked_at else {
            assert!(Session::open(&path).is_err(), "what cannot be read cannot be written to");
            return behavior("no session");
        };
        let context = looked_at.context();
        for message in &context.messages {
            let json = serde_json::to_string(&**message).unwrap();
            serde_json::from_str::<Message>(&json).expect("a message can be read again");
        }
        let outline = outline(looked_at.tree());
        let before = messages(&looked_at);
        assert!(before.concat().len() <= 8 * input.len() + 256, "{} messages", before.len());
        let looks =
            (magnitude(before.len()), looked_at.skipped_lines().min(4), magnitude(outline.rows.len()));
        check_written(&path, &before);
        behavior((looks, context.model.is_some(), context.thinking.is_some(), kinds(&context.messages)))
    })
}

fn kinds(messages: &[Arc<Message>]) -> Vec<std::mem::Discriminant<Message>> {
    messages.iter().take(8).map(|message| std::mem::discriminant(&**message)).collect()
}

/// A session opened for writing has the same messages, accepts another one, and has all of them when
/// reopened.
fn check_written(path: &Path, before: &[String]) {
    let mut session = Session::open(path).expect("what can be read can be opened");
    assert_eq!(messages(&session), before, "opening changes no message");
    let said = user("one more");
    if session.append(said.clone()).is_err() {
        return;
    }
    let expected: Vec<String> =
        before.iter().cloned().chain([serde_json::to_string(&*said).unwrap()]).collect();
    assert_eq!(messages(&session), expected, "a message is appended to the others");
    session.flush().unwrap();
    // A document of an early version becomes a new file.
    let file = session.info().file.clone().expect("it has a file");
    drop(session);
    let again = opened_soon(&file);
    assert_eq!(messages(&again), expected, "what was written is read again");
}

const KEYS: &[&str] = &[
    "model = ", "theme = ", "[keys]\n", "thinking = \"high\"\n", "\"a\"", "'a'", "\"\"\"", "[", "]", "= ",
    "true", "1", "-1", "1e9", "{ a = 1 }", "tools = []\n", "api = \"openai-completions\"\n", "\u{feff}",
    "# x\n", "\r\n", "[vendors.x]\n", "[[vendors.x.models]]\n", "id = \"m\"\n", "\"\\u0000\"",
    "base_url = \"http://localhost\"\n", "[colors]\n", "[palette]\n", "inherits = \"dark\"\n", "#ff0000",
    "bold", "2026-01-01",
];

#[test]
fn settings() {
    let seeds = [
        "model = \"anthropic/claude\"\nthinking = \"low\"\ntheme = 'light' # why\nbash_timeout = 30\nmouse = false\n[keys]\nquit = [\"ctrl+q\"]\n",
        "[sandbox]\nlevel = \"off\"\nwritable = [\"~/x\"]\n[timeouts]\nidle = 3\n",
        "tools = [\"read\", \"bash\"]\n",
        "pass_env = [\"A\"]\nproxy = \"none\"\ntimeouts.idle = 5\nauto_compact = true\nhide_thinking = true\n",
        "",
    ];
    let seeds = seeds.iter().map(|text| text.as_bytes().to_vec()).collect();
    run(Target { name: "settings", check: check_settings, seeds, words: KEYS, cases: 1_000 });
}

/// An error names the file. It may quote it: whoever displays an error sanitizes it.
fn check_error(text: &str, file: &str) {
    assert!(text.contains(file), "{text:?}");
    assert!(text.len() < 16 * 1024, "{} bytes", text.len());
}

/// The start of the error, without the place.
fn kind_of(error: &impl ToString) -> String {
    error.to_string().rsplit(": ").next().unwrap_or_default().chars().take(12).collect()
}

fn check_settings(input: &[u8]) -> u64 {
    FOLDER.with(|folder| {
        let paths = Paths::under(folder.path());
        let file = paths.config_file();
        std::fs::write(&file, input).unwrap();
        let settings = match Settings::load(&paths) {
            Ok(settings) => settings,
            Err(error) => {
                check_error(error.as_ref(), "config.toml");
                if write::save(&paths.shared_file(file.clone()), "theme", "x").is_ok() {
                    // The error was in the setting that was replaced.
                    Settings::load(&paths).expect("what was saved is understood");
                } else {
                    assert_eq!(std::fs::read(&file).unwrap(), input, "what is not understood is left alone");
                }
                return behavior(kind_of(&error));
            }
        };
        write::save(&paths.shared_file(file), "theme", "a \"theme\"").expect("one setting can be saved");
        let saved = Settings::load(&paths).expect("what was saved is understood");
        let expected = Settings { theme: Some("a \"theme\"".to_owned()), ..settings.clone() };
        assert_eq!(format!("{saved:?}"), format!("{expected:?}"), "one setting changes");
        let set = [
            settings.model.is_some(),
            settings.theme.is_some(),
            settings.tools.is_some(),
            settings.mouse.is_some(),
            settings.keys.is_none(),
            settings.pass_env.is_none(),
            settings.api.is_some(),
            settings.proxy.is_some(),
        ];
        behavior(set)
    })
}

#[test]
fn models_files() {
    let seeds = [
        "[vendors.own]\nbase_url = \"http://127.0.0.1:1\"\napi = \"openai-completions\"\napi_key = \"x\"\n[[vendors.own.models]]\nid = \"m\"\ncontext_window = 1000\nreasoning = true\n",
        "[vendors.anthropic]\nbase_url = \"https://example.com\"\n[vendors.anthropic.overrides.x]\nmax_tokens = 5\n",
        "",
    ];
    let seeds = seeds.iter().map(|text| text.as_bytes().to_vec()).collect();
    run(Target { name: "models_files", check: check_models, seeds, words: KEYS, cases: 150 });
}

fn check_models(input: &[u8]) -> u64 {
    FOLDER.with(|folder| {
        let paths = Paths::under(folder.path());
        std::fs::write(paths.config.join("models.toml"), input).unwrap();
        match Catalogue::load(&paths, &Settings::default(), None) {
            Ok(catalogue) => {
                assert!(!catalogue.models().is_empty(), "the built-in models stay");
                behavior((magnitude(catalogue.models().len()), catalogue.providers().len()))
            }
            Err(error) => {
                check_error(error.as_ref(), "models.toml");
                behavior(kind_of(&error))
            }
        }
    })
}

#[test]
fn themes() {
    let mut seeds = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("themes"));
    seeds.push(
        b"inherits = \"dark\"\n[palette]\na = \"#010203\"\n[colors]\ntext = \"a on 5 bold\"\n".to_vec(),
    );
    run(Target { name: "themes", check: check_theme, seeds, words: KEYS, cases: 1_000 });
}

fn check_theme(input: &[u8]) -> u64 {
    let text = as_text(input);
    match Theme::parse(&text) {
        Ok(theme) => {
            assert_eq!(theme.id(), Theme::parse(&text).unwrap().id(), "equal themes have equal keys");
            let styled =
                ThemeToken::ALL.iter().filter(|token| theme.style(**token) != Default::default()).count();
            behavior(("theme", styled / 4))
        }
        Err(error) => {
            assert!(!error.text.is_empty(), "an error says something");
            behavior(error.text.chars().take(14).collect::<String>())
        }
    }
}
