//! Parses the keys of normal and visual mode into a command, once they are complete.

use std::str::Chars;

use crate::composer::register::SpanKind;

/// The largest count.
const MAX_COUNT: usize = 10_000;

/// A command with the count before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Command {
    pub count: Option<usize>,
    pub verb: Verb,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verb {
    Move(Motion),
    Operate(Operator, Target),
    Insert(InsertAt),
    Put(Side),
    Undo,
    Redo,
    /// `.`
    Repeat,
    /// `v` and `V`
    Select(SpanKind),
    /// `iw` and the like in visual mode
    SelectObject(Object),
    /// `o` in visual mode
    SwapEnds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Delete,
    Change,
    Yank,
    Indent,
    Outdent,
    Lower,
    Upper,
    SwapCase,
    Join,
    Replace(char),
    /// Replaces the text with the register; the text goes to the register where requested.
    PutOver {
        swaps: bool,
    },
}

/// The target of an operator.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    Motion(Motion),
    /// As many characters as the count, which the cursor passes.
    Chars,
    /// As many lines as the count.
    Lines,
    Object(Object),
    Selection,
    /// The lines of the selection.
    SelectedLines,
    /// As much text as was selected when the command was first given.
    Again(SpanKind, usize),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Motion {
    Left,
    Right,
    Up,
    Down,
    Word(WordKind),
    WordBack(WordKind),
    WordEnd(WordKind),
    WordEndBack(WordKind),
    LineStart,
    FirstNonBlank,
    LineEnd,
    /// `gg`: the first line, or the line of the count
    FirstLine,
    /// `G`: the last line, or the line of the count
    LastLine,
    Find(Find),
    /// `;`
    FindAgain,
    /// `,`
    FindBack,
    Matching,
    ParagraphBack,
    Paragraph,
}

/// The word boundary: `w` or `W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordKind {
    Word,
    /// Only blanks end it.
    Blanks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
}

/// The end of a search in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FindStop {
    On,
    Before,
}

/// A search for a character in the line: `f`, `F`, `t` or `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Find {
    pub what: char,
    pub direction: Direction,
    pub stop: FindStop,
}

/// A text object; `around` with the blanks, the quotes or the brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub around: bool,
    pub kind: ObjectKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Word(WordKind),
    Paragraph,
    Quotes(char),
    Brackets(char, char),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InsertAt {
    Cursor,
    After,
    FirstNonBlank,
    LineEnd,
    Below,
    Above,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    After,
    Before,
}

/// The reason why keys are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoCommand {
    /// More keys are needed.
    Incomplete,
    Unknown,
}

/// Parses keys as a command. Ctrl+R is `\x12`.
pub(super) fn parse(keys: &str, selecting: bool) -> Result<Command, NoCommand> {
    let mut keys = Keys(keys.chars());
    let mut count = keys.count();
    // There is one register, whatever its name.
    while keys.0.as_str().starts_with('"') {
        keys.next()?;
        keys.next()?;
        count = multiply_counts(count, keys.count());
    }
    let key = keys.next()?;
    if selecting { in_visual(key, count, &mut keys) } else { in_normal(key, count, &mut keys) }
}

/// Keys that have not been read yet.
struct Keys<'a>(Chars<'a>);

impl Keys<'_> {
    fn next(&mut self) -> Result<char, NoCommand> {
        self.0.next().ok_or(NoCommand::Incomplete)
    }

    /// A number that does not begin with 0.
    fn count(&mut self) -> Option<usize> {
        let rest = self.0.as_str();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = rest.get(..end).filter(|digits| !digits.is_empty() && !digits.starts_with('0'))?;
        self.0 = rest.get(end..).unwrap_or("").chars();
        Some(digits.parse().map_or(MAX_COUNT, |number: usize| number.min(MAX_COUNT)))
    }
}

fn multiply_counts(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_mul(other).min(MAX_COUNT)),
        (one, other) => one.or(other),
    }
}

