//! The search of everything that was said in sessions, and its index.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tau::agent::session::Session;
use tau::agent::session::foreign::places::ForeignPlaces;
use tau::agent::session::search::{SearchLimits, SearchScope, SessionHit, search};

use crate::screen::Screen;
use crate::support::session_files::{HEADER, entry, line};
use crate::time_limit::{EndInTime, RunInTime};

const ALL: SearchLimits = SearchLimits { per_session: 100, total: 100 };

/// What a new index finds below a folder of sessions.
pub fn hits(root: &Path, cwd: Option<&Path>, query: &str) -> Vec<SessionHit> {
    let cache = tempfile::tempdir().unwrap();
    hits_with(cache.path(), root, cwd, query)
}

fn hits_with(cache: &Path, root: &Path, cwd: Option<&Path>, query: &str) -> Vec<SessionHit> {
    hits_without(&["hunter2-hunter2"], cache, root, cwd, query)
}

/// Like [`hits_with`], with these secrets.
fn hits_without(
    secrets: &[&str],
    cache: &Path,
    root: &Path,
    cwd: Option<&Path>,
    query: &str,
) -> Vec<SessionHit> {
    let (index, list_index) = (cache.join("search.db"), cache.join("sessions.index"));
    let others = ForeignPlaces::default();
    let secrets: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
    let scope =
        SearchScope { root, others: &others, cwd, index: &index, list_index: &list_index, secrets: &secrets };
    let mut found = Vec::new();
    search(&scope, query, ALL, &mut |hit| {
        found.extend(hit);
        true
    })
    .unwrap();
    found
}

fn header(id: &str) -> String {
    HEADER.replace("\"s1\"", &format!("\"{id}\""))
}

fn result(id: &str, parent: &str, text: &str) -> String {
    let message = json!({"message": {"role": "toolResult", "toolCallId": "c", "toolName": "bash",
        "content": [{"type": "text", "text": text}]}});
    entry("message", id, Some(parent), message)
}

fn entries(hits: &[SessionHit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.entry.as_str()).collect()
}

/// A folder of sessions, and one for the index.
struct Place {
    sessions: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Place { sessions: tempfile::tempdir().unwrap(), cache: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, lines: &[String]) -> PathBuf {
        let path = self.sessions.path().join(name);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        path
    }

    fn find(&self, query: &str) -> Vec<SessionHit> {
        hits_with(self.cache.path(), self.sessions.path(), None, query)
    }
}

#[test]
fn all_that_was_said_is_found_with_its_entry() {
    let place = Place::new();
    let answer = json!({"message": {"role": "assistant", "api": "x", "provider": "p", "model": "m",
        "stopReason": "toolUse", "content": [
            {"type": "thinking", "thinking": "a quiet thought"},
            {"type": "text", "text": "visible words"},
            {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "grep -r orchids ./src"}}]}});
    let picture = json!({"message": {"role": "user", "content": [{"type": "image", "mimeType": "image/png",
        "data": "cGljdHVyZQ"}, {"type": "text", "text": "see 東京タワー"}]}});
    let shell =
        json!({"message": {"role": "bashExecution", "command": "make check", "output": "all zebras green"}});
    let summary = json!({"summary": "we renamed the gadget", "firstKeptEntryId": "e", "tokensBefore": 1});
    place.write(
        "one.jsonl",
        &[
            header("one"),
            line("a", None, "Where do the orchids grow?"),
            entry("message", "b", Some("a"), answer),
            result("c", "b", "src/garden.rs:7: let orchids = 12;\nerror[E0425]: cannot find `bed`"),
            entry("message", "d", Some("c"), picture),
            entry("message", "e", Some("d"), shell),
            entry("compaction", "f", Some("e"), summary),
        ],
    );
    let check = |query: &str, expected: &[&str]| assert_eq!(entries(&place.find(query)), expected, "{query}");
    check("orchids", &["a", "b", "c"]);
    check("ORCH grow", &["a"]);
    check("e0425", &["c"]);
    check("src/garden.rs", &["c"]);
    check("garden/rs", &[]);
    check("quiet", &["b"]);
    check("zebras", &["e"]);
    check("gadget", &["f"]);
    check("東京", &["d"]);
    check("cGljdHVyZQ", &[]);
    check("toolUse", &[]);
    check("-> …", &[]);
    let hit = &place.find("cannot bed")[0];
    assert_eq!((hit.session.id.as_str(), hit.text.as_str()), ("one", "error[E0425]: cannot find `bed`"));
    assert_eq!(hit.passage, "cannot find `bed`");
}

