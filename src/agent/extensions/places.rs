//! The folders that extensions are loaded from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::hooks::{HookFile, HookFormat};
use super::packages::Package;
use crate::settings::other_folders::OtherFolders;
use tau_protocol::extension::ExtensionSource;
use tau_tools::access::FileFilter;

/// Folders of skills in the user's home directory, besides `skills/` in the folder of settings.
const USER_SKILLS: [&str; 4] = [".agents/skills", ".claude/skills", ".codex/skills", ".pi/agent/skills"];
/// Folders of skills in a project, in order of precedence.
const PROJECT_SKILLS: [&str; 4] = [".tau/skills", ".agents/skills", ".claude/skills", ".pi/skills"];

/// Folders of prompt templates in the user's home directory, besides `prompts/` in the folder of settings.
const USER_PROMPTS: [&str; 6] = *tau_tools::words!(
    ".claude/commands .codex/prompts .config/opencode/command .config/opencode/commands \
     .pi/agent/prompts .pi/prompts"
);
/// Folders of prompt templates in a project, in order of precedence.
const PROJECT_PROMPTS: [&str; 6] = *tau_tools::words!(
    ".tau/prompts .claude/commands .codex/prompts .opencode/command .opencode/commands .pi/prompts"
);

/// The folder of custom tools in a project.
const PROJECT_TOOLS: [&str; 1] = [".tau/tools"];

/// Folders of kinds of helpers in the user's home directory, besides `agents/` in the folder of settings.
const USER_KINDS: [&str; 4] =
    [".claude/agents", ".codex/agents", ".config/opencode/agent", ".config/opencode/agents"];
/// Folders of kinds of helpers in a project, in order of precedence.
const PROJECT_KINDS: [&str; 5] =
    [".tau/agents", ".claude/agents", ".codex/agents", ".opencode/agent", ".opencode/agents"];

/// A folder that is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub folder: PathBuf,
    pub source: ExtensionSource,
    /// The directory that links in a project must not leave; itself without links.
    pub within: Option<PathBuf>,
    /// The rules for files that links in a project lead to.
    pub rules: LinkRules,
}

/// The rules for the targets of links. They do not decide which folders are searched, so they are not compared.
#[derive(Clone, Debug, Default)]
pub struct LinkRules(pub Option<Arc<dyn FileFilter>>);

impl PartialEq for LinkRules {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LinkRules {}

/// The places that extensions are loaded from, in order of precedence, and related files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub skills: Vec<Place>,
    pub prompts: Vec<Place>,
    pub tools: Vec<Place>,
    /// Folders of kinds of helpers.
    pub kinds: Vec<Place>,
    /// Files that may define hooks, in the order in which their hooks run.
    pub hooks: Vec<HookFile>,
    /// The packages that the user has added, on or off.
    pub packages: Vec<Package>,
    /// Problems with the list of packages.
    pub problems: Vec<String>,
    /// The rules for files that links in projects lead to.
    pub rules: LinkRules,
    /// Other files that affect loading, whether or not they exist: settings, and the folders of trusted
    /// projects.
    pub files: Vec<PathBuf>,
}

impl Places {
    /// The user's own folders: in `config`, the folder of settings, and in the home directory.
    pub fn of_user(config: &Path, home: Option<&Path>) -> Self {
        Self::of_user_in(config, home.map(OtherFolders::usual).as_ref())
    }

    /// Like [`Places::of_user`], with the folders of other agents where their variables put them.
    pub fn of_user_in(config: &Path, folders: Option<&OtherFolders>) -> Self {
        let places = |own: &str, others: &[&str]| {
            let others = others.iter().filter_map(|folder| Some(folders?.place(folder)));
            let all = std::iter::once(config.join(own)).chain(others);
            all.map(|folder| Place {
                folder,
                source: ExtensionSource::User,
                within: None,
                rules: LinkRules::default(),
            })
            .collect()
        };
        Places {
            skills: places("skills", &USER_SKILLS),
            prompts: places("prompts", &USER_PROMPTS),
            tools: places("tools", &[]),
            kinds: places("agents", &USER_KINDS),
            ..Places::default()
        }
    }

    /// The places with those of the packages that are used; they come last.
    pub(super) fn with_packages(&self, is_used: impl Fn(&Package) -> bool) -> Self {
        let mut places = self.clone();
        for package in self.packages.iter().filter(|package| is_used(package)) {
            let parts = &package.record.parts;
            let place = |path: &String| Place {
                folder: package.root.join(path),
                source: ExtensionSource::Package,
                within: Some(package.root.clone()),
                rules: LinkRules::default(),
            };
            places.skills.extend(parts.skills.iter().map(place));
            places.prompts.extend(parts.prompts.iter().map(place));
            places.kinds.extend(parts.kinds.iter().map(place));
            places.tools.extend(parts.tools.iter().map(place));
            let (texts, problems) = package.hooks();
            let file = |(path, text)| HookFile {
                path,
                text,
                format: HookFormat::Json,
                source: ExtensionSource::Package,
                package: package.folders(),
            };
            places.hooks.extend(texts.into_iter().map(file));
            places.problems.extend(problems);
        }
        places
    }

    /// Adds folders of a trusted directory, which take precedence over earlier ones; only for tools, the
    /// user's take precedence. `root` has no links in it, and `folders` are the trusted ones, such as
    /// `.claude/skills`.
    pub fn add_project(&mut self, root: &Path, folders: &[&str]) {
        let places = |known: &[&str]| {
            let place = |folder: &&str| Place {
                folder: root.join(folder),
                source: ExtensionSource::Project,
                within: Some(root.to_owned()),
                rules: self.rules.clone(),
            };
            known.iter().filter(|known| folders.contains(known)).map(place).collect::<Vec<_>>()
        };
        self.skills.splice(0..0, places(&PROJECT_SKILLS));
        self.prompts.splice(0..0, places(&PROJECT_PROMPTS));
        self.kinds.splice(0..0, places(&PROJECT_KINDS));
        let own = self.tools.iter().take_while(|place| place.source == ExtensionSource::User).count();
        self.tools.splice(own..own, places(&PROJECT_TOOLS));
    }
}
