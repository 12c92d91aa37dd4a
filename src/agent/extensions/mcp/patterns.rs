//! Patterns in lists of tools.

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

#[cfg(test)]
mod tests {
    use super::*;

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
