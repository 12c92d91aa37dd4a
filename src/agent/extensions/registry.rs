//! Loads extensions from the places of a directory, and shares the result.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::changes::{self, ExtensionChange, FileStamps};
use super::custom_tools::{self, CustomTool, FoundTool};
use super::helper_kinds::{self, FoundKind, HelperKind};
use super::hooks::{self, Hook};
use super::mcp::search;
use super::packages::Package;
use super::places::{Place, Places};
use super::skills::listing::{SKILL_BUDGET, SkillListing, listing};
use super::skills::{self, Skill};
use super::templates::{self, Template};
use super::{MAX_CUSTOM_TOOLS, MAX_EXTENSIONS, MAX_HELPER_KINDS, SKILL_PREFIX, builtin};
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionState, PromptCommand};
use tau_tools::user_error::UserError;

/// The extensions loaded from files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedExtensions {
    /// The usable skills, by name.
    pub skills: Vec<Skill>,
    /// The list of skills in the system prompt.
    pub listing: SkillListing,
    /// The usable prompt templates, by name.
    pub templates: Vec<Template>,
    /// The active hooks, in order.
    pub hooks: Vec<Hook>,
    /// The tools that the model can call, by name.
    pub tools: Vec<Arc<CustomTool>>,
    /// The usable kinds of helpers, by name.
    pub kinds: Vec<HelperKind>,
    /// All extensions that were found, used or not.
    pub rows: Vec<ExtensionRow>,
    /// Problems with folders.
    pub problems: Vec<String>,
    /// The file stamps of skills and prompt templates.
    stamps: FileStamps,
}

