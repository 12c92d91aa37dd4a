//! Detects losses that git cannot reverse.
//!
//! They are commits that only another repository has, and changes that were never committed.

use std::borrow::Cow;

use super::printing;
use super::targets::Targets;
use super::{CommandLoss, has_option};
use crate::permissions::programs::{self, Program};
use crate::permissions::shell::{Analysis, Part, Piece, Word};
use crate::permissions::subcommands::has;

/// Branches that are shared with others.
const DEFAULT_BRANCHES: [&str; 5] = ["main", "master", "trunk", "develop", "HEAD"];

/// The loss caused by a git command.
pub(super) fn find_loss(words: &[Word], elsewhere: bool, targets: &Targets<'_>) -> Option<CommandLoss> {
    let program = Program::find_by_name("git")?;
    let (mut places, _) = program.subcommand(words);
    let is =
        |at: usize, list: &str| words.get(at).and_then(Word::literal).is_some_and(|word| has(list, &word));
    // Behind other words it may be the value of an option.
    let is_group = || is(places.start, "stash reflog worktree submodule");
    let is_of_group = || is_group() && words.len() == places.end + 2 && is(places.end + 1, "--help");
    if is(1, "--help") || places.len() == 1 && (is(places.end, "--help") || is_of_group()) {
        return None;
    }
    let forced = words.iter().filter_map(Word::literal).find(|text| is_forcing_setting(text));
    let is_push = |at: usize| words.get(at).and_then(Word::literal).is_some_and(|word| word == "push");
    if let Some(setting) = forced.filter(|_| places.clone().any(is_push)) {
        let text = format!("it pushes with {setting}: commits that only the remote has may be lost");
        return Some((text, Some(vec!["git".to_owned(), "push".to_owned(), setting.into_owned()])));
    }
    let pruning = words.iter().filter_map(Word::literal).find(|text| is_pruning_setting(text));
    let is_gc =
        |at: usize| words.get(at).and_then(Word::literal).is_some_and(|word| has("gc maintenance", &word));
    if let Some(setting) = pruning.filter(|_| places.clone().any(is_gc)) {
        let text = "it removes commits that are in no branch".to_owned();
        return Some((text, Some(vec!["git".to_owned(), "gc".to_owned(), setting.into_owned()])));
    }
    places.find_map(|at| {
        let subcommand = words.get(at)?.literal()?.into_owned();
        let rest = words.get(at + 1..).unwrap_or_default();
        let lost = match subcommand.as_str() {
            "push" | "send-pack" => push(rest, targets),
            "rm" if !has_flag(rest, RM, "n", "dry-run") && !has_flag(rest, RM, "", "cached") => {
                option(rest, "f", "force")
                    .and_then(|_| whole_tree(rest, elsewhere, targets))
                    .map(|whole| ("git rm loses every change that is not committed".to_owned(), Some(whole)))
            }
            "checkout-index" => option(rest, "f", "force")
                .filter(|_| option(rest, "a", "all").is_some())
                .map(|option| (lose("git checkout-index"), Some(option))),
            "read-tree" => option(rest, "", "reset")
                .filter(|_| option(rest, "u", "").is_some())
                .map(|option| (lose("git read-tree --reset"), Some(option))),
            "clean" => clean(words, rest),
            "for-each-repo" => return find_loss(&programs::for_each_repository(words)?, true, targets),
            "reset" => option(rest, "", "hard")
                .or_else(|| option(rest, "", "merge"))
                .map(|option| (lose(&format!("git reset {option}")), Some(option))),
            "filter-branch" | "filter-repo" => {
                Some((format!("git {subcommand} replaces the history of the project"), None))
            }
            "branch" | "update-ref" => {
                default_branch_removal(&subcommand, rest).or_else(|| default_branch_reset(&subcommand, rest))
            }
            "checkout" | "switch" => checkout(&subcommand, rest, elsewhere, targets)
                .or_else(|| default_branch_reset(&subcommand, rest)),
            "fetch" | "pull" => forced_fetch(rest),
            "restore" => restore(rest, elsewhere, targets),
            "stash" => stash(rest),
            "worktree" if rest.first().and_then(Word::literal).as_deref() == Some("remove") => {
                option(rest, "f", "force").map(|option| (lose("git worktree remove"), Some(option)))
            }
            "submodule" if rest.first().and_then(Word::literal).as_deref() == Some("deinit") => {
                option(rest, "f", "force").map(|option| (lose("git submodule deinit"), Some(option)))
            }
            "reflog" => {
                let word = rest.first().and_then(Word::literal).filter(|word| has("expire delete", word))?;
                let text = "it forgets where branches were, and with that commits that are in none";
                Some((text.to_owned(), Some(word.into_owned())))
            }
            "gc" | "prune" => option(rest, "", "prune")
                .or_else(|| (subcommand == "prune").then(String::new))
                .map(|option| ("it removes commits that are in no branch".to_owned(), Some(option))),
            _ => None,
        };
        let named = |option: String| {
            let words = ["git".to_owned(), subcommand.clone(), option];
            words.into_iter().filter(|word| !word.is_empty()).collect()
        };
        lost.map(|(text, option)| (text, option.map(named)))
    })
}

