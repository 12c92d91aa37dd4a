//! The names that a part of a command prints or gives to others.

use super::has_option;
use super::needed_words::needed_words;
use crate::permissions::links;
use crate::permissions::programs::{self, Program};
use crate::permissions::shell::{Part, Piece, Word};
use crate::permissions::subcommands::has;

/// Programs that print the names of the files that they are given, or that are in the folders they are given.
const NAMING: &str = "ls echo printf realpath readlink dirname fd fdfind tree du set stat";
/// Programs that print, of a project, files in it, values, or what they are given, and no whole folder that holds it.
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
/// Programs that leave out lines, so that less is removed.
const CHOOSING: &str = "grep egrep fgrep rg head tail sed awk comm uniq fzf jq";

/// Whether a part of a command gives words to a function or a script, or finds them for it.
pub(super) fn gives(part: &Part, command: &str) -> bool {
    let name = programs::name(&part.words).unwrap_or_default();
    let is_function = || {
        ["()", " ()"].iter().any(|behind| command.contains(&format!("{name}{behind}")))
            || command.contains(&format!("function {name}"))
    };
    !part.words.is_empty() && (has("set find", &name) || links::program(&name).is_none() || is_function())
}

/// A word of the input, in which the shell has replaced `~`.
pub(super) fn word_of(text: &str) -> Word {
    let home = ["~", "$HOME", "${HOME}"].iter().find_map(|home| text.strip_prefix(home));
    if let Some(rest) = ["$PWD", "${PWD}"].iter().find_map(|start| text.strip_prefix(start)) {
        let mut word = Word::of_text(rest);
        word.pieces.insert(0, Piece::Variable("PWD".to_owned()));
        return word;
    }
    let mut word = Word::of_text(home.unwrap_or(text));
    if home.is_some() {
        word.pieces.insert(0, Piece::Home);
    }
    word
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

/// Whether a part leaves out lines of what it reads.
pub(super) fn is_choosing(part: &Part) -> bool {
    // `{print $2}` takes something from every line.
    let takes_all = |word: &Word| {
        word.literal().is_some_and(|text| text.replace(' ', "").starts_with("{print") && !text.contains("if"))
    };
    programs::name(&part.words).is_some_and(|name| {
        has(CHOOSING, &name) && !(name == "awk" && part.words.iter().skip(1).any(takes_all))
    })
}

/// Whether a part leaves out all lines but some.
pub(super) fn chooses(part: &Part) -> bool {
    let is_inverse = has_option(part.words.get(1..).unwrap_or_default(), "v", "invert-match");
    is_choosing(part) && !is_inverse
}
