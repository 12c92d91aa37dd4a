//! Decides which files a tool may read during a search, file by file.
//!
//! Files that a rule denies are left out. So are files that a rule or a protected path requires approval for,
//! unless the folder named by the call was approved for the same reason: then the user has allowed them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::denied_files::{Listener, denied_files, has_denials, recent_denied_files, shortfall};
use super::path_pattern::{JudgedPath, Places};
use super::protected::{ProtectedKind, Use, protected_kind};
use super::rule::{Pattern, Rule};
use super::{Permissions, Verdict};
use tau_tools::access::{DeniedFile, DeniedFiles, DeniedUse, FileFilter, FolderFilter, LeftOut};
use tau_tools::sandbox::confinement::covers_files;

/// The reason why a file that another one leads to, by a link or an import, may not be read unasked, as the end of a
/// sentence. `within` bounds what a project may lead to; the user's own files have no such bound.
pub(crate) fn refusal(path: &Path, within: Option<&Path>, rules: Option<&dyn FileFilter>) -> Option<String> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let denied = rules.and_then(|rules| rules.denies(&real));
    let Some(within) = within.filter(|_| denied.is_none()) else { return denied };
    let within = within.canonicalize().unwrap_or_else(|_| within.to_owned());
    let Ok(below) = real.strip_prefix(&within) else {
        return Some("it is outside the project; import it in your own AGENTS.md".to_owned());
    };
    if below.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
        return Some("files such as .env may hold secrets".to_owned());
    }
    rules?.below("read", &within)?.leaves_out(below).map(|left_out| left_out.why)
}

/// The rules on files, and the protected paths.
#[derive(Clone, Debug)]
struct ReadingRules {
    /// The deny and ask rules.
    rules: Vec<(Verdict, Rule)>,
    /// The rules that deny hosts.
    hosts: Vec<Rule>,
    unprotected: Vec<ProtectedKind>,
    own: Vec<PathBuf>,
    undo: Option<PathBuf>,
    places: Places,
}

/// The reading rules below a folder.
#[derive(Debug)]
struct BelowFolder {
    rules: Arc<ReadingRules>,
    folder: JudgedPath,
    /// The files that commands cannot read, without links, and the rules.
    denied: HashMap<PathBuf, String>,
}

impl Permissions {
    /// The filter for files that tools find. `cwd` and `home` are those of [`super::CallFacts`].
    pub fn file_filter(&self, cwd: &Path, home: Option<&Path>) -> Arc<dyn FileFilter> {
        let is_strict = |rule: &&super::RuleInForce| rule.list > Verdict::Allow;
        let of_paths = |rule: &Rule| matches!(rule.pattern(), Pattern::Path(_));
        let denying = self.rules().iter().filter(|rule| rule.list == Verdict::Deny).map(|rule| &rule.rule);
        let hosts = denying.filter(|rule| matches!(rule.pattern(), Pattern::Host(_))).cloned().collect();
        let rules = self.rules().iter().filter(is_strict).filter(|rule| of_paths(&rule.rule));
        let reading = ReadingRules {
            rules: rules.map(|rule| (rule.list, rule.rule.clone())).collect(),
            hosts,
            unprotected: self.options().unprotected.clone(),
            own: self.options().own.clone(),
            undo: self.options().undo.clone(),
            places: Places::new(cwd, home),
        };
        Arc::new(reading)
    }
}

impl ReadingRules {
    /// The strictest rule about a path.
    fn rule(&self, path: &JudgedPath) -> Option<(Verdict, &Rule)> {
        let is_about = |rule: &Rule| matches!(rule.pattern(), Pattern::Path(pattern) if pattern.concerns(path, &self.places));
        let found = self.rules.iter().filter(|(_, rule)| is_about(rule));
        found.map(|(list, rule)| (*list, rule)).max_by_key(|(list, _)| *list)
    }