/// Whether a word sets what makes every push a forced one: `-c remote.origin.push=+HEAD:main`.
fn is_forcing_setting(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else { return false };
    let name = name.to_lowercase();
    name.starts_with("remote.")
        && (name.ends_with(".mirror") && value != "false" || name.ends_with(".push") && value.contains('+'))
}

/// Whether a word sets that what no branch has is removed at once: `-c gc.pruneExpire=now`.
fn is_pruning_setting(text: &str) -> bool {
    let name = text.split_once('=').map_or(text, |(name, _)| name).to_lowercase();
    name.starts_with("gc.") && name.contains("expire")
}

/// Removing a branch that is shared with others, whether or not another one has its commits.
fn default_branch_removal(subcommand: &str, words: &[Word]) -> Option<(String, Option<String>)> {
    let removes = match subcommand {
        "branch" => option(words, "D", "")
            .or_else(|| option(words, "d", "delete").filter(|_| option(words, "f", "force").is_some())),
        _ => option(words, "d", "delete"),
    }?;
    let mut literals = words.iter().filter_map(Word::literal);
    if subcommand == "update-ref" && literals.clone().any(|text| text == "refs/stash") {
        return Some(("it loses every stash".to_owned(), Some(removes)));
    }
    let branch = literals.find(|text| is_default(text))?;
    Some((
        format!("it removes {branch}, and commits that no other branch has are hard to find again"),
        Some(removes),
    ))
}

/// Whether this is a branch that is shared with others.
fn is_default(branch: &str) -> bool {
    DEFAULT_BRANCHES.contains(&branch.strip_prefix("refs/heads/").unwrap_or(branch))
}

/// The operands of a subcommand, as far as they are known.
fn operands(words: &[Word]) -> impl DoubleEndedIterator<Item = Cow<'_, str>> {
    words.iter().filter_map(Word::literal).filter(|text| !text.starts_with('-'))
}

/// Putting another commit or branch in the place of a branch that is shared with others.
fn default_branch_reset(subcommand: &str, words: &[Word]) -> Option<(String, Option<String>)> {
    let is_moved = subcommand == "branch" && option(words, "mMcC", "").is_some();
    let given = match subcommand {
        "branch" => option(words, "MC", "").or_else(|| option(words, "f", "force")),
        "checkout" => option(words, "B", ""),
        "switch" => option(words, "C", "force-create"),
        // The new value follows the branch.
        "update-ref" => operands(words).rev().skip(1).find(|branch| is_default(branch)).map(Cow::into_owned),
        _ => None,
    }?;
    // With one operand it is the present branch that gets another name.
    let branch = match subcommand {
        "update-ref" => Cow::Borrowed(given.as_str()),
        _ => operands(words).nth(usize::from(is_moved)).filter(|branch| is_default(branch))?,
    };
    let text =
        format!("it puts {branch} elsewhere, and commits that no other branch has are hard to find again");
    Some((text, Some(given)))
}

/// Fetching over the commits of a branch that is shared with others.
fn forced_fetch(words: &[Word]) -> Option<(String, Option<String>)> {
    let force = option(words, "f", "force");
    let (given, branch) = operands(words).find_map(|given| {
        let (_, branch) = given.split_once(':').filter(|_| force.is_some() || given.starts_with('+'))?;
        let is_wide = branch
            .split_once('*')
            .is_some_and(|(start, _)| "refs/heads/".starts_with(start) || start == "refs/heads/");
        (is_default(branch) || is_wide).then(|| (given.to_string(), branch.to_owned()))
    })?;
    let text = format!("it overwrites {branch}, and commits that no other branch has are hard to find again");
    Some((text, Some(force.unwrap_or(given))))
}

