//! Patterns of commands, as in `bash(cargo test *)`, and matching them with simple commands.
//!
//! A pattern is compared with one simple command, so it cannot match across an operator. Words are compared
//! after quotes are removed, with their blanks and special characters escaped.

use super::links;
use super::programs;
use super::shell::{Piece, Word};
use super::subcommands::has;

/// Programs whose second word is a subcommand, in lower case.
const WITH_SUBCOMMANDS: &str = "git cargo npm pnpm yarn bun docker podman kubectl helm gh glab terraform aws gcloud az pip \
                                pip3 brew apt apt-get dnf yum systemctl go rustup poetry uv";

/// A symbol of a pattern, or of a command that is not fully known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Char(char),
    /// The gap between two words.
    Gap,
    /// An empty word.
    Empty,
    /// In a pattern: any text. In a command: an unknown text.
    Any,
}

/// How certainly a command matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    No,
    /// It depends on an unknown text.
    Perhaps,
    Yes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandPattern {
    signs: Vec<Sign>,
    /// Whether further arguments may follow.
    open: bool,
    /// The words at the start of a command that it names in full.
    leading: Vec<String>,
    /// All words that it names in full.
    literals: Vec<String>,
    /// Itself without the options that it names, and these: without values, and with the words behind them as values.
    unordered: Vec<(CommandPattern, Vec<NamedOption>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedOption {
    pub name: String,
    pub value: Option<String>,
}

impl CommandPattern {
    /// Parses a pattern: `*` stands for any text, `\*` for itself; ` *` and `:*` at the end also for nothing.
    pub(super) fn new(text: &str) -> Self {
        let text = text.trim();
        let prefix = text.strip_suffix(":*").or_else(|| text.strip_suffix(" *"));
        let (body, open) = prefix.map_or((text, false), |prefix| (prefix.trim_end(), true));
        let (mut signs, mut chars) = (Vec::new(), body.chars().peekable());
        let (mut quote, mut starts) = (None, true);
        while let Some(c) = chars.next() {
            match (quote, c) {
                (None, '*') => signs.push(Sign::Any),
                (None, '\'' | '"') => {
                    // Two quotes alone are an empty word.
                    if starts
                        && chars.next_if_eq(&c).is_some()
                        && chars.peek().is_none_or(|next| *next == ' ')
                    {
                        signs.push(Sign::Empty);
                    } else {
                        quote = Some(c);
                    }
                }
                (Some(open), c) if open == c => quote = None,
                (None, '\\') => signs.extend(chars.next().map(Sign::Char)),
                (None, ' ' | '\t') => {
                    if !starts {
                        signs.push(Sign::Gap);
                    }
                    starts = true;
                    continue;
                }
                (_, c) => signs.push(Sign::Char(c)),
            }
            starts = false;
        }
        let words: Vec<Option<String>> = signs.split(|sign| *sign == Sign::Gap).map(literal).collect();
        let leading = words.iter().map_while(Clone::clone).collect();
        let pattern = CommandPattern {
            signs,
            open,
            leading,
            literals: words.into_iter().flatten().collect(),
            unordered: Vec::new(),
        };
        CommandPattern { unordered: pattern.without_options(), ..pattern }
    }

    /// The reason that a pattern can match no command, if it is likely a mistake: in it are two commands, or
    /// signs that the name of a program does not have.
    pub(super) fn fault(&self, text: &str) -> Option<&'static str> {
        const ONE_PROGRAM: &str = "its first word is no name of a program: write one rule for each program";
        let is_gap = |sign: &Sign| *sign == Sign::Gap;
        let program: String =
            self.signs.split(is_gap).next().into_iter().flatten().filter_map(character).collect();
        let is_name = !program.contains(|c: char| "(){}[]?,|^;&<>\"'".contains(c))
            && (program.contains('/') || !program.contains([' ', ':']))
            && (program == "/" || !program.ends_with('/'));
        if !is_name && !has("[ [[ { :", &program) {
            return Some(ONE_PROGRAM);
        }
        let bare = bare_text(text);
        if is_expression(text, &bare) {
            return Some("it looks like a regular expression; `*` stands for any text, as in `git push *`");
        }
        if is_in_other_case(&bare) {
            return Some("case counts in commands: write their names as you type them, as in `git push *`");
        }
        if bare.contains(|c: char| c.is_whitespace() && !matches!(c, ' ' | '\t')) {
            return Some("it has a character that only looks like a space; type the space again");
        }
        let closes_first = bare.find(')').is_some_and(|end| bare.find('(').is_none_or(|start| end < start));
        // `;` may end a `find -exec`.
        let is_list = bare.trim_end_matches(';').contains(['|', ';']) || bare.contains("&&");
        let redirects = [" <", " >"].iter().any(|sign| bare.contains(sign));
        (closes_first || is_list || redirects || bare.contains("*, ")).then_some(
            "a pattern is about one simple command, without operators: write a rule for each, or quotes around signs",
        )
    }

    fn without_options(&self) -> Vec<(CommandPattern, Vec<NamedOption>)> {
        let words: Vec<&[Sign]> = self.signs.split(|sign| *sign == Sign::Gap).collect();
        if !self.open || words.len() != self.leading.len() {
            return Vec::new();
        }
        let without = |with_values: bool| {
            let (mut options, mut operands): (Vec<NamedOption>, Vec<(&String, &[Sign])>) =
                (Vec::new(), Vec::new());
            let mut is_behind = false;
            for (text, signs) in self.leading.iter().zip(&words) {
                let is_option = text.starts_with('-') && !text.trim_matches('-').is_empty();
                match options.last_mut().filter(|_| with_values && is_behind && !is_option) {
                    Some(option) => option.value = Some(text.clone()),
                    None if is_option => options.push(NamedOption { name: text.clone(), value: None }),
                    None => operands.push((text, signs)),
                }
                is_behind = is_option;
            }
            let signs = operands.iter().map(|(_, signs)| *signs).collect::<Vec<_>>().join(&Sign::Gap);
            let leading: Vec<String> = operands.iter().map(|(text, _)| (*text).clone()).collect();
            let literals = leading.clone();
            (CommandPattern { signs, open: true, leading, literals, unordered: Vec::new() }, options)
        };
        let mut found = vec![without(false), without(true)];
        found.dedup();
        found.retain(|(_, options)| !options.is_empty());
        found
    }

    /// The pattern without its options, and these, which may stand anywhere in a command.
    pub(super) fn unordered_forms(&self) -> &[(CommandPattern, Vec<NamedOption>)] {
        &self.unordered
    }

    /// The number of words at the start of a command that it names in full.
    pub(super) fn named_word_count(&self) -> usize {
        self.leading.len()
    }

    /// The words at the start of a command that it names in full.
    pub(super) fn leading(&self) -> &[String] {
        &self.leading
    }

    /// All words that it names in full.
    pub(super) fn literals(&self) -> &[String] {
        &self.literals
    }

    /// Whether it matches these words. Unknown text in them is matched only by `*`.
    pub(super) fn matches(&self, words: &[Word]) -> bool {
        self.can_begin(words) && self.compare(&signs_of(words, false), false)
    }

    /// Whether it may match these words, for any value of unknown text in them.
    pub(super) fn may_match(&self, words: &[Word], more_arguments: bool) -> Match {
        if !self.can_begin(words) {
            return Match::No;
        }
        let mut known = signs_of(words, false);
        if more_arguments {
            known.extend([Sign::Gap, Sign::Any]);
        }
        if self.compare(&known, false) {
            return Match::Yes;
        }
        let needs_option = self.leading.iter().skip(1).any(|word| word.starts_with('-'));
        let has_none = || !more_arguments && words.iter().skip(1).all(is_no_option);
        if !known.contains(&Sign::Any) || needs_option && has_none() {
            return Match::No;
        }
        let mut signs = signs_of(words, true);
        if more_arguments {
            signs.push(Sign::Any);
        }
        if self.compare(&signs, true) { Match::Perhaps } else { Match::No }
    }

    /// Whether the first word can begin the one that the pattern names. Most pairs differ there.
    fn can_begin(&self, words: &[Word]) -> bool {
        let first = words.first().and_then(Word::literal);
        self.leading.first().zip(first).is_none_or(|(wanted, first)| wanted.starts_with(&*first))
    }

    fn compare(&self, command: &[Sign], unknown_is_any: bool) -> bool {
        // Their common start is quick to compare, and most pairs differ there.
        let pairs = self.signs.iter().zip(command);
        let is_same = |(one, other): &(&Sign, &Sign)| one == other && **one != Sign::Any;
        let common = pairs.take_while(is_same).count();
        let (pattern, command) =
            (self.signs.get(common..).unwrap_or_default(), command.get(common..).unwrap_or_default());
        let is_open = |sign: Option<&Sign>| sign == Some(&Sign::Any);
        if !pattern.is_empty()
            && !is_open(pattern.first())
            && !is_open(command.first().filter(|_| unknown_is_any))
        {
            return false;
        }
        intersects(pattern, command, unknown_is_any)
            || self.open && intersects(&[pattern, &[Sign::Gap, Sign::Any]].concat(), command, unknown_is_any)
    }
}

/// The character of a sign of a pattern.
fn character(sign: &Sign) -> Option<char> {
    match sign {
        Sign::Char(c) => Some(*c),
        Sign::Gap | Sign::Empty => None,
        Sign::Any => Some('*'),
    }
}

/// A pattern without what is in quotes or behind a backslash.
fn bare_text(text: &str) -> String {
    let (mut quote, mut chars, mut bare) = (None, text.chars(), String::new());
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '\\') => {
                chars.next();
            }
            (None, c) => bare.push(c),
        }
    }
    bare
}

