//! The subcommands of git, cargo and npm: their names, aliases and effects.
//!
//! Includes the words with which git runs other programs.

use std::sync::LazyLock;

use super::rows_by_name::RowsByName;
use tau_tools::words;

/// The words with which git runs other programs; see [`super::programs::Program`].
pub(super) const GIT_RUNS: &[&str] = words!(
    ":-c :--config-env :--exec-path :--git-dir submodule:foreach rebase:-x rebase:--exec \
         bisect:run difftool: mergetool: filter-branch: for-each-repo: send-email: hook: \
         instaweb: web--browse: daemon: shell: http-backend: upload-pack: receive-pack: \
         remote-ext: remote-fd: cvsserver: svn: p4: gui: citool: config: credential: sh-setup: \
         sh-i18n: maintenance: grep:-O grep:--open-files-in-pager fetch:--upload-pack \
         fetch-pack:--upload-pack fetch-pack:--exec pull:--upload-pack clone:--upload-pack \
         clone:-u clone:-c clone:--config clone:--template init:--template \
         ls-remote:--upload-pack ls-remote:--exec push:--receive-pack push:--exec \
         send-pack:--receive-pack send-pack:--exec archive:--exec diff:--ext-diff log:--ext-diff \
         show:--ext-diff difftool--helper: submodule--helper: bisect--helper: mergetool--lib: subtree:--exec imap-send: \
         request-pull: quiltimport: replay: merge:-s merge:--strategy rebase:-s \
         rebase:--strategy pull:-s pull:--strategy cherry-pick:--strategy revert:--strategy \
         merge-index: apply:--unsafe-paths ls-remote:^ext:: fetch:^ext:: \
         pull:^ext:: clone:^ext:: push:^ext:: remote:^ext:: archive:^--remote=ext::"
);

/// The subcommands of git. Another word may be an alias.
const GIT: &[&str] = words!(
    "add am annotate apply archimport archive backfill bisect blame branch bugreport bundle \
         cat-file check-attr check-ignore check-mailmap check-ref-format checkout \
         checkout--worker checkout-index cherry cherry-pick citool clean clone column commit \
         commit-graph commit-tree config count-objects credential credential-cache \
         credential-store cvsexportcommit cvsimport cvsserver daemon describe diagnose diff \
         diff-files diff-index diff-pairs diff-tree difftool fast-export fast-import fetch \
         fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck \
         fsck-objects fsmonitor--daemon gc get-tar-commit-id grep gui hash-object help history \
         hook http-backend http-fetch http-push imap-send index-pack init init-db instaweb \
         interpret-trailers last-modified log ls-files ls-remote ls-tree mailinfo mailsplit \
         maintenance merge merge-base merge-file merge-index merge-one-file merge-tree mergetool \
         mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant \
         pack-refs patch-id prune prune-packed pull push quiltimport range-diff read-tree rebase \
         receive-pack reflog refs remote repack replace replay repo request-pull rerere reset \
         restore rev-list rev-parse revert rm send-email send-pack shortlog show show-branch \
         show-index show-ref sparse-checkout stash status stripspace submodule svn switch \
         symbolic-ref tag update-index update-ref var verify-commit version worktree"
);

/// The subcommands of cargo, including common additional ones. Another word may be an alias.
const CARGO: &[&str] = words!(
    "add bench b build c check clean clippy config d doc fetch fix fmt generate-lockfile \
         git-checkout help info init install locate-project login logout metadata miri new owner \
         package pkgid publish r read-manifest remove report rm run rustc rustdoc search t test \
         tree uninstall update verify-project version yank nextest deny audit llvm-cov \
         machete outdated expand semver-checks udeps hack insta fuzz bloat about"
);

