//! Parses a text into its simple commands with two independent readers.
//!
//! The parser determines the structure, [`super::words`] the meaning of each word, and both must have seen
//! the same tokens.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use brush_parser::ast::{
    AndOr, AssignmentName, AssignmentValue, BinaryPredicate, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, CompoundListItem, ExtendedTestExpr, IoFileRedirectKind,
    IoFileRedirectTarget, IoRedirect, Pipeline, Program, RedirectList, SeparatorOperator, SimpleCommand,
    SourceLocation, UnaryPredicate,
};
use brush_parser::{ParserOptions, SourceSpan};

use super::entered::{changes_directory, enter, enter_or_leave, exits, stops_behind};
use super::simple::{self, Direction, ParseResult, Redirect, Simple};
use super::words::{self, DEEPEST, Doubt, Piece, Token, Word};

/// The maximum number of operators in a text that is parsed: the time for it grows with them.
const MOST_OPERATORS: usize = 1_500;
/// Parses a text that begins at `base` of the whole command.
pub(super) fn read(text: &str, depth: usize) -> ParseResult {
    let (tokens, doubts) = words::tokens(text, depth);
    let mut found = ParseResult { doubts, ..ParseResult::default() };
    if !found.doubts.is_empty() {
        return found;
    }
    let whole = 0..text.len();
    if tokens.iter().filter(|token| matches!(token, Token::Operator(_))).count() > MOST_OPERATORS {
        found.doubts.push(Doubt::new(whole, "too many commands to be analysed"));
        return found;
    }
    if depth + nesting(text, &tokens) > DEEPEST {
        found.doubts.push(Doubt::new(whole, "nested too deeply"));
        return found;
    }
    if has_blank_delimiter(text) {
        found.doubts.push(Doubt::new(whole, "this is not understood"));
        return found;
    }
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    // The parser is not known to panic on text that passed so far; if it does, the command needs approval.
    let parsed = std::panic::catch_unwind(|| parse(text, &tokens, &options));
    let Ok(Some(program)) = parsed else {
        found.doubts.push(Doubt::new(whole, "this is not understood"));
        return found;
    };
    let positions = Positions::of(text);
    let mut by_end = BTreeMap::new();
    for token in tokens {
        if let Token::Word(word) = token {
            found.nested.extend(word.nested.iter().map(|nested| nested.inner.clone()));
            by_end.insert(word.span.end, word);
        }
    }
    let mut walk = Walk { words: by_end, positions, found, whole, stops: false, is_tested: false };
    walk.program(&program);
    walk.found
}