/// The loss if git removes the branches that its input names, or another git.
pub(super) fn loss_of_input(part: &Part, analysis: &Analysis) -> Option<CommandLoss> {
    let program = Program::find_by_name("git")?;
    let subcommand = |part: &Part| {
        let (places, _) = program.subcommand(&part.words);
        let at = places.start;
        Some((part.words.get(at)?.literal()?.into_owned(), part.words.get(at + 1..)?.to_vec()))
    };
    let (name, rest) = subcommand(part)?;
    let removes_default = |line: &str| {
        let mut words = line.split_whitespace();
        let branch = (words.next() == Some("delete")).then(|| words.next()).flatten();
        branch.is_some_and(is_default)
    };
    let lists = |other: &Part| {
        !std::ptr::eq(other, part)
            && programs::name(&other.words).is_some_and(|name| name == "git")
            && subcommand(other).is_some_and(|(name, _)| has("branch for-each-ref show-ref", &name))
    };
    // A branch as it is listed, and as a format or another program cuts it out.
    let cuts = |other: &Part| {
        let is_format = |word: &Word| word.literal().is_some_and(|text| text.starts_with("--format"));
        programs::name(&other.words).is_some_and(|name| has("awk cut sed tr", &name))
            || other.words.iter().any(is_format)
    };
    let removes_listed = |letter: &str| {
        let branches =
            if analysis.parts.iter().any(cuts) { ["main", "master"] } else { ["  main", "  master"] };
        let leaves_out = |other: &Part| {
            let is_left_out = |branch: &&&str| printing::leaves_out(other, &[**branch], false);
            // One that a `grep -v` names is that of the project; others name what is removed.
            let is_inverse = has_option(other.words.get(1..).unwrap_or_default(), "v", "invert-match");
            branches.iter().filter(is_left_out).count() >= if is_inverse { 1 } else { branches.len() }
        };
        part.more_arguments
            && option(&rest, letter, "").is_some()
            && analysis.parts.iter().any(lists)
            && !analysis.parts.iter().any(leaves_out)
    };
    let removes = match name.as_str() {
        "update-ref" => {
            part.texts.iter().flat_map(|text| text.lines()).any(removes_default) || removes_listed("d")
        }
        "branch" => removes_listed("D"),
        _ => false,
    };
    removes.then(|| ("it removes the default branch, and commits that no other has".to_owned(), None))
}

fn lose(what: &str) -> String {
    format!("{what} loses every change that is not committed")
}

/// The option as written, if present: one of these letters, or a long one, also abbreviated.
fn option(words: &[Word], letters: &str, long: &str) -> Option<String> {
    let options = words.iter().filter_map(Word::literal).take_while(|text| text != "--");
    let found = options.into_iter().find(|text| {
        let name = text.split_once('=').map_or(text.as_ref(), |(name, _)| name);
        match name.strip_prefix("--") {
            Some(name) => !name.is_empty() && long.starts_with(name),
            None => !letters.is_empty() && text.starts_with('-') && text.contains(|c| letters.contains(c)),
        }
    });
    found.map(Cow::into_owned)
}

/// Options with a value of `git clean`, `rm` and `restore`: letters, and others.
const CLEAN: (&str, &[&str]) = ("e", &["--exclude"]);
const RM: (&str, &[&str]) = ("", &["--pathspec-from-file"]);
const RESTORE: (&str, &[&str]) =
    ("sU", &["--source", "--conflict", "--unified", "--inter-hunk-context", "--pathspec-from-file"]);