impl LoadedExtensions {
    /// Loads the extensions of places. Blocks.
    pub fn from_places(places: &Places, options: &ExtensionOptions) -> Self {
        let mut loaded = LoadedExtensions::default();
        let rows: Vec<ExtensionRow> = places.packages.iter().map(Package::row).collect();
        let is_off = |row: &ExtensionRow| options.off.contains(&row.id());
        let places = &places.with_packages(|package| package.problem.is_none() && !is_off(&package.row()));
        loaded.problems.extend(places.problems.clone());
        // There may be a thousand of each, and most of the time is spent in system calls; where there are none, a
        // thread would take longer than they do.
        let (skills, templates) = std::thread::scope(|scope| {
            let has_templates = places.prompts.iter().any(|place| place.folder.exists());
            let templates = has_templates.then(|| scope.spawn(|| all_of(&places.prompts, templates::find)));
            let skills = all_of(&places.skills, skills::find);
            let templates = templates.map(std::thread::ScopedJoinHandle::join).transpose();
            (skills, templates.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).unwrap_or_default())
        });
        loaded.problems.extend(skills.1);
        loaded.take_skills(skills.0, options);
        loaded.problems.extend(templates.1);
        let found = templates.0.into_iter().take(MAX_EXTENSIONS).chain(builtin::templates());
        loaded.take_templates(found, options);
        for file in &places.hooks {
            let (hooks, problems) = hooks::find(file);
            loaded.take_hooks(hooks, options);
            loaded.problems.extend(problems);
        }
        for place in &places.tools {
            let (tools, problems) = custom_tools::find(place, options.shell.as_deref());
            tools.into_iter().for_each(|found| loaded.take_tool(found, options));
            loaded.problems.extend(problems);
        }
        let (kinds, problems) = all_of(&places.kinds, helper_kinds::find);
        kinds.into_iter().for_each(|found| loaded.take_kind(found, options));
        loaded.problems.extend(problems);
        loaded.kinds.sort_by(|one, other| one.name.cmp(&other.name));
        loaded.take_packages(rows, is_off);
        loaded.tools.sort_by(|one, other| one.name().cmp(other.name()));
        loaded.stamps = stamps(&loaded.rows);
        loaded
    }

    /// Adds the rows of packages, with the tokens of what is in them.
    fn take_packages(&mut self, rows: Vec<ExtensionRow>, is_off: impl Fn(&ExtensionRow) -> bool) {
        let mut rows = rows;
        for row in &mut rows {
            let within = |other: &&ExtensionRow| {
                let (Some(root), Some(path)) = (&row.path, &other.path) else { return false };
                path.starts_with(root)
            };
            let tokens: u64 = self.rows.iter().filter(within).filter_map(|other| other.tokens).sum();
            row.tokens = (tokens > 0).then_some(tokens);
        }
        let rows = rows.into_iter();
        self.rows.extend(rows.map(|row| match row.state {
            ExtensionState::On if is_off(&row) => off(row),
            _ => row,
        }));
    }

    /// Selects the usable templates. Those of higher precedence come first.
    fn take_templates(&mut self, found: impl Iterator<Item = Template>, options: &ExtensionOptions) {
        let mut used: HashMap<String, Option<PathBuf>> = HashMap::new();
        for mut template in found {
            let mut state = ExtensionState::On;
            if template.is_broken {
                state = ExtensionState::Failed;
            } else if let Some(other) = used.get(&template.name) {
                let other = other.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
                template.problems.push(format!("{other} has the same name and is used instead"));
                state = ExtensionState::Off;
            } else {
                used.insert(template.name.clone(), template.path.clone());
            }
            if options.own_commands.contains(&template.name) {
                let name = &template.name;
                template.problems.push(format!(
                    "on the screen /{name} is a command of tau, which hides this one; rename the file"
                ));
            }
            let row = ExtensionRow {
                kind: ExtensionKind::PromptTemplate,
                name: template.name.clone(),
                description: template.description.clone(),
                source: template.source,
                path: template.path.clone(),
                state,
                problems: template.problems.clone(),
                tokens: None,
            };
            let is_off = state == ExtensionState::On && options.off.contains(&row.id());
            let row = if is_off { off(row) } else { row };
            if row.state == ExtensionState::On {
                self.templates.push(template);
            }
            self.rows.push(row);
        }
        self.templates.sort_by(|one, other| one.name.cmp(&other.name));
    }

    /// The commands of templates and skills, by name.
    pub fn commands(&self) -> Vec<PromptCommand> {
        let templates = self.templates.iter().map(|template| PromptCommand {
            name: template.name.clone(),
            description: template.description.clone(),
            argument_hint: template.argument_hint.clone(),
            kind: ExtensionKind::PromptTemplate,
            source: template.source,
            path: template.path.clone(),
            arguments: Vec::new(),
        });
        let skills = self.skills.iter().map(|skill| PromptCommand {
            name: format!("{SKILL_PREFIX}{}", skill.name),
            description: skill.description.clone(),
            argument_hint: skill.argument_hint.clone(),
            kind: ExtensionKind::Skill,
            source: skill.source,
            path: Some(skill.path.clone()),
            arguments: Vec::new(),
        });
        templates.chain(skills).collect()
    }

    /// Selects the usable skills. Those of higher precedence come first.
    fn take_skills(&mut self, found: Vec<Skill>, options: &ExtensionOptions) {
        let mut used: HashMap<String, PathBuf> = HashMap::new();
        for mut skill in found {
            let mut state = ExtensionState::On;
            if skill.is_broken {
                state = ExtensionState::Failed;
            } else if let Some(other) = used.get(&skill.name) {
                skill.problems.push(format!("{} has the same name and is used instead", other.display()));
                state = ExtensionState::Off;
            } else {
                used.insert(skill.name.clone(), skill.path.clone());
            }
            let row = ExtensionRow {
                kind: ExtensionKind::Skill,
                name: skill.name.clone(),
                description: skill.description.clone(),
                source: skill.source,
                path: Some(skill.path.clone()),
                state,
                problems: skill.problems.clone(),
                tokens: None,
            };
            let is_off = options.off.contains(&row.id());
            let row = if is_off && state == ExtensionState::On { off(row) } else { row };
            if row.state == ExtensionState::On {
                self.skills.push(skill);
            }
            self.rows.push(row);
        }
        self.skills.sort_by(|one, other| one.name.cmp(&other.name));
        self.listing = listing(&self.skills, SKILL_BUDGET);
        let tokens: HashMap<&Path, u64> = self
            .skills
            .iter()
            .zip(&self.listing.tokens)
            .filter_map(|(skill, tokens)| Some((skill.path.as_path(), (*tokens)?)))
            .collect();
        for row in &mut self.rows {
            row.tokens = row.path.as_deref().and_then(|path| tokens.get(path)).copied();
        }
        self.problems.extend(self.listing.problem.clone());
    }

    fn take_hooks(&mut self, hooks: Vec<Hook>, options: &ExtensionOptions) {
        for hook in hooks {
            let row = hook.row();
            let is_off = options.off.contains(&row.id());
            self.rows.push(if is_off { off(row) } else { row });
            self.hooks.extend((!is_off).then_some(hook));
        }
    }

    /// Adds a tool, if it is used. Tools of higher precedence come first.
    fn take_tool(&mut self, found: FoundTool, options: &ExtensionOptions) {
        let mut row = found.row();
        let is_full = self.tools.len() >= MAX_CUSTOM_TOOLS;
        if let Ok(tool) = found.tool
            && self.uses(&mut row, options, is_full.then(|| format!("{MAX_CUSTOM_TOOLS} tools")))
        {
            row.tokens = Some(search::tokens(&[Arc::clone(&tool) as _]));
            self.tools.push(tool);
        }
        self.rows.push(row);
    }

    /// Adds a kind of helper, if it is used. Kinds of higher precedence come first.
    fn take_kind(&mut self, found: FoundKind, options: &ExtensionOptions) {
        let mut row = found.row();
        let is_full = self.kinds.len() >= MAX_HELPER_KINDS;
        if row.state == ExtensionState::On
            && self.uses(&mut row, options, is_full.then(|| format!("{MAX_HELPER_KINDS} kinds of helpers")))
        {
            row.problems.extend(found.kind.unknown_tools(&self.tools));
            self.kinds.push(found.kind);
        }
        self.rows.push(row);
    }

    /// Decides whether an extension is used; `full` are all that are, if no more may be.
    fn uses(&self, row: &mut ExtensionRow, options: &ExtensionOptions, full: Option<String>) -> bool {
        let same = |other: &&ExtensionRow| {
            other.kind == row.kind && other.name == row.name && other.state != ExtensionState::Failed
        };
        if let Some(other) = self.rows.iter().find(same).and_then(|other| other.path.as_ref()) {
            row.problems.push(format!("{} has the same name and is used instead", other.display()));
        } else if !options.off.contains(&row.id()) {
            let Some(full) = full else { return true };
            row.problems.push(format!("only {full} are used"));
        }
        row.state = ExtensionState::Off;
        false
    }

    /// Adds a problem to the rows of kinds of helpers whose model cannot be used, as `fault` says.
    pub fn name_models(&self, rows: &mut [ExtensionRow], fault: impl Fn(&str) -> Option<UserError>) {
        for kind in &self.kinds {
            let Some(why) = kind.model.as_deref().and_then(&fault) else { continue };
            let is_it = |row: &&mut ExtensionRow| {
                row.kind == ExtensionKind::HelperKind
                    && row.state == ExtensionState::On
                    && row.name == kind.name
            };
            let text = format!("its model cannot be used, and that of its parent is used instead: {why}");
            rows.iter_mut().filter(is_it).for_each(|row| row.problems.push(text.clone()));
        }
    }

    /// The skill with this name.
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }
}

