//! Prompts from the command line: arguments, `@file` arguments, piped input.
//!
//! Content named with `@` goes before the first prompt: text between fences, images as blocks. Only regular
//! files are read, and none that is too large to send; mistakes are reported before anything reaches a model.

use std::io::{ErrorKind, Read};
use std::path::Path;

use base64::Engine;

use crate::compose::Setup;
use tau_protocol::command::{AgentCommand, Queue, RunCommand};
use tau_protocol::message::Block;
use tau_tools::encoding;
use tau_tools::paths::{self, reason};
use tau_tools::regular_files::read_capped;
use tau_tools::user_error::UserError;

/// A prompt, ready for `RunCommand::Prompt`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CliPrompt {
    pub text: String,
    /// `Block::Image`s.
    pub images: Vec<Block>,
}

impl From<CliPrompt> for AgentCommand {
    fn from(CliPrompt { text, images }: CliPrompt) -> Self {
        AgentCommand::Run(RunCommand::Prompt { text, images, streaming: Queue::Steer })
    }
}

/// Maximum size of a text in a prompt, in bytes.
const TEXT_BYTES: u64 = 1 << 20;
/// Maximum size of an image, in bytes; it is sent in a smaller form.
pub(crate) const IMAGE_BYTES: u64 = 20 << 20;

/// The prompts of a command line. Piped input comes first, then files, then the first argument, with an empty
/// line between. Arguments are prompts of their own if each has several words or is a slash command; otherwise all are
/// one prompt, as if they were quoted. Paths are relative to the working directory. The error is a message with the file and its fault.
pub(crate) fn gather(arguments: &[String], piped: Option<String>) -> Result<Vec<CliPrompt>, UserError> {
    let mut first = CliPrompt::default();
    let mut parts: Vec<String> = piped.filter(|text| !text.trim().is_empty()).into_iter().collect();
    let mut texts: Vec<String> = Vec::new();
    // A blank argument asks nothing, as when a script's variable is empty.
    for argument in arguments.iter().filter(|argument| !argument.trim().is_empty()) {
        match argument.strip_prefix('@').filter(|path| !path.is_empty()) {
            // A resource of an MCP server, which the agent attaches.
            Some(name) if name.contains("://") && name.contains(char::is_whitespace) => {
                texts.push(argument.clone());
            }
            Some(name) if name.contains("://") => parts.push(argument.clone()),
            Some(path) => match attach(path)? {
                AttachedFile::Text(text) => parts.push(text),
                AttachedFile::Image(block) => first.images.push(block),
            },
            None => texts.push(argument.clone()),
        }
    }
    let is_word = |text: &String| !text.starts_with('/') && !text.contains(char::is_whitespace);
    if texts.iter().any(is_word) {
        // Words that were not quoted are parts of one prompt.
        texts = vec![texts.join(" ")];
    }
    let mut texts = texts.into_iter();
    parts.extend(texts.next());
    first.text = parts.join("\n\n");
    let rest = texts.map(|text| CliPrompt { text, images: Vec::new() });
    let given = !first.text.is_empty() || !first.images.is_empty();
    Ok(given.then_some(first).into_iter().chain(rest).collect())
}

/// Checks that no rule denies reading the files named by arguments. The error is a message with the file and
/// the rule.
pub(crate) fn check_readable(setup: &Setup) -> Result<(), UserError> {
    let named = setup.args.prompts.iter().filter_map(|argument| argument.strip_prefix('@'));
    for name in named.filter(|name| !name.is_empty() && !name.contains("://")) {
        if let Some(why) = setup.file_filter().denies(&paths::find(&setup.cwd, name)) {
            return Err(format!("cannot attach {name}: {why}; change the rule, or leave the file out").into());
        }
    }
    Ok(())
}

