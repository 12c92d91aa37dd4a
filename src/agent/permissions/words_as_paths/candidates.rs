//! The parts of a word that may name a file.

use percent_encoding::percent_decode_str;
use unicode_normalization::char::is_combining_mark;

use crate::permissions::path_text::{self, Mark, PathText};

/// The maximum length of a path that systems accept, and so of a word that is one.
const MAX_PATH: usize = 4096;
/// The maximum number of parts of a word, separated by `:`, `=`, `,` and `@`, that are treated as names
/// without further indication.
const MAX_BARE_PARTS: usize = 6;
/// The length that a name with a sign of a pattern in a text has to exceed: many languages have such signs.
const EVIDENCE: usize = 2;
/// The maximum number of names behind commands in a word.
const MAX_GLUED: usize = 32;
/// The length of a name in quotes in a text.
const MAX_NAME_IN_TEXT: usize = 255;
/// The number of texts that may be between two names that are joined.
const MAX_BETWEEN: usize = 2;
/// Letters of short options that have a file or a folder as their value.
const NAMING: &str = "CDFIKLOPTXdfiot";
/// The maximum number of short options in a cluster before a value.
const MAX_FLAGS: usize = 4;
/// The start of the address of a file.
const SCHEME: &str = "file:";
/// A name that is common in programs that only look for repositories.
const GIT: [Mark; 5] = [Mark::Char('/'), Mark::Char('.'), Mark::Char('g'), Mark::Char('i'), Mark::Char('t')];

fn is_letter(mark: &Mark) -> bool {
    matches!(mark, Mark::Char(c) if c.is_ascii_alphabetic())
}

fn is_naming(mark: Option<&Mark>) -> bool {
    matches!(mark, Some(Mark::Char(c)) if NAMING.contains(*c))
}

fn has(part: &PathText, of: &[char]) -> bool {
    part.marks().iter().any(|mark| matches!(mark, Mark::Char(c) if of.contains(c)))
}

/// The parts of a word that may be a path: all of it, the text after `=`, `:`, `,` or `@`, and the value of a
/// short option.
pub(super) fn candidates(text: &PathText, is_name: bool) -> Vec<PathText> {
    let is_hole = |part: &PathText| part.text().is_none();
    if text.is_empty() || text.marks().len() > MAX_PATH || is_name && !has(text, &['/']) {
        return Vec::new();
    }
    let is_option = text.starts_with("-");
    let mut found = Vec::new();
    if !is_option {
        found.push(text.clone());
    }
    found.extend(text.split_once('=').map(|(_, value)| value));
    let cuts = [':', '@', '=', ','];
    if has(text, &cuts) {
        let parts = text.split(|c| cuts.contains(&c));
        let is_short = parts.len() <= MAX_BARE_PARTS;
        let may_be = |part: &PathText| is_short || has(part, &['/', '.', '~']) || is_hole(part);
        found.extend(parts.into_iter().filter(may_be));
    }
    if is_option && !text.starts_with("--") {
        // A cluster of options may come before the value.
        let flags = text.marks().iter().skip(1).take_while(|mark| is_letter(mark)).take(MAX_FLAGS).count();
        let is_long = |value: &PathText| value.marks().len() > 1 || is_hole(value);
        let glued = (2..=flags.max(1) + 1).filter_map(|at| {
            let value = PathText::of(text.marks().get(at..)?);
            let is_one = is_naming(text.marks().get(at - 1)) || at == 2 && is_long(&value);
            is_one.then_some(value)
        });
        let begins = |mark: &Mark| matches!(mark, Mark::Char('/' | '.' | '~'));
        let start = text.marks().iter().position(begins).and_then(|at| text.marks().get(at..));
        for value in start.map(PathText::of).into_iter().filter(is_long).chain(glued) {
            // `-v$HOME:/mnt`
            let first = has(&value, &cuts).then(|| value.split(|c| cuts.contains(&c)).into_iter().next());
            found.extend(first.flatten());
            found.push(value);
        }
    }
    if !is_text(text) {
        found.extend(addresses(text));
    }
    // An unknown part of an address is no file.
    let is_address = ["http://", "https://"].iter().any(|start| text.starts_with(start));
    found.retain(|value| !(value.is_empty() || is_address && is_hole(value)));
    found.dedup();
    found
}

