//! The names that a part of a command prints or gives to others, and what others leave out of them.

use std::borrow::Cow;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

use super::needed_words::needed_words;
use super::{composed, has_option};
use crate::permissions::escapes;
use crate::permissions::links;
use crate::permissions::programs::{self, Program};
use crate::permissions::shell::{Analysis, FILLED, Part, Piece, Word};
use crate::permissions::subcommands::has;

/// Programs that print the names of the files that they are given, or that are in the folders they are given.
const NAMING: &str = "ls echo printf realpath readlink dirname fd fdfind tree du set stat";
/// Programs that print, of a project, files in it, values, or what they are given, and no other folder that holds it.
const PLAIN: &str = "ls echo printf realpath readlink dirname fd fdfind tree du set stat find basename cat tac head tail grep \
                     egrep fgrep rg ag sed awk gawk cut tr sort uniq comm diff paste tee xargs jq yq column rev wc seq date \
                     mktemp uname hostname arch whoami id nproc which type command tar unzip zipinfo pwd read test docker podman kubectl pgrep ps lsof";
/// Programs, and the words with which they print the name of a folder whose content is made again.
const CACHES: &[(&str, &str)] = &[
    ("go", "env GOCACHE|GOMODCACHE"),
    ("pip pip3 uv", "cache dir"),
    ("yarn", "cache dir"),
    ("npm", "config get cache"),
    ("pnpm", "store path"),
    ("poetry composer", "config cache-dir"),
];
/// Subcommands of git that print the names of folders.
const GIT_PLACES: &str = "worktree config var";
/// Programs that print the home directory among the variables or the users.
const TELLING: &str = "printenv env getent set declare export xdg-user-dir";
/// Names for the home directory in programs in other languages.
const HOME: &str = "home homedir expanduser getpwuid getpwnam userprofile";
/// Programs among them that print one line.
const ONE_LINE: &str = "pwd echo printf realpath readlink dirname";
/// Programs whose options set the order of the names they print.
const ORDERING: &str = "ls find fd fdfind tree du";
/// A line with the name of any file, and as it may look before the name is cut out of it.
const ANY_LINE: [&str; 2] = ["zq", "?? zq"];
/// Lines with the number of any process.
const ANY_PROCESS: [&str; 2] = ["1234", "me 1234 0.0 zq"];

/// Whether a part of a command gives words to a function or a script, or finds them for it.
pub(super) fn gives(part: &Part, command: &str) -> bool {
    let name = programs::name(&part.words).unwrap_or_default();
    let is_function = || {
        ["()", " ()"].iter().any(|behind| command.contains(&format!("{name}{behind}")))
            || command.contains(&format!("function {name}"))
    };
    !part.words.is_empty() && (has("set find", &name) || links::program(&name).is_none() || is_function())
}