/// Whether a possible here-document has an empty or blank delimiter. The parser finds the end of such a
/// document again and again, and does not return.
fn has_blank_delimiter(text: &str) -> bool {
    let is_document = |at: &usize| {
        let before = text.get(..*at).unwrap_or_default();
        let behind = text.get(at + 2..).unwrap_or_default();
        !before.ends_with('<') && !behind.starts_with('<')
    };
    text.match_indices("<<").map(|(at, _)| at).filter(is_document).any(|at| {
        let rest = text.get(at + 2..).unwrap_or_default();
        let word = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches([' ', '\t']);
        let mut quote = None;
        for c in word.chars() {
            match (c, quote) {
                ('\'' | '"', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                ('\\' | '\n' | '\r', Some(_)) | ('\\' | '$', None) => {}
                (c, None) if c.is_whitespace() || ";&|<>()`".contains(c) => return true,
                _ => return false,
            }
        }
        true
    })
}

/// The program, if both readers saw the same tokens.
fn parse(text: &str, tokens: &[Token], options: &ParserOptions) -> Option<Program> {
    let theirs = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
    let positions = Positions::of(text);
    let mut rest = theirs.iter();
    for token in tokens {
        let their = rest.next()?;
        let end = positions.byte(their.location().end.index);
        let same = match (token, their) {
            (Token::Word(word), brush_parser::Token::Word(value, _)) => {
                let source = text.get(word.span.clone()).unwrap_or_default();
                let rewritten = !word.nested.is_empty() || source.contains("${") || source.contains("$((");
                let is_same = || source == value || source.replace("\\\n", "") == value.replace("\\\n", "");
                end == word.span.end && (rewritten || is_same())
            }
            (Token::Operator(span), brush_parser::Token::Operator(value, _)) => {
                end == span.end && text.get(span.clone()) == Some(value.as_str())
            }
            // The body, and the line that ends it.
            (Token::Document, brush_parser::Token::Word(..)) => rest.next().is_some(),
            _ => false,
        };
        if !same {
            return None;
        }
    }
    if rest.next().is_some() {
        return None;
    }
    brush_parser::parse_tokens(&theirs, options).ok()
}

/// The maximum nesting of compound commands.
fn nesting(text: &str, tokens: &[Token]) -> usize {
    const OPEN: [&str; 9] = ["(", "{", "if", "while", "until", "for", "case", "select", "[["];
    let (mut open, mut most, mut prefixes, mut first): (Vec<&str>, _, _, _) =
        (Vec::new(), 0_usize, 0_usize, true);
    for token in tokens {
        let span = match token {
            Token::Word(word) => word.span.clone(),
            Token::Operator(span) => span.clone(),
            Token::Document => continue,
        };
        let text = text.get(span).unwrap_or_default();
        let closes: &[&str] = match text {
            ")" => &["("],
            "}" if first => &["{"],
            "fi" if first => &["if"],
            "done" if first => &["while", "until", "for", "select"],
            "esac" if first => &["case"],
            "]]" => &["[["],
            _ => &[],
        };
        // A `)` may also end a pattern of `case`, and such a word may be an argument: they close nothing.
        if open.last().is_some_and(|last| closes.contains(last)) {
            open.pop();
        } else if OPEN.contains(&text) {
            open.push(text);
        }
        if matches!(token, Token::Operator(_)) && text != "(" {
            prefixes = 0;
        }
        prefixes += usize::from(matches!(text, "!" | "coproc"));
        most = most.max(open.len() + prefixes);
        let separates = matches!(text, "\n" | ";" | "&" | ";;" | ";&" | ";;&" | "(" | ")");
        first =
            separates || OPEN.contains(&text) || !closes.is_empty() || matches!(text, "then" | "do" | "else");
    }
    most
}

/// Maps characters to bytes.
struct Positions(Vec<usize>);

impl Positions {
    fn of(text: &str) -> Self {
        if text.is_ascii() {
            return Positions(Vec::new());
        }
        Positions(text.char_indices().map(|(at, _)| at).chain([text.len()]).collect())
    }

    fn byte(&self, character: usize) -> usize {
        if self.0.is_empty() { character } else { self.0.get(character).copied().unwrap_or(usize::MAX) }
    }
}

struct Walk {
    /// The words by their end.
    words: BTreeMap<usize, Word>,
    positions: Positions,
    found: ParseResult,
    whole: Range<usize>,
    /// Whether a command that fails ends the shell, as after `set -e`.
    stops: bool,
    /// Whether failures are ignored here, or commands run more than once.
    is_tested: bool,
}

impl Walk {
    fn span(&self, span: &SourceSpan) -> Range<usize> {
        let (start, end) = (self.positions.byte(span.start.index), self.positions.byte(span.end.index));
        start.min(self.whole.end)..end.min(self.whole.end)
    }

    /// The second reading of a word of the parser.
    fn word(&mut self, word: &brush_parser::ast::Word) -> Option<Word> {
        let end = word.loc.as_ref().map(|span| self.positions.byte(span.end.index));
        let found = end.and_then(|end| self.words.get(&end)).cloned();
        if found.is_none() {
            self.doubt(self.whole.clone(), "this is not understood");
        }
        found
    }

    fn doubt(&mut self, span: Range<usize>, text: &str) {
        self.found.doubts.push(Doubt::new(span, text));
    }

    fn program(&mut self, program: &Program) {
        let mut entered = Vec::new();
        for list in &program.complete_commands {
            entered = self.list_behind(list, entered).0;
        }
    }

    fn list(&mut self, list: &CompoundList) {
        self.list_behind(list, Vec::new());
    }

    /// Walks commands whose failure does not end the shell.
    fn walk_tested<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.is_tested, true);
        let result = read(self);
        self.is_tested = before;
        result
    }

    /// Walks commands that may run more than once, or in another order.
    fn walk_repeated(&mut self, read: impl FnOnce(&mut Self)) {
        let start = self.found.commands.len();
        self.walk_tested(read);
        self.found.loops = true;
        let within = self.found.commands.get_mut(start..).unwrap_or_default();
        within.iter_mut().for_each(|simple| simple.repeats = true);
    }

    /// A list behind `cd`s into these folders. Returns the folders entered when it is over, and those if it succeeds.
    fn list_behind(&mut self, list: &CompoundList, mut before: Vec<Word>) -> (Vec<Word>, Vec<Word>) {
        let mut succeeded = Vec::new();
        for CompoundListItem(item, separator) in &list.0 {
            let start = self.found.commands.len();
            let mut entered = Some(before.clone());
            let first = std::iter::once((&item.first, true));
            let next = item.additional.iter().map(|next| match next {
                AndOr::And(pipeline) => (pipeline, true),
                AndOr::Or(pipeline) => (pipeline, false),
            });
            let is_waited_for = matches!(separator, SeparatorOperator::Sequence);
            let is_alone = is_waited_for && item.additional.is_empty() && !item.first.bang;
            let mut left = None;
            for (pipeline, is_behind) in first.chain(next) {
                let start = self.found.commands.len();
                match is_alone {
                    true => self.pipeline(pipeline),
                    false => self.walk_tested(|walk| walk.pipeline(pipeline)),
                }
                // `cd x || exit`
                left = if is_behind || !exits(pipeline) { None } else { entered.clone() };
                let commands = self.found.commands.get_mut(start..).unwrap_or_default();
                entered =
                    entered.filter(|_| is_behind).and_then(|entered| enter(pipeline, commands, entered));
            }
            let read = self.found.commands.get(start..).unwrap_or_default();
            if is_alone {
                let stopped = || entered.clone().filter(|_| self.stops && !self.is_tested);
                left = enter_or_leave(&item.first, read, &before).or_else(stopped);
            }
            self.stops = stops_behind(self.stops, item.first.seq.as_slice(), read, is_alone);
            if read.iter().any(changes_directory) {
                before = left.filter(|_| is_waited_for).unwrap_or_default();
            }
            succeeded = entered.filter(|_| is_waited_for).unwrap_or_default();
        }
        (before, succeeded)
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        let mut printed = Vec::new();
        let stops = self.stops;
        for command in &pipeline.seq {
            let start = self.found.commands.len();
            self.command(command);
            let read = self.found.commands.get_mut(start..).unwrap_or_default().iter_mut();
            read.for_each(|simple| simple.texts.extend(printed.iter().cloned()));
            printed = self.printed_texts(start);
            if pipeline.seq.len() > 1 {
                self.stops = stops;
            }
        }
    }

    /// The texts that the commands from an index on print, as far as they are in their words or their input.
    fn printed_texts(&self, start: usize) -> Vec<String> {
        let commands = self.found.commands.get(start..).unwrap_or_default().iter();
        commands.flat_map(|simple| simple::printed_texts(&simple.words, &simple.texts)).collect()
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                let start = self.found.commands.len();
                self.compound(compound);
                self.redirects(redirects.as_ref(), start);
            }
            Command::Function(function) => {
                self.found.functions.push(function.fname.value.clone());
                let start = self.found.commands.len();
                self.walk_repeated(|walk| walk.compound(&function.body.0));
                self.redirects(function.body.1.as_ref(), start);
            }
            Command::ExtendedTest(test, redirects) => {
                let span = self.span(&test.loc);
                if evaluates(&test.expr) {
                    self.doubt(span, "a test that evaluates its words");
                }
                self.redirects(redirects.as_ref(), self.found.commands.len());
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => {
                let span = self.span(&arithmetic.loc);
                self.doubt(span, "arithmetic, which evaluates variables");
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                let span = self.span(&clause.loc);
                self.doubt(span, "arithmetic, which evaluates variables");
                self.walk_repeated(|walk| walk.list(&clause.body.list));
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => {
                let stops = self.stops;
                self.list(&subshell.list);
                self.stops = stops;
            }
            CompoundCommand::ForClause(clause) => {
                let name = &clause.variable_name;
                let span = self.span(&clause.loc);
                let words = clause.values.iter().flatten();
                let values = words.filter_map(|word| Some((name.clone(), self.word(word)?))).collect();
                let assigned = vec![name.clone()];
                self.found.commands.push(Simple { span, assigned, values, ..Simple::default() });
                self.walk_repeated(|walk| walk.list(&clause.body.list));
            }
            CompoundCommand::CaseClause(clause) => {
                clause.cases.iter().filter_map(|case| case.cmd.as_ref()).for_each(|list| self.list(list));
            }
            CompoundCommand::IfClause(clause) => {
                let (_, entered) = self.walk_tested(|walk| walk.list_behind(&clause.condition, Vec::new()));
                self.list_behind(&clause.then, entered);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.walk_tested(|walk| walk.list(list)));
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.walk_repeated(|walk| {
                    [&clause.0, &clause.1.list].into_iter().for_each(|list| walk.list(list));
                });
            }
            CompoundCommand::Coprocess(coprocess) => {
                let span = self.span(&coprocess.loc);
                self.doubt(span, "a coprocess");
                self.walk_tested(|walk| walk.command(&coprocess.body));
            }
        }
    }

    /// The redirections of a compound command, whose commands begin at an index and read what it reads.
    fn redirects(&mut self, list: Option<&RedirectList>, start: usize) {
        let Some(list) = list else { return };
        let (mut simple, end) = (Simple::default(), self.found.commands.len());
        list.0.iter().for_each(|redirect| self.redirect(redirect, &mut simple));
        let within = self.found.commands.get_mut(start..end).unwrap_or_default().iter_mut();
        within.for_each(|inner| inner.texts.extend(simple.texts.iter().cloned()));
        let spans = simple.redirects.iter().map(|redirect| redirect.target.span.clone());
        if let Some(span) = spans.reduce(|one, other| one.start..other.end) {
            simple.span = span;
            self.found.commands.push(simple);
        }
    }

    fn simple(&mut self, command: &SimpleCommand) {
        let mut simple = Simple::default();
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        prefix.for_each(|item| self.item(item, &mut simple, true));
        if let Some(name) = &command.word_or_name {
            simple.words.extend(self.word(name));
        }
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        suffix.for_each(|item| self.item(item, &mut simple, false));
        if let Some(span) = command.location() {
            simple.span = self.span(&span);
        }
        // A here-document is not part of it.
        if let (Some(first), Some(last)) = (simple.words.first(), simple.words.last()) {
            let start = simple.span.start.min(first.span.start);
            let redirected = simple.redirects.iter().map(|redirect| redirect.target.span.end).max();
            simple.span = start..last.span.end.max(redirected.unwrap_or(0));
        }
        self.found.commands.push(simple);
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, simple: &mut Simple, is_prefix: bool) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect, simple),
            CommandPrefixOrSuffixItem::Word(word) => simple.words.extend(self.word(word)),
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                match (&assignment.name, &assignment.value) {
                    (AssignmentName::ArrayElementName(name, _), _) => {
                        if is_prefix {
                            simple.assigned.push(name.clone());
                            let value = self.word(word).and_then(|word| word.value_of_element());
                            simple.values.extend(value.map(|value| (name.clone(), value)));
                        }
                        let span = self.span(&assignment.loc);
                        self.doubt(span, "an index, which is evaluated");
                    }
                    (AssignmentName::VariableName(name), value) if is_prefix => {
                        simple.assigned.push(name.clone());
                        let is_scalar = matches!(value, AssignmentValue::Scalar(_));
                        if is_scalar && let Some(value) = self.word(word).and_then(|word| word.value_of(name))
                        {
                            simple.values.push((name.clone(), value));
                        }
                        let AssignmentValue::Array(elements) = value else { return };
                        if !assignment.append {
                            let span = self.span(&assignment.loc);
                            let within = self.words.range(span.start..span.end).map(|(_, word)| word);
                            let words: Vec<&Word> =
                                within.filter(|word| word.span.start > span.start).collect();
                            let value =
                                |word: &&Word| word.value_of_element().unwrap_or_else(|| Word::clone(word));
                            let values = words.iter().map(|word| (name.clone(), value(word)));
                            simple.values.extend(values.filter(|_| words.len() == elements.len()));
                        }
                        // One in quotes is an index for bash, too.
                        let is_indexed =
                            |(index, value): &(Option<brush_parser::ast::Word>, brush_parser::ast::Word)| {
                                index.is_some() || value.value.starts_with('[')
                            };
                        if elements.iter().any(is_indexed) {
                            let span = self.span(&assignment.loc);
                            self.doubt(span, "an index, which is evaluated");
                        }
                    }
                    (AssignmentName::VariableName(_), AssignmentValue::Scalar(_)) => {
                        simple.words.extend(self.word(word));
                    }
                    (AssignmentName::VariableName(_), AssignmentValue::Array(_)) => {
                        let span = self.span(&assignment.loc);
                        self.doubt(span, "an array as an argument");
                    }
                }
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                let start = self.found.commands.len();
                self.list(&subshell.list);
                simple.texts.extend(self.printed_texts(start));
                let span = self.span(&subshell.loc);
                let pieces = vec![Piece::Text("/dev/fd/".to_owned()), Piece::Unknown];
                simple.words.push(Word { span, pieces, ..Word::default() });
            }
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect, simple: &mut Simple) {
        let (direction, target) = match redirect {
            IoRedirect::File(descriptor, kind, target) => {
                self.found.reopens |= reopens(*descriptor, kind, target);
                let direction = match kind {
                    IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => Direction::Read,
                    IoFileRedirectKind::Write
                    | IoFileRedirectKind::Append
                    | IoFileRedirectKind::ReadAndWrite
                    | IoFileRedirectKind::Clobber
                    | IoFileRedirectKind::DuplicateOutput => Direction::Write,
                };
                if let (IoFileRedirectKind::ReadAndWrite, IoFileRedirectTarget::Filename(word)) =
                    (kind, target)
                    && let Some(target) = self.word(word)
                {
                    simple.redirects.push(Redirect { direction: Direction::Read, target });
                }
                match target {
                    IoFileRedirectTarget::Filename(word) => (direction, word),
                    IoFileRedirectTarget::Duplicate(word) => {
                        // `2>&1` and `2>&-` name no file; `>&file` does.
                        let is_descriptor = |c: char| c.is_ascii_digit() || c == '-';
                        if word.value.chars().all(is_descriptor) {
                            return;
                        }
                        (direction, word)
                    }
                    IoFileRedirectTarget::Fd(_) => return,
                    IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                        let start = self.found.commands.len();
                        self.list(&subshell.list);
                        simple.texts.extend(self.printed_texts(start));
                        return;
                    }
                }
            }
            IoRedirect::OutputAndError(word, _) => (Direction::Write, word),
            // Commands in it were parsed with all others.
            IoRedirect::HereDocument(_, document) => return simple.texts.push(document.doc.value.clone()),
            IoRedirect::HereString(_, word) => {
                let text = self.word(word).and_then(|word| word.literal().map(Cow::into_owned));
                return simple.texts.push(text.unwrap_or_else(|| word.value.clone()));
            }
        };
        if let Some(target) = self.word(target) {
            simple.redirects.push(Redirect { direction, target });
        }
    }
}