/// The extensions found in all places, and the problems of the places.
fn all_of<T>(places: &[Place], find: impl Fn(&Place) -> (Vec<T>, Vec<String>)) -> (Vec<T>, Vec<String>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for (found, wrong) in places.iter().map(find) {
        all.extend(found);
        problems.extend(wrong);
    }
    (all, problems)
}

/// The stamps of files that hold one extension each.
fn stamps(rows: &[ExtensionRow]) -> FileStamps {
    use ExtensionKind::{CustomTool, HelperKind, PromptTemplate, Skill};
    let is_own = |kind| matches!(kind, Skill | PromptTemplate | CustomTool | HelperKind);
    let paths = rows.iter().filter(|row| is_own(row.kind)).filter_map(|row| row.path.as_ref());
    let stamp = |path: &PathBuf| {
        let file = std::fs::metadata(path).ok()?;
        Some((path.clone(), (file.modified().ok()?, file.len())))
    };
    paths.filter_map(stamp).collect()
}

fn off(row: ExtensionRow) -> ExtensionRow {
    ExtensionRow { state: ExtensionState::Off, ..row }
}

/// The user's settings for extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionOptions {
    /// Extensions that are turned off, as `skill:name`.
    pub off: Vec<String>,
    /// The shell that runs the commands of custom tools, if one is configured.
    pub shell: Option<PathBuf>,
    /// The commands of the screen, without the slash, that hide prompt templates of the same name.
    pub own_commands: Vec<String>,
}