/// Whether an option is certainly there that spares something: as no value of another one, and not revoked.
fn has_flag(words: &[Word], (valued, long): (&str, &[&str]), letters: &str, name: &str) -> bool {
    let (mut own, mut is_value) = (Vec::new(), false);
    for word in words {
        let text = match word.literal() {
            _ if std::mem::take(&mut is_value) => continue,
            Some(text) => text,
            None if word.may_be_option() => break,
            None => continue,
        };
        if text == "--" {
            break;
        }
        let is_long = text.starts_with("--");
        // What is behind a letter with a value is that value.
        let end = text.find(|c| valued.contains(c)).filter(|_| !is_long && text.starts_with('-'));
        is_value = match end {
            Some(end) => end + 1 == text.len(),
            None => is_long && text.len() > 3 && long.iter().any(|option| option.starts_with(&*text)),
        };
        own.push(Word::of_text(text.get(..end.unwrap_or(text.len())).unwrap_or_default()));
    }
    let revokes = |word: &Word| word.literal().is_some_and(|text| text.starts_with("--no-"));
    option(&own, letters, name).is_some() && !words.iter().any(revokes)
}

/// Pushing over the history of another repository.
fn push(words: &[Word], targets: &Targets<'_>) -> Option<(String, Option<String>)> {
    const VALUED: [&str; 6] =
        ["-o", "--push-option", "--repo", "--receive-pack", "--exec", "--recurse-submodules"];
    let is_delete = option(words, "d", "delete");
    let mirror =
        option(words, "", "mirror").or_else(|| option(words, "", "prune").filter(|text| text != "--p"));
    let force = option(words, "f", "force").or_else(|| option(words, "", "force-with-lease"));
    let (mut operands, mut skips) = (Vec::new(), false);
    for word in words {
        let literal = word.literal();
        if std::mem::replace(&mut skips, literal.as_deref().is_some_and(|text| VALUED.contains(&text))) {
            continue;
        }
        if !literal.as_deref().is_some_and(|text| text.starts_with('-')) {
            operands.push(literal.map(Cow::into_owned).or_else(|| pattern_text(word)));
        }
    }
    let mut operands = operands.into_iter();
    let remote = operands.next().flatten();
    let shown = remote.clone().unwrap_or_else(|| "the remote".to_owned());
    if let Some(option) = mirror {
        return Some((format!("it removes from {shown} what is not here"), Some(option)));
    }
    let begins =
        |word: &Word| word.pieces.iter().find_map(Piece::text).is_some_and(|text| text.starts_with('+'));
    if words.iter().any(|word| word.literal().is_none() && begins(word)) {
        return Some((format!("it may overwrite the default branch of {shown}"), None));
    }
    let refs: Vec<Option<String>> = operands.collect();
    let everything = option(words, "", "all").or_else(|| option(words, "", "branches")).is_some();
    if let Some(force) = force.clone().filter(|_| refs.is_empty() || everything) {
        let text = format!("it overwrites the branch on {shown}: commits that only {shown} has are lost");
        return Some((text, Some(force)));
    }
    refs.into_iter().find_map(|given| {
        // An unknown word may be a forced push to any branch.
        let Some(given) = given else {
            let option = force.clone().or_else(|| is_delete.clone())?;
            return Some((format!("it may overwrite the default branch of {shown}"), Some(option)));
        };
        let plus = given.starts_with('+');
        let (source, target) = given.trim_start_matches('+').split_once(':').map_or_else(
            || (None, given.trim_start_matches('+').to_owned()),
            |(source, target)| (Some(source.to_owned()), target.to_owned()),
        );
        let removes = is_delete.is_some() || source.as_deref() == Some("") && !target.is_empty();
        let is_forced = force.is_some() || plus;
        let branch =
            target.strip_prefix("refs/heads/").or_else(|| target.strip_prefix("heads/")).unwrap_or(&target);
        let is_default = DEFAULT_BRANCHES.contains(&branch)
            || branch == "@"
            || branch.is_empty()
            || branch.contains('*')
            || is_head_of(targets, &remote, branch);
        if !is_default || !(removes || is_forced) {
            return None;
        }
        let named = force.clone().or_else(|| is_delete.clone()).unwrap_or_else(|| given.clone());
        let text = match removes {
            true => format!("it removes {branch} from {shown}"),
            false => format!("it overwrites {branch} on {shown}: commits that only {shown} has are lost"),
        };
        Some((text, Some(named)))
    })
}

/// A word with patterns, as written: refs have patterns of their own, and the shell finds no file for it.
fn pattern_text(word: &Word) -> Option<String> {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => Some(text.clone()),
        Piece::Glob(c) => Some(c.to_string()),
        Piece::Home | Piece::Variable(_) | Piece::Unknown => None,
    };
    word.pieces.iter().map(text).collect()
}

