//! Read-only subcommands of git, without the options that write or run something.

use std::borrow::Cow;
use std::path::PathBuf;

use super::{Surroundings, display_name, excluded_option, repository, unknown_arguments_objection};
use crate::permissions::links;
use crate::permissions::shell::Word;
use crate::permissions::subcommands::has;

/// Subcommands that are read-only with any operands. Those that show changes share their options.
const READING: &[&str] = tau_tools::words!(
    "status log diff show shortlog blame annotate ls-files ls-tree rev-parse rev-list describe cat-file \
     grep merge-base name-rev for-each-ref show-ref count-objects diff-tree diff-index diff-files \
     whatchanged check-ignore check-attr check-ref-format version cherry range-diff show-branch"
);
/// Options with which a subcommand writes a file or runs a program. Some run one only if the settings of the
/// repository name it.
const EXCLUDED: [&str; 12] = [
    "output", "ext-diff", "textconv", "filters", "open-files-in-pager", "show-signature", "exec",
    "upload-pack", "contents-from-pager",
    // Both merge again, with the drivers of the repository.
    "remerge-diff", "diff-merges", // It may start git in a folder that only a tree names.
    "submodule",
];

/// Settings that only change how output looks.
const SHOWING: &str = "core.pager=cat core.quotepath=off core.quotepath=false core.quotePath=off core.quotePath=false \
                       color.ui=always color.ui=never color.ui=false color.ui=auto advice.detachedHead=false";
/// Options of `git config` that choose the files it reads.
const SCOPES: [&str; 4] = ["--global", "--system", "--local", "--worktree"];

/// The reason git may not be read-only with these arguments.
pub(super) fn objection(
    arguments: &[Word],
    more_arguments: bool,
    surroundings: &Surroundings<'_>,
) -> Option<String> {
    let mut at = 0;
    let mut directories = surroundings.directories.map(<[PathBuf]>::to_vec);
    // Options of git itself: only those that do not affect the commands that it runs.
    while let Some(text) = arguments.get(at).and_then(Word::literal).filter(|text| text.starts_with('-')) {
        match text.as_ref() {
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects" => {
                at += 1;
            }
            "-C" => {
                let target = arguments.get(at + 1).and_then(Word::literal);
                directories = match target {
                    Some(target) => {
                        directories.map(|bases| bases.iter().map(|base| base.join(&*target)).collect())
                    }
                    None => None,
                };
                at += 2;
            }
            "-c" if arguments.get(at + 1).and_then(Word::literal).is_some_and(|set| has(SHOWING, &set)) => {
                at += 2;
            }
            "--version" | "--help" | "-h" if arguments.len() == 1 => return None,
            option => return Some(format!("git {} may run or change something", display_name(option))),
        }
    }
    let before = arguments.get(..at.min(arguments.len())).unwrap_or_default();
    let Some(subcommand) =
        arguments.get(at).filter(|_| !before.iter().any(|word| word.splits)).and_then(Word::literal)
    else {
        return Some("what git does is only known when it runs".to_owned());
    };
    let rest = arguments.get(at + 1..).unwrap_or_default();
    let name = format!("git {}", display_name(&subcommand));
    if let Some(why) = unknown_arguments_objection(&name, rest, more_arguments) {
        return Some(why);
    }
    // The settings of the repository decide how help is shown.
    let is_plain = |word: &Word| word.literal().is_some_and(|text| !text.starts_with('-'));
    let shows_help = rest.split_last().is_some_and(|(last, before)| {
        last.literal().as_deref() == Some("--help") && before.iter().all(is_plain)
    });
    let shows_log = subcommand == "reflog" && is_shown_reflog(rest);
    if shows_log || READING.contains(&subcommand.as_ref()) {
        let short = if subcommand == "grep" { "O" } else { "" };
        if let Some(option) = excluded_long_option(rest, short) {
            return Some(format!("{name} may write or run something with {option}"));
        }
    } else if !shows_help && !listing(&subcommand, rest) {
        return Some(format!("{name} may change something"));
    }
    let mut literals = rest.iter().filter_map(Word::literal);
    if literals.any(|text| text.contains("%G") || text.contains("%(") && text.contains("signature")) {
        return Some(format!("{name} runs gpg to show signatures"));
    }
    let Some(directories) = directories else {
        return Some("it is not known in which repository git runs".to_owned());
    };
    directories.iter().find_map(|directory| {
        links::objection(directory, || repository::objection(directory, surroundings.home))
    })
}

