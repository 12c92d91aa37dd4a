//! The user's theme files: their names, and the content of the one in use.
//!
//! The folder and the file are checked when the system reports a change in the folder, when a key is pressed
//! and when the window gets the focus, and read again if they have changed. Therefore nothing runs while
//! nothing happens.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::extension_watch::DirectoryWatch;
use super::live_screen::LiveScreen;
use tau_agent::extensions::watched::Interest;
use tau_agent::settings::MAX_BYTES;
use tau_app::Msg;
use tau_app::background::AUTO;
use tau_protocol::event::{AgentEvent, NoticeLevel, TaskEvent};
use tau_tools::paths::resolve;
use tau_tools::regular_files::read_text;
use tau_tools::user_error::UserError;
use tau_view::theme::Theme;

/// The ending of a file's name.
const ENDING: &str = ".toml";

/// The user's theme files.
#[derive(Debug)]
pub struct ThemeFiles {
    dir: PathBuf,
    /// The read files, each with its modification time and length.
    read: HashMap<String, (SystemTime, u64)>,
    /// Modification time of the listed folder.
    listed: Option<SystemTime>,
    /// The folder of the theme in use, if that was given as a path.
    elsewhere: Option<PathBuf>,
    watch: Watch,
}

/// The source of reported changes in the folders.
#[derive(Debug)]
enum Watch {
    /// To be started by the first wait.
    Due,
    /// Started; `None` where changes are not reported.
    Begun(Option<DirectoryWatch>),
}

impl ThemeFiles {
    /// The files in this folder, and others given as paths.
    pub fn new(dir: PathBuf) -> Self {
        ThemeFiles { dir, read: HashMap::new(), listed: None, elsewhere: None, watch: Watch::Due }
    }

    /// The names of all themes: `auto`, the built-in ones, and the folder's.
    pub fn all_names(&self) -> Vec<String> {
        std::iter::once(AUTO).chain(Theme::names()).map(str::to_owned).chain(self.names()).collect()
    }

    /// Waits until something in the folders has changed; forever where that is not reported. Cancel safe.
    pub(super) async fn wait_for_change(&mut self) {
        if let Watch::Due = self.watch {
            let folders = self.elsewhere.iter().chain([&self.dir]);
            let all = folders.map(|folder| (folder.clone(), Interest::All)).collect();
            self.watch = Watch::Begun(DirectoryWatch::new(&all));
        }
        match &mut self.watch {
            Watch::Begun(watch) => DirectoryWatch::wait_for_change(watch).await,
            Watch::Due => std::future::pending().await,
        }
    }

    /// Applies what has changed. Fails when the recording cannot be written.
    pub fn follow(&mut self, screen: &mut LiveScreen) -> io::Result<()> {
        self.follow_folder(screen)?;
        self.follow_shown_theme(screen)
    }

    /// Lists the themes again if a file was made or removed since.
    fn follow_folder(&mut self, screen: &mut LiveScreen) -> io::Result<()> {
        let changed = std::fs::metadata(&self.dir).and_then(|dir| dir.modified()).ok();
        let before = std::mem::replace(&mut self.listed, changed);
        if before == changed {
            return Ok(());
        }
        if before.is_none() {
            self.watch = Watch::Due;
        }
        let names = self.all_names();
        let is_known = screen.model().is_some_and(|model| model.boot.themes == names);
        if is_known { Ok(()) } else { screen.fold(Msg::ThemesListed(names)) }
    }

    /// Applies the current file of the user's theme. An unreadable one does not change the look.
    fn follow_shown_theme(&mut self, screen: &mut LiveScreen) -> io::Result<()> {
        let Some(name) = screen.model().map(|model| model.effective_theme().to_owned()) else {
            return Ok(());
        };
        let elsewhere = name.ends_with(ENDING).then(|| self.path(&name)).and_then(|path| folder(&path));
        if std::mem::replace(&mut self.elsewhere, elsewhere.clone()) != elsewhere {
            self.watch = Watch::Due;
        }
        match self.read_if_changed(&name) {
            None => Ok(()),
            Some(Ok(theme)) => {
                screen.dirty |= screen.memo.add_theme(&name, theme);
                Ok(())
            }
            Some(Err(text)) => {
                let hint = Some("the theme stays as it was; fix the file and save it".to_owned());
                screen.fold(Msg::Agent(AgentEvent::Task(TaskEvent::Notice {
                    level: NoticeLevel::Warning,
                    text: text.into(),
                    hint,
                })))
            }
        }
    }

    /// The names of the themes in the folder, sorted.
    fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names =
            files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(ENDING)?.to_owned()));
        let mut names: Vec<String> = names.filter(|name| !is_built_in(name)).collect();
        names.sort_unstable();
        names
    }

    /// The file of a theme.
    pub fn path(&self, name: &str) -> PathBuf {
        match name.ends_with(ENDING) {
            true => resolve(Path::new(""), name),
            false => self.dir.join(format!("{name}{ENDING}")),
        }
    }

    /// The theme with that name, if its current file was not read yet. `None` also without a file: the
    /// earlier theme stays.
    pub fn read_if_changed(&mut self, name: &str) -> Option<Result<Theme, UserError>> {
        if is_built_in(name) {
            return None;
        }
        let path = self.path(name);
        let found = std::fs::metadata(&path).ok()?;
        let state = (found.modified().ok()?, found.len());
        if self.read.get(name) == Some(&state) {
            return None;
        }
        let text = text_of(&path);
        // A program that saves it in place empties it first; the end of that is reported, too.
        if text.as_ref().is_ok_and(String::is_empty) {
            return None;
        }
        self.read.insert(name.to_owned(), state);
        Some(text.and_then(|text| parse_theme(&path, &text)))
    }
}

fn text_of(path: &Path) -> Result<String, UserError> {
    read_text(path, MAX_BYTES).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The theme in a file; the error names the file, the line and the fault.
fn parse_theme(path: &Path, text: &str) -> Result<Theme, UserError> {
    Theme::parse(text).map_err(|error| format!("{}:{}: {}", path.display(), error.line, error.text).into())
}

fn folder(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    Some(if folder == Path::new("") { PathBuf::from(".") } else { folder.to_owned() })
}

fn is_built_in(name: &str) -> bool {
    name == AUTO || Theme::names().any(|known| known == name)
}
