//! The directories that a command and its parts run in.

use std::borrow::Cow;
use std::path::PathBuf;

use super::derived::makes_links;
use super::{Base, Scene};
use crate::permissions::path_pattern::{JudgedPath, in_normal_form};
use crate::permissions::path_text::PathText;
use crate::permissions::shell::{Analysis, Part, Word};

/// The maximum number of directories that a command may be in after its `cd`s.
const MAX_DIRECTORIES: usize = 6;

impl Scene<'_> {
    pub(super) fn change_directory(&mut self, part: &Part) {
        let operands = part.words.get(1..).unwrap_or_default();
        let is_option =
            |word: &&Word| matches!(word.literal().as_deref(), Some("-P" | "-L" | "-e" | "-@" | "--"));
        let targets = match operands.iter().find(|word| !is_option(word)) {
            None => self.home(),
            Some(word) if word.literal().is_some_and(|text| text == "-" || text.starts_with('+')) => {
                vec![PathText::any()]
            }
            Some(word) => self.texts(word).iter().flat_map(|text| self.expand(text).into_owned()).collect(),
        };
        let others =
            part.repeats && self.analysis.loops && targets.iter().any(|target| !target.is_absolute());
        let known = self.directories.clone();
        for target in targets {
            known.iter().for_each(|from| self.add_directory(target.within(from)));
        }
        if others {
            self.add_directory(PathText::any());
        }
    }

    fn add_directory(&mut self, directory: PathText) {
        let directory = if directory.text().is_some() { directory } else { directory.normalise() };
        if self.directories.contains(&directory) {
            return;
        }
        let is_full = self.directories.len() >= MAX_DIRECTORIES;
        self.directories.push(if is_full { PathText::any() } else { directory });
    }

    /// From where a part sees relative paths.
    pub(super) fn base(&self, part: &Part) -> Base {
        if part.elsewhere {
            return Base::Unknown;
        }
        let Some(folders) = self.entered_folders(part) else {
            return Base::Working(self.directories_before(part));
        };
        let mut entered = self.entered.borrow_mut();
        let known = entered.iter().position(|other| *other == folders);
        Base::Entered(known.unwrap_or_else(|| {
            entered.push(folders);
            entered.len() - 1
        }))
    }

    /// From all directories of the command.
    pub(super) fn anywhere(&self) -> Base {
        Base::Working(self.directories.len())
    }

    /// How many of the directories a part may run in: those that are there when it is reached.
    fn directories_before(&self, part: &Part) -> usize {
        let before = self.directories_before.get(&part.span.start).filter(|_| !part.repeats);
        before.copied().unwrap_or(self.directories.len())
    }

    /// The directories that a part may run in; `None` if unknown.
    pub(in crate::permissions) fn directories_of(&self, part: &Part) -> Option<Vec<PathBuf>> {
        let before = self.directories_before(part);
        let known = self.known_directories().iter().take(before).filter(|_| !part.elsewhere).cloned();
        known.collect::<Option<Vec<_>>>().filter(|known| !known.is_empty())
    }

    /// The directories as paths, where they are fully known.
    pub(super) fn known_directories(&self) -> &[Option<PathBuf>] {
        self.known_directories.get_or_init(|| self.directories.iter().map(PathText::path).collect())
    }

    /// The only folders that a part can run in, as it runs behind `cd`; `None` if it does not, or they are unknown.
    pub(in crate::permissions) fn entered_folders(&self, part: &Part) -> Option<Vec<PathBuf>> {
        let first = part.entered.first()?.span.start;
        if !self.enters_known_folders() {
            return None;
        }
        let below: PathBuf =
            part.entered.iter().map(|word| word.literal().map(Cow::into_owned)).collect::<Option<_>>()?;
        // The `cd` to the first of them is the last part that begins before it. The part may be repeated without it.
        let parts = self.analysis.parts.iter().filter(|other| other.span.start < first);
        let change = parts.max_by_key(|other| other.span.start)?;
        let before = self.directories_before(change);
        let known = self.known_directories().iter().take(before).filter(|_| !part.elsewhere);
        let known = known.map(|folder| Some(in_normal_form(folder.as_ref()?.join(&below))));
        known.collect::<Option<Vec<_>>>().filter(|known| !known.is_empty())
    }

    /// Whether nothing makes a link that leads elsewhere, or changes the directory unseen.
    fn enters_known_folders(&self) -> bool {
        *self.enters_known.get_or_init(|| {
            let Analysis { parts, doubts, functions, .. } = self.analysis;
            doubts.is_empty() && functions.is_empty() && !parts.iter().any(makes_links)
        })
    }

    /// The known directories that parts may run in.
    pub(in crate::permissions) fn working_directories(&self) -> Vec<JudgedPath> {
        self.known_directories().iter().flatten().map(|path| JudgedPath::new(path)).collect()
    }

    /// Like [`Scene::working_directories`], with the folders that the commands running a part name: `env -C DIR`.
    pub(in crate::permissions) fn directories_with_outer(&self, part: &Part) -> Vec<JudgedPath> {
        let before = part.outer.iter().filter_map(|(words, start)| words.get(1..*start));
        let named = before.flatten().flat_map(|word| self.folder(word));
        self.working_directories().into_iter().chain(named.map(|path| JudgedPath::new(&path))).collect()
    }
}
