//! Syntax highlighting: finds keywords, strings and other tokens of code ([`Highlighter`]).
//!
//! Grammars find the scopes (TextMate's names for parts of code); the table here maps scopes to
//! [`ThemeToken`]s, so colours come only from our theme. The grammars are loaded on first use, and each
//! compiles its patterns when first needed. A highlighter's state never changes a result: a fresh one gives
//! the same answer. It keeps the result for the complete lines of recent texts, since a streaming text is
//! highlighted again and again, each time a little longer.

use std::collections::HashMap;
use std::ops::Range;

use syntect::parsing::{BasicScopeStackOp, ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::row::Row;
use super::theme::ThemeToken;

/// The maximum number of coloured lines of a text; later ones stay plain.
pub(crate) const MAX_LINES: usize = 2_000;
/// The length of a line in bytes above which it stays plain, and with it the rest of the text, which depends
/// on it.
pub(crate) const MAX_COLUMNS: usize = 2_000;

/// The number of growing texts whose rows are kept.
const GROWING: usize = 2;

/// Names of languages that the grammars call something else.
const ALIASES: [(&str, &str); 24] = *tau_tools::pairs!(
    "rust=rs javascript=js jsx=js mjs=js cjs=js typescript=ts mts=ts cts=ts python=py python3=py \
     shell=sh bash=sh zsh=sh console=sh shell-session=sh jsonc=json jsonl=json golang=go c++=cpp \
     csharp=cs patch=diff markdown=md docker=dockerfile lock=toml"
);

/// Scopes and their tokens; the longest prefix of a scope wins.
const SCOPES: [(&str, ThemeToken); 66] = [
    ("comment", ThemeToken::Comment),
    ("punctuation.definition.comment", ThemeToken::Comment),
    ("string", ThemeToken::String),
    ("punctuation.definition.string", ThemeToken::String),
    ("string.unquoted", ThemeToken::Code),
    ("string.unquoted.plain.out.yaml", ThemeToken::String),
    ("string.other.link", ThemeToken::Link),
    ("constant", ThemeToken::Constant),
    ("constant.numeric", ThemeToken::Number),
    ("constant.character.escape", ThemeToken::Constant),
    ("constant.other.color", ThemeToken::Number),
    ("meta.interpolation", ThemeToken::Code),
    ("meta.template.expression", ThemeToken::Code),
    ("punctuation.section.interpolation", ThemeToken::Punctuation),
    ("punctuation.section.embedded", ThemeToken::Punctuation),
    ("keyword", ThemeToken::Keyword),
    ("keyword.operator", ThemeToken::Operator),
    ("keyword.operator.word", ThemeToken::Keyword),
    ("keyword.operator.logical.python", ThemeToken::Keyword),
    ("keyword.operator.expression", ThemeToken::Keyword),
    ("keyword.operator.new", ThemeToken::Keyword),
    ("keyword.other.unit", ThemeToken::Number),
    ("storage", ThemeToken::Keyword),
    ("storage.type.numeric", ThemeToken::Number),
    ("storage.type.string", ThemeToken::String),
    ("storage.type.go", ThemeToken::Type),
    ("entity.name.function", ThemeToken::Function),
    ("entity.name.macro", ThemeToken::Function),
    ("entity.name.type", ThemeToken::Type),
    ("entity.name.class", ThemeToken::Type),
    ("entity.name.struct", ThemeToken::Type),
    ("entity.name.enum", ThemeToken::Type),
    ("entity.name.trait", ThemeToken::Type),
    ("entity.name.impl", ThemeToken::Type),
    ("entity.name.interface", ThemeToken::Type),
    ("entity.name.namespace", ThemeToken::Type),
    ("entity.name.module", ThemeToken::Type),
    ("entity.name.tag", ThemeToken::Keyword),
    ("entity.name.tag.yaml", ThemeToken::Attribute),
    ("entity.name.tag.toml", ThemeToken::Attribute),
    ("entity.name.section", ThemeToken::Heading),
    ("entity.name.constant", ThemeToken::Constant),
    ("entity.name.label", ThemeToken::Constant),
    ("entity.other.attribute-name", ThemeToken::Attribute),
    ("entity.other.inherited-class", ThemeToken::Type),
    ("support.function", ThemeToken::Function),
    ("support.macro", ThemeToken::Function),
    ("support.type", ThemeToken::Type),
    ("support.type.property-name", ThemeToken::Attribute),
    ("meta.mapping.key", ThemeToken::Attribute),
    ("support.class", ThemeToken::Type),
    ("support.constant", ThemeToken::Constant),
    ("variable.function", ThemeToken::Function),
    ("variable.language", ThemeToken::Keyword),
    ("variable", ThemeToken::Variable),
    ("variable.annotation", ThemeToken::Attribute),
    ("meta.annotation", ThemeToken::Attribute),
    ("punctuation", ThemeToken::Punctuation),
    ("markup.heading", ThemeToken::Heading),
    ("markup.bold", ThemeToken::Strong),
    ("markup.italic", ThemeToken::Emphasis),
    ("markup.raw", ThemeToken::CodeInline),
    ("markup.inserted", ThemeToken::Success),
    ("markup.deleted", ThemeToken::Error),
    ("punctuation.definition.inserted", ThemeToken::Success),
    ("punctuation.definition.deleted", ThemeToken::Error),
];

/// The coloured parts of a line, from left to right; the text between them is [`ThemeToken::Code`].
pub(crate) type LineTokens = Vec<(Range<usize>, ThemeToken)>;

/// Finds the tokens of code.
#[derive(Default)]
pub struct Highlighter {
    grammars: Option<Grammars>,
    /// Texts that may grow, the newest last. When a part of a text is complete, the next part is requested
    /// before it.
    growing: Vec<GrowingCode>,
}

struct Grammars {
    set: SyntaxSet,
    table: Vec<(Scope, ThemeToken)>,
    known: HashMap<Scope, Option<ThemeToken>>,
}

/// The highlighter's state after some lines of a text.
#[derive(Clone)]
pub(crate) struct CodeState {
    /// `None` for an unknown language.
    lines: Option<Lines>,
    number: usize,
}

type CodeKey = (String, (u16, u16), bool);

/// The rendered complete lines of a text that may grow, so that each line is highlighted once.
pub(crate) struct GrowingCode {
    /// The inputs of the rows besides the text and the theme: language, margin and width, and whether the
    /// fence begins here. For the theme see [`Highlighter::forget_rows`].
    pub key: CodeKey,
    /// The complete lines.
    pub text: String,
    pub rows: Vec<Row>,
    /// The state after the complete lines.
    pub state: CodeState,
}

impl Highlighter {
    /// The tokens of each line of `text`, as byte ranges within the line. `lang` is the name of a language,
    /// a file name extension or a file name. Lines of an unknown language, and those beyond the limits, have
    /// none.
    pub fn highlight(&mut self, lang: &str, text: &str) -> Vec<LineTokens> {
        let mut state = self.begin(lang);
        text.lines().map(|line| self.line(&mut state, line)).collect()
    }

    /// The state before the first line of a text.
    pub(crate) fn begin(&mut self, lang: &str) -> CodeState {
        if lang.is_empty() || matches!(lang, "text" | "txt" | "plain" | "plaintext") {
            return CodeState { lines: None, number: 0 };
        }
        let grammars = self.grammars.get_or_insert_with(Grammars::load);
        CodeState { lines: find(&grammars.set, lang).map(Lines::new), number: 0 }
    }

    /// The tokens of the next line.
    pub(crate) fn line(&mut self, state: &mut CodeState, line: &str) -> LineTokens {
        let (Some(lines), Some(grammars)) = (&mut state.lines, &mut self.grammars) else {
            return Vec::new();
        };
        let Grammars { set, table, known } = grammars;
        lines.stopped |= state.number >= MAX_LINES || line.len() > MAX_COLUMNS;
        state.number += 1;
        lines.next(line, set, |scope| *known.entry(scope).or_insert_with(|| token_of(table, scope)))
    }

    /// Takes the cached rows for the start of `text`; return them with [`Highlighter::keep`].
    pub(crate) fn take_growing(&mut self, key: CodeKey, text: &str) -> GrowingCode {
        let begins = |known: &&GrowingCode| known.key == key && text.starts_with(&known.text);
        let longest = self.growing.iter().enumerate().filter(|(_, known)| begins(known));
        match longest.max_by_key(|(_, known)| known.text.len()) {
            Some((index, known)) if !known.text.is_empty() => self.growing.remove(index),
            _ => {
                let state = self.begin(&key.0);
                GrowingCode { key, text: String::new(), rows: Vec::new(), state }
            }
        }
    }

    /// Caches the rows of a text that may grow, replacing the oldest.
    pub(crate) fn keep(&mut self, growing: GrowingCode) {
        if self.growing.len() >= GROWING {
            self.growing.remove(0);
        }
        self.growing.push(growing);
    }

    /// Drops the cached rows because the theme has changed.
    pub(crate) fn forget_rows(&mut self) {
        self.growing.clear();
    }
}

/// The language for [`Highlighter::highlight`] of the file at `path`: the extension, or the name if it has
/// no extension.
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

fn token_of(table: &[(Scope, ThemeToken)], scope: Scope) -> Option<ThemeToken> {
    let fitting = table.iter().filter(|(prefix, _)| prefix.is_prefix_of(scope));
    fitting.max_by_key(|(prefix, _)| prefix.len()).map(|(_, token)| *token)
}

/// The token of a scope inside another: its own, except that a quoted key stays a key.
fn combine_tokens(outer: Option<ThemeToken>, own: Option<ThemeToken>) -> Option<ThemeToken> {
    match (outer, own) {
        (Some(ThemeToken::Attribute), Some(ThemeToken::String)) => outer,
        _ => own.or(outer),
    }
}

/// The state between two lines of one text.
#[derive(Clone)]
struct Lines {
    parser: ParseState,
    scopes: ScopeStack,
    /// For each scope of the stack, the innermost token.
    tokens: Vec<Option<ThemeToken>>,
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
        mut token: impl FnMut(Scope) -> Option<ThemeToken>,
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
                    tokens.push(combine_tokens(outer, token(scope)));
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
        if range.is_empty() || token == ThemeToken::Code {
            return;
        }
        match parts.last_mut() {
            Some((last, same)) if *same == token && last.end == range.start => last.end = range.end,
            _ => parts.push((range, token)),
        }
    }
}