/// A word of the input, in which the shell has replaced `~` and the variable that it begins with. It may have quotes.
pub(super) fn word_of(text: &str) -> Word {
    let text = text.replace(['"', '\''], "");
    let variable = text.strip_prefix('$').and_then(|rest| match rest.strip_prefix('{') {
        Some(braced) => braced.split_once('}'),
        None => rest.split_at_checked(rest.find(|c| !is_of_name(c)).unwrap_or(rest.len())),
    });
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(is_of_name);
    let (first, rest) = match (variable, text.strip_prefix('~')) {
        (Some(("HOME", rest)), _) | (None, Some(rest)) => (Piece::Home, rest),
        (Some((name, rest)), _) if is_plain(name) => (Piece::Variable(name.to_owned()), rest),
        _ => return Word::of_text(&text),
    };
    let mut word = Word::of_text(rest);
    word.pieces.insert(0, first);
    word
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The words that the command itself gives a part to print: its input, and what its program makes of its own words.
pub(super) fn given_names(part: &Part) -> Vec<Word> {
    let passes = part.more_arguments || composed::passes_input(part);
    let input = part.texts.iter().filter(|_| passes);
    let made = composed::texts(part);
    let made = made.iter().flat_map(|text| text.split_whitespace()).filter(|text| !text.contains(FILLED));
    input.flat_map(|text| text.split_whitespace()).chain(made).map(word_of).collect()
}

/// Whether a word is an argument of a function or a script, such as `"$1"`.
pub(in crate::permissions) fn is_positional(word: &Word, command: &str) -> bool {
    let text = command.get(word.span.clone()).unwrap_or_default();
    text.contains('$')
        && ["$1", "${1", "$@", "${@", "$*", "$0"].iter().any(|argument| text.contains(argument))
}

/// Whether a part prints the name of the home directory.
pub(in crate::permissions) fn prints_home(part: &Part) -> bool {
    let Some(name) = programs::name(&part.words) else { return false };
    let literals = || part.words.iter().skip(1).filter_map(Word::literal);
    if has(TELLING, &name) {
        return has("getent xdg-user-dir", &name)
            || literals().all(|text| text == "HOME" || text.starts_with('-'));
    }
    let is_home = |text: &str| {
        let lower = text.to_lowercase();
        let mut names = lower.split(|c: char| !c.is_ascii_alphanumeric());
        names.any(|name| !name.is_empty() && has(HOME, name)) || text.contains("'~") || text.contains("\"~")
    };
    let mut texts = literals().chain(part.texts.iter().map(|text| text.as_str().into()));
    programs::runs_texts(&name) && texts.any(|text| is_home(&text))
}

/// Whether a part may print the name of any folder.
pub(super) fn prints_any_folder(part: &Part) -> bool {
    let Some(name) = programs::name(&part.words) else { return false };
    if has("docker podman kubectl", &name) {
        // What is in a container may be any text.
        let literals = || part.words.iter().skip(1).filter_map(Word::literal);
        return literals().any(|text| has("run exec logs inspect", &text) || text.contains("jsonpath"));
    }
    if name != "git" {
        return !has(PLAIN, &name) && !prints_cache(part, &name);
    }
    let place = Program::find_by_name("git").map_or(1, |git| git.subcommand(&part.words).0.start);
    let mut words = part.words.iter().skip(place).filter_map(Word::literal);
    match words.next().as_deref() {
        Some("rev-parse") => {
            words.any(|word| ["--git-", "--show-", "--abs"].iter().any(|start| word.starts_with(start)))
        }
        subcommand => subcommand.is_some_and(|subcommand| has(GIT_PLACES, subcommand)),
    }
}

/// Whether a part makes any name of a text that the command itself gives it, directly or in a variable.
pub(super) fn makes_any_name(part: &Part, analysis: &Analysis) -> bool {
    let may_lead = |text: &str| text.contains(['/', '~', '*']) || text.contains("..");
    let mapped =
        part.words.iter().skip(1).map(Word::display).map(|text| escapes::decode(&text).unwrap_or(text));
    let mut mapped =
        mapped.filter(|_| programs::name(&part.words).is_some_and(|name| has("tr paste column", &name)));
    let values = || analysis.parts.iter().flat_map(|part| &part.values);
    let is_place = |text: &String| {
        let holds =
            |name: &str| [format!("${{{name}}}"), format!("${name}")].iter().any(|sign| text.contains(sign));
        may_lead(text)
            || ["HOME", "PWD", "OLDPWD"].into_iter().any(holds)
            || values().any(|(name, value)| holds(name) && may_lead(&value.display()))
    };
    composed::rewrites_given_text(part)
        && (mapped.any(|text| may_lead(&text)) || part.texts.iter().any(is_place))
}

/// Whether a part prints the name of a folder of [`CACHES`].
fn prints_cache(part: &Part, name: &str) -> bool {
    let literals: Vec<_> = part.words.iter().skip(1).map(|word| word.literal().unwrap_or_default()).collect();
    let mut needed = CACHES.iter().filter(|(of, _)| has(of, name));
    part.assigned.is_empty()
        && needed.any(|(_, needed)| needed_words(needed, &part.words, &literals).is_some())
}

/// Which files of a project `git ls-files` prints, if all of these: those that git does not track, or those that it does.
pub(super) fn listed_by_git(part: &Part) -> Option<&'static str> {
    let mut words = part.words.iter().skip(1).map(|word| word.literal().unwrap_or_default());
    words
        .find(|word| word == "ls-files")
        .filter(|_| programs::name(&part.words).is_some_and(|name| name == "git"))?;
    let options: Vec<_> = words.collect();
    let is = |letter: char, long: &str| {
        options.iter().any(|word| word == long || !word.starts_with("--") && word.contains(letter))
    };
    if options.iter().any(|word| !word.starts_with('-')) || is('d', "--deleted") {
        return None;
    }
    Some(match is('o', "--others") || is('i', "--ignored") {
        true => "every file that git does not track, which are nowhere else",
        false => "every file that git tracks, with changes that are not committed",
    })
}