/// The directory and the places that extensions were loaded from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The directory of the session.
    pub cwd: PathBuf,
    pub places: Places,
}

type FindPlaces = dyn Fn(&Path) -> Places + Send + Sync;
type MoreRows = dyn Fn() -> Vec<ExtensionRow> + Send + Sync;

/// The loaded extensions, shared by the agent and its front end.
#[derive(Default)]
pub struct Extensions {
    options: Mutex<ExtensionOptions>,
    places: Option<Box<FindPlaces>>,
    loaded: Mutex<Arc<LoadedExtensions>>,
    /// The directory and places of the last load.
    origin: watch::Sender<Origin>,
    more: Mutex<Vec<Box<MoreRows>>>,
}

impl std::fmt::Debug for Extensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extensions").field("loaded", &self.current()).finish_non_exhaustive()
    }
}

impl Extensions {
    /// Extensions from the places that `places` returns for the directory of a session. Nothing is loaded
    /// yet.
    pub fn new(places: impl Fn(&Path) -> Places + Send + Sync + 'static) -> Self {
        Extensions { places: Some(Box::new(places)), ..Extensions::default() }
    }

    /// Uses these options from the next load on.
    pub fn set_options(&self, options: ExtensionOptions) {
        *self.options.lock() = options;
    }

    /// Loads the extensions for a session in `cwd`. Blocks.
    pub fn load(&self, cwd: &Path) -> Arc<LoadedExtensions> {
        let Some(places) = &self.places else { return self.current() };
        let options = self.options.lock().clone();
        let origin = Origin { cwd: cwd.to_owned(), places: places(cwd) };
        let loaded = Arc::new(LoadedExtensions::from_places(&origin.places, &options));
        self.origin.send_if_modified(|old| std::mem::replace(old, origin.clone()) != origin);
        *self.loaded.lock() = Arc::clone(&loaded);
        loaded
    }

    /// Loads everything again for the same directory and returns the differences. Blocks.
    pub fn reload(&self) -> Vec<ExtensionChange> {
        let (before, cwd) = (self.current(), self.origin.borrow().cwd.clone());
        let after = self.load(&cwd);
        changes::between((&before.rows, &before.stamps), (&after.rows, &after.stamps))
    }

    /// The origin of the extensions, now and whenever it changes.
    pub fn origin(&self) -> watch::Receiver<Origin> {
        self.origin.subscribe()
    }

    /// The result of the last load.
    pub fn current(&self) -> Arc<LoadedExtensions> {
        Arc::clone(&self.loaded.lock())
    }

    /// Adds rows that do not come from these places. `rows` must not block.
    pub fn add_rows(&self, rows: impl Fn() -> Vec<ExtensionRow> + Send + Sync + 'static) {
        self.more.lock().push(Box::new(rows));
    }

    /// The rows of all extensions, by kind and name.
    pub fn rows(&self) -> Vec<ExtensionRow> {
        let mut rows = self.current().rows.clone();
        for more in self.more.lock().iter() {
            rows.extend(more());
        }
        rows.sort_by(|one, other| {
            (one.kind, &one.name, &one.path).cmp(&(other.kind, &other.name, &other.path))
        });
        rows
    }
}