/// Whether a word consists of several, such as a program in another language.
pub(super) fn is_text(text: &PathText) -> bool {
    let cuts = |c: char| c.is_whitespace() || "'\"`<>;|&()".contains(c);
    text.marks().iter().any(|mark| matches!(mark, Mark::Char(c) if cuts(*c)))
}

/// The paths in the addresses of files in a text, as programs decode them: `file:///w/%2eenv`, `file:.env?mode=ro`.
fn addresses(text: &PathText) -> Vec<PathText> {
    let is_it = |mark: &Mark, c: char| matches!(mark, Mark::Char(own) if own.eq_ignore_ascii_case(&c));
    let starts = |marks: &[Mark]| marks.iter().zip(SCHEME.chars()).all(|(mark, c)| is_it(mark, c));
    let is_end =
        |mark: &Mark| matches!(mark, Mark::Char(c) if c.is_whitespace() || "'\"`<>();?#".contains(*c));
    let marks = text.marks();
    let places = marks.windows(SCHEME.len()).enumerate().filter(|(_, marks)| starts(marks));
    let path = |(at, _): (usize, &[Mark])| {
        let behind = marks.get(at + SCHEME.len()..)?.split(is_end).next()?;
        let path = PathText::of(behind).map_text(|text| percent_decode_str(text).decode_utf8_lossy().into());
        let Some(place) = path.strip_prefix("//") else { return Some(path) };
        // A host may come before the path.
        let (_, below_root) = place.split_once('/')?;
        Some(below_root.within(&PathText::literal("/")))
    };
    places.filter_map(path).collect()
}

/// The patterns that are written out in a text, and so expanded by the program that gets it, if by any. Of all but
/// `short` ones some letters have to be known.
pub(super) fn quoted_patterns(text: &PathText, short: bool) -> Vec<PathText> {
    let is_part = |c: char| c.is_alphanumeric() || is_combining_mark(c) || "/._-~+@%*?[]{},!^".contains(c);
    let is_cut = |mark: &Mark| !matches!(mark, Mark::Char(c) if is_part(*c));
    let is_pattern = |token: &String| {
        let has_pair = |open: char, close: char| {
            token.find(open).is_some_and(|at| token.rfind(close).is_some_and(|end| at < end))
        };
        token.contains(['*', '?']) || has_pair('[', ']') || has_pair('{', '}')
    };
    let decoded = addresses(text);
    let texts = std::iter::once(text).chain(&decoded);
    let tokens =
        texts.flat_map(|text| text.marks().split(is_cut)).filter_map(|token| PathText::of(token).text());
    // Git takes what all but these match.
    let excludes = short && [":!", ":^", ":(exclude"].iter().any(|start| text.starts_with(start));
    let tokens = tokens.filter(is_pattern).chain(excludes.then(|| "*".to_owned()));
    let globs = tokens.flat_map(|token| {
        let below = token.trim_start_matches(['/', '!', '^']);
        let is_anchored = below.contains('/');
        let absolute = if token.starts_with('/') { path_text::of_glob(&token) } else { Vec::new() };
        absolute.into_iter().chain(path_text::of_glob(below).into_iter().map(move |glob| {
            let mut whole = PathText::default();
            if !is_anchored {
                whole.push(Mark::Folders);
            }
            whole.extend(&glob);
            whole
        }))
    });
    let letters = |glob: &PathText| {
        glob.marks().iter().filter(|mark| matches!(mark, Mark::Char(c) if c.is_alphanumeric())).count()
    };
    globs.filter(|glob| short || letters(glob) >= EVIDENCE).collect()
}

