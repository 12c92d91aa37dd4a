//! Substitutions of which it is known that they print a number, the name of a commit, the working directory, or a folder
//! of settings.

use super::Scene;
use super::usual::{HOOKS, TEMPORARY, USER_SITE};
use crate::permissions::dangerous::prints_home;
use crate::permissions::links;
use crate::permissions::operands;
use crate::permissions::programs;
use crate::permissions::shell::{Analysis, Part, Piece, Word};
use crate::permissions::subcommands::has;

/// The characters that a substitution adds to its command: `$(` and `)`.
const SUBSTITUTION: usize = 3;
/// A variable of the shell that is a number, the one with the working directory, and that with the folder for temporary
/// files.
const VARIABLES: [&str; 3] = ["LINENO", "PWD", "TMPDIR"];

/// Programs that use what they read neither as names nor as commands.
const FILTERING: &str = "tee cat sort uniq head tail wc grep echo printf true : cd pwd";

impl Scene<'_> {
    /// Whether a word is a name that a part only prints, and no other part uses what is printed as one:
    /// `echo .env >> .gitignore`, `find . -name .env`.
    pub(super) fn is_only_printed(&self, part: &Part, index: usize) -> bool {
        let program = programs::name(&part.words).unwrap_or_default();
        let is_find = program == "find" && operands::is_name_test(part, index);
        if !(is_find || index > 0 && has("echo printf", &program)) {
            return false;
        }
        let is_known = |word: &Word| word.literal().is_some();
        let uses_none = |other: &Part| {
            let is_filter = programs::name(&other.words).is_some_and(|name| has(FILTERING, &name));
            (is_filter || !is_find && other.texts.is_empty() && !programs::reads_names(other))
                && !programs::uses_more_files(other)
                && other.words.iter().all(is_known)
        };
        let Analysis { parts, doubts, functions, .. } = self.analysis;
        let redirected = parts.iter().flat_map(|part| &part.redirects).all(|it| is_known(&it.target));
        let mut others = parts.iter().filter(|other| !std::ptr::eq(*other, part));
        doubts.is_empty() && functions.is_empty() && redirected && others.all(uses_none)
    }
}

/// A word with variables in place of its substitutions, if they are all there is in it that is not known, and what
/// they print is: `-j$(nproc)`, `app:$(git rev-parse --short HEAD)`. Where a command defines functions, or assigns these
/// variables or `PATH`, nothing is.
pub(super) fn known_outputs(word: &Word, analysis: &Analysis) -> Option<Word> {
    let is_plain = |piece: &Piece| matches!(piece, Piece::Text(_) | Piece::Unknown);
    let has_unknown = word.pieces.contains(&Piece::Unknown);
    if !has_unknown || word.is_brace || analysis.loops || !word.pieces.iter().all(is_plain) {
        return None;
    }
    let within = |part: &&Part| word.span.contains(&part.span.start) && part.span != word.span;
    let mut printing = analysis.parts.iter().filter(within);
    let mut whole = word.with_pieces(Vec::new());
    // Anything else there, such as `${x:-…}`, makes the word longer.
    let mut length = 0;
    for piece in &word.pieces {
        whole.pieces.push(match piece {
            Piece::Unknown => {
                let part = printing.next()?;
                length += part.span.len() + SUBSTITUTION;
                Piece::Variable(variable(part)?.to_owned())
            }
            piece => {
                length += piece.text().map_or(0, str::len);
                piece.clone()
            }
        });
    }
    let quotes = word.span.len().checked_sub(length)?;
    let is_it = printing.next().is_none() && (quotes == 0 || quotes == 2);
    (is_it && !analysis.parts.iter().any(changes_meaning)).then_some(whole)
}

/// A word with the home directory in place of what a command in it prints, if one prints that.
pub(super) fn printed_home(word: &Word, analysis: &Analysis) -> Option<Word> {
    let prints =
        |part: &Part| word.span.contains(&part.span.start) && part.span != word.span && prints_home(part);
    if word.is_brace || !word.pieces.contains(&Piece::Unknown) || !analysis.parts.iter().any(prints) {
        return None;
    }
    let fill = |piece: &Piece| if *piece == Piece::Unknown { Piece::Home } else { piece.clone() };
    Some(word.with_pieces(word.pieces.iter().map(fill).collect()))
}

