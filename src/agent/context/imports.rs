//! Imports of instruction files: `@docs/style.md` in their text, as Claude Code reads it.
//!
//! A project may import readable files of the project; the user's own files may import any readable file.
//! People and packages are written the same way, so a name that leads to no file is an import only if it is
//! written as a path.

use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, TextMergeStream};

/// The maximum number of files that one file imports: more than fit, so what is left out is named.
const MAX_IMPORTS: usize = 64;

/// The imports named in a text, in order, outside of code.
fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut plain, mut is_code) = (String::new(), false);
    for event in TextMergeStream::new(Parser::new_ext(text, Options::empty())) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(text) if !is_code => plain.push_str(&text),
            // A name directly after code is not an import.
            Event::Code(_) => plain.push('`'),
            Event::Start(Tag::List(_) | Tag::Item) | Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                plain.push('\n');
            }
            _ => {}
        }
    }
    let mut rest = plain.as_str();
    while let Some(at) = rest.find('@') {
        let before = rest.get(..at).and_then(|before| before.chars().next_back());
        rest = rest.get(at + 1..).unwrap_or_default();
        if before.is_some_and(|before| !before.is_whitespace()) {
            continue;
        }
        let (mut name, mut is_escaped) = (String::new(), false);
        for c in rest.chars().take_while(|c| !c.is_control()) {
            if c.is_whitespace() && !is_escaped {
                break;
            }
            if is_escaped && c != ' ' {
                name.push('\\');
            }
            is_escaped = c == '\\';
            if !is_escaped {
                name.push(c);
            }
        }
        if !name.is_empty() {
            names.push(name);
        }
    }
    names
}

/// Whether a name can only be meant as that of a file.
fn is_path(name: &str) -> bool {
    let is_text =
        Path::new(name).extension().is_some_and(|extension| extension == "md" || extension == "txt");
    is_text || ["~/", "/", "./", "../"].iter().any(|start| name.starts_with(start))
}

/// The files that a text in `folder` imports, in the order of their names in it. They may not exist.
pub(super) fn files(text: &str, folder: &Path) -> Vec<PathBuf> {
    let found = |name: &String| {
        let name = name.split('#').next().unwrap_or_default();
        // The name may end a sentence or a parenthesis.
        let short = name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'']);
        let path = |name: &str| tau_tools::paths::resolve(folder, name).components().collect::<PathBuf>();
        let names = [name, short].into_iter().filter(|name| !name.is_empty());
        let file = names.map(path).find(|path| path.is_file());
        file.or_else(|| is_path(short).then(|| path(short)))
    };
    names(text).iter().filter_map(found).take(MAX_IMPORTS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_names_after_an_at_sign_outside_of_code() {
        let text = "See @README.md and @docs/a\\ b.md#part, mail a@b.c.\n- @~/x.md\n  - @../y\n\n`@code` x@y `a`@z\n\n```\n@block\n```\n\n    @indented\n\n~~~sh\n@tilde\n~~~\n> @quoted_name_x.md\n\n# @heading\n\n@\n(@brackets)\n";
        let expected = ["README.md", "docs/a b.md#part,", "~/x.md", "../y", "quoted_name_x.md", "heading"];
        assert_eq!(names(text), expected);
    }
}