/// Whether a word is no option: a pattern for names with a dot, such as `*.log`, or a text.
fn is_no_option(word: &Word) -> bool {
    let is_file = || word.pieces.iter().any(|piece| piece.text().is_some_and(|text| text.contains('.')));
    let is_name = |piece: &Piece| matches!(piece, Piece::Text(_) | Piece::Glob(_));
    let has_dash = || word.pieces.first().and_then(Piece::text).is_some_and(|text| text.starts_with('-'));
    match word.literal() {
        Some(text) => !text.starts_with('-'),
        None => !word.is_brace && word.pieces.iter().all(is_name) && is_file() && !has_dash(),
    }
}

/// A word of a pattern, if it has no wildcards.
/// Whether a pattern has signs of regular expressions where no name has them. `bare` is its text outside of quotes.
fn is_expression(text: &str, bare: &str) -> bool {
    let mut words = bare.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_cut = |word: &str| word.ends_with(".*") || word.ends_with(".+");
    let is_cut_early = is_cut(first) && !first.contains(|c: char| c.is_ascii_digit())
        || has(WITH_SUBCOMMANDS, first) && words.next().is_some_and(is_cut);
    let is_in_slashes =
        bare.len() > 2 && bare.matches('/').count() == 2 && bare.starts_with('/') && bare.ends_with('/');
    let has_class =
        !text.contains(['\'', '"']) && ["\\s", "\\b", "\\w", "\\d"].iter().any(|class| text.contains(class));
    bare.ends_with('$') || is_in_slashes || is_cut_early || has_class
}

