//! Builtins of bash that are safe with known options and operands.
//!
//! They change nothing outside of the shell and evaluate none of their arguments. Other builtins may run a
//! word, evaluate an index, or do more in the next version.

use std::borrow::Cow;

use super::{display_name, is_harmless_variable};
use crate::permissions::shell::{DECLARING, Part, Piece, Word};
use tau_tools::words;

/// The possible operands after the options.
#[derive(Clone, Copy)]
enum Operands {
    Any,
    None,
    /// Jobs, by number or `%`.
    Jobs,
    /// Names of variables.
    Names,
    /// Names of variables, with or without a text.
    Assignments,
}

/// A builtin with its allowed options and operands.
struct Builtin {
    name: &'static str,
    /// Options without a value, as letters.
    flags: &'static str,
    /// Options with a number or a text.
    valued: &'static str,
    operands: Operands,
}

const fn with(name: &'static str, flags: &'static str, operands: Operands) -> Builtin {
    Builtin { name, flags, valued: "", operands }
}

const BUILTINS: [Builtin; 27] = [
    Builtin { name: "mapfile", flags: "t", valued: "dnOsu", operands: Operands::Names },
    Builtin { name: "readarray", flags: "t", valued: "dnOsu", operands: Operands::Names },
    with(":", "", Operands::Any),
    with("true", "", Operands::Any),
    with("false", "", Operands::Any),
    with("echo", "", Operands::Any),
    with("pwd", "", Operands::Any),
    with("type", "", Operands::Any),
    // Only `-v` and `-V` are handled here; a command that it runs is a part of its own.
    with("command", "", Operands::Any),
    // Their operands are numbers, or cause an error.
    with("shift", "", Operands::Any),
    with("return", "", Operands::Any),
    with("exit", "", Operands::Any),
    with("break", "", Operands::Any),
    with("continue", "", Operands::Any),
    with("exec", "", Operands::None),
    with("times", "", Operands::None),
    with("dirs", "lpv", Operands::None),
    with("popd", "", Operands::None),
    with("umask", "S", Operands::None),
    with("jobs", "lnprs", Operands::Jobs),
    with("wait", "fn", Operands::Jobs),
    with("unset", "fv", Operands::Names),
    with("export", "p", Operands::Assignments),
    with("readonly", "paA", Operands::Assignments),
    with("local", "rxaAp", Operands::Assignments),
    with("declare", "rxgaApfF", Operands::Assignments),
    with("typeset", "rxgaApfF", Operands::Assignments),
];

/// Whether it is a builtin that is judged here.
pub(super) fn is_known(name: &str) -> bool {
    matches!(name, "cd" | "pushd" | "set" | "test" | "[" | "printf" | "read")
        || BUILTINS.iter().any(|builtin| builtin.name == name)
}

