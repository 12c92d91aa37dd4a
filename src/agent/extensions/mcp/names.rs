//! The names of MCP tools for models: `mcp__server__tool`, at most 64 characters.

use std::collections::HashSet;

use tau_protocol::extension::plain_name;

/// The maximum characters of a name that all providers accept.
const MAX_LEN: usize = 64;
/// The prefix of such names.
pub const PREFIX: &str = "mcp__";

/// The names of a server's tools, in the order of `tools`. A name that is too long, or that another tool of
/// the list has, ends with a hash of its full name.
pub(super) fn of_tools(server: &str, tools: &[&str]) -> Vec<String> {
    let mut taken = HashSet::new();
    let name = |tool: &&str| {
        let plain = format!("{PREFIX}{}__{}", plain(server), plain(tool));
        let name = if plain.len() > MAX_LEN || taken.contains(&plain) {
            hashed(&plain, server, tool)
        } else {
            plain
        };
        taken.insert(name.clone());
        name
    };
    tools.iter().map(name).collect()
}

/// Whether a pattern of a tool list matches a tool; `*` stands for any part.
pub(crate) fn matches(pattern: &str, tool: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| tool.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    true
}

/// The text with `_` in place of characters that tool names cannot have.
pub(super) fn plain(text: &str) -> String {
    plain_name(text)
}

/// The start of a name, and a hash of the full one.
fn hashed(plain: &str, server: &str, tool: &str) -> String {
    let start: String = plain.chars().take(MAX_LEN - 9).collect();
    format!("{start}_{:08x}", hash(&format!("{server}\0{tool}")))
}

/// FNV-1a: the same on every machine and in every version.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_plain_and_unique() {
        let long = "x".repeat(80);
        let names = of_tools("my server.x", &["echo", "get.it", "get it", "grüß", &long]);
        assert_eq!(names[..2], ["mcp__my_server_x__echo", "mcp__my_server_x__get_it"]);
        assert!(names[2].starts_with("mcp__my_server_x__get_it_") && names[2] != names[1], "{names:?}");
        assert_eq!(names[3], "mcp__my_server_x__gr__");
        assert_eq!(names[4].len(), 64);
        assert_eq!(
            names,
            of_tools("my server.x", &["echo", "get.it", "get it", "grüß", &long]),
            "always the same"
        );
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        let other = format!("{long}y");
        assert_ne!(of_tools("s", &[&long])[0], of_tools("s", &[&other])[0]);
    }

    #[test]
    fn patterns_of_tools() {
        for (pattern, tool, expected) in [
            ("read_file", "read_file", true),
            ("read_file", "read_files", false),
            ("read_*", "read_files", true),
            ("*", "x", true),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("r*d*e", "read_file", true),
            ("r*x*e", "read_file", false),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, tool), expected, "{pattern} {tool}");
        }
    }
}