#[test]
fn symbols_other_case_and_phrases_over_lines_are_found() {
    let place = Place::new();
    let text = "deployed 🚀 to the Straße,\n  twice as\n\nfast; a ✔️ and 日本";
    place.write("one.jsonl", &[header("one"), line("a", None, text), line("b", Some("a"), "nothing else")]);
    for query in
        ["🚀", "✔", "日", "STRASSE", "strasse", "straße", "\"the straße, twice as fast\"", "\"as fast\" 🚀"]
    {
        assert_eq!(entries(&place.find(query)), ["a"], "{query}");
    }
    for query in ["🛸", "\"straße, twice fast\"", "\"to fast\""] {
        assert!(place.find(query).is_empty(), "{query}");
    }
    let hit = &place.find("\"twice as fast\"")[0];
    assert_eq!((hit.text.as_str(), hit.passage.as_str()), ("twice as", "twice as"));
}

#[test]
fn the_index_grows_with_the_sessions_and_may_be_deleted() {
    let place = Place::new();
    let path = place.write("one.jsonl", &[header("one"), line("a", None, "alpha")]);
    place.write("two.jsonl", &[header("two"), line("x", None, "alpha beta")]);
    assert_eq!(place.find("alpha").len(), 2);
    // A line that is being written is found, and again when it is complete.
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    write!(file, "{}", line("b", Some("a"), "gamma")).unwrap();
    assert_eq!(entries(&place.find("gamma")), ["b"]);
    writeln!(file).unwrap();
    writeln!(file, "{}", result("c", "b", "gamma delta")).unwrap();
    assert_eq!(entries(&place.find("gamma")), ["b", "c"]);
    assert_eq!(entries(&place.find("alpha")).len(), 2);
    // Another file under the same name.
    place.write("one.jsonl", &[header("one"), line("a", None, "omega omega omega omega omega omega omega")]);
    assert!(place.find("gamma").is_empty());
    assert_eq!(entries(&place.find("omega")), ["a"]);
    fs::remove_file(place.sessions.path().join("two.jsonl")).unwrap();
    assert!(place.find("beta").is_empty());
    let index = place.cache.path().join("search.db");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&index).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    for damage in ["", "no database at all, but long enough to be taken for one"] {
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(place.cache.path().join(format!("search.db{end}")));
        }
        fs::write(&index, damage.repeat(100)).unwrap();
        assert_eq!(entries(&place.find("omega")), ["a"], "{damage}");
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(entries(&place.find("omega")), ["a"]);
}

#[test]
fn a_long_output_is_found_in_pieces() {
    let place = Place::new();
    let index = || fs::read(place.cache.path().join("search.db")).unwrap().len();
    for (name, blank) in [("lines", "\n"), ("words", " ")] {
        let filler = format!("the filler of many words é{blank}").repeat(60_000);
        let long = format!("{filler}a needle here{blank}{filler}{filler}and a haystack{blank}{filler}");
        place.write(
            &format!("{name}.jsonl"),
            &[header(name), result("a", "", &long), line("b", None, "after it")],
        );
    }
    assert_eq!(entries(&place.find("filler")), ["a", "a"], "once for each entry");
    for (query, begins) in [("needle", "needle here"), ("haystack", "haystack"), ("after", "after it")] {
        let found = place.find(query);
        assert_eq!(found.len(), 2, "{query}");
        assert!(found.iter().all(|hit| hit.passage.starts_with(begins)), "{found:?}");
        assert!(found.iter().all(|hit| hit.text.len() < 1_000));
    }
    let before = index();
    place.find("needle");
    assert_eq!(index(), before, "it is read once");
}

#[test]
fn a_damaged_index_is_made_again() {
    let place = Place::new();
    for n in 0..40 {
        let lines =
            [header(&n.to_string()), line("a", None, &format!("alpha word{n} {}", "beta ".repeat(200)))];
        place.write(&format!("{n}.jsonl"), &lines);
    }
    let index = place.cache.path().join("search.db");
    assert_eq!(place.find("alpha").len(), 40);
    let pages = fs::metadata(&index).unwrap().len() / 4096;
    assert!(pages > 8, "{pages}");
    for page in [0, 3, 7] {
        let mut bytes = fs::read(&index).unwrap();
        // The header of the first page tells what kind of file it is.
        let from = if page == 0 { 100 } else { page * 4096 };
        let part = bytes.get_mut(from..(page + 1) * 4096).unwrap();
        part.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 37 % 251) as u8);
        fs::write(&index, bytes).unwrap();
        let mut found: Vec<_> = place.find("alpha").into_iter().map(|hit| hit.session.path).collect();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 40, "page {page}");
    }
}

