//! YAML front matter: the fields between two `---` lines at the beginning of a markdown file.
//!
//! Files of other agents are often not quite valid YAML (`argument-hint: [file] [line]`, a colon within a
//! description). They are read line by line, with a problem that names the line.

use saphyr_parser::{Event, Parser, ScanError};
use tau_tools::user_error::UserError;

/// The maximum size of front matter in bytes; reading this much of a file is enough to list it.
pub const MAX_FRONT_MATTER: usize = 16 * 1024;
/// The maximum number of values in it.
const MAX_VALUES: usize = 1024;
/// The maximum nesting of values.
const MAX_DEPTH: usize = 8;

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// Any scalar, verbatim: `yes`, `3`.
    Text(String),
    List(Vec<FieldValue>),
    Map(Vec<(String, FieldValue)>),
}

impl FieldValue {
    /// The texts of a list, or those between the commas of a text that are not within `brackets`; none is
    /// empty, and none has blanks around it. A map has none.
    pub fn texts(&self, brackets: (char, char)) -> Vec<String> {
        let texts = match self {
            FieldValue::Text(text) => between_commas(text, brackets),
            FieldValue::List(list) => {
                list.iter().filter_map(FieldValue::as_text).map(str::to_owned).collect()
            }
            FieldValue::Map(_) => Vec::new(),
        };
        texts.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            FieldValue::Text(text) => Some(text),
            FieldValue::List(_) | FieldValue::Map(_) => None,
        }
    }
}

/// The parts of a text between commas outside brackets.
fn between_commas(text: &str, (open, close): (char, char)) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_usize);
    for c in text.chars() {
        if c == ',' && depth == 0 {
            parts.push(String::new());
            continue;
        }
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts
}

/// The fields of a file, and the offset of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    pub fields: Vec<(String, FieldValue)>,
    /// The lines between the marks, verbatim.
    pub source: String,
    /// The number of bytes before the text of the file.
    pub length: usize,
    /// The reason it was read line by line.
    pub problem: Option<String>,
}

impl FrontMatter {
    /// The front matter at the beginning of `text`; empty if it has none. Fails when its end is missing
    /// within [`MAX_FRONT_MATTER`] bytes.
    pub fn parse(text: &str) -> Result<Self, UserError> {
        let (start, mark) = match text.strip_prefix('\u{feff}') {
            Some(rest) => ('\u{feff}'.len_utf8(), rest),
            None => (0, text),
        };
        let mut lines = mark.split_inclusive('\n');
        let Some(first) = lines.next().filter(|line| line.trim_end() == "---" && line.ends_with('\n')) else {
            return Ok(FrontMatter { length: start, ..FrontMatter::default() });
        };
        let (mut length, mut source) = (start + first.len(), String::new());
        for line in lines {
            length += line.len();
            if length > MAX_FRONT_MATTER {
                break;
            }
            if matches!(line.trim_end(), "---" | "...") {
                let (fields, problem) = fields(&source);
                return Ok(FrontMatter { fields, source, length, problem });
            }
            source.push_str(line);
        }
        Err(format!("the end (---) of the front matter is missing in its first {MAX_FRONT_MATTER} bytes")
            .into())
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The value of a text field; `None` if it is empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            FieldValue::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            FieldValue::List(_) | FieldValue::Map(_) => None,
        }
    }

    /// The raw line of a field, without its name.
    pub fn line(&self, name: &str) -> Option<&str> {
        let line =
            |line: &'_ str| line.split_once(':').filter(|(key, _)| *key == name).map(|(_, rest)| rest.len());
        let found = self.source.lines().find_map(|found| line(found).map(|rest| (found, rest)))?;
        let (line, rest) = found;
        line.get(line.len() - rest..).map(str::trim).filter(|rest| !rest.is_empty())
    }

    /// The note that hooks here are not used, so what they would check is not checked.
    pub fn unused_hooks(&self) -> Option<String> {
        self.get("hooks")
            .map(|_| "its hooks are not used: tau runs those of settings and packages".to_owned())
    }

    /// Whether a field is true.
    pub fn is_true(&self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|text| text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("yes"))
    }
}

/// The fields of the lines, and the problem if they are not valid YAML.
fn fields(source: &str) -> (Vec<(String, FieldValue)>, Option<String>) {
    match yaml(source) {
        Ok(fields) => (fields, None),
        Err(problem) => (by_lines(source), Some(problem.into())),
    }
}

/// Parses lines `name: text`; indented ones continue the previous line.
fn by_lines(source: &str) -> Vec<(String, FieldValue)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in source.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let named = line.split_once(':').filter(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        });
        if let Some((name, text)) = named.filter(|_| found.len() < MAX_VALUES) {
            found.push((name.to_owned(), unquote(text.trim()).to_owned()));
        } else if let Some((_, text)) = found.last_mut().filter(|_| line.starts_with([' ', '\t'])) {
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    found.into_iter().map(|(name, text)| (name, FieldValue::Text(text.trim().to_owned()))).collect()
}

