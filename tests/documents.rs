//! The documents: generated tables, links that resolve, examples that work, and names that exist.
//! `TAU_BLESS=1` rewrites the tables.

mod examples;
mod links;
mod names;
mod settings;
mod tables;

use std::path::PathBuf;

use crate::harness::root;

/// A document. `path` is relative to the project.
struct Document {
    path: String,
    text: String,
}

/// A fenced block.
struct Fenced<'a> {
    /// The text after the opening fence.
    language: &'a str,
    text: &'a str,
}

/// Every document of the project.
fn documents() -> Vec<Document> {
    let mut documents = Vec::new();
    for folder in ["", "docs", "docs/design"] {
        let entries = std::fs::read_dir(root().join(folder)).expect("the folder");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        paths.sort();
        documents.extend(paths.iter().map(|path| {
            let path = path.strip_prefix(root()).expect("inside").to_str().expect("UTF-8");
            document(path)
        }));
    }
    assert!(documents.len() > 12, "only {} documents were seen", documents.len());
    documents
}

fn document(path: &str) -> Document {
    let text = std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    Document { path: path.to_owned(), text }
}

impl Document {
    /// The blocks fenced by three backticks.
    fn fenced(&self) -> Vec<Fenced<'_>> {
        let mut blocks = Vec::new();
        let mut rest = self.text.as_str();
        while let Some((_, after)) = rest.split_once("\n```") {
            let (language, body) = after.split_once('\n').expect("a line after the fence");
            let (text, after) = body.split_once("\n```").expect("a closing fence");
            blocks.push(Fenced { language, text });
            rest = after;
        }
        blocks
    }

    /// The lines outside of fences.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut fenced = false;
        self.text.lines().filter(move |line| {
            let fence = line.starts_with("```");
            fenced ^= fence;
            !fenced && !fence
        })
    }

    /// The texts in single backticks outside of fences.
    fn code_spans(&self) -> Vec<&str> {
        self.prose().flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
    }

    /// The rows of the table between `<!-- NAME -->` and `<!-- /NAME -->`, without its head, as cells.
    fn table(&self, name: &str) -> Vec<Vec<String>> {
        let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
        let (_, rest) = self.text.split_once(&open).unwrap_or_else(|| panic!("{} has no {open}", self.path));
        let (table, _) = rest.split_once(&close).unwrap_or_else(|| panic!("{} has no {close}", self.path));
        rows(table)
    }
}

/// The rows of a table without its head, as cells.
fn rows(table: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let line = line.trim().replace("\\|", "\u{1}");
        let line = line.strip_prefix('|').unwrap_or(&line);
        let line = line.strip_suffix('|').unwrap_or(line);
        line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
    };
    table.lines().filter(|line| line.starts_with('|')).skip(2).map(cells).collect()
}

/// Fails with all faults, not just the first.
#[track_caller]
fn report(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_readme_is_short() {
    let lines = document("README.md").text.lines().count();
    assert!(lines <= 200, "README.md has {lines} lines (200 are allowed); move some of it to docs/");
}