#[test]
fn secrets_are_not_in_the_index() {
    let place = Place::new();
    let key = "sk-ant-api03-A1b2C3d4E5f6G7h8I9j0K1l2";
    place.write(
        "one.jsonl",
        &[
            header("one"),
            line("a", None, "log in with hunter2-hunter2 here"),
            result("b", "a", &format!("ANTHROPIC_API_KEY={key} and the rest")),
            line("c", Some("b"), "swordfish-swordfish was new"),
        ],
    );
    assert_eq!(place.find("log")[0].text, "log in with [redacted] here");
    assert_eq!(place.find("rest")[0].text, "ANTHROPIC_API_KEY=[redacted] and the rest");
    assert!(place.find("hunter2").is_empty() && place.find(&key.to_lowercase()).is_empty());
    assert!(place.find("a1b2c3d4e5f6g7h8i9j0k1l2").is_empty());
    // It became known after it was stored.
    assert_eq!(place.find("new")[0].text, "swordfish-swordfish was new");
    let find = |query: &str| {
        let (cache, sessions) = (place.cache.path(), place.sessions.path());
        hits_without(&["swordfish-swordfish"], cache, sessions, None, query)
    };
    assert_eq!(find("new")[0].text, "[redacted] was new");
    assert!(find("swordfish").is_empty());
}

struct Home(tempfile::TempDir);

impl Home {
    /// A home with a session of each agent in one directory.
    fn new() -> Self {
        let home = Home(tempfile::tempdir().unwrap());
        let work = home.work();
        fs::create_dir_all(&work).unwrap();
        let here = |text: &str| text.replace("/home/dev/shop", &work.to_string_lossy());
        let name = work.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let put = |folder: PathBuf, file: &str, text: String| {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
        };
        let root = home.0.path();
        let own = format!("--{}--", work.to_string_lossy().trim_start_matches('/').replace('/', "-"));
        put(
            root.join(".claude/projects").join(name),
            "5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f.jsonl",
            here(include_str!("foreign_sessions/claude.jsonl")),
        );
        put(
            root.join(".codex/sessions/2026/03/03"),
            "rollout-2026-03-03T10-00-00-01a2120d-07f4-7b43-8a4d-62225e4e10ef.jsonl",
            here(include_str!("foreign_sessions/codex.jsonl")),
        );
        let lines = [
            HEADER.replace("/srv/web", &work.to_string_lossy()),
            line("a", None, "the basket of tau"),
            result("b", "a", "warning: unused basket\nwas shipped 🚀"),
        ];
        put(root.join("tau/sessions").join(own), "own.jsonl", lines.join("\n") + "\n");
        home
    }

    fn work(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("shop")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(["sessions", "search"]).args(args).current_dir(self.work()).env_clear();
        command.env("HOME", self.0.path()).env("TAU_HOME", self.0.path().join("tau"));
        command
    }