/// Whether the first words of a pattern are the names of a program or subcommand in upper case.
fn is_in_other_case(bare: &str) -> bool {
    let mut words = bare.split_whitespace();
    let first = words.next().unwrap_or_default();
    let lower = first.to_ascii_lowercase();
    let is_here = |name: &str| programs::is_known(name) || links::program(name).is_some();
    if lower != first && is_here(&lower) && !is_here(first) {
        return true;
    }
    let second = words.next().filter(|_| has(WITH_SUBCOMMANDS, &lower)).unwrap_or_default();
    second.len() > 1 && second.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn literal(signs: &[Sign]) -> Option<String> {
    let mut text = String::new();
    for sign in signs {
        match sign {
            Sign::Char(c) => text.push(*c),
            Sign::Empty => {}
            Sign::Gap | Sign::Any => return None,
        }
    }
    Some(text)
}

/// The signs of words. With `may_vanish`, a word that may become none, or several, has no gap before it.
fn signs_of(words: &[Word], may_vanish: bool) -> Vec<Sign> {
    let mut signs = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let is_text = |piece: &Piece| matches!(piece, Piece::Text(text) if !text.is_empty());
        let vanishes = word.splits && (word.is_brace || !word.pieces.iter().any(is_text));
        if index > 0 && !(may_vanish && vanishes) {
            signs.push(Sign::Gap);
        }
        let before = signs.len();
        for piece in &word.pieces {
            match piece {
                Piece::Text(text) if !word.is_brace => signs.extend(text.chars().map(Sign::Char)),
                Piece::Text(_) | Piece::Glob(_) | Piece::Home | Piece::Variable(_) | Piece::Unknown => {
                    signs.push(Sign::Any);
                }
            }
        }
        if before == signs.len() {
            signs.push(Sign::Empty);
        }
    }
    signs
}