fn in_normal(key: char, count: Option<usize>, keys: &mut Keys) -> Result<Command, NoCommand> {
    use Operator::{Change, Delete, Join, Replace, SwapCase, Yank};
    let lines = |operator| Verb::Operate(operator, Target::Lines);
    let over = |operator, motion| Verb::Operate(operator, Target::Motion(motion));
    let verb = match key {
        'd' | 'c' | 'y' | '>' | '<' => return operation(&key.to_string(), count, keys),
        'g' => match keys.next()? {
            second @ ('u' | 'U' | '~') => return operation(&format!("g{second}"), count, keys),
            second => Verb::Move(after_g(second)?),
        },
        'x' => over(Delete, Motion::Right),
        'X' => over(Delete, Motion::Left),
        's' => over(Change, Motion::Right),
        'D' => over(Delete, Motion::LineEnd),
        'C' => over(Change, Motion::LineEnd),
        'S' => lines(Change),
        'Y' => lines(Yank),
        '~' => Verb::Operate(SwapCase, Target::Chars),
        'r' => Verb::Operate(Replace(keys.next()?), Target::Chars),
        'J' => lines(Join),
        'p' => Verb::Put(Side::After),
        'P' => Verb::Put(Side::Before),
        'u' => Verb::Undo,
        '\x12' => Verb::Redo,
        '.' => Verb::Repeat,
        'v' => Verb::Select(SpanKind::Chars),
        'V' => Verb::Select(SpanKind::Lines),
        'i' => Verb::Insert(InsertAt::Cursor),
        'a' => Verb::Insert(InsertAt::After),
        'I' => Verb::Insert(InsertAt::FirstNonBlank),
        'A' => Verb::Insert(InsertAt::LineEnd),
        'o' => Verb::Insert(InsertAt::Below),
        'O' => Verb::Insert(InsertAt::Above),
        other => Verb::Move(motion(other, keys)?),
    };
    // `J` joins two lines at least.
    let count = if key == 'J' { Some(count.unwrap_or(2).max(2)) } else { count };
    Ok(Command { count, verb })
}

fn in_visual(key: char, count: Option<usize>, keys: &mut Keys) -> Result<Command, NoCommand> {
    let verb = match key {
        'v' => Verb::Select(SpanKind::Chars),
        'V' => Verb::Select(SpanKind::Lines),
        'o' | 'O' => Verb::SwapEnds,
        'i' | 'a' => Verb::SelectObject(object(key, keys)?),
        'd' | 'x' => Verb::Operate(Operator::Delete, Target::Selection),
        'c' | 's' => Verb::Operate(Operator::Change, Target::Selection),
        'y' => Verb::Operate(Operator::Yank, Target::Selection),
        'D' | 'X' => Verb::Operate(Operator::Delete, Target::SelectedLines),
        'C' | 'S' | 'R' => Verb::Operate(Operator::Change, Target::SelectedLines),
        'Y' => Verb::Operate(Operator::Yank, Target::SelectedLines),
        '>' => Verb::Operate(Operator::Indent, Target::SelectedLines),
        '<' => Verb::Operate(Operator::Outdent, Target::SelectedLines),
        'J' => Verb::Operate(Operator::Join, Target::SelectedLines),
        'u' => Verb::Operate(Operator::Lower, Target::Selection),
        'U' => Verb::Operate(Operator::Upper, Target::Selection),
        '~' => Verb::Operate(Operator::SwapCase, Target::Selection),
        'p' => Verb::Operate(Operator::PutOver { swaps: true }, Target::Selection),
        'P' => Verb::Operate(Operator::PutOver { swaps: false }, Target::Selection),
        'r' => Verb::Operate(Operator::Replace(keys.next()?), Target::Selection),
        'g' => match keys.next()? {
            'u' => Verb::Operate(Operator::Lower, Target::Selection),
            'U' => Verb::Operate(Operator::Upper, Target::Selection),
            '~' => Verb::Operate(Operator::SwapCase, Target::Selection),
            second => Verb::Move(after_g(second)?),
        },
        other => Verb::Move(motion(other, keys)?),
    };
    Ok(Command { count, verb })
}