/// A word with the place of a program, or the folder that holds it, in place of what the commands in it print:
/// `$(dirname "$(command -v cargo)")`.
pub(super) fn printed_program(word: &Word, analysis: &Analysis) -> Option<Word> {
    let is_within = |part: &&Part| word.span.contains(&part.span.start) && part.span != word.span;
    if word.is_brace || !word.pieces.contains(&Piece::Unknown) {
        return None;
    }
    let is_named =
        |part: &Part, names: &str| programs::name(&part.words).is_some_and(|name| has(names, &name));
    let sought = |part: &Part| {
        let is_asking = part.words.len() > 1 && is_named(part, "command which type whence");
        part.words.last().filter(|_| is_asking)?.literal().map(std::borrow::Cow::into_owned)
    };
    let within = || analysis.parts.iter().filter(is_within);
    let mut place = links::program(&within().find_map(sought)?)?.path.clone();
    let count = within().filter(|part| is_named(part, "dirname")).count();
    for _ in 0..count {
        place.pop();
    }
    let fill = |piece: &Piece| match piece {
        Piece::Unknown => Piece::Text(place.to_string_lossy().into_owned()),
        piece => piece.clone(),
    };
    Some(word.with_pieces(word.pieces.iter().map(fill).collect()))
}

/// Whether a part sets these variables, or where programs are found.
fn changes_meaning(part: &Part) -> bool {
    let is_one = |name: &str| name == "PATH" || VARIABLES.contains(&name);
    let of_word =
        |word: &Word| word.pieces.first().and_then(Piece::text)?.split(['=', '+']).next().map(is_one);
    part.assigned.iter().any(|name| is_one(name)) || part.words.iter().any(|word| of_word(word) == Some(true))
}

/// The variable whose value is like what a part prints.
fn variable(part: &Part) -> Option<&'static str> {
    // A program in a folder is not the one of that name.
    let name = part.words.first()?.literal().filter(|name| !name.contains('/'))?;
    if !part.outer.is_empty() || !part.redirects.is_empty() {
        return None;
    }
    let literals: Vec<_> = part.words.iter().skip(1).map(Word::literal).collect::<Option<_>>()?;
    let all = |is: &dyn Fn(&str) -> bool| literals.iter().all(|text| is(text));
    let is_commit = |text: &str| {
        let rest = text.strip_prefix("HEAD").or_else(|| text.strip_prefix('@'));
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || "~^@{}".contains(c)))
    };
    let is_date = |text: &str| {
        text.strip_prefix('+').is_some_and(|format| {
            format.split('%').all(|part| matches!(part, "" | "s" | "Y" | "m" | "d" | "H" | "M" | "S" | "N"))
        })
    };
    let [number, directory, _] = VARIABLES;
    let is_number = match (&*name, literals.first().map(AsRef::as_ref)) {
        ("pwd", None) => return Some(directory),
        ("python" | "python3", Some("-m")) if literals.ends_with(&["site".into(), "--user-site".into()]) => {
            return Some(USER_SITE);
        }
        ("go", Some("env")) if literals.last().is_some_and(|last| last == "GOPATH") => return Some("GOPATH"),
        ("mktemp", _) if all(&|text| has("-d -q -dq -qd --directory --quiet", text)) => {
            return Some(TEMPORARY);
        }
        ("systemd-path", Some("user-configuration")) => return Some("XDG_CONFIG_HOME"),
        ("git", Some("config"))
            if literals.last().is_some_and(|last| last.eq_ignore_ascii_case("core.hooksPath")) =>
        {
            return Some(HOOKS);
        }
        ("git", Some("rev-parse")) if literals.last().is_some_and(|last| last == "--git-dir") => {
            return Some("GIT_DIR");
        }
        ("nproc", _) => all(&|text| text == "--all"),
        ("date", Some(_)) => all(&|text| is_date(text) || text == "-u"),
        ("id", Some("-u" | "-g")) => literals.len() == 1,
        ("pgrep", Some(_)) => all(&|text| !has("-l -a", text) && !text.starts_with("--")),
        ("lsof", Some(_)) => literals.iter().any(|text| text.starts_with("-t")),
        ("docker" | "podman", Some("ps")) => literals.iter().any(|text| has("-q -aq -qa --quiet", text)),
        ("git", Some("merge-base")) => all(&|text| !text.starts_with('-')),
        ("git", Some("rev-parse")) => literals
            .iter()
            .skip(1)
            .all(|text| is_commit(text) || text.starts_with("--short") || text == "--verify"),
        _ => false,
    };
    is_number.then_some(number)
}