/// The reason a builtin may not be read-only with these arguments.
pub(super) fn objection(name: &str, arguments: &[Word], more_arguments: bool) -> Option<String> {
    let builtin = BUILTINS.iter().find(|builtin| builtin.name == name);
    if more_arguments && !builtin.is_some_and(|builtin| matches!(builtin.operands, Operands::Any)) {
        return Some(format!("{name} gets arguments that are only known when it runs"));
    }
    match name {
        "cd" => cd(arguments),
        "pushd" if is_folder(arguments) => cd(arguments),
        "pushd" => Some("it changes the folder to one that is only known when it runs".to_owned()),
        "set" => set(arguments),
        "test" | "[" => test(name, arguments),
        "printf" => printf(arguments),
        "read" => Builtin { name: "read", flags: "rs", valued: "adnNptu", operands: Operands::Names }
            .objection(arguments),
        // It prints variables.
        "declare" | "typeset"
            if arguments.first().is_some_and(|word| word.literal().as_deref() == Some("-p")) =>
        {
            let is_plain = |word: &Word| {
                word.literal().is_some_and(|text| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
            };
            let other = arguments.iter().skip(1).find(|word| !is_plain(word))?;
            Some(format!("{name} may change or evaluate something with {}", display_name(&other.display())))
        }
        _ => builtin.and_then(|builtin| builtin.objection(arguments)),
    }
}

impl Builtin {
    fn objection(&self, arguments: &[Word]) -> Option<String> {
        if matches!(self.operands, Operands::Any) {
            return None;
        }
        let asked = |word: &Word| {
            let text = word.literal();
            let text = text.as_deref().unwrap_or("something that is only known when it runs");
            Some(format!("{} may change or evaluate something with {}", self.name, display_name(text)))
        };
        let mut words = arguments.iter();
        let mut operands = None;
        while let Some(word) = words.next() {
            let text = word.literal();
            let letters = text.as_deref().and_then(|text| text.strip_prefix('-'));
            let Some(letters) = letters.filter(|letters| !letters.is_empty()) else {
                operands = Some(word);
                break;
            };
            if letters == "-" {
                break;
            }
            let Some(valued) = letters.find(|c| !self.flags.contains(c)) else { continue };
            let (_, option) = letters.split_at_checked(valued)?;
            let letter = option.chars().next().filter(|c| self.valued.contains(*c));
            let attached = option.get(1..).filter(|value| !value.is_empty()).map(Cow::Borrowed);
            let value = attached.or_else(|| words.next().and_then(Word::literal));
            let is_known = match (letter, value) {
                (Some('a'), Some(value)) => is_name(&value),
                (Some('d' | 'p'), Some(_)) => true,
                (Some(_), Some(value)) => value.chars().all(|c| c.is_ascii_digit() || c == '.'),
                _ => false,
            };
            if !is_known {
                return asked(word);
            }
        }
        operands.into_iter().chain(words).find(|word| !self.takes(word)).and_then(asked)
    }

    fn takes(&self, word: &Word) -> bool {
        let text = word.literal();
        match self.operands {
            Operands::Any => true,
            Operands::None => false,
            Operands::Jobs => text.is_some_and(|text| {
                text.starts_with('%') || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
            }),
            Operands::Names => text.is_some_and(|text| is_name(&text) || stays_in_shell(&text)),
            Operands::Assignments => {
                let texts = word.pieces.iter().map_while(|piece| match piece {
                    Piece::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                let known: String = texts.collect();
                let is_whole = text.is_some();
                let (name, value) = match known.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (known.as_str(), None),
                };
                // In an array a text in parentheses is parsed as its elements: its substitutions run.
                let is_text = match value {
                    Some("") | None => is_whole,
                    Some(value) => !value.starts_with('(') && !word.splits,
                };
                is_name(name) && is_text
            }
        }
    }
}

/// Whether it names a variable that may safely be set.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && is_harmless_variable(text)
}

/// `cd`, with only the options for which the directory argument is known.
fn cd(arguments: &[Word]) -> Option<String> {
    let literals = arguments.iter().filter_map(Word::literal);
    let mut options = literals.filter(|text| text.len() > 1 && text.starts_with('-'));
    let other = options.find(|text| !["-P", "-L", "--"].contains(&text.as_ref()));
    other.map(|option| format!("cd {} is not known", display_name(&option)))
}

/// Whether `pushd` gets one folder, and no place in its stack: `+1`.
fn is_folder(arguments: &[Word]) -> bool {
    matches!(arguments, [one] if one.literal().is_some_and(|text| !text.starts_with(['+', '-'])))
}

fn set(arguments: &[Word]) -> Option<String> {
    let harmless = |text: &str| {
        text.starts_with(['-', '+']) && text.len() > 1 && text.chars().skip(1).all(|c| "eux".contains(c))
            || ["-o", "pipefail", "-euo", "errexit", "nounset"].contains(&text)
    };
    let all = arguments.iter().all(|word| word.literal().is_some_and(|text| harmless(&text)));
    (!all).then(|| "set may change how commands are read with these arguments".to_owned())
}

/// `printf`: `-v` and `%n` set a variable. Without a known format nothing is known.
fn printf(arguments: &[Word]) -> Option<String> {
    let asked = || Some("printf may set a variable".to_owned());
    let mut words = arguments.iter();
    let mut format = words.next();
    if format.and_then(Word::literal).as_deref() == Some("--") {
        format = words.next();
    } else if format.and_then(Word::literal).is_some_and(|text| text.len() > 1 && text.starts_with('-')) {
        return asked();
    }
    let Some(text) = format?.literal() else { return asked() };
    let mut rest = text.as_ref();
    while let Some((_, behind)) = rest.split_once('%') {
        let behind = behind.strip_prefix('%').map(|behind| (behind, false)).unwrap_or((behind, true));
        rest = behind.0;
        // The text between `%` and the letter of a conversion.
        let conversion =
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || "#-+ '*.hjlLtzq".contains(c));
        if behind.1 && conversion.starts_with('n') {
            return asked();
        }
    }
    None
}

/// `test`: `-v` and `-R` evaluate the index of a variable.
fn test(name: &str, arguments: &[Word]) -> Option<String> {
    let inner = match (name, arguments.split_last()) {
        ("[", Some((last, rest))) if last.literal().as_deref() == Some("]") => rest,
        _ => arguments,
    };
    let literals: Vec<Option<Cow<'_, str>>> = inner.iter().map(Word::literal).collect();
    let literals: Vec<Option<&str>> = literals.iter().map(Option::as_deref).collect();
    let sound = !inner.iter().any(|word| word.splits || word.has_glob())
        && match literals.as_slice() {
            [] | [_] => true,
            [Some("!"), Some(operator), _] | [Some(operator), _] => !["-v", "-R"].contains(operator),
            [_, Some(operator), _] => {
                ["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"]
                    .contains(operator)
            }
            all => all.iter().all(|word| word.is_some_and(|word| !["-v", "-R"].contains(&word))),
        };
    (!sound).then(|| format!("{name} may evaluate text that is only known when it runs"))
}

