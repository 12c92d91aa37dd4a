//! A rule as users write it: `tool(pattern)`, or a tool's name for all of its calls.

use std::fmt;
use std::str::FromStr;

use super::command_pattern::CommandPattern;
use super::host_pattern::HostPattern;
use super::path_faults;
use super::path_pattern::PathPattern;
use tau_tools::invisible::unseen_characters;
use tau_tools::user_error::UserError;

/// A rule, which matches calls. Its list determines whether they are allowed, asked about or denied.
#[derive(Clone, Debug)]
pub struct Rule {
    tool: String,
    text: Option<String>,
    pattern: Pattern,
}

/// The pattern of a rule within its tool.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// All calls.
    All,
    Command(CommandPattern),
    Path(Box<PathPattern>),
    Host(HostPattern),
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.tool == other.tool && self.text == other.text
    }
}

impl Eq for Rule {}

impl Rule {
    /// The rule about every call: `*`.
    pub(crate) fn any_call() -> Self {
        Rule { tool: "*".to_owned(), text: None, pattern: Pattern::All }
    }

    /// The name of its tool, which may contain `*`.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether it is about all calls of its tool.
    pub fn is_bare(&self) -> bool {
        matches!(self.pattern, Pattern::All)
    }

    /// Its pattern, verbatim.
    pub(crate) fn inside(&self) -> Option<&str> {
        self.text.as_deref()
    }

    pub(super) fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The reason that it can match no call, if it is likely a mistake.
    pub(crate) fn fault(&self) -> Option<String> {
        let text = self.inside().unwrap_or_default();
        let why = match &self.pattern {
            Pattern::Command(pattern) => pattern.fault(text)?.to_owned(),
            Pattern::Path(_) => path_faults::fault(text)?,
            Pattern::All | Pattern::Host(_) => return None,
        };
        Some(format!("`{self}` matches nothing: {why}"))
    }

    /// Whether it is about calls of that tool.
    pub(crate) fn names_tool(&self, tool: &str) -> bool {
        if !self.tool.contains('*') {
            return self.tool.eq_ignore_ascii_case(tool);
        }
        let (tool, mut parts) = (tool.to_lowercase(), self.tool.split('*'));
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = tool.strip_prefix(first) else { return false };
        let mut parts = parts.peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            let Some(at) = rest.find(part) else { return false };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        rest.is_empty()
    }
}

impl FromStr for Rule {
    type Err = UserError;