/// The commands of npm.
const NPM: &str = "access adduser audit bugs cache ci completion config dedupe deprecate diff dist-tag \
         docs doctor edit exec explain explore find-dupes fund get help help-search init install \
         install-ci-test install-test link ll login logout ls org outdated owner pack ping pkg \
         prefix profile prune publish query rebuild repo restart root run sbom search set \
         shrinkwrap star stars start stop team test token trust undeprecate uninstall unpublish \
         unstar update version view whoami";

/// Aliases of npm's commands.
const NPM_ALIASES: &str = "add=install i=install in=install ins=install inst=install insta=install instal=install \
    isnt=install isnta=install isntal=install isntall=install unlink=uninstall remove=uninstall \
    rm=uninstall r=uninstall un=uninstall up=update upgrade=update udpate=update c=config \
    s=search se=search find=search t=test tst=test ddp=dedupe la=ll list=ls verison=version \
    hlep=help dist-tags=dist-tag ic=ci install-clean=ci isntall-clean=ci clean-install=ci \
    cit=install-ci-test clean-install-test=install-ci-test sit=install-ci-test it=install-test \
    rb=rebuild ln=link why=explain x=exec create=init innit=init rum=run urn=run run-script=run \
    ogr=org v=view info=view show=view add-user=adduser author=owner home=docs issues=bugs";

/// Programs that accept the beginning of a subcommand.
const ABBREVIATING: &str = "hg ip tc bridge nmcli gradle gradlew chg svn tmux gem";
/// Names of one subcommand, at any place, by programs.
const SAME_NAMES: &[(&str, &str)] = &[
    ("helm", "uninstall delete del un"),
    ("pnpm bun deno bundle", "install i"),
    ("pnpm brew", "remove uninstall rm un"),
    ("bun", "add a"),
    ("bun docker podman nerdctl", "remove rm"),
    ("gh glab", "create new"),
    ("gh", "extension extensions ext"),
    ("gh", "codespace cs"),
    ("svn hg", "commit ci"),
    ("svn", "delete remove rm del"),
    ("dnf yum zypper", "install in"),
    ("dnf yum zypper", "remove rm erase"),
    ("zypper", "update up"),
    ("composer", "require req r"),
    ("composer", "remove rm uninstall"),
    ("conda mamba rustup", "remove uninstall"),
    ("rails", "generate g"),
    ("rails", "server s"),
    ("rails", "console c"),
    ("rails", "destroy d"),
    ("rails", "test t"),
    ("tmux", "send-keys send"),
];
static SAME_NAMES_BY_NAME: LazyLock<RowsByName<(&str, &str)>> =
    LazyLock::new(|| RowsByName::new(SAME_NAMES, |row| row.0));
/// The subcommands that programs carry out without one.
const DEFAULTS: [(&str, &str); 3] = [("yarn", "install"), ("bundle", "install"), ("vercel", "deploy")];

/// Whether a program does this without a subcommand.
pub(super) fn is_default(program: &str, subcommand: &str) -> bool {
    DEFAULTS.contains(&(program, subcommand))
}

/// The number of words before the subcommand that only say where it is run, `yarn workspace x add y`, and whether it is
/// certainly the same there: `docker image push` is `docker push`, `docker compose push` is much like it.
pub(super) fn place_length(program: &str, word: &str) -> Option<(usize, Same)> {
    match (program, word) {
        ("yarn", "global") | ("docker" | "podman" | "nerdctl", "image" | "container") => Some((1, Same::Yes)),
        ("yarn", "workspace") => Some((2, Same::Yes)),
        ("docker" | "podman" | "nerdctl", "compose" | "system" | "builder" | "buildx" | "manifest") => {
            Some((1, Same::Perhaps))
        }
        _ => None,
    }
}

/// Whether a word is in a list.
pub(super) fn has(list: &str, word: &str) -> bool {
    let (list, word) = (list.as_bytes(), word.as_bytes());
    let Some(first) = word.first() else { return list.is_empty() };
    let begins = |at: &usize| at.checked_sub(1).is_none_or(|before| list.get(before) == Some(&b' '));
    let ends = |at: usize| {
        let rest = list.get(at..).and_then(|listed| listed.strip_prefix(word));
        matches!(rest, Some([] | [b' ', ..])) && !word.contains(&b' ')
    };
    memchr::memchr_iter(*first, list).filter(begins).any(ends)
}