/// Parses an operator, written `d` or `gu`, and its operand. Repeating its last key means lines.
fn operation(written: &str, count: Option<usize>, keys: &mut Keys) -> Result<Command, NoCommand> {
    let operator = match written {
        "d" => Operator::Delete,
        "c" => Operator::Change,
        "y" => Operator::Yank,
        ">" => Operator::Indent,
        "<" => Operator::Outdent,
        "gu" => Operator::Lower,
        "gU" => Operator::Upper,
        _ => Operator::SwapCase,
    };
    let count = multiply_counts(count, keys.count());
    let target = match keys.next()? {
        key if written.ends_with(key) => Target::Lines,
        key @ ('i' | 'a') => Target::Object(object(key, keys)?),
        'g' => match keys.next()? {
            second if written == format!("g{second}") => Target::Lines,
            second => Target::Motion(after_g(second)?),
        },
        key => Target::Motion(motion(key, keys)?),
    };
    Ok(Command { count, verb: Verb::Operate(operator, target) })
}

fn after_g(key: char) -> Result<Motion, NoCommand> {
    Ok(match key {
        'g' => Motion::FirstLine,
        'e' => Motion::WordEndBack(WordKind::Word),
        'E' => Motion::WordEndBack(WordKind::Blanks),
        'j' => Motion::Down,
        'k' => Motion::Up,
        _ => return Err(NoCommand::Unknown),
    })
}

fn motion(key: char, keys: &mut Keys) -> Result<Motion, NoCommand> {
    let find = |keys: &mut Keys, direction, stop| {
        keys.next().map(|what| Motion::Find(Find { what, direction, stop }))
    };
    Ok(match key {
        'h' => Motion::Left,
        'l' | ' ' => Motion::Right,
        'k' => Motion::Up,
        'j' => Motion::Down,
        'w' => Motion::Word(WordKind::Word),
        'W' => Motion::Word(WordKind::Blanks),
        'b' => Motion::WordBack(WordKind::Word),
        'B' => Motion::WordBack(WordKind::Blanks),
        'e' => Motion::WordEnd(WordKind::Word),
        'E' => Motion::WordEnd(WordKind::Blanks),
        '0' => Motion::LineStart,
        '^' | '_' => Motion::FirstNonBlank,
        '$' => Motion::LineEnd,
        'G' => Motion::LastLine,
        'f' => find(keys, Direction::Forward, FindStop::On)?,
        'F' => find(keys, Direction::Back, FindStop::On)?,
        't' => find(keys, Direction::Forward, FindStop::Before)?,
        'T' => find(keys, Direction::Back, FindStop::Before)?,
        ';' => Motion::FindAgain,
        ',' => Motion::FindBack,
        '%' => Motion::Matching,
        '{' => Motion::ParagraphBack,
        '}' => Motion::Paragraph,
        // They take a name or a second key, which must not be read as a command.
        'm' | '\'' | '`' | 'q' | '@' | 'z' | 'Z' => {
            keys.next()?;
            return Err(NoCommand::Unknown);
        }
        _ => return Err(NoCommand::Unknown),
    })
}

fn object(key: char, keys: &mut Keys) -> Result<Object, NoCommand> {
    let kind = match keys.next()? {
        'w' => ObjectKind::Word(WordKind::Word),
        'W' => ObjectKind::Word(WordKind::Blanks),
        'p' => ObjectKind::Paragraph,
        quote @ ('"' | '\'' | '`') => ObjectKind::Quotes(quote),
        '(' | ')' | 'b' => ObjectKind::Brackets('(', ')'),
        '[' | ']' => ObjectKind::Brackets('[', ']'),
        '{' | '}' | 'B' => ObjectKind::Brackets('{', '}'),
        '<' | '>' => ObjectKind::Brackets('<', '>'),
        _ => return Err(NoCommand::Unknown),
    };
    Ok(Object { around: key == 'a', kind })
}
