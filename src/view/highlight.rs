//! Which words of code are keywords, strings and so on: [`Highlighter`].
//!
//! Grammars find the scopes (TextMate's names for parts of code); the table here turns scopes into
//! [`Token`]s, so colours come from our theme alone. The grammars are loaded on first use, and each
//! one compiles its patterns when it is first met. A highlighter remembers nothing that changes a
//! result: a fresh one gives the same answer.

use std::collections::HashMap;
use std::ops::Range;

use syntect::parsing::{BasicScopeStackOp, ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::theme::Token;

/// Lines of a text that are coloured; what follows stays plain.
pub const MAX_LINES: usize = 2_000;
/// Bytes of a line above which it stays plain, and with it the rest of the text: what comes after
/// depends on it.
pub const MAX_COLUMNS: usize = 2_000;

/// Names that languages go by, and what the grammars call them where that differs.
const ALIASES: [(&str, &str); 24] = [
    ("rust", "rs"),
    ("javascript", "js"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("cjs", "js"),
    ("typescript", "ts"),
    ("mts", "ts"),
    ("cts", "ts"),
    ("python", "py"),
    ("python3", "py"),
    ("shell", "sh"),
    ("bash", "sh"),
    ("zsh", "sh"),
    ("console", "sh"),
    ("shell-session", "sh"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("golang", "go"),
    ("c++", "cpp"),
    ("csharp", "cs"),
    ("patch", "diff"),
    ("markdown", "md"),
    ("docker", "dockerfile"),
    ("lock", "toml"),
];

/// Scopes and what they are drawn as; the longest that a scope begins with counts.
const SCOPES: [(&str, Token); 66] = [
    ("comment", Token::Comment),
    ("punctuation.definition.comment", Token::Comment),
    ("string", Token::String),
    ("punctuation.definition.string", Token::String),
    ("string.unquoted", Token::Code),
    ("string.unquoted.plain.out.yaml", Token::String),
    ("string.other.link", Token::Link),
    ("constant", Token::Constant),
    ("constant.numeric", Token::Number),
    ("constant.character.escape", Token::Constant),
    ("constant.other.color", Token::Number),
    ("meta.interpolation", Token::Code),
    ("meta.template.expression", Token::Code),
    ("punctuation.section.interpolation", Token::Punctuation),
    ("punctuation.section.embedded", Token::Punctuation),
    ("keyword", Token::Keyword),
    ("keyword.operator", Token::Operator),
    ("keyword.operator.word", Token::Keyword),
    ("keyword.operator.logical.python", Token::Keyword),
    ("keyword.operator.expression", Token::Keyword),
    ("keyword.operator.new", Token::Keyword),
    ("keyword.other.unit", Token::Number),
    ("storage", Token::Keyword),
    ("storage.type.numeric", Token::Number),
    ("storage.type.string", Token::String),
    ("storage.type.go", Token::Type),
    ("entity.name.function", Token::Function),
    ("entity.name.macro", Token::Function),
    ("entity.name.type", Token::Type),
    ("entity.name.class", Token::Type),
    ("entity.name.struct", Token::Type),
    ("entity.name.enum", Token::Type),
    ("entity.name.trait", Token::Type),
    ("entity.name.impl", Token::Type),
    ("entity.name.interface", Token::Type),
    ("entity.name.namespace", Token::Type),
    ("entity.name.module", Token::Type),
    ("entity.name.tag", Token::Keyword),
    ("entity.name.tag.yaml", Token::Attribute),
    ("entity.name.tag.toml", Token::Attribute),
    ("entity.name.section", Token::Heading),
    ("entity.name.constant", Token::Constant),
    ("entity.name.label", Token::Constant),
    ("entity.other.attribute-name", Token::Attribute),
    ("entity.other.inherited-class", Token::Type),
    ("support.function", Token::Function),
    ("support.macro", Token::Function),
    ("support.type", Token::Type),
    ("support.type.property-name", Token::Attribute),
    ("meta.mapping.key", Token::Attribute),
    ("support.class", Token::Type),
    ("support.constant", Token::Constant),
    ("variable.function", Token::Function),
    ("variable.language", Token::Keyword),
    ("variable", Token::Variable),
    ("variable.annotation", Token::Attribute),
    ("meta.annotation", Token::Attribute),
    ("punctuation", Token::Punctuation),
    ("markup.heading", Token::Heading),
    ("markup.bold", Token::Strong),
    ("markup.italic", Token::Emphasis),
    ("markup.raw", Token::CodeInline),
    ("markup.inserted", Token::Success),
    ("markup.deleted", Token::Error),
    ("punctuation.definition.inserted", Token::Success),
    ("punctuation.definition.deleted", Token::Error),
];

/// The coloured parts of a line, from left to right; what lies between is [`Token::Code`].
pub type LineTokens = Vec<(Range<usize>, Token)>;

/// Finds the tokens of code.
#[derive(Default)]
pub struct Highlighter {
    grammars: Option<Grammars>,
}

struct Grammars {
    set: SyntaxSet,
    table: Vec<(Scope, Token)>,
    known: HashMap<Scope, Option<Token>>,
}

impl Highlighter {
    /// The tokens of each line of `text`, as byte ranges within the line. `lang` is the name of a
    /// language, a file name extension or a file name. Lines of an unknown language, and those
    /// behind the limits, have none.
    pub fn highlight(&mut self, lang: &str, text: &str) -> Vec<LineTokens> {
        if lang.is_empty() || matches!(lang, "text" | "txt" | "plain" | "plaintext") {
            return text.lines().map(|_| Vec::new()).collect();
        }
        let Grammars { set, table, known } = self.grammars.get_or_insert_with(Grammars::load);
        let Some(syntax) = find(set, lang) else {
            return text.lines().map(|_| Vec::new()).collect();
        };
        let mut lines = Lines::new(syntax);
        text.lines()
            .enumerate()
            .map(|(number, line)| {
                lines.stopped |= number >= MAX_LINES || line.len() > MAX_COLUMNS;
                lines.next(line, set, |scope| *known.entry(scope).or_insert_with(|| token_of(table, scope)))
            })
            .collect()
    }
}

/// What [`Highlighter::highlight`] takes as the language of the file at `path`: the extension, or
/// the name when there is none.
pub fn language_of(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => name,
    }
}

impl Grammars {
    fn load() -> Self {
        let table = SCOPES
            .iter()
            .filter_map(|(name, token)| Scope::new(name).ok().map(|scope| (scope, *token)))
            .collect();
        Self { set: two_face::syntax::extra_newlines(), table, known: HashMap::new() }
    }
}

fn find<'a>(set: &'a SyntaxSet, lang: &str) -> Option<&'a SyntaxReference> {
    let lower = lang.to_ascii_lowercase();
    let name = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, name)| name);
    set.find_syntax_by_extension(lang).or_else(|| set.find_syntax_by_token(name))
}