/// How certainly a word is a subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Same {
    No,
    /// It may be an alias of it, depending on the settings of the program.
    Perhaps,
    Yes,
}

/// Whether a word stands for a word behind the subcommand of a program, as `docker network remove` for `rm`.
pub(super) fn same_behind(program: &str, word: &str, wanted: &str) -> Same {
    let mut rows = SAME_NAMES_BY_NAME.get(program).iter();
    // The task of a project within another.
    let task = word.rsplit(':').next().filter(|_| has("gradle gradlew", program));
    if word == wanted || task == Some(wanted) || rows.any(|(_, names)| has(names, wanted) && has(names, word))
    {
        return Same::Yes;
    }
    let is_start = !word.is_empty() && wanted.starts_with(word);
    if is_start && has(ABBREVIATING, program) { Same::Perhaps } else { Same::No }
}

/// Whether a word stands for a subcommand of a program.
pub(super) fn same(program: &str, word: &str, subcommand: &str) -> Same {
    let found = same_behind(program, word, subcommand);
    if found != Same::No {
        return found;
    }
    let is_start = !word.is_empty() && subcommand.starts_with(word);
    let may = |may: bool| if may { Same::Perhaps } else { Same::No };
    match program {
        // The commands that git runs for it.
        "git" if subcommand == "push" && ["send-pack", "http-push"].contains(&word) => Same::Yes,
        "git" => may(GIT.contains(&subcommand) && !GIT.contains(&word) && !word.starts_with('-')),
        "cargo" => match (cargo(word), cargo(subcommand)) {
            (word, subcommand) if word == subcommand => Same::Yes,
            (word, _) => may(!CARGO.contains(&word) && !word.starts_with(['-', '+'])),
        },
        "npm" => match (npm_command(word), npm_command(subcommand)) {
            (Some(word), Some(subcommand)) if word == subcommand => Same::Yes,
            (None, _) => may(is_start),
            _ => Same::No,
        },
        _ => Same::No,
    }
}

fn cargo(word: &str) -> &str {
    const SHORT: &[(&str, &str)] =
        &[("b", "build"), ("c", "check"), ("d", "doc"), ("t", "test"), ("r", "run"), ("rm", "remove")];
    SHORT.iter().find(|(short, _)| *short == word).map_or(word, |(_, long)| long)
}

/// The npm command that a word stands for, which may be any unambiguous beginning of it.
pub(super) fn npm_command(word: &str) -> Option<&'static str> {
    let mut kebab = String::new();
    for c in word.chars() {
        if c.is_ascii_uppercase() {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    let word = kebab.as_str();
    let aliases = NPM_ALIASES.split(' ').filter_map(|alias| alias.split_once('='));
    let names = aliases.chain(NPM.split(' ').map(|command| (command, command)));
    if let Some((_, found)) = names.clone().find(|(name, _)| *name == word) {
        return Some(found);
    }
    let mut meant: Vec<&str> = names
        .filter(|(name, _)| !word.is_empty() && name.starts_with(word))
        .map(|(_, command)| command)
        .collect();
    meant.sort_unstable();
    meant.dedup();
    if let [only] = meant.as_slice() { Some(only) } else { None }
}

#[cfg(test)]
mod tests {
    use super::{CARGO, GIT, GIT_RUNS, SAME_NAMES};

    #[test]
    fn lists_have_one_blank_between_words() {
        let same = SAME_NAMES.iter().flat_map(|(programs, names)| [*programs, *names]);
        assert!(same.flat_map(|list| list.split(' ')).all(|word| !word.is_empty()));
        assert!([GIT, CARGO, GIT_RUNS].into_iter().flatten().all(|word| !word.is_empty()));
    }
}
