//! Settings in directories, used only where the user trusts them.

use std::path::{Path, PathBuf};

use crate::args::CliArgs;
use crate::worktrees;
use tau_agent::settings::trust::{PROMPT_FILE, Project, uses_others_hooks};
use tau_agent::settings::{Paths, folder};
use tau_protocol::trust::{Folder, Trust};
use tau_tools::user_error::UserError;

/// The settings in the `.tau/` of directories.
#[derive(Clone, Debug, Default)]
pub struct ProjectSettings {
    /// The directories with settings, the nearest last, and the trust in each.
    projects: Vec<(Project, Trust)>,
    /// The directories as last shown to the user: an answer applies to this state.
    shown: Vec<(Project, Trust)>,
    /// Files of these directories that cannot be read, with the reasons.
    unused: Vec<UserError>,
}

impl ProjectSettings {
    /// The settings around `cwd`, read now. Fails when earlier answers about trust cannot be read.
    pub fn read(args: &CliArgs, paths: &Paths, cwd: Option<&Path>) -> Result<Self, UserError> {
        let Some(cwd) = cwd else { return Ok(ProjectSettings::default()) };
        let with_trust = |project: Project| {
            let trust = if args.trust { Trust::Trusted } else { trust(&project, paths)? };
            Ok((project, trust))
        };
        let projects =
            Project::around(cwd, &paths.config, &|| uses_others_hooks(paths)).into_iter().map(with_trust);
        let mut projects: Vec<_> = projects.collect::<Result<_, UserError>>()?;
        let unused = projects.iter().flat_map(|(project, _)| project.read_errors().to_vec()).collect();
        projects.retain(|(project, trust)| !project.is_empty() || *trust != Trust::Unknown);
        Ok(ProjectSettings { shown: projects.clone(), projects, unused })
    }

    /// Reads the directories again, to show them; the settings in use do not change. Fails when earlier
    /// answers about trust cannot be read.
    pub fn refresh(&mut self, args: &CliArgs, paths: &Paths, cwd: &Path) -> Result<(), UserError> {
        self.shown = ProjectSettings::read(args, paths, Some(cwd))?.shown;
        Ok(())
    }

    /// The project of a directory as last shown to the user.
    pub fn shown_project(&self, root: &Path) -> Option<&Project> {
        self.shown.iter().map(|(project, _)| project).find(|project| project.root() == root)
    }

    /// Files of the directories that cannot be read, trusted or not, with the reasons.
    pub(crate) fn read_errors(&self) -> &[UserError] {
        &self.unused
    }

    /// The projects whose settings are used, the nearest last.
    pub fn trusted_projects(&self) -> impl DoubleEndedIterator<Item = &Project> {
        self.projects.iter().filter(|(_, trust)| *trust == Trust::Trusted).map(|(project, _)| project)
    }

    /// The projects that were trusted before they changed.
    pub(crate) fn changed_projects(&self) -> impl Iterator<Item = &Project> {
        self.projects.iter().filter(|(_, trust)| *trust == Trust::Changed).map(|(project, _)| project)
    }

    /// The projects whose settings are not used, the nearest last.
    pub(crate) fn untrusted_projects(&self) -> impl Iterator<Item = &Project> {
        self.projects.iter().filter(|(_, trust)| *trust != Trust::Trusted).map(|(project, _)| project)
    }

    /// The prompt texts of the trusted projects, the nearest first.
    pub(crate) fn prompt_files(&self) -> Vec<(PathBuf, String)> {
        self.trusted_projects()
            .rev()
            .filter_map(|project| project.file(PROMPT_FILE).map(to_owned_file))
            .collect()
    }

    /// The directories as displayed to a user who works in `cwd`, the nearest last. Fails when earlier
    /// answers about trust cannot be read.
    pub fn folders(&self, cwd: &Path, kept: &Path) -> Result<Vec<Folder>, UserError> {
        let folder = |(project, trust): &(Project, Trust)| folder::of(project, *trust, cwd, kept);
        self.shown.iter().map(folder).collect()
    }

    /// The notice about ignored settings where the user cannot be asked.
    pub fn notice(&self, cwd: Option<&Path>) -> Option<String> {
        let cwd = cwd.and_then(|cwd| cwd.canonicalize().ok());
        let open = self.projects.iter().filter(|(_, trust)| matches!(trust, Trust::Unknown | Trust::Changed));
        let names = open.flat_map(|(project, _)| {
            let here = cwd.as_deref() == Some(project.root());
            let place =
                move |name: String| if here { name } else { project.root().join(name).display().to_string() };
            project.names().into_iter().map(place)
        });
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| {
            let names = names.join(", ");
            format!("ignoring {names}: this directory is not trusted; --trust uses its settings")
        })
    }
}

/// The answer about a project. Without one, the answer about the folder that it is a copy of counts.
fn trust(project: &Project, paths: &Paths) -> Result<Trust, UserError> {
    match project.trust(&paths.trust_file())? {
        Trust::Unknown => of_origin(project, paths),
        known => Ok(known),
    }
}

/// The answer about the same folder of the working tree that a worktree was made from, if its files are the same.
fn of_origin(project: &Project, paths: &Paths) -> Result<Trust, UserError> {
    let worktree = worktrees::around(paths, project.root());
    let origin = worktree.and_then(|worktree| {
        let below = project.root().strip_prefix(&worktree.path).ok()?;
        Some(worktrees::folder_below(&worktree.from, below))
    });
    match origin {
        Some(origin) => project.trust_of(&origin, &paths.trust_file()),
        None => Ok(Trust::Unknown),
    }
}

fn to_owned_file((path, text): (PathBuf, &str)) -> (PathBuf, String) {
    (path, text.to_owned())
}