    fn found(&self, args: &[&str]) -> Vec<Value> {
        let output = self.command(args).output_in_time();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn the_command_finds_words_in_sessions_of_all_agents() {
    let home = Home::new();
    let found = home.found(&["basket", "--json"]);
    let sources: std::collections::BTreeSet<&str> =
        found.iter().map(|hit| hit["source"].as_str().unwrap()).collect();
    assert!(sources.contains("claude") && sources.contains("tau"), "{found:?}");
    for hit in &found {
        assert!(hit["text"].as_str().unwrap().to_lowercase().contains("basket"), "{hit}");
        // The id names the session, and the entry is in it.
        let path = Path::new(hit["path"].as_str().unwrap());
        assert!(path.exists() && hit["id"].as_str().is_some_and(|id| !id.is_empty()), "{hit}");
        let session = Session::copy(path, None, None).unwrap();
        assert!(session.tree().get(hit["entry"].as_str().unwrap()).is_some(), "{hit}");
    }
    let output = home.command(&["unused", "basket"]).output_in_time();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("  tau  the basket of tau\n  warning: unused basket\n"), "{text}");
    let output = home.command(&["nothing-like-this", "--json"]).output_in_time();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), b"[]\n".as_slice()));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing found"));
    let output = home.command(&["*"]).output_in_time();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no word to search for"), "{output:?}");
    // Elsewhere, only with --all.
    let elsewhere =
        |args: &[&str]| home.command(args).current_dir(home.0.path()).output_in_time().status.code();
    assert_eq!((elsewhere(&["basket"]), elsewhere(&["basket", "--all"])), (Some(1), Some(0)));
    assert_eq!(home.found(&["basket", "--json", "--limit", "1"]).len(), 1);
    let cut = home.command(&["basket", "--limit", "1"]).output_in_time();
    assert!(String::from_utf8_lossy(&cut.stderr).contains("more than 1 hit; --limit shows more"), "{cut:?}");
    let phrase = home.command(&["\"basket unused\""]).output_in_time();
    assert_eq!(phrase.status.code(), Some(1), "both words, but not together");
    assert_eq!(home.found(&["🚀", "--json"])[0]["text"], "was shipped 🚀");
    assert_eq!(home.found(&["\"BASKET was\"", "--json"]).len(), 1);
}

#[test]
fn two_searches_may_build_the_index_at_once() {
    let home = Home::new();
    let start = || home.command(&["basket", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let outputs: Vec<Value> = [start(), start(), start()]
        .map(|child| serde_json::from_slice(&child.output_in_time("the end of a search").stdout).unwrap())
        .into();
    assert!(outputs[0].as_array().unwrap().len() > 2, "{outputs:?}");
    assert!(outputs[0] == outputs[1] && outputs[1] == outputs[2], "{outputs:?}");
}

/// A long session in the working directory: an output in its middle has the words.
fn long_session(cwd: &str) -> String {
    let mut lines = vec![HEADER.replace("/srv/web", cwd)];
    let mut parent: Option<String> = None;
    for at in 0..600 {
        let id = format!("e{at}");
        lines.push(line(&id, parent.as_deref(), &format!("prompt {at}\n{}", "filler ".repeat(300))));
        if at == 300 {
            lines.push(line("aside", Some("e299"), "the echidna waits elsewhere"));
            let call = json!({"message": {"role": "assistant", "api": "openai-completions", "provider": "p", "model": "m",
                "stopReason": "toolUse", "content": [{"type": "toolCall", "id": "c", "name": "bash",
                "arguments": {"command": "cat notes"}}]}});
            lines.push(entry("message", "call", Some(&id), call));
            let output = format!(
                "{}the platypus sits in line forty 🦆\n{}",
                "some line\n".repeat(40),
                "more\n".repeat(40)
            );
            lines.push(result("out", "call", &output));
            parent = Some("out".into());
        } else {
            parent = Some(id);
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_hit_of_the_picker_opens_at_the_hit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.jsonl");
    fs::write(&file, long_session("CWD")).unwrap();
    let prepare = format!(
        "D=$TAU_HOME/sessions/--$(pwd -P | sed 's#^/##; s#/#-#g')--; mkdir -p $D; sed \"s#CWD#$(pwd -P)#\" {} > $D/long.jsonl",
        file.display()
    );
    let screen = Screen::prepared(&prepare, "--resume --model demo", 100, 30);
    screen.wait_for("602 messages");
    // A symbol is a word.
    screen.type_keys("🦆");
    screen.wait_for("text match");
    screen.type_keys("\x15");
    screen.wait_until("no query", |cells| !cells.contents().contains("text match"));
    screen.type_keys("platypus forty");
    screen.wait_for("text match");
    screen.wait_for("match: the platypus sits in line forty");
    screen.type_keys("\r");
    screen.wait_for("the platypus sits in line forty");
    screen.wait_for("1 of 1");
    // Esc ends the search there.
    screen.type_keys("\x1b");
    screen.wait_until("the end of the search", |cells| {
        let text = cells.contents();
        !text.contains("1 of 1") && text.contains("the platypus sits in line forty")
    });
    // A hit that the branch does not have.
    screen.type_keys("/resume\r");
    screen.wait_for("602 messages");
    screen.type_keys("echidna elsewhere");
    screen.wait_for("text match");
    screen.type_keys("\r");
    screen.wait_for("not in this branch: /tree has the others");
}