/// Reads all of standard input, for [`gather`]. The error is a message: it cannot be read, or is too large.
pub(crate) fn read_piped_text(input: impl Read) -> Result<String, UserError> {
    let mut bytes = Vec::new();
    let read = input.take(TEXT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read standard input: {error}"))?;
    if bytes.len() as u64 > TEXT_BYTES {
        return Err("standard input is larger than 1 MB; save it to a file and name the file in the prompt"
            .to_owned()
            .into());
    }
    Ok(encoding::text(&bytes))
}

/// The value of an argument that may name a file: `@path` is the file's text, anything else is literal. The
/// error is a message that names the file.
pub(crate) fn text_or_file(value: &str) -> Result<String, UserError> {
    match value.strip_prefix('@') {
        Some(path) => text_of_file(&paths::find(Path::new(""), path)),
        None => Ok(value.to_owned()),
    }
}

/// The text of a file named by an argument. The error is a message that names the file.
pub(crate) fn text_of_file(path: &Path) -> Result<String, UserError> {
    text_of(&path.display().to_string(), read(path, TEXT_BYTES)?)
}

enum AttachedFile {
    Text(String),
    Image(Block),
}

fn attach(given: &str) -> Result<AttachedFile, UserError> {
    let bytes = read(&paths::find(Path::new(""), given), IMAGE_BYTES)?;
    if let Some(mime_type) = image_type(&bytes) {
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        return Ok(AttachedFile::Image(Block::Image { data, mime_type: mime_type.to_owned() }));
    }
    Ok(AttachedFile::Text(fence_file(given, &text_of(given, bytes)?)))
}

/// The text of a file as part of a prompt: its name, and the text between fences.
pub(crate) fn fence_file(name: &str, text: &str) -> String {
    format!("{name}:\n{}", in_fences(text))
}

/// The text between fences that are longer than any in it.
pub(crate) fn in_fences(text: &str) -> String {
    let fence = fence(text);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

fn text_of(shown: &str, bytes: Vec<u8>) -> Result<String, UserError> {
    if bytes.len() as u64 > TEXT_BYTES {
        return Err(format!(
            "cannot use {shown}: it is larger than 1 MB; name it in the prompt, and the model reads what it needs"
        ).into());
    }
    let text = encoding::of_text(&bytes).map(|encoding| encoding::decode(&bytes, encoding).0);
    text.filter(|text| !text.contains('\0')).ok_or_else(|| {
        UserError::new(format!(
            "cannot use {shown}: it is neither text nor a PNG, JPEG, GIF or WebP image; convert it"
        ))
    })
}

/// The MIME type of an image that models accept.
pub(crate) fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match image::guess_format(bytes).ok()? {
        image::ImageFormat::Png => Some("image/png"),
        image::ImageFormat::Jpeg => Some("image/jpeg"),
        image::ImageFormat::Gif => Some("image/gif"),
        image::ImageFormat::WebP => Some("image/webp"),
        _ => None,
    }
}

/// A fence longer than every row of backticks in `text`.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Reads a regular file of at most `limit` bytes.
fn read(path: &Path, limit: u64) -> Result<Vec<u8>, UserError> {
    read_capped(path, limit).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::FileTooLarge => format!("larger than {} MB; use a smaller file", limit >> 20),
            ErrorKind::InvalidInput => format!("{}; name one", reason(&error)),
            _ => format!("{}; check the path", reason(&error)),
        };
        format!("cannot read {}: {why}", path.display()).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    fn check(arguments: &[&str], piped: Option<&str>, expected: &[&str]) {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let prompts = gather(&arguments, piped.map(str::to_owned)).unwrap();
        let texts: Vec<&str> = prompts.iter().map(|prompt| prompt.text.as_str()).collect();
        assert_eq!(texts, expected, "{arguments:?} {piped:?}");
    }

    #[test]
    fn arguments_and_piped_input_are_joined() {
        check(&[], None, &[]);
        check(&["a"], None, &["a"]);
        check(&["a", "b"], None, &["a b"]);
        check(&["fix", "the bug", "now"], None, &["fix the bug now"]);
        check(&["/review", "the", "last commit"], None, &["/review the last commit"]);
        check(&["a b", "c d"], None, &["a b", "c d"]);
        check(&["a b", "/commit"], None, &["a b", "/commit"]);
        check(&["a b", "c d"], Some("in\n"), &["in\n\n\na b", "c d"]);
        check(&[], Some("in\n"), &["in\n"]);
        check(&["a"], Some(" \n"), &["a"]);
        check(&["@"], None, &["@"]);
        check(&["a@b.c"], None, &["a@b.c"]);
        check(&["say", "@s:a://b"], None, &["@s:a://b\n\nsay"]);
        check(&["@s:a://b say"], None, &["@s:a://b say"]);
    }

    #[test]
    fn files_go_before_the_first_prompt() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, content).unwrap();
            format!("@{}", path.display())
        };
        let text = file("a.md", b"x\n```\ny");
        let shown = text.strip_prefix('@').unwrap();
        let expected = format!("{shown}:\n````\nx\n```\ny\n````\n\nsay");
        check(&["say", &text], None, &[&expected]);

        let picture = file("p.bin", PNG);
        let prompts = gather(&[picture, "what is it".into(), "and then".into()], None).unwrap();
        let data = base64::engine::general_purpose::STANDARD.encode(PNG);
        let images = vec![Block::Image { data, mime_type: "image/png".into() }];
        assert_eq!(
            prompts,
            [
                CliPrompt { text: "what is it".into(), images },
                CliPrompt { text: "and then".into(), images: vec![] }
            ]
        );
    }

    #[test]
    fn what_cannot_be_sent_is_refused_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("binary"), b"a\0b").unwrap();
        std::fs::write(path("large"), vec![b'a'; (TEXT_BYTES + 1) as usize]).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        let cases = [
            ("missing", "it does not exist; check the path"),
            ("binary", "neither text nor"),
            ("large", "larger than 1 MB"),
            ("pipe", "not a regular file"),
            ("", "not a regular file"),
        ];
        for (name, reason) in cases {
            let error = gather(&[format!("@{}", path(name).display())], None).unwrap_err();
            assert!(error.contains(reason) && error.contains(name), "{name}: {error}");
        }
        assert!(read_piped_text(std::io::repeat(b'x')).unwrap_err().contains("1 MB"));
        assert_eq!(text_or_file("plain").unwrap(), "plain");
        assert!(text_or_file("@/nowhere").is_err());
    }
}