/// The words that a part prints as names; `None` if it prints something else.
pub(super) fn printed_names(part: &Part) -> Option<Vec<Word>> {
    let name = programs::name(&part.words)?;
    if prints_home(part) {
        return Some(vec![word_of("~")]);
    }
    let arguments = part.words.get(1..).unwrap_or_default();
    let has_word = |sought: &str| arguments.iter().any(|word| word.literal().as_deref() == Some(sought));
    let is_operand = |word: &&Word| !word.literal().is_some_and(|text| text.starts_with('-'));
    let mut operands: Vec<Word> = arguments.iter().filter(is_operand).cloned().collect();
    let is_git = |option: &str| name == "git" && has_word(option);
    if is_git("--git-dir") || is_git("--absolute-git-dir") {
        operands = vec![Word::of_text(".git")];
    } else if name == "pwd"
        || is_git("--show-toplevel")
        || is_git("status") && operands.len() == 1
        || operands.is_empty() && has("ls fd fdfind tree du", &name)
    {
        operands = vec![Word::of_text(".")];
    } else if !has(NAMING, &name) && links::program(&name).is_some() {
        return None;
    }
    if name == "dirname" {
        operands.iter_mut().for_each(|word| word.pieces.push(Piece::Text("/..".to_owned())));
    }
    Some(operands)
}

/// Whether some of these parts leave out lines of what a part prints. Of a single line they do not.
pub(super) fn is_chosen<'a>(part: &Part, mut filters: impl Iterator<Item = &'a Part>) -> bool {
    let name = programs::name(&part.words).unwrap_or_default();
    let is_git = |subcommand: &str| {
        name == "git" && part.words.iter().any(|word| word.literal().as_deref() == Some(subcommand))
    };
    let is_named = || {
        let has_pattern = part.words.iter().any(Word::has_glob);
        name == "ls" && !has_pattern && has_option(part.words.get(1..).unwrap_or_default(), "d", "directory")
    };
    if has(ONE_LINE, &name) || is_git("rev-parse") || is_named() || prints_home(part) {
        return false;
    }
    let lines = if has("ps pgrep", &name) { &ANY_PROCESS } else { &ANY_LINE };
    filters.any(|filter| leaves_out(filter, lines, has(ORDERING, &name)))
}