    fn from_str(text: &str) -> Result<Self, UserError> {
        let text = text.trim();
        let wrong = |why: &str| UserError::new(format!("`{text}` is not a rule: {why}"));
        let (tool, inner) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| wrong("its `)` is missing at the end"))?;
                (tool, Some(inner.trim()))
            }
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*');
        if tool.is_empty() || !tool.chars().all(plain) || text.chars().any(char::is_control) {
            return Err(wrong("write the name of a tool and a pattern, as in bash(cargo test *)"));
        }
        if unseen_characters(text).next().is_some() {
            return Err(wrong("it has a character that cannot be seen, and so would match nothing"));
        }
        let tool = tool.to_lowercase();
        let pattern = match inner {
            None | Some("*" | "**") => Pattern::All,
            Some("") => return Err(wrong("the pattern is empty; leave out `()` for all calls of the tool")),
            Some(inner) if tool == "bash" => Pattern::Command(CommandPattern::new(inner)),
            Some(inner) if tool == "web_fetch" => {
                Pattern::Host(HostPattern::new(inner).map_err(|why| wrong(&why))?)
            }
            Some(_) if tool == "web_search" => {
                return Err(wrong("searches have no patterns; write the name of the tool"));
            }
            // It would be a path pattern, which matches no page.
            Some(_) if tool.starts_with("web_") && tool.contains('*') => {
                return Err(wrong("a pattern of hosts needs the name of its tool: web_fetch(example.com)"));
            }
            Some(_) if tool.starts_with("mcp__") => {
                return Err(wrong("tools of MCP servers have no patterns; write the name of the tool"));
            }
            Some(inner) => Pattern::Path(Box::new(PathPattern::new(inner).map_err(|why| wrong(&why))?)),
        };
        Ok(Rule { tool, text: inner.map(str::to_owned), pattern })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => write!(f, "{}({text})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn rules_are_read_and_written() {
        for text in [
            "bash", "bash(cargo test *)", "edit(src/**)", "mcp__server__*", "bash(echo (x))", "read(~/a b)",
            "web_fetch(*.example.com)", "web_fetch(*)",
        ] {
            assert_eq!(text.parse::<Rule>().map(|rule| rule.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("Bash(ls)".parse::<Rule>().unwrap().to_string(), "bash(ls)");
        for text in [
            "", "bash(ls", "(ls)", "bash()", "ba sh(ls)", "bash(ls\u{200b} *)", "read(.e\u{ad}nv)",
            "bash(ls) x", "edit(a[)", "edit(../x)", "mcp__a(b)", "web_fetch(https://example.com/)",
            "web_search(rust)", "web_*(example.com)", "web_fetch(.example.com)", "web_fetch(*..com)",
            "web_fetch(example.com:80)", "web_fetch(exa*ple.com)",
        ] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains("is not a rule"), "{text}: {error}");
        }
    }

    #[test]
    fn a_pattern_that_can_match_no_command_has_a_fault() {
        let fault = |inside: &&&str| format!("bash({inside})").parse::<Rule>().unwrap().fault().is_some();
        let faulty = [
            "rm *), bash(touch *", "rm *, touch *", "rm *|touch *", "rm * | touch *", "rm *; touch *",
            "make && touch *", "{rm,touch} *", "'touch *'", "\"touch *\"", "/touch.*/", "^touch",
            "[t]ouch *", "touc? *", "touch\u{a0}*", "curl * > x", "curl:*|wget:*", "command:curl *",
            "rm, touch", "(touch *)", "rm:* -rf", "git push.*", "git .*", "/git push.*/", "git push$",
            "git\\s+push", "rm.*", "GIT PUSH *", "Git push *", "git PUSH *", "npm PUBLISH",
        ];
        assert_eq!(faulty.iter().filter(|text| !fault(text)).collect::<Vec<_>>(), Vec::<&&str>::new());
        let sound = [
            "*", "* --force", "touch *", "touch:*", "g++ *", "[ *", "npm run *:check",
            "git commit -m 'a | b'", "find * -exec rm * ;", "find * -exec rm * \\;", "echo (x)",
            "python3 -c print(*)", "/opt/x.y/z *", "'/Applications/A B/x' *", "curl http://h/?a=1&b={2}",
            "sed -i s/a/b/ *", "rm -rf /", "*/touch *", "'' *", "jq '.[] | .a' *", "~/bin/x *",
            "git log HEAD^ *", "a=b rm *", "python3.* x", "cat *.env", "rm -rf .*", "git add .*", "R *",
            "Rscript x.R", "make RELEASE", "curl -X POST *", "awk '{print $1}'", "/bin/rm -rf /", "rm foo.*",
        ];
        assert_eq!(sound.iter().filter(fault).collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn a_pattern_that_can_match_no_file_has_a_fault() {
        let fault = |inside: &&&str| format!("read({inside})").parse::<Rule>().unwrap().fault().is_some();
        let faulty = [
            "'.env'", "\".env\"", "a/'b c'/d", ".env|x", ".env,.envrc", ".env, .envrc", ".env; x",
            "$PWD/.env", "${HOME}/.env", "$(pwd)/x", ".env$", "^.env", ".env:*", "***/.env",
            "file:///w/.env", "%2eenv", "a/%2Eenv", ".env)", "(.env", ".env]", "path:.env", "C:/w/.env",
            "src\\secret", "\\.env", "~root/.ssh", "@(.env)", "src/**), read(docs/**", "{.env, .envrc}",
            "`.env`", "a && b",
        ];
        assert_eq!(faulty.iter().filter(|text| !fault(text)).collect::<Vec<_>>(), Vec::<&&str>::new());
        let sound = [
            "**", "**/.env", ".env*", "~/.ssh/**", "/etc/*", "a (1).txt", "app/(group)/[id]/**",
            "{.env,.envrc}", "{a/b,c}/d", "routes/$id.tsx", "it's.txt", "100%.txt", "12:30.log", "a\\,b",
            "\\$HOME/x", "x[,;|].txt", "[]]x", "[!(]y", "~backup", "#x", "@types/**", "R&D/**",
            "caf\u{e9} x",
        ];
        assert_eq!(sound.iter().filter(fault).collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn the_name_of_a_tool_may_be_a_pattern() {
        let names = |rule: &str, tool: &str| rule.parse::<Rule>().unwrap().names_tool(tool);
        assert!(
            names("mcp__server__*", "mcp__server__query")
                && names("*", "x")
                && names("mcp__*__get", "mcp__a__get")
        );
        assert!(!names("mcp__server__*", "mcp__other__query") && !names("mcp__a", "mcp__ab"));
    }
}
