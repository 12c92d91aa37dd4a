//! Sessions: lists of many, opening a large one, appending.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tau::agent::protocol::message::{Message, UserContent, UserMessage};
use tau::agent::session::Session;
use tau::agent::session::foreign::places::ForeignPlaces;
use tau::agent::session::index::SessionIndex;
use tau::agent::session::list::list_with_index;
use tau::agent::session::search::{SearchLimits, SearchScope, search};

use crate::terminal::Terminal;
use crate::{Subject, milliseconds, percentile, process, row};

/// The number of sessions in the list.
const MANY: usize = 10_000;
/// The size of the large session, in bytes.
const LARGE: usize = 100 * 1024 * 1024;

/// All session figures.
pub fn measure(tau: &Subject) {
    let dir = tempfile::tempdir().unwrap();
    append(dir.path());
    listing(dir.path());
    searching(dir.path());
    for (name, compaction) in [("100 MB session", false), ("100 MB session, compacted", true)] {
        let path = dir.path().join(format!("{compaction}.jsonl"));
        std::fs::write(&path, large(compaction)).unwrap();
        open(tau, name, &path);
    }
}

fn said(text: String) -> Arc<Message> {
    Arc::new(Message::User(UserMessage { timestamp: 1, ..UserMessage::new(UserContent::Text(text)) }))
}

fn append(dir: &Path) {
    let mut session = Session::begin(Some(&dir.join("append")), dir, None);
    let mut times = Vec::new();
    for at in 0..5_000 {
        let message = said(format!("{at} ").repeat(200));
        let start = Instant::now();
        session.append(message).unwrap();
        times.push(start.elapsed());
    }
    row("tau", "append, p50", milliseconds(percentile(&mut times, 50)));
    row("tau", "append, p99", milliseconds(percentile(&mut times, 99)));
}

fn header(id: usize, cwd: &Path) -> String {
    let header = json!({"type": "session", "version": 3, "id": format!("s{id}"),
        "timestamp": "2026-01-02T03:04:05.678Z", "cwd": cwd});
    format!("{header}\n")
}

fn message(id: usize, text: &str) -> String {
    let parent = id.checked_sub(1).map(|id| format!("e{id}"));
    let role = if id.is_multiple_of(2) { "user" } else { "assistant" };
    let entry = json!({"type": "message", "id": format!("e{id}"), "parentId": parent,
        "timestamp": "2026-01-02T03:04:09.010Z", "message": {"role": role,
        "content": [{"type": "text", "text": text}], "api": "openai-completions", "provider": "p", "model": "m",
        "stopReason": "stop", "timestamp": 1}});
    format!("{entry}\n")
}

fn listing(dir: &Path) {
    let root = dir.join("many");
    for id in 0..MANY {
        let folder = root.join(format!("--work-{}--", id % 50));
        std::fs::create_dir_all(&folder).unwrap();
        let mut text = header(id, Path::new("/work"));
        for at in 0..8 {
            text.push_str(&message(at, &format!("message {at} of session {id} ").repeat(20)));
        }
        std::fs::write(folder.join(format!("{id}.jsonl")), text).unwrap();
    }
    let index = dir.join("sessions.index");
    for when in ["no index", "warm index"] {
        let start = Instant::now();
        let mut known = SessionIndex::load(&index);
        let (mut count, mut first) = (0, None);
        list_with_index(&root, None, &mut known, &mut |_| {
            count += 1;
            first.get_or_insert_with(|| start.elapsed());
            true
        });
        let took = start.elapsed();
        known.save(&index).unwrap();
        row("tau", &format!("{count} sessions, {when}, first row"), milliseconds(first.unwrap_or_default()));
        row("tau", &format!("{count} sessions, {when}, all rows"), milliseconds(took));
    }
}

/// The number of searched sessions, and the bytes of all of them.
const SEARCHED: usize = 2_000;
const SEARCHED_BYTES: usize = 1024 * 1024 * 1024;