/// Whether a part leaves out a line that it reads, in each of these forms. What is chosen by its place counts if the
/// lines are ordered.
pub(super) fn leaves_out(part: &Part, forms: &[&str], is_ordered: bool) -> bool {
    let arguments = part.words.get(1..).unwrap_or_default();
    let literals: Vec<_> = arguments.iter().map(|word| word.literal().unwrap_or_default()).collect();
    let first = literals.iter().find(|text| !text.is_empty() && !text.starts_with('-'));
    let first = first.map(Cow::as_ref).unwrap_or_default();
    match programs::name(&part.words).as_deref() {
        Some("head") => is_ordered,
        Some("tail") => is_ordered && !literals.iter().any(|text| text.ends_with("+1")),
        Some("sed" | "gsed") if first.starts_with(['s', 'y']) => {
            has_option(arguments, "n", "quiet") || first.contains([';', '\n'])
        }
        Some("sed" | "gsed") if first.starts_with(|c: char| c.is_ascii_digit() || c == '$') => is_ordered,
        Some("awk" | "gawk" | "mawk") => {
            let script = literals.iter().find(|text| text.contains('{')).map_or(first, Cow::as_ref);
            // `{print $2}` takes something from every line.
            let condition = script.split('{').next().unwrap_or_default();
            let is_place = |c: char| "NRF".contains(c) || !c.is_alphabetic() && c != '/';
            match condition.trim() {
                _ if script.contains("if") => true,
                "" | "NF" | "1" => false,
                condition => is_ordered || !condition.chars().all(is_place),
            }
        }
        Some(name @ ("grep" | "egrep" | "fgrep" | "rg")) => {
            let is_inverse = has_option(arguments, "v", "invert-match");
            expressions_of_grep(name, arguments).is_none_or(|expressions| {
                let is_found = |form: &str| {
                    expressions.iter().any(|it| it.is_match(form.as_bytes()).unwrap_or_default())
                };
                forms.iter().all(|form| is_found(form) == is_inverse)
            })
        }
        Some("sed" | "gsed" | "comm" | "fzf" | "jq") => true,
        _ => false,
    }
}

/// The expressions that a `grep` with these arguments searches its input for; `None` if they are not known.
fn expressions_of_grep(name: &str, arguments: &[Word]) -> Option<Vec<RegexMatcher>> {
    let has_one = |letters: &str, long: &str| has_option(arguments, letters, long);
    if has_one("f", "file") {
        return None;
    }
    let is_fixed = name == "fgrep" || has_one("F", "fixed-strings");
    let is_basic = name == "grep" && !has_one("EP", "extended-regexp") && !has_one("", "perl-regexp");
    let (mut patterns, mut operand) = (Vec::new(), None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.literal()?;
        if let Some(pattern) = text.strip_prefix("--regexp=") {
            patterns.push(pattern.to_owned());
        } else if text == "--regexp"
            || text.starts_with('-') && !text.starts_with("--") && text.ends_with('e')
        {
            patterns.push(words.next()?.literal()?.into_owned());
        } else if has("-m -A -B -C", &text) {
            words.next();
        } else if !text.starts_with('-') {
            operand = operand.or(Some(text.into_owned()));
        }
    }
    if patterns.is_empty() {
        patterns.extend(operand);
    }
    let matcher = |pattern: &String| {
        let special = |c: char| {
            if is_fixed { ".*^$[]\\|(){}+?".contains(c) } else { is_basic && "|(){}+?".contains(c) }
        };
        let (mut expression, mut chars) = (String::new(), pattern.chars().peekable());
        while let Some(c) = chars.next() {
            // In a basic one these signs have a meaning behind a backslash.
            match chars.peek().copied().filter(|next| c == '\\' && is_basic && !is_fixed && special(*next)) {
                Some(sign) => {
                    expression.push(sign);
                    chars.next();
                }
                None => {
                    expression.extend(special(c).then_some('\\'));
                    expression.push(c);
                }
            }
        }
        let bounds = match (has_one("x", "line-regexp"), has_one("w", "word-regexp")) {
            (true, _) => ("^", "$"),
            (false, true) => ("\\b", "\\b"),
            (false, false) => ("", ""),
        };
        let case = if has_one("i", "ignore-case") { "(?i)" } else { "" };
        RegexMatcher::new(&format!("{case}{}(?:{expression}){}", bounds.0, bounds.1)).ok()
    };
    patterns.iter().map(matcher).collect()
}