/// Whether a part that may not be read-only may run any command within the shell: builtins that evaluate
/// their arguments, and variables that the shell or every program obeys.
pub(in crate::permissions) fn evaluates(part: &Part) -> bool {
    const BUILTINS: [&str; 16] = [
        "test", "[", "printf", "unset", "read", "mapfile", "readarray", "declare", "typeset", "local",
        "export", "readonly", "let", "getopts", "set", "hash",
    ];
    let name = part.words.first().and_then(Word::literal).unwrap_or_default();
    let is_path = |name: &String| {
        let mut values = part.values.iter().filter(|(of, _)| of == name).peekable();
        name == "PATH" && values.peek().is_some() && values.all(|(_, value)| is_search_path(&value.pieces))
    };
    let obeyed = |name: &String| is_obeyed(name) && !is_path(name);
    BUILTINS.contains(&name.as_ref()) || part.assigned.iter().any(obeyed)
}

/// Whether the shell or every program obeys a variable.
fn is_obeyed(name: &str) -> bool {
    const OBEYED: &[&str] = words!(
        "PATH IFS PS0 PS1 PS2 PS4 ENV BASHOPTS SHELLOPTS PROMPT_COMMAND PAGER EDITOR VISUAL FCEDIT HISTFILE CDPATH \
         OPTIND RANDOM SRANDOM SECONDS HISTCMD LINENO GROUPS DIRSTACK PIPESTATUS FUNCNAME FUNCNEST EPOCHSECONDS \
         EPOCHREALTIME HISTSIZE HISTFILESIZE TMOUT COLUMNS LINES IGNOREEOF INPUTRC EXECIGNORE"
    );
    OBEYED.contains(&name)
        || ["LD_", "DYLD_", "GIT_", "BASH", "COMP", "READLINE_"].iter().any(|start| name.starts_with(start))
}

/// Whether a variable that is set in the shell itself stays there: the shell does nothing with it, and no program gets
/// it. To export it needs approval of its own.
pub(super) fn stays_in_shell(name: &str) -> bool {
    const OF_SHELL: &[&str] = words!(
        "HOME PWD OLDPWD SHELL SHLVL TMPDIR TERM HOSTFILE HOSTNAME HOSTTYPE MACHTYPE OSTYPE UID EUID PPID OPTERR OPTARG \
         REPLY MAPFILE COPROC FIGNORE GLOBIGNORE GLOBSORT POSIXLY_CORRECT TIMEFORMAT CHILD_MAX EMACS INSIDE_EMACS \
         NLSPATH LOCPATH MAIL MAILPATH MAILCHECK"
    );
    const STARTS: [&str; 5] = ["PROMPT_", "HIST", "TEXTDOMAIN", "LC_", "TAU"];
    // Both may make the shell export what it sets.
    let exports = ["SHELLOPTS", "BASH_ENV"];
    let is_of_shell = OF_SHELL.contains(&name)
        || is_obeyed(name)
        || STARTS.iter().any(|start| name.starts_with(start))
        || ["PAGER", "EDITOR"].iter().any(|end| name.ends_with(end));
    // Bash gives programs a value of its own for `_`.
    name == "_"
        || !is_of_shell
            && name.contains(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && exports.iter().chain([&name]).all(|name| std::env::var_os(name).is_none())
}

/// Whether a part of a value is text that no builtin evaluates, even as an array or an index.
fn is_inert(piece: &Piece) -> bool {
    match piece {
        Piece::Text(text) => !text.contains(['[', '$', '`', '(']),
        Piece::Home => true,
        Piece::Glob(_) | Piece::Variable(_) | Piece::Unknown => false,
    }
}

/// Whether a value for `PATH` consists of folders and of its value so far.
fn is_search_path(value: &[Piece]) -> bool {
    let is_folder = |name: &str| ["PATH", "HOME", "PWD"].contains(&name);
    value.iter().all(|piece| is_inert(piece) || matches!(piece, Piece::Variable(name) if is_folder(name)))
}

/// Whether a part is a builtin that gives variables literal values or removes them, and evaluates nothing.
pub(in crate::permissions) fn only_sets(part: &Part) -> bool {
    let name = part.words.first().and_then(Word::literal).unwrap_or_default();
    let is_unset = name == "unset";
    let is_plain = |word: &Word| {
        let Some((Piece::Text(text), rest)) = word.pieces.split_first() else { return false };
        if text.starts_with('-') {
            return rest.is_empty() && ["-x", "-r", "-g", "-v", "-f"].contains(&text.as_str());
        }
        let (variable, value) = match text.split_once('=') {
            Some((variable, value)) => (variable, Some(value)),
            None => (text.as_str(), None),
        };
        let is_name = variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let value: Vec<Piece> = value
            .map(|value| Piece::Text(value.to_owned()))
            .into_iter()
            .chain(rest.iter().cloned())
            .collect();
        is_name
            && (word.pieces.len() <= 1 || text.contains('='))
            && match variable {
                "PATH" => is_search_path(&value),
                variable => (is_unset || !is_obeyed(variable)) && value.iter().all(is_inert),
            }
    };
    (is_unset || DECLARING.contains(&name.as_ref()))
        && part.assigned.is_empty()
        && part.outer.is_empty()
        && !part.more_arguments
        && part.words.iter().skip(1).all(is_plain)
}
