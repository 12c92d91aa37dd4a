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
            hashed_name(&plain, server, tool)
        } else {
            plain
        };
        taken.insert(name.clone());
        name
    };
    tools.iter().map(name).collect()
}

/// The text with `_` in place of characters that tool names cannot have.
pub(super) fn plain(text: &str) -> String {
    plain_name(text)
}

/// The start of a name, and a hash of the full one.
fn hashed_name(plain: &str, server: &str, tool: &str) -> String {
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
}