/// The names in quotes in a text, each with those next to it that the program may put before it, in the home directory:
/// `join(home, ".config", "x")`. Names without a dot count where the text is about the home directory.
pub(super) fn at_home(text: &PathText) -> Vec<PathText> {
    let is_quote = |mark: &Mark| matches!(mark, Mark::Char('\'' | '"' | '`'));
    let is_path = |mark: &Mark| matches!(mark, Mark::Char(c) if c.is_alphanumeric() || "/._-~+".contains(*c));
    let marks = text.marks();
    if !marks.iter().any(is_quote) {
        return Vec::new();
    }
    let lower: String = marks.iter().map(|mark| if let Mark::Char(c) = mark { *c } else { ' ' }).collect();
    let lower = lower.to_lowercase();
    let is_about_home =
        ["home", "expanduser", "getpw", "userprofile"].iter().any(|word| lower.contains(word));
    // Names with commas between them are a list, unless something joins them.
    let is_joining = is_about_home || ["join", "catfile", "resolve"].iter().any(|word| lower.contains(word));
    let mut found = Vec::new();
    let (mut joined, mut between) = (PathText::default(), 0_usize);
    // Every other part is within quotes, as far as quotes come in pairs.
    for part in marks.split(is_quote) {
        // A file name can follow the mode in which it is opened: `">>.bashrc"`.
        let signs = part.iter().take_while(|mark| matches!(mark, Mark::Char('>' | '<' | '+' | ' '))).count();
        let part = if signs < part.len() { part.get(signs..).unwrap_or_default() } else { part };
        let is_name = !part.is_empty() && part.len() <= MAX_NAME_IN_TEXT && part.iter().all(is_path);
        let joins = part.iter().all(|mark| match mark {
            Mark::Char(',') => is_joining,
            mark => matches!(mark, Mark::Char(' ' | '/' | '+' | ')' | '\n')),
        });
        if !is_name || part == [Mark::Char('/')] {
            if !joins || between > MAX_BETWEEN {
                joined = PathText::default();
            }
            between += 1;
            continue;
        }
        between = 0;
        if !joined.is_empty() {
            joined.push(Mark::Char('/'));
        }
        joined.extend(&PathText::of(part));
        for name in [&joined, &PathText::of(part)] {
            let begins = name.starts_with(".") && !name.is(".git") && !name.is_only(&['.', '/']);
            if begins || is_about_home && has(name, &['/']) && !name.is_absolute() {
                let mut whole = PathText::literal("~/");
                whole.extend(name);
                found.push(whole);
            }
        }
        if joined.starts_with("/") && has(&joined, &['.']) {
            found.push(joined.clone());
        }
    }
    found.dedup();
    found
}

/// The names in a word that may be a text of several words, such as a program in another language. In texts of an
/// editor, a command may stand directly before a name.
pub(super) fn in_text(text: &PathText, is_editor: bool) -> Vec<PathText> {
    let is_path = |c: char| c.is_alphanumeric() || is_combining_mark(c) || "/._-~+".contains(c);
    let is_cut = |mark: &Mark| matches!(mark, Mark::Char(c) if !is_path(*c)) && !is_glob(mark);
    let is_plain = |c: char| is_path(c) || ":=@,%$".contains(c);
    let is_text = text.marks().iter().any(|mark| matches!(mark, Mark::Char(c) if !is_plain(*c)));
    let (mut found, mut start) = (Vec::new(), 0_usize);
    for token in text.marks().split(is_cut).filter(|_| is_text || is_editor) {
        let before = start.checked_sub(1).and_then(|at| text.marks().get(at));
        start += token.len() + 1;
        let is_filled = matches!(before, Some(Mark::Char('$' | '%')));
        if token.iter().any(is_glob) {
            found.extend(patterns(token, before, is_filled));
        }
        for (at, name) in token.split(is_glob).enumerate() {
            let is_filled = is_filled && at == 0;
            found.extend(names(name, is_filled));
            if is_editor {
                found.extend(glued_names(name).take(MAX_GLUED));
            }
        }
    }
    if is_text || is_editor {
        found.extend(addresses(text));
    }
    found.retain(|name| has(name, &['/', '.']));
    found
}

/// Whether a mark in a text is a sign of a pattern.
fn is_glob(mark: &Mark) -> bool {
    matches!(mark, Mark::Char('*' | '?' | '[' | ']'))
}