fn token_of(table: &[(Scope, Token)], scope: Scope) -> Option<Token> {
    let fitting = table.iter().filter(|(prefix, _)| prefix.is_prefix_of(scope));
    fitting.max_by_key(|(prefix, _)| prefix.len()).map(|(_, token)| *token)
}

/// What a scope within another is drawn as: its own token, but a quoted key stays a key.
fn nested(outer: Option<Token>, own: Option<Token>) -> Option<Token> {
    match (outer, own) {
        (Some(Token::Attribute), Some(Token::String)) => outer,
        _ => own.or(outer),
    }
}

/// The state between two lines of one text.
struct Lines {
    parser: ParseState,
    scopes: ScopeStack,
    /// For each scope of the stack, the token of the innermost one that has any.
    tokens: Vec<Option<Token>>,
    stopped: bool,
}

impl Lines {
    fn new(syntax: &SyntaxReference) -> Self {
        let parser = ParseState::new(syntax);
        Self { parser, scopes: ScopeStack::new(), tokens: Vec::new(), stopped: false }
    }

    fn next(
        &mut self,
        line: &str,
        set: &SyntaxSet,
        mut token: impl FnMut(Scope) -> Option<Token>,
    ) -> LineTokens {
        if self.stopped {
            return Vec::new();
        }
        let Ok(changes) = self.parser.parse_line(&format!("{line}\n"), set) else {
            self.stopped = true;
            return Vec::new();
        };
        let mut parts = LineTokens::new();
        let mut start = 0;
        for (at, change) in changes {
            let at = at.min(line.len());
            self.part(&mut parts, start..at);
            start = start.max(at);
            let tokens = &mut self.tokens;
            let applied = self.scopes.apply_with_hook(&change, |basic, _| match basic {
                BasicScopeStackOp::Push(scope) => {
                    let outer = tokens.last().copied().flatten();
                    tokens.push(nested(outer, token(scope)));
                }
                BasicScopeStackOp::Pop => {
                    tokens.pop();
                }
            });
            self.stopped |= applied.is_err();
        }
        self.part(&mut parts, start..line.len());
        parts
    }

    fn part(&self, parts: &mut LineTokens, range: Range<usize>) {
        let Some(token) = self.tokens.last().copied().flatten() else { return };
        if range.is_empty() || token == Token::Code {
            return;
        }
        match parts.last_mut() {
            Some((last, same)) if *same == token && last.end == range.start => last.end = range.end,
            _ => parts.push((range, token)),
        }
    }
}
