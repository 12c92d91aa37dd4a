//! Links within the project resolve to existing files and headings.

use super::{Document, documents, report};
use crate::harness::root;

/// The targets of `[text](target)` and `![text](target)`.
fn targets(document: &Document) -> Vec<&str> {
    let pieces = document.prose().flat_map(|line| line.split("](").skip(1));
    pieces.filter_map(|piece| piece.split_once(')')).map(|(target, _)| target).collect()
}

/// The anchor of a heading: lower case, hyphens for blanks, otherwise only letters and digits.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    };
    heading.trim().to_lowercase().chars().filter_map(kept).collect()
}

fn has_heading(text: &str, name: &str) -> bool {
    let document = Document { path: String::new(), text: text.to_owned() };
    let mut headings = document.prose().filter(|line| line.starts_with('#'));
    headings.any(|line| anchor(line.trim_start_matches('#')) == name)
}

#[test]
fn links_lead_somewhere() {
    let (mut seen, mut faults) = (0, Vec::new());
    for document in documents() {
        let folder = root().join(&document.path).parent().expect("a folder").to_owned();
        for target in targets(&document).into_iter().filter(|target| !target.contains("://")) {
            seen += 1;
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { root().join(&document.path) } else { folder.join(path) };
            let inside = file.canonicalize().is_ok_and(|file| {
                file.is_file() && file.starts_with(root()) && !file.starts_with(root().join("target"))
            });
            let found = inside
                && (heading.is_empty()
                    || std::fs::read_to_string(&file).is_ok_and(|text| has_heading(&text, heading)));
            if !found {
                faults.push(format!("{}: {target} leads nowhere", document.path));
            }
        }
    }
    assert!(seen > 40, "only {seen} links were seen");
    report(&faults);
}

#[test]
fn the_readme_leads_to_every_document() {
    let documents = documents();
    // If not directly, then by way of the page for readers of the code.
    let ways = documents.iter().filter(|it| ["README.md", "ARCHITECTURE.md"].contains(&it.path.as_str()));
    let linked: Vec<&str> =
        ways.flat_map(targets).map(|target| target.split('#').next().unwrap_or(target)).collect();
    let lost = documents.iter().filter(|it| it.path != "README.md" && !linked.contains(&it.path.as_str()));
    let lost: Vec<String> = lost.map(|it| format!("README.md does not link {}", it.path)).collect();
    report(&lost);
}

#[test]
fn anchors_are_those_of_headings() {
    let text = "# A b\n\n## Keys, and `code`\n\n```sh\n# no heading\n```\n";
    assert!(has_heading(text, "a-b") && has_heading(text, "keys-and-code"));
    assert!(!has_heading(text, "no-heading") && !has_heading(text, "a"));
}