/// The text without quotation marks around it.
pub(super) fn unquote(text: &str) -> &str {
    let inner = |mark| text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// A collection that is being read; for a map, with the key of the next value.
enum Open {
    List(Vec<FieldValue>),
    Map(Vec<(String, FieldValue)>, Option<String>),
}

/// Parses the top-level map. References (`*name`) are refused, so nothing can expand beyond its written size.
fn yaml(source: &str) -> Result<Vec<(String, FieldValue)>, UserError> {
    let mut open: Vec<Open> = Vec::new();
    let mut values = 0_usize;
    for event in Parser::new_from_str(source) {
        let (event, _) = event.map_err(|error| error_text(&error))?;
        values += 1;
        if values > MAX_VALUES {
            return Err(format!("the front matter has more than {MAX_VALUES} values").into());
        }
        let value = match event {
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => continue,
            Event::DocumentEnd | Event::StreamEnd => break,
            Event::Alias(_) => {
                return Err("the front matter has a reference (*), which is not supported".into());
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                return Err(format!("the front matter is nested more than {MAX_DEPTH} levels deep").into());
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Vec::new(), None));
                continue;
            }
            Event::Scalar(text, ..) => FieldValue::Text(text.into_owned()),
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(list)) => FieldValue::List(list),
                Some(Open::Map(map, _)) if open.is_empty() => return Ok(map),
                Some(Open::Map(map, _)) => FieldValue::Map(map),
                None => break,
            },
        };
        put(&mut open, value)?;
    }
    if values <= 3 { Ok(Vec::new()) } else { Err("the front matter has no fields (name: value)".into()) }
}

/// Adds a complete value to the open collection.
fn put(open: &mut [Open], value: FieldValue) -> Result<(), UserError> {
    match (open.last_mut(), value) {
        (Some(Open::List(list)), value) => list.push(value),
        (Some(Open::Map(map, key)), value) => match (key.take(), value) {
            (Some(key), value) => map.push((key, value)),
            (None, FieldValue::Text(text)) => *key = Some(text),
            (None, FieldValue::List(_) | FieldValue::Map(_)) => {
                return Err("a name in the front matter is not text".into());
            }
        },
        (None, _) => return Err("the front matter has no fields (name: value)".into()),
    }
    Ok(())
}

/// Describes an error; line 1 of the file is the mark.
fn error_text(error: &ScanError) -> String {
    format!("line {}: {} (its lines were read one by one)", error.marker().line() + 1, error.info())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> FrontMatter {
        FrontMatter::parse(text).unwrap()
    }

    #[test]
    fn fields_are_read_and_the_text_begins_after_them() {
        let text = "\u{feff}---\r\nname: pdf\ndescription: >-\n  Reads\n  PDF files\nmetadata:\n  author: me\n\
                    allowed-tools: [Read, 'Bash(git:*)']\n---\nbody\n";
        let found = parse(text);
        assert_eq!(found.problem, None);
        assert_eq!(found.text("name"), Some("pdf"));
        assert_eq!(found.text("description"), Some("Reads PDF files"));
        let author = ("author".to_owned(), FieldValue::Text("me".to_owned()));
        assert_eq!(found.get("metadata"), Some(&FieldValue::Map(vec![author])));
        let tools = ["Read", "Bash(git:*)"].map(|tool| FieldValue::Text(tool.to_owned()));
        assert_eq!(found.get("allowed-tools"), Some(&FieldValue::List(tools.into())));
        assert_eq!(text.get(found.length..), Some("body\n"));
    }

    #[test]
    fn what_is_no_yaml_is_read_by_lines() {
        let found = parse("---\nargument-hint: [file] [line]\ndescription: Use when: it fails\n---\n");
        assert!(found.problem.as_ref().is_some_and(|problem| problem.starts_with("line 2: ")), "{found:?}");
        assert_eq!(found.line("argument-hint"), Some("[file] [line]"));
        assert_eq!(found.text("description"), Some("Use when: it fails"));
    }

    #[test]
    fn a_file_without_front_matter_is_all_text() {
        assert_eq!(parse("# Title\n---\n").length, 0);
        assert_eq!(parse("").length, 0);
        assert_eq!(parse("---").length, 0);
        assert_eq!(parse("---\n---\nx"), FrontMatter { length: 8, ..FrontMatter::default() });
        assert_eq!(parse("---\n# only a comment\n---\n").fields, []);
    }

    #[test]
    fn hostile_front_matter_is_refused() {
        assert!(FrontMatter::parse("---\nname: x\n").is_err());
        assert!(FrontMatter::parse(&format!("---\nname: {}\n---\n", "x".repeat(MAX_FRONT_MATTER))).is_err());
        let references = parse("---\na: &a [x, x]\nb: [*a, *a]\n---\n");
        assert!(references.problem.is_some_and(|problem| problem.contains("reference")));
        let deep = parse(&format!("---\na: {}\n---\n", "[".repeat(300)));
        assert!(deep.problem.is_some(), "{deep:?}");
        let list = parse("---\n- a\n- b\n---\n");
        assert!(list.problem.is_some_and(|problem| problem.contains("no fields")));
    }
}