    /// The rules that deny.
    fn denying(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|(list, _)| *list == Verdict::Deny).map(|(_, rule)| rule)
    }

    fn protected_kind(&self, path: &JudgedPath) -> Option<ProtectedKind> {
        let kind = protected_kind(path, &self.places, &self.own, Use::Read);
        kind.filter(|kind| !self.unprotected.contains(kind))
    }

    /// The files and folders that rules keep commands from reading, without links, and the rules.
    fn unreadable(&self) -> HashMap<PathBuf, String> {
        let files = recent_denied_files(self.denying(), &self.places);
        let files = files.iter().filter(|file| file.denied == DeniedUse::Read);
        files.map(|file| (file.path.clone(), file.rule.clone())).collect()
    }

    /// Keeps only the rules that name the tool, or reading.
    fn only(&self, tool: &str) -> Self {
        let is_about = |rule: &Rule| rule.tool() == "read" || rule.names_tool(tool);
        let rules = self.rules.iter().filter(|(_, rule)| is_about(rule)).cloned().collect();
        ReadingRules { rules, ..self.clone() }
    }
}

impl FileFilter for ReadingRules {
    fn below(&self, tool: &str, folder: &Path) -> Option<Arc<dyn FolderFilter>> {
        let folder = JudgedPath::new(folder);
        let mut rules = self.only(tool);
        // Reasons for which the folder itself was asked about have been approved by the user.
        let places = rules.places.clone();
        rules.rules.retain(|(list, rule)| {
            let is_of_folder = matches!(rule.pattern(), Pattern::Path(pattern)
                if pattern.concerns(&folder, &places) || pattern.is_of_folder(&folder, &places));
            *list == Verdict::Deny || !is_of_folder
        });
        let allowed = rules.protected_kind(&folder);
        rules.unprotected.extend(allowed);
        let denied = self.unreadable();
        Some(Arc::new(BelowFolder { rules: Arc::new(rules), folder, denied }))
    }

    fn denies(&self, path: &Path) -> Option<String> {
        let path = JudgedPath::new(path);
        let rules = self.only("read");
        let by_name = rules.rule(&path).filter(|(list, _)| *list == Verdict::Deny);
        let rule = by_name.map(|(_, rule)| rule.to_string()).or_else(|| {
            let mut denied = self.unreadable();
            path.real.ancestors().find_map(|path| denied.remove(path))
        })?;
        Some(format!("a rule denies reading it ({rule})"))
    }

    fn denies_address(&self, address: IpAddr) -> Option<String> {
        let address = address.to_string();
        let is_about =
            |rule: &&Rule| matches!(rule.pattern(), Pattern::Host(host) if host.concerns(&address));
        self.hosts.iter().find(is_about).map(Rule::to_string)
    }

    fn has_denials(&self) -> bool {
        has_denials(self.denying())
    }

    fn denied_files(&self) -> DeniedFiles {
        let mut files = denied_files(self.denying(), &self.places);
        // Undo keeps copies of them.
        let unreadable = files.iter().find(|file| file.denied == DeniedUse::Read);
        let store = self.undo.as_ref().zip(unreadable).and_then(|(folder, file)| {
            let path = folder.canonicalize().ok()?;
            let is_needed = self.places.workspace.real.starts_with(&path);
            (!is_needed).then(|| DeniedFile { path, ..file.clone() })
        });
        files.extend(store);
        DeniedFiles { files, shortfall: shortfall(&self.places, Listener::Model) }
    }

    fn take_shortfall(&self) -> Option<String> {
        shortfall(&self.places, Listener::User).filter(|_| covers_files())
    }
}

impl FolderFilter for BelowFolder {
    fn leaves_out(&self, below: &Path) -> Option<LeftOut> {
        // A walk follows no links, so there are none below the folder.
        let path = JudgedPath { plain: self.folder.plain.join(below), real: self.folder.real.join(below) };
        let mut above = path.real.ancestors().filter(|_| !self.denied.is_empty());
        if let Some(rule) = above.find_map(|path| self.denied.get(path)) {
            return Some(LeftOut { name: true, why: format!("a rule denies reading them ({rule})") });
        }
        match self.rules.rule(&path) {
            Some((Verdict::Deny, rule)) => {
                Some(LeftOut { name: true, why: format!("a rule denies reading them ({rule})") })
            }
            Some((_, rule)) => {
                Some(LeftOut { name: false, why: format!("a rule asks before reading ({rule})") })
            }
            None => self
                .rules
                .protected_kind(&path)
                .map(|kind| LeftOut { name: false, why: format!("protected, {}", kind.what()) }),
        }
    }
}
