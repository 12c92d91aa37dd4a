//! Splits a command into words and operators like bash; unknown syntax is a doubt.
//!
//! This is the second reading of every token: [`super::structure`] compares it with the first. It is strict
//! on purpose: unknown syntax needs approval, and is never guessed.

mod expansion;

use std::borrow::Cow;
use std::ops::Range;

/// The maximum nesting of substitutions and compound commands. Parsing takes up to 30 KB of stack for each
/// level.
pub(super) const DEEPEST: usize = 24;

/// A part of a command with unknown effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permissions) struct Doubt {
    /// Its position, in bytes.
    pub span: Range<usize>,
    /// A description, such as "eval runs a text as a command".
    pub text: String,
}

impl Doubt {
    pub(super) fn new(span: Range<usize>, text: impl Into<String>) -> Self {
        Doubt { span, text: text.into() }
    }
}

/// A part of a word, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permissions) enum Piece {
    /// Literal text.
    Text(String),
    /// An unquoted `*`, `?`, `[` or `]`.
    Glob(char),
    /// `~`, the home directory.
    Home,
    /// The value of a variable or an argument, perhaps with what is left out or replaced in it: `x`, `1`, `x%.c`.
    Variable(String),
    /// Text that only the shell knows: a substitution, a brace expansion, …
    Unknown,
}

impl Piece {
    /// Its text, if it is literal.
    pub(in crate::permissions) fn text(&self) -> Option<&str> {
        match self {
            Piece::Text(text) => Some(text),
            Piece::Glob(_) | Piece::Home | Piece::Variable(_) | Piece::Unknown => None,
        }
    }
}

/// A substitution: commands within a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Substitution {
    /// The position of its commands in the whole command.
    pub inner: Range<usize>,
}

/// A parsed word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::permissions) struct Word {
    /// Its position, in bytes.
    pub span: Range<usize>,
    pub pieces: Vec<Piece>,
    /// Whether any of it was quoted.
    pub quoted: bool,
    /// Whether it may become several words, or none: it has an unquoted variable or substitution.
    pub splits: bool,
    /// Whether it is a brace expansion, of which its pieces are not the result.
    pub is_brace: bool,
    pub(super) nested: Vec<Substitution>,
}

impl Word {
    /// An unquoted word with this text.
    pub(in crate::permissions) fn of_text(text: &str) -> Self {
        Word { pieces: vec![Piece::Text(text.to_owned())], ..Word::default() }
    }

    /// This word with other pieces, none of which are braces.
    pub(in crate::permissions) fn with_pieces(&self, pieces: Vec<Piece>) -> Self {
        Word { pieces, is_brace: false, ..self.clone() }
    }

    /// Its text, if it is completely literal.
    pub(in crate::permissions) fn literal(&self) -> Option<Cow<'_, str>> {
        match self.pieces.as_slice() {
            [] => Some(Cow::Borrowed("")),
            [Piece::Text(text)] => Some(Cow::Borrowed(text)),
            pieces => pieces.iter().map(Piece::text).collect::<Option<String>>().map(Cow::Owned),
        }
    }

    /// Its text, with the names of variables and of the home directory as a shell reads them.
    pub(in crate::permissions) fn display(&self) -> String {
        let shown = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Glob(c) => c.to_string(),
            Piece::Home => "~".to_owned(),
            Piece::Variable(name) if name == "HOME" => "~".to_owned(),
            Piece::Variable(name) => format!("${{{name}}}"),
            Piece::Unknown => "$_".to_owned(),
        };
        self.pieces.iter().skip(usize::from(self.is_brace)).map(shown).collect()
    }

    /// Whether it may begin with `-`, or become several words.
    pub(in crate::permissions) fn may_be_option(&self) -> bool {
        let plain = matches!(self.pieces.first(), Some(Piece::Text(text)) if !text.is_empty() && !text.starts_with('-'));
        self.splits || !(plain || self.pieces.first() == Some(&Piece::Home))
    }

    /// Whether it is a pattern, which expands to the matching files.
    pub(in crate::permissions) fn has_glob(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)))
    }

    /// The rest after `NAME=`, if the word begins with that; after `NAME+=`, with the variable before it.
    pub(in crate::permissions) fn value_of(&self, name: &str) -> Option<Word> {
        let rest = self.pieces.first()?.text()?.strip_prefix(name)?;
        let appended = rest.strip_prefix("+=");
        let value = appended.or_else(|| rest.strip_prefix('='))?;
        let before = appended.map(|_| Piece::Variable(name.to_owned()));
        let start = before.into_iter().chain([Piece::Text(value.to_owned())]);
        let pieces = start.chain(self.pieces.iter().skip(1).cloned()).collect();
        Some(Word { pieces, ..self.clone() })
    }

    /// The rest after `NAME[INDEX]=` or `[INDEX]=`, if the word begins with that.
    pub(super) fn value_of_element(&self) -> Option<Word> {
        let is_open = |piece: &Piece| *piece == Piece::Glob('[');
        self.pieces.iter().take(2).find(|piece| is_open(piece))?;
        let close = self.pieces.iter().position(|piece| *piece == Piece::Glob(']'))?;
        let (first, rest) = self.pieces.get(close + 1..)?.split_first()?;
        let value = first.text()?.trim_start_matches('+').strip_prefix('=')?;
        let pieces = std::iter::once(Piece::Text(value.to_owned())).chain(rest.iter().cloned());
        Some(self.with_pieces(pieces.collect()))
    }

    pub(super) fn push_text(&mut self, c: char) {
        if let Some(Piece::Text(text)) = self.pieces.last_mut() {
            text.push(c);
        } else {
            let mut text = String::with_capacity(USUAL_LENGTH);
            text.push(c);
            self.pieces.push(Piece::Text(text));
        }
    }
}

