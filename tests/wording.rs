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
const EXCEPT: [(&str, &str); 5] = [
    ("src/agent/catalogue/user.rs", "vendors"),
    ("src/agent/catalogue/embedded.rs", "vendors"),
    ("src/app/request.rs", "vendors"),
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
