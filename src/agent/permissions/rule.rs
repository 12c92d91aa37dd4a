//! A rule as users write it: `tool(pattern)`, or the name of a tool for all of its calls.

use std::fmt;
use std::str::FromStr;

/// A rule: which calls it is about. Whether those are allowed, asked or denied is said by the list it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    pattern: Option<String>,
}

/// Why a text is no rule, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRule(pub String);

impl Rule {
    /// The name of its tool; it may hold `*`.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether it is about all calls of its tool.
    pub fn is_bare(&self) -> bool {
        self.pattern.is_none()
    }
}

impl FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        let text = text.trim();
        let wrong = |why: &str| InvalidRule(format!("`{text}` is no rule: {why}"));
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let pattern = rest.strip_suffix(')').ok_or_else(|| wrong("its `)` is missing at the end"))?;
                (tool, Some(pattern.trim()))
            }
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*');
        if tool.is_empty() || !tool.chars().all(plain) {
            return Err(wrong("write the name of a tool, as in bash(cargo test *)"));
        }
        if pattern == Some("") {
            return Err(wrong("the pattern is empty; leave the parentheses out for all calls of the tool"));
        }
        Ok(Rule { tool: tool.to_owned(), pattern: pattern.map(str::to_owned) })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn rules_are_read_and_written() {
        for text in ["bash", "bash(cargo test *)", "edit(src/**)", "mcp__server__*", "bash(echo (x))"] {
            assert_eq!(text.parse::<Rule>().map(|rule| rule.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "bash(ls", "(ls)", "bash()", "ba sh(ls)", "bash(ls) x"] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains("is no rule"), "{text}: {error}");
        }
    }
}
