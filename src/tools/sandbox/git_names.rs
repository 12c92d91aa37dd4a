//! The files that git and its usual tools keep in a repository, apart from its settings.
//!
//! Git obeys some files that most repositories do not have, and a newer git may obey others. A command can therefore only
//! create what is listed here: [`unknown_entries`] finds everything else. For the files, see git's documentation,
//! `gitrepository-layout`, and for those of rebases and merges its `sequencer.c` and `builtin/am.c`.

use std::path::{Path, PathBuf};

use crate::words;

/// Entries of a repository, or of the folder of a working tree. Names that end in `_HEAD` also are.
const TOP: &[&str] = words!(
    "ADD_EDIT.patch AUTO_MERGE EDIT_DESCRIPTION GITGUI_MSG HEAD MERGE_AUTOSTASH MERGE_MODE MERGE_MSG \
     MERGE_RR SQUASH_MSG addp-hunk-edit.diff description filter-repo fsmonitor--daemon \
     fsmonitor--daemon.ipc gc.log gc.pid index info lfs lint-staged_unstaged.patch logs lost-found \
     objects packed-refs packed-refs.new rebase-apply rebase-merge refs reftable rr-cache sequencer \
     shallow"
);
/// The beginnings of more such names.
const TOP_PREFIXES: &[&str] = words!("BISECT_ NOTES_MERGE_ next-index- sharedindex.");
/// Entries of the folder of an additional working tree only.
const ADDITIONAL_TREE: &[&str] = words!("commondir gitdir locked");
/// Entries that must not appear in a folder that is a repository and holds other files, too.
const NOT_IN_BARE: &[&str] = words!("branches commondir config config.worktree hooks modules remotes");
const INFO: &[&str] = words!("exclude refs sparse-checkout");
const OBJECTS_INFO: &[&str] = words!("commit-graph commit-graphs packs");
const REBASE_MERGE: &[&str] = words!(
    "allow_rerere_autoupdate amend author-script autostash cdate_is_adate current-fixups done \
     drop_redundant_commits dropped end git-rebase-todo git-rebase-todo.backup gpg_sign_opt head \
     head-name ignore_date interactive keep_redundant_commits message message-fixup message-squash msgnum \
     no-reschedule-failed-exec onto orig-head patch quiet refs-to-delete reschedule-failed-exec \
     rewritten-list rewritten-pending signoff squash-onto stopped-sha strategy strategy_opts update-refs \
     verbose"
);
/// The patches have numbers for names.
const REBASE_APPLY: &[&str] = words!(
    "abort-safety applying apply-opt author-script autostash dirtyindex final-commit gpg_sign_opt \
     head-name info keep last messageid msg msg-clean next no-reschedule-failed-exec onto orig-head \
     original-commit patch patch-merge-index quiet quoted-cr rebasing rewritten scissors sign threeway \
     utf8 verbose"
);
const SEQUENCER: &[&str] = words!("abort-safety head opts todo");

/// A folder, and whether an entry with a name may appear there.
type Folder = (&'static str, fn(&str) -> bool);

/// The folders that are looked at.
const FOLDERS: [Folder; 7] = [
    ("", |name| TOP.contains(&name) || is_draft(name) || TOP_PREFIXES.iter().any(|it| name.starts_with(it))),
    ("info", |name| INFO.contains(&name)),
    ("objects", |name| is_hex(name) || ["info", "pack"].contains(&name) || is_temporary(name)),
    ("objects/info", |name| OBJECTS_INFO.contains(&name) || name.starts_with("packs_") || is_temporary(name)),
    ("rebase-apply", |name| REBASE_APPLY.contains(&name) || name.bytes().all(|byte| byte.is_ascii_digit())),
    ("rebase-merge", |name| REBASE_MERGE.contains(&name)),
    ("sequencer", |name| SEQUENCER.contains(&name)),
];

/// A commit that git remembers, or a message that is being written.
fn is_draft(name: &str) -> bool {
    name.ends_with("_HEAD") || name.ends_with("_EDITMSG")
}

/// A folder of objects.
fn is_hex(name: &str) -> bool {
    name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_temporary(name: &str) -> bool {
    ["incoming-", "tmp_"].iter().any(|prefix| name.starts_with(prefix))
}

/// The entries of the repository `dir`, or of the folder of one of its working trees, that are not listed here. Its
/// settings and hooks are among them.
pub(super) fn unknown_entries(repository: &Path, dir: &Path) -> Vec<PathBuf> {
    let is_additional = repository != dir;
    let has_other_files = !is_additional && !dir.ends_with(".git");
    let is_known = |folder: &str, name: &str, is_listed: fn(&str) -> bool| {
        let of_this = match (folder, is_additional) {
            ("", true) => ADDITIONAL_TREE.contains(&name),
            ("", false) => name == "worktrees" || has_other_files && !NOT_IN_BARE.contains(&name),
            _ => false,
        };
        of_this || is_listed(name) || name.ends_with(".lock") || name.contains(BLOCKED)
    };
    let in_folder = |(folder, is_listed): Folder| {
        let entries = std::fs::read_dir(dir.join(folder)).into_iter().flatten().flatten();
        entries
            .filter(move |entry| {
                !entry.file_name().to_str().is_some_and(|name| is_known(folder, name, is_listed))
            })
            .map(|entry| entry.path())
    };
    FOLDERS.into_iter().flat_map(in_folder).collect()
}

/// Part of the name of everything that was put aside.
pub(super) const BLOCKED: &str = ".blocked-";