/// Whether a branch is the default of a remote repository, as far as it is recorded here.
fn is_head_of(targets: &Targets<'_>, remote: &Option<String>, branch: &str) -> bool {
    let remote =
        remote.as_deref().filter(|name| !name.contains('/') && !name.contains("..")).unwrap_or("origin");
    let folders = targets.places.workspace.real.ancestors();
    let mut repositories = folders.map(|folder| folder.join(".git")).filter(|folder| folder.is_dir());
    let Some(git) = repositories.next() else { return false };
    let head = git.join("refs/remotes").join(remote).join("HEAD");
    let is_file = head.metadata().is_ok_and(|data| data.is_file() && data.len() < 4096);
    let text = is_file.then(|| std::fs::read_to_string(head).ok()).flatten().unwrap_or_default();
    let prefix = format!("ref: refs/remotes/{remote}/");
    text.trim().strip_prefix(&prefix).is_some_and(|head| head == branch)
}

/// Removing untracked files.
fn clean(all: &[Word], words: &[Word]) -> Option<(String, Option<String>)> {
    if has_flag(words, CLEAN, "n", "dry-run") {
        return None;
    }
    let force = option(words, "f", "force");
    // Without `-f` git refuses, unless the settings allow it.
    let is_set = || {
        all.iter().filter_map(Word::literal).any(|text| text.to_lowercase().contains("clean.requireforce"))
    };
    let force = force.or_else(|| is_set().then(String::new))?;
    let what =
        if option(words, "xX", "").is_some() { "untracked and ignored files" } else { "untracked files" };
    Some((format!("git clean removes {what}, which are nowhere else"), Some(force)))
}

/// Restoring files over changes.
fn checkout(
    subcommand: &str,
    words: &[Word],
    elsewhere: bool,
    targets: &Targets<'_>,
) -> Option<(String, Option<String>)> {
    let force = option(words, "f", "force").or_else(|| option(words, "", "discard-changes"));
    if let Some(force) = force {
        return Some((lose(&format!("git {subcommand} {force}")), Some(force)));
    }
    let whole = (subcommand == "checkout").then(|| whole_tree(words, elsewhere, targets)).flatten()?;
    Some((lose("git checkout of everything"), Some(whole)))
}

fn restore(words: &[Word], elsewhere: bool, targets: &Targets<'_>) -> Option<(String, Option<String>)> {
    // The index alone holds only content that is in a file, too.
    if has_flag(words, RESTORE, "S", "staged") && option(words, "W", "worktree").is_none() {
        return None;
    }
    let whole = whole_tree(words, elsewhere, targets)?;
    Some((lose("git restore of everything"), Some(whole)))
}

/// The operand that means all files.
fn whole_tree(words: &[Word], elsewhere: bool, targets: &Targets<'_>) -> Option<String> {
    // Pathspecs that only exclude stand for all other files.
    let separator = words.iter().position(|word| word.literal().as_deref() == Some("--"));
    let paths = words.get(separator.map_or(0, |at| at + 1)..).unwrap_or_default();
    let excludes = |text: &str| [":!", ":^", ":(exclude"].iter().any(|start| text.starts_with(start));
    let mut operands =
        paths.iter().filter_map(Word::literal).filter(|text| !text.starts_with('-')).peekable();
    let only_exclude = operands.peek().is_some() && operands.all(|text| excludes(&text));
    words.iter().find_map(|word| {
        let literal = word.literal();
        let text = literal.unwrap_or_default();
        if text.starts_with('-') || word.pieces.is_empty() {
            return None;
        }
        let is_pathspec =
            only_exclude || [":/", ":", ":(top)", "*", "**", ":/*", ":(top)*"].contains(&text.as_ref());
        let is_path = targets
            .loss(word, elsewhere)
            .is_some_and(|loss| !matches!(loss, super::Loss::Emptied(_) | super::Loss::Perhaps(_)));
        (is_pathspec || is_path).then(|| text.into_owned())
    })
}

fn stash(words: &[Word]) -> Option<(String, Option<String>)> {
    let first = words.iter().filter_map(Word::literal).find(|text| !text.starts_with('-'))?;
    let text = match first.as_ref() {
        "clear" => "it loses every stash",
        "drop" => "it loses the changes of a stash",
        _ => return None,
    };
    Some((text.to_owned(), Some(first.into_owned())))
}
