//! The words of the project: names, comments, documents and user-visible text.
//!
//! docs/glossary.md has the words. This is what they replace: words that no one would search for.

use std::path::{Path, PathBuf};

/// A phrase to avoid, and its replacement. Matched as whole words, in any case.
const AVOIDED: [(&str, &str); 29] = [
    ("the person", "the user"),
    ("goes on", "continues"),
    ("go on", "continue"),
    ("gone on", "continued"),
    ("went on", "continued"),
    ("make room", "compact"),
    ("makes room", "compacts"),
    ("making room", "compaction"),
    ("made room", "compacted"),
    ("room is made", "is compacted"),
    ("room was made", "was compacted"),
    ("anew", "again"),
    ("in passing", "transient"),
    ("otherwise than", "different from"),
    ("broke off", "was cut"),
    ("breaks off", "is cut"),
    ("break off", "cut"),
    ("look after", "check"),
    ("looks on", "reads only"),
    ("deed", "operation"),
    ("deeds", "operations"),
    ("mend", "repair"),
    ("mended", "repaired"),
    ("mends", "repairs"),
    ("of a sudden", "suddenly"),
    ("word for word", "verbatim"),
    ("hand on", "pass on"),
    ("vendor", "provider"),
    ("vendors", "providers"),
];

/// The extensions of the project's text files.
const WRITTEN: [&str; 7] = ["rs", "md", "toml", "css", "js", "ts", "py"];

/// The folders that are checked, besides the documents at the top.
const FOLDERS: [&str; 5] = ["src", "docs", "examples", "themes", "tests"];

/// Exceptions: names in files of users and recordings.
const EXCEPT: [(&str, &str); 7] = [
    ("src/agent/protocol/model.rs", "vendors"),
    ("src/agent/catalogue/user.rs", "vendors"),
    ("src/agent/catalogue/embedded.rs", "vendors"),
    ("src/app/request.rs", "vendors"),
    ("src/cli/import/plan.rs", "vendors"),
    ("docs/models.md", "vendors"),
    ("tests/providers/requests.rs", "go on"),
];

fn collect(folder: &Path, deep: bool, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if deep {
                collect(&path, deep, files);
            }
        } else if path.extension().is_some_and(|extension| WRITTEN.iter().any(|known| extension == *known)) {
            files.push(path);
        }
    }
}

/// True if `phrase` is in `line` as whole words; both in lower case.
fn holds(line: &str, phrase: &str) -> bool {
    let part = |c: char| c.is_alphanumeric();
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + phrase.len()..].chars().next();
        // A TOML table keeps its name.
        !before.is_some_and(|c| part(c) || c == '[') && !after.is_some_and(part)
    })
}

#[test]
fn nothing_is_said_in_words_that_nobody_would_search_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(root, false, &mut files);
    FOLDERS.iter().for_each(|folder| collect(&root.join(folder), true, &mut files));
    assert!(files.len() > 250, "only {} files were seen", files.len());
    let mut faults = Vec::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        // A phrase may be split over two lines of a comment or a paragraph.
        let text = std::fs::read_to_string(&path).unwrap().to_lowercase().replace('_', " ");
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let next =
                lines.get(index + 1).map_or("", |next| next.trim_start().trim_start_matches(['/', '!']));
            let joined = format!("{line} {}", next.trim_start());
            for (phrase, instead) in AVOIDED {
                let ends_here = holds(line, phrase);
                let broken = !ends_here && holds(&joined, phrase) && !holds(next, phrase);
                if name != "tests/wording.rs"
                    && (ends_here || broken)
                    && !EXCEPT.contains(&(name.as_str(), phrase))
                {
                    faults.push(format!("{name}:{}: `{phrase}`; say: {instead}", index + 1));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_rule_about_words_sees_what_it_should() {
    for (line, phrase, expected) in [
        ("it goes on", "goes on", true),
        ("it goes once", "goes on", false),
        ("// anew", "anew", true),
        ("the deed", "deed", true),
        ("indeed", "deed", false),
    ] {
        assert_eq!(holds(line, phrase), expected, "{line}");
    }
}

/// How the documentation of an item does not begin: it says what the item is or does.
const BEGINNINGS: [&str; 9] =
    ["What ", "Who ", "Whoever ", "Whatever ", "The same ", "The same,", "As [", "Those that ", "That of "];

/// Documentation here is shown to users, by `--help` or in a schema.
const READ_BY_USERS: [&str; 4] =
    ["src/cli/args/", "src/cli/serve/mcp_tools.rs", "src/agent/web/search.rs", "src/agent/settings/table.rs"];

#[test]
fn documentation_says_what_a_thing_is_or_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&root.join("src"), true, &mut files);
    let mut faults = Vec::new();
    let mut seen = 0;
    for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        if READ_BY_USERS.iter().any(|known| name.starts_with(known)) {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        let mut before = "";
        for (index, line) in text.lines().map(str::trim_start).enumerate() {
            let is_doc = |line: &str| line.starts_with("///") || line.starts_with("//!");
            let begins = is_doc(line) && !is_doc(before);
            before = line;
            seen += usize::from(begins);
            let said = line.get(3..).unwrap_or_default().trim_start();
            if begins && BEGINNINGS.iter().any(|beginning| said.starts_with(beginning)) {
                faults.push(format!("{name}:{}: {said}", index + 1));
            }
        }
    }
    assert!(seen > 5_000, "only {seen} were seen");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