/// Searches sessions of 1 GB: builds the index, then finds a rare word, a frequent one, and none.
fn searching(dir: &Path) {
    let root = dir.join("searched");
    let mut words = Words(1);
    for id in 0..SEARCHED {
        let folder = root.join(format!("--work-{}--", id % 50));
        std::fs::create_dir_all(&folder).unwrap();
        let mut text = header(id, Path::new("/work"));
        let mut at = 0;
        while text.len() < SEARCHED_BYTES / SEARCHED {
            let mut said = words.text(400);
            if id == SEARCHED / 2 && at == 20 {
                said.push_str(" extraordinarily rare");
            }
            text.push_str(&message(at, &said));
            at += 1;
        }
        std::fs::write(folder.join(format!("{id}.jsonl")), text).unwrap();
    }
    let (index, list_index) = (dir.join("search.db"), dir.join("searched.index"));
    let find = |query: &str, limits| {
        let start = Instant::now();
        let others = ForeignPlaces::default();
        let scope = SearchScope {
            root: &root,
            others: &others,
            cwd: None,
            index: &index,
            list_index: &list_index,
            secrets: &[],
        };
        let mut count = 0;
        search(&scope, query, limits, &mut |hit| {
            count += usize::from(hit.is_some());
            true
        })
        .unwrap();
        (start.elapsed(), count)
    };
    let every = SearchLimits { per_session: 100, total: 100 };
    let picker = SearchLimits { per_session: 1, total: 1_000 };
    let (built, _) = find("extraordinarily rare", every);
    row("tau", "1 GB of sessions, building the index", format!("{:.1} s", built.as_secs_f64()));
    let size = std::fs::metadata(&index).unwrap().len();
    row("tau", "1 GB of sessions, the index", format!("{} MB", size / 1024 / 1024));
    let queries = [
        ("a rare word", "extraordinarily", every),
        ("nothing", "nowhereatall", every),
        ("a frequent word", "ba", every),
        ("a word in every session", "ba", picker),
        ("three words", "ba be bi", picker),
    ];
    for (name, query, limits) in queries {
        let mut times: Vec<Duration> = (0..9).map(|_| find(query, limits).0).collect();
        row(
            "tau",
            &format!("1 GB of sessions, searching for {name}, p50"),
            milliseconds(percentile(&mut times, 50)),
        );
    }
}

/// Random words, some of them far more frequent than others.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn text(&mut self, count: usize) -> String {
        let mut text = String::new();
        for at in 0..count {
            let syllables = 1 + self.next() % (1 + self.next() % 4);
            for _ in 0..syllables {
                let (consonant, vowel) = (self.next() % 16, self.next() % 5);
                text.push(char::from(b"bcdfghjklmnprstv"[usize::try_from(consonant).unwrap()]));
                text.push(char::from(b"aeiou"[usize::try_from(vowel).unwrap()]));
            }
            text.push_str(if at % 12 == 11 { "\n" } else { " " });
        }
        text
    }
}

fn large(compaction: bool) -> String {
    let mut text = header(0, &std::env::temp_dir());
    let words = "The quick brown fox jumps over the lazy dog. ".repeat(90);
    let mut id = 0;
    while text.len() < LARGE {
        text.push_str(&message(id, &words));
        id += 1;
    }
    if compaction {
        let entry = json!({"type": "compaction", "id": "k", "parentId": format!("e{}", id - 1),
            "timestamp": "2026-01-02T03:04:09.010Z", "summary": "it was about a fox", "tokensBefore": 9,
            "firstKeptEntryId": format!("e{}", id - 10)});
        text.push_str(&format!("{entry}\n"));
        text.push_str(&message(id, "and on").replace(&format!("\"e{}\"", id - 1), "\"k\""));
        id += 1;
    }
    text + &message(id, "the very last words")
}

fn open(tau: &Subject, name: &str, path: &Path) {
    let path = path.to_string_lossy().into_owned();
    let mut args = tau.args.clone();
    args.extend(["--session", &path]);
    let mut times = Vec::new();
    let mut peak = 0;
    for _ in 0..5 {
        let start = Instant::now();
        let mut terminal = Terminal::start(&tau.path, &args);
        let shown = |screen: &vt100::Screen| screen.contents().contains("the very last words");
        if terminal.wait_until(Duration::from_secs(30), shown) {
            times.push(start.elapsed());
        }
        peak = peak.max(process::peak(terminal.pid()));
    }
    row("tau", &format!("{name}, on the screen, p50"), milliseconds(percentile(&mut times, 50)));
    row("tau", &format!("{name}, peak memory"), format!("{:.1} MB", peak as f64 / 1024.0));
}