/// Whether a descriptor other than 0 may lead to a file that is read: it is opened for reading, or is a copy
/// of one that is neither 1 nor 2.
fn reopens(descriptor: Option<i32>, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget) -> bool {
    match kind {
        IoFileRedirectKind::Read | IoFileRedirectKind::ReadAndWrite => {
            descriptor.is_some_and(|descriptor| descriptor != 0)
        }
        IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput => match target {
            IoFileRedirectTarget::Fd(from) => !matches!(from, 1 | 2),
            IoFileRedirectTarget::Duplicate(word) => !matches!(word.value.as_str(), "1" | "2" | "-"),
            IoFileRedirectTarget::Filename(_) | IoFileRedirectTarget::ProcessSubstitution(..) => true,
        },
        IoFileRedirectKind::Write | IoFileRedirectKind::Append | IoFileRedirectKind::Clobber => false,
    }
}

/// Whether a test evaluates a word as arithmetic or as the name of a variable.
fn evaluates(test: &ExtendedTestExpr) -> bool {
    match test {
        ExtendedTestExpr::And(one, other) | ExtendedTestExpr::Or(one, other) => {
            evaluates(one) || evaluates(other)
        }
        ExtendedTestExpr::Not(test) | ExtendedTestExpr::Parenthesized(test) => evaluates(test),
        ExtendedTestExpr::UnaryTest(predicate, _) => matches!(
            predicate,
            UnaryPredicate::ShellVariableIsSetAndAssigned | UnaryPredicate::ShellVariableIsSetAndNameRef
        ),
        ExtendedTestExpr::BinaryTest(predicate, left, right) => {
            let is_number =
                |word: &brush_parser::ast::Word| word.value.bytes().all(|byte| byte.is_ascii_digit());
            let arithmetic = matches!(
                predicate,
                BinaryPredicate::ArithmeticEqualTo
                    | BinaryPredicate::ArithmeticNotEqualTo
                    | BinaryPredicate::ArithmeticLessThan
                    | BinaryPredicate::ArithmeticLessThanOrEqualTo
                    | BinaryPredicate::ArithmeticGreaterThan
                    | BinaryPredicate::ArithmeticGreaterThanOrEqualTo
            );
            arithmetic && !(is_number(left) && is_number(right))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permissions::shell::analyse;

    #[test]
    fn a_here_document_without_a_delimiter_is_not_parsed() {
        let blank = [
            "<<", "<< )", "<<-", "<<''", "<<\"\"\"\"", "<<'\n'", "<<\\\n", "<< `", "<<$''", "<< \t;", "<<-\n",
        ];
        let named = ["<<E", "<<-E", "<< 'E'", "<<\\E", "<<$x", "<<=1", "<<<", "<<<<<<< x", "<< ''E", "1<<2"];
        for text in blank {
            assert!(has_blank_delimiter(text), "{text:?}");
        }
        for text in named {
            assert!(!has_blank_delimiter(text), "{text:?}");
        }
        // It ends, whatever else is around it.
        let around = [
            "$( < | file esac; ls || ! @ ) E [[ aa [[    ",
            "$( cat @",
            "`cat @`",
            "(cat @)",
            "x @ y\n",
            "\"$(cat @)\"",
        ];
        for text in around.iter().flat_map(|around| blank.map(|blank| around.replace('@', blank))) {
            assert!(!analyse(&text).doubts.is_empty(), "{text:?}");
        }
    }
}