/// Whether `git reflog` shows entries with these arguments, like `git log`.
fn is_shown_reflog(arguments: &[Word]) -> bool {
    let changes =
        |word: &Word| word.literal().is_none_or(|text| has("expire delete drop write exists", &text));
    let first = arguments.first().and_then(Word::literal);
    first.is_some_and(|first| first == "show" || first.starts_with('-')) && !arguments.iter().any(changes)
}

/// Like [`excluded_option`], for the long options in `EXCLUDED`.
fn excluded_long_option(arguments: &[Word], short: &str) -> Option<String> {
    excluded_option(arguments, short, &EXCLUDED)
}

/// Subcommands that read with some arguments and write with others.
fn listing(subcommand: &str, arguments: &[Word]) -> bool {
    let literals: Option<Vec<Cow<'_, str>>> = arguments.iter().map(Word::literal).collect();
    let Some(words) = literals else { return false };
    let words: Vec<&str> = words.iter().map(|word| word.as_ref()).collect();
    let all = |known: &[&str]| {
        words
            .iter()
            .all(|word| known.contains(word) || word.starts_with("--sort=") || word.starts_with("--format="))
    };
    let lists_behind = |known: &[&str], more: &[&str]| {
        let is_known = |word: &&str| known.contains(word) || more.contains(word);
        words.iter().any(|word| known.contains(word))
            && words
                .iter()
                .all(|word| is_known(word) || word.starts_with("--sort=") || !word.starts_with('-'))
    };
    let lists = |known: &[&str]| lists_behind(known, &[]);
    let only_names = |words: &[&str]| words.iter().skip(1).all(|word| !word.starts_with('-'));
    match (subcommand, words.as_slice()) {
        // With these, operands are patterns or commits, and nothing is made.
        ("branch", _)
            if lists_behind(
                &["--list", "--contains", "--no-contains", "--merged", "--no-merged"],
                &["-r", "-a", "-v", "-vv", "--remotes", "--all", "--verbose", "--no-color"],
            ) =>
        {
            true
        }
        ("tag", _) if lists(&["-l", "--list", "--contains", "--merged", "--no-merged", "--points-at"]) => {
            true
        }
        ("branch", _) => all(tau_tools::words!(
            "-a -r -v -vv --all --remotes --list -l --show-current --no-color --verbose"
        )),
        ("tag", [count])
            if count.strip_prefix("-n").is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit())) =>
        {
            true
        }
        ("tag", _) => all(&["-l", "--list", "-n"]),
        ("remote", []) | ("remote", ["-v" | "--verbose"]) | ("remote", ["get-url", _]) => true,
        ("stash", ["list"]) | ("submodule", [] | ["status"]) | ("reflog", []) => true,
        ("worktree", ["list", rest @ ..]) => rest.iter().all(|word| has("--porcelain -z -v --verbose", word)),
        ("stash", ["show", rest @ ..]) => {
            rest.iter().all(|word| ["-p", "--stat"].contains(word) || word.starts_with("stash@{"))
        }
        ("config", ["--list" | "-l" | "list", rest @ ..]) => rest.iter().all(|word| {
            ["--show-origin", "--show-scope", "--global", "--local", "--name-only"].contains(word)
        }),
        ("config", ["--get" | "--get-all" | "get", _]) => true,
        ("config", [scope, _, ..]) if SCOPES.contains(scope) => {
            listing("config", arguments.get(1..).unwrap_or_default())
        }
        ("config", [name]) => !name.starts_with('-') && name.contains('.'),
        ("bisect", ["log"]) | ("notes", ["list"]) | ("fsck", []) | ("help" | "var", [_]) => true,
        ("archive", ["--list" | "-l"]) => true,
        ("add", [first, ..]) => ["-n", "--dry-run"].contains(first) && only_names(&words),
        ("clean", [first, ..]) => {
            ["-n", "--dry-run", "-nd", "-ndx", "-ndX", "-nx", "-nX"].contains(first) && only_names(&words)
        }
        ("apply", [first, ..]) => ["--check", "--stat", "--numstat"].contains(first) && only_names(&words),
        ("symbolic-ref", [name]) | ("symbolic-ref", ["--short" | "-q", name]) => !name.starts_with('-'),
        _ => false,
    }
}
