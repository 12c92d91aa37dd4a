//! Judges writes to places of the home directory that no table names: its dot files, and folders of programs.

use std::path::Path;

use crate::permissions::judge::{Finding, Judge};
use crate::permissions::path_pattern::{JudgedPath, rest_below};
use crate::permissions::protected::{ProtectedKind, Use, protected_kind};
use crate::permissions::shell::{Part, Word};
use crate::permissions::{Verdict, links};
use tau_protocol::approval::ApprovalReason;
use tau_tools::words;

/// Dot folders of the home directory that hold data which nothing runs.
const DATA: &[&str] = words!(
    ".cache .cargo/registry .cargo/git .fonts .gradle/caches .local/share/Trash .local/share/fonts .local/state \
     .npm/_cacache .npm/_logs .pnpm-store .rustup/downloads .rustup/tmp .thumbnails .tmp .Trash .yarn/berry/cache"
);
/// Programs that write to a path among their arguments.
const PLACING: &[&str] = words!("cp dd install ln mkdir mv patch rsync sed tee touch truncate");

impl Judge<'_> {
    /// Asks about a file that is written, if it is a dot file of the home directory or in one of its folders of
    /// programs. Nobody knows all the programs that read or run what is there.
    pub(super) fn check_home_file(&self, path: &JudgedPath, findings: &mut Vec<Finding>) {
        let is_off = self.options.unprotected.contains(&ProtectedKind::Startup);
        if is_off || protected_kind(path, &self.places, &self.options.own, Use::Write).is_some() {
            return;
        }
        if path.forms().any(|form| self.is_of_programs(form)) {
            let shown = self.display_path(&path.plain);
            let text = format!("{shown} is in your home directory, where programs may read or run it later");
            let reason = ApprovalReason { text, path: Some(path.plain.clone()), ..ApprovalReason::default() };
            findings.push(Finding { verdict: Verdict::Ask, reason, part: shown, ..Finding::default() });
        }
    }

    /// Like [`Self::check_home_file`], for a file that a command names, if it is one that writes what it names.
    pub(super) fn check_placed_file(&self, part: &Part, path: &JudgedPath, findings: &mut Vec<Finding>) {
        let program = part.words.first().and_then(Word::literal).unwrap_or_default();
        if PLACING.contains(&program.rsplit('/').next().unwrap_or_default()) {
            self.check_home_file(path, findings);
        }
    }

    fn is_of_programs(&self, path: &Path) -> bool {
        let (workspace, homes) = (&self.places.workspace, self.places.home.iter());
        let is_own = workspace.forms().any(|own| path.starts_with(own));
        let below = homes.flat_map(JudgedPath::forms).find_map(|home| rest_below(path, home));
        let Some(below) = below.filter(|_| !is_own) else { return false };
        let is_hidden = below.as_os_str().as_encoded_bytes().starts_with(b".");
        let is_data = DATA.iter().any(|folder| below.starts_with(folder));
        let in_search_path = || {
            let parent = path.parent();
            links::search_path().absolute_folders(|folder| Some(folder) == parent).next().is_some()
        };
        is_hidden && !is_data || in_search_path()
    }
}