/// The pattern in a text, if it says enough: with every name that is not known, or one of them below the home directory.
/// Behind an unknown beginning, such as `home + "/.s*/*"`, its first name has to.
fn patterns(token: &[Mark], before: Option<&Mark>, is_filled: bool) -> Vec<PathText> {
    let names = |token: &[Mark], is_one: &dyn Fn(&[Mark]) -> bool| {
        let names: Vec<_> = token.split(|mark| *mark == Mark::Char('/')).collect();
        names.into_iter().filter(|name| name.iter().any(is_glob)).map(is_one).collect::<Vec<_>>()
    };
    let says = |name: &[Mark]| name.len() > EVIDENCE;
    let begins = |name: &[Mark]| name.len() >= EVIDENCE;
    let mut found = Vec::new();
    let is_below_home = token.starts_with(&[Mark::Char('~'), Mark::Char('/')]);
    // The shell may have put the home directory there.
    let is_hidden = |name: &[Mark]| says(name) && name.first() == Some(&Mark::Char('.'));
    if names(token, &says).into_iter().all(|says| says)
        || is_below_home && names(token, &begins).contains(&true)
        || token.first() == Some(&Mark::Char('/')) && names(token, &is_hidden).first() == Some(&true)
    {
        found.push(pattern(token));
    }
    let is_joined = is_filled || matches!(before, Some(Mark::Char('\'' | '"' | '`' | '}')));
    let slash = token.iter().position(|mark| *mark == Mark::Char('/'));
    let rest = slash.filter(|at| is_filled || is_joined && *at == 0).and_then(|at| token.get(at..));
    if let Some(rest @ [_, Mark::Char('.'), ..]) = rest
        && names(rest, &says).first() == Some(&true)
    {
        let mut whole = PathText::any();
        whole.extend(&pattern(rest));
        found.push(whole);
    }
    found
}

/// The name in a text, and what it may be behind an unknown beginning: `$HOME/.x`, `home + "/.x"`, `%s/.x`.
fn names(name: &[Mark], is_filled: bool) -> impl Iterator<Item = PathText> {
    let slash = name.iter().position(|mark| *mark == Mark::Char('/')).filter(|at| *at == 0 || is_filled);
    let rest = slash.and_then(|at| name.get(at..)).filter(|rest| matches!(rest, [_, Mark::Char('.'), ..]));
    let below_unknown = rest.filter(|rest| *rest != GIT).map(|rest| {
        let mut whole = PathText::any();
        whole.extend(&PathText::of(rest));
        whole
    });
    std::iter::once(PathText::of(name)).chain(below_unknown)
}

/// The names that may stand directly behind a command.
fn glued_names(name: &[Mark]) -> impl Iterator<Item = PathText> {
    let is_start = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| name.get(before));
        matches!(name.get(*at), Some(Mark::Char('.' | '/' | '~')))
            || matches!(before, Some(Mark::Char('r' | 'R' | 'w' | 'W' | 'e')))
    };
    (1..name.len()).filter(is_start).map(|at| PathText::of(name.get(at..).unwrap_or_default()))
}

/// A text whose signs of a pattern are one.
fn pattern(text: &[Mark]) -> PathText {
    let mut whole = PathText::default();
    for mark in text {
        match mark {
            Mark::Char('*' | '[') => whole.push_of_pattern(Mark::Name),
            Mark::Char('?') => whole.push_of_pattern(Mark::One),
            Mark::Char(']') => {}
            mark => whole.push(*mark),
        }
    }
    whole
}

/// An unquoted value: blanks split it into words, and patterns in it are patterns.
pub(super) fn split(value: &PathText) -> PathText {
    let mut whole = PathText::default();
    for mark in value.marks() {
        match mark {
            Mark::Char(c) if c.is_whitespace() => return PathText::any(),
            Mark::Char('*' | '[') => whole.push_of_pattern(Mark::Name),
            Mark::Char('?') => whole.push_of_pattern(Mark::One),
            mark => whole.push(*mark),
        }
    }
    whole
}