/// Whether a pattern and a command have a text in common. An unknown part of the command is any text if
/// `unknown_is_any`, otherwise a text that only `Any` of the pattern matches.
fn intersects(pattern: &[Sign], command: &[Sign], unknown_is_any: bool) -> bool {
    // The possible rests of the pattern before each sign of the command: standard dynamic programming.
    let mut row = vec![false; pattern.len() + 1];
    let skip = |row: &mut [bool]| {
        for (at, sign) in pattern.iter().enumerate() {
            if *sign == Sign::Any && row.get(at) == Some(&true) {
                set(row, at + 1);
            }
        }
    };
    if let Some(first) = row.first_mut() {
        *first = true;
    }
    skip(&mut row);
    let mut next = row.clone();
    for sign in command {
        next.fill(false);
        for (at, here) in row.iter().enumerate() {
            if !here {
                continue;
            }
            match (pattern.get(at), sign) {
                (_, Sign::Any) if unknown_is_any => next.iter_mut().skip(at).for_each(|place| *place = true),
                (Some(Sign::Any), _) => set(&mut next, at),
                (Some(one), other) if one == other => set(&mut next, at + 1),
                _ => {}
            }
        }
        skip(&mut next);
        std::mem::swap(&mut row, &mut next);
    }
    row.last() == Some(&true)
}

fn set(row: &mut [bool], at: usize) {
    if let Some(place) = row.get_mut(at) {
        *place = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandPattern, Match};
    use crate::permissions::shell;

    fn match_command(pattern: &str, command: &str) -> Match {
        let analysis = shell::analyse(command);
        let part = &analysis.parts[0];
        CommandPattern::new(pattern).may_match(&part.words, part.more_arguments)
    }

    #[test]
    fn patterns_match_what_users_expect() {
        for (pattern, command) in [
            ("cargo test *", "cargo test --all"),
            ("cargo test *", "cargo test"),
            ("cargo test *", "cargo   'test' \"--\" x"),
            ("git commit:*", "git commit -m 'a b'"),
            ("git commit -m \"a b\"", "git commit -m 'a b'"),
            ("npm run *:check", "npm run lint:check"),
            ("*", "anything at all"),
            ("echo \\*", "echo '*'"),
            ("cargo test *", "cargo test $X"),
        ] {
            assert_eq!(match_command(pattern, command), Match::Yes, "{pattern} and {command}");
        }
        for (pattern, command) in [
            ("cargo test *", "cargo testing"),
            ("cargo test *", "cargo build"),
            ("cargo test", "cargo test --all"),
            ("git commit:*", "git commit-tree"),
            ("echo \\*", "echo x"),
            ("rm a b", "rm 'a b'"),
            ("rm -rf *", "rm *.log"),
            ("rm -rf *", "rm x *.o"),
        ] {
            assert_eq!(match_command(pattern, command), Match::No, "{pattern} and {command}");
        }
        for (pattern, command) in
            [("git push *", "git $X"), ("rm -rf *", "rm \"$(x)\" y"), ("rm -rf /", "rm -rf *")]
        {
            assert_eq!(match_command(pattern, command), Match::Perhaps, "{pattern} and {command}");
        }
    }
}