/// A word or an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    Operator(Range<usize>),
    /// The text of a here-document, after its delimiter.
    Document,
}

/// All operators of bash, including a newline.
const OPERATORS: [&str; 24] = [
    "&", "&&", "(", ")", ";", ";;", "\n", "|", "||", "<", ">", ">|", "<<", ">>", "<&", ">&", "<<-", "<>",
    "<<<", "&>", "&>>", ";;&", ";&", "|&",
];

/// Few words are longer, in bytes, and few commands have more tokens: both grow no further while they are read.
const USUAL_LENGTH: usize = 16;
const USUAL_TOKENS: usize = 14;

/// A here-document that was announced and has not begun.
struct Pending {
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
}

/// Reads a text from left to right.
pub(super) struct Lexer<'a> {
    pub text: &'a str,
    pub at: usize,
    /// The number of open substitutions.
    pub depth: usize,
    pub doubts: Vec<Doubt>,
}

/// The tokens of a text, and its doubts.
pub(super) fn tokens(text: &str, depth: usize) -> (Vec<Token>, Vec<Doubt>) {
    let mut lexer = Lexer { text, at: 0, depth, doubts: Vec::new() };
    let tokens = lexer.tokens(false);
    (tokens, lexer.doubts)
}

impl Lexer<'_> {
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn doubt(&mut self, start: usize, text: &str) {
        // Unknown syntax ends the reading, so the first doubts are those that count.
        if self.doubts.len() < 8 {
            self.doubts.push(Doubt::new(start..self.at, text));
        }
    }

    /// Gives up: nothing after this point has a known meaning.
    pub(super) fn give_up(&mut self, start: usize, text: &str) {
        self.doubt(start, text);
        self.at = self.text.len();
    }

    /// The tokens up to the end, or up to the `)` that closes a substitution, which is not consumed.
    pub(super) fn tokens(&mut self, in_substitution: bool) -> Vec<Token> {
        let (mut tokens, mut pending, mut open) = (Vec::with_capacity(USUAL_TOKENS), Vec::new(), 0_usize);
        let mut wants_delimiter = None;
        while let Some(c) = self.peek() {
            let start = self.at;
            match c {
                ' ' | '\t' => self.at += 1,
                '\\' if self.rest().starts_with("\\\n") => self.at += 2,
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                ')' if in_substitution && open == 0 => break,
                _ => {
                    if let Some(operator) = self.operator() {
                        tokens.push(Token::Operator(start..self.at));
                        if operator == "(" && self.rest().starts_with('(') {
                            // Bash parses it as arithmetic if possible, whatever it contains.
                            self.doubt(start, "arithmetic, which evaluates variables");
                        }
                        match operator {
                            "(" => open += 1,
                            ")" => open = open.saturating_sub(1),
                            "<<" => wants_delimiter = Some(false),
                            "<<-" => wants_delimiter = Some(true),
                            "\n" => self.documents(&mut pending),
                            _ => {}
                        }
                        continue;
                    }
                    let word = self.word();
                    if let Some(strip_tabs) = wants_delimiter.take() {
                        match word.literal().filter(|text| !text.is_empty() && !text.contains('\n')) {
                            Some(delimiter) => {
                                let delimiter = delimiter.into_owned();
                                pending.push(Pending { delimiter, quoted: word.quoted, strip_tabs });
                            }
                            None => self.give_up(start, "a here-document whose end is not known"),
                        }
                        tokens.push(Token::Word(word));
                        tokens.push(Token::Document);
                    } else {
                        tokens.push(Token::Word(word));
                    }
                }
            }
        }
        if !pending.is_empty() {
            self.give_up(self.at, "a here-document without its end");
        }
        if in_substitution && self.is_misread(&tokens) {
            self.give_up(self.at, "a here-document among several commands in a substitution");
        }
        tokens
    }

    /// Whether bash may run something other than the written text: bash 5.2 prints the commands of a
    /// substitution again before it runs them, and loses the end of a command after a here-document.
    fn is_misread(&self, tokens: &[Token]) -> bool {
        let text = |token: &Token| match token {
            Token::Operator(span) => self.text.get(span.clone()).unwrap_or_default(),
            Token::Word(_) | Token::Document => "",
        };
        let first_line = tokens.iter().position(|token| text(token) == "\n").unwrap_or(tokens.len());
        let (before, behind) = tokens.split_at_checked(first_line).unwrap_or((tokens, &[]));
        let several = |token: &Token| matches!(text(token), ";" | "&" | "&&" | "||" | "(");
        tokens.contains(&Token::Document)
            && (before.iter().any(several) || behind.iter().any(|token| text(token) != "\n"))
    }

    /// The longest operator at this position.
    fn operator(&mut self) -> Option<&'static str> {
        let rest = self.rest();
        if !rest.starts_with(['&', '(', ')', ';', '\n', '|', '<', '>']) {
            return None;
        }
        let found = OPERATORS.iter().filter(|operator| rest.starts_with(**operator));
        let longest = found.max_by_key(|operator| operator.len())?;
        self.at += longest.len();
        Some(longest)
    }

    /// Reads the here-documents that begin here, after a newline.
    fn documents(&mut self, pending: &mut Vec<Pending>) {
        for document in pending.drain(..) {
            let (start, mut ended) = (self.at, false);
            while !ended && self.at < self.text.len() {
                let rest = self.rest();
                let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
                let line = rest.get(..length).unwrap_or(rest);
                let bare = line.strip_suffix('\n').unwrap_or(line);
                let bare = if document.strip_tabs { bare.trim_start_matches('\t') } else { bare };
                ended = bare == document.delimiter;
                // A continued line can hide the delimiter from one of two readers.
                if !ended && !document.quoted && bare.ends_with('\\') {
                    return self.give_up(start, "a here-document with a continued line");
                }
                if !ended && !document.quoted {
                    let (from, to) = (self.at, self.at + length);
                    self.document_line(from, to);
                }
                self.at += length;
            }
            if !ended {
                return self.give_up(start, "a here-document without its end");
            }
        }
    }

    /// A line of a here-document in which variables and substitutions are replaced.
    fn document_line(&mut self, from: usize, to: usize) {
        let line = self.text.get(from..to).unwrap_or_default();
        let harmless = |(at, _): (usize, &str)| {
            let next = line.get(at + 1..).and_then(|rest| rest.chars().next());
            next.is_none_or(|c| !matches!(c, '(' | '{' | '['))
        };
        if line.contains('`') || !line.match_indices('$').all(harmless) {
            self.doubts.push(Doubt::new(from..to, "a substitution in a here-document"));
        }
    }

    /// Reads the word at this position, which has at least one character.
    fn word(&mut self) -> Word {
        let start = self.at;
        let mut word = Word { span: start..start, ..Word::default() };
        let (mut brace, mut is_brace) = (false, false);
        while let Some(c) = self.peek() {
            let from = self.at;
            match c {
                ' ' | '\t' | '\n' | '&' | '|' | ';' | ')' => break,
                '<' | '>' | '(' => {
                    if c != '(' && self.rest().get(1..).is_some_and(|rest| rest.starts_with('(')) {
                        self.give_up(from, "a process substitution within a word");
                    }
                    break;
                }
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(c) => {
                            word.quoted = true;
                            word.push_text(c);
                        }
                        None => self.give_up(from, "a backslash at the end"),
                    }
                }
                '\'' => self.read_single_quotes(&mut word),
                '"' => self.read_double_quotes(&mut word),
                '$' | '`' => {
                    expansion::expand(self, &mut word, false);
                    word.splits |= !matches!(word.pieces.last(), Some(Piece::Text(_)));
                }
                '~' if from == start => self.tilde(&mut word),
                '*' | '?' | '[' | ']' => {
                    self.at += 1;
                    word.pieces.push(Piece::Glob(c));
                }
                c if c.is_control() || c.is_whitespace() => {
                    self.at += c.len_utf8();
                    self.doubt(from, "a control character or an unusual space");
                    word.pieces.push(Piece::Unknown);
                }
                c => {
                    self.at += c.len_utf8();
                    brace |= c == '{';
                    is_brace |= brace && (c == ',' || c == '.' && self.rest().starts_with('.'));
                    word.push_text(c);
                }
            }
        }
        if is_brace {
            word.pieces.insert(0, Piece::Unknown);
            word.splits = true;
            word.is_brace = true;
        }
        if let [Piece::Glob(c @ ('[' | ']'))] = word.pieces.as_slice() {
            // Alone it matches only itself: it is the name of a command, or ends it.
            word.pieces = vec![Piece::Text(c.to_string())];
        }
        word.span.end = self.at;
        self.check_descriptor(&word);
        word
    }

    /// Checks for numbers and names of descriptors before a redirection that the other reader does not
    /// accept.
    fn check_descriptor(&mut self, word: &Word) {
        if !self.rest().starts_with(['<', '>']) || word.quoted {
            return;
        }
        let text = self.text.get(word.span.clone()).unwrap_or_default();
        if text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() > 4 || text.starts_with('{') {
            self.give_up(word.span.start, "an unusual descriptor");
        }
    }

    fn tilde(&mut self, word: &mut Word) {
        self.at += 1;
        let ends = |c: char| matches!(c, '/' | ' ' | '\t' | '\n' | '&' | '|' | ';' | ')' | '<' | '>' | '(');
        // A quote or an expansion ends the name too, so it is not a name.
        let is_name =
            |c: &char| !ends(*c) && !matches!(c, '\'' | '"' | '\\' | '$' | '`' | '*' | '?' | '[' | '{');
        let name: String = self.rest().chars().take_while(is_name).collect();
        self.at += name.len();
        word.pieces.push(match name.as_str() {
            "" if self.peek().is_none_or(ends) => Piece::Home,
            "+" => Piece::Variable("PWD".to_owned()),
            _ => Piece::Unknown,
        });
    }

    fn read_single_quotes(&mut self, word: &mut Word) {
        let start = self.at;
        self.at += 1;
        word.quoted = true;
        let Some(length) = self.rest().find('\'') else {
            return self.give_up(start, "a quote that is not closed");
        };
        word.pieces.push(Piece::Text(self.rest().get(..length).unwrap_or_default().to_owned()));
        self.at += length + 1;
    }

    fn read_double_quotes(&mut self, word: &mut Word) {
        let start = self.at;
        self.at += 1;
        word.quoted = true;
        // An empty word is a word.
        word.pieces.push(Piece::Text(String::new()));
        loop {
            match self.peek() {
                None => return self.give_up(start, "a quote that is not closed"),
                Some('"') => {
                    self.at += 1;
                    return;
                }
                Some('$' | '`') => expansion::expand(self, word, true),
                Some('\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some('\n') => self.at += 1,
                        Some(c @ ('$' | '`' | '"' | '\\')) => {
                            self.at += 1;
                            word.push_text(c);
                        }
                        _ => word.push_text('\\'),
                    }
                }
                Some(c) => {
                    self.at += c.len_utf8();
                    word.push_text(c);
                }
            }
        }
    }
}
