//! Patterns of paths, as in `edit(src/**)`, and paths in the form in which they are compared.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use unicode_normalization::UnicodeNormalization;

use super::links::follow_links;
use super::path_text::{self, Area, PathText};
use tau_tools::user_error::UserError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Workspace,
    /// The workspace, at any depth; anywhere for rules that ask or deny.
    Floating,
    Home,
    Root,
}

/// A pattern of paths, like a line of a `.gitignore`. Names that differ only in how their characters are composed (NFC,
/// NFD) are the same to it: they look alike, and tools find a file by either.
#[derive(Clone, Debug)]
pub(super) struct PathPattern {
    base: Base,
    globs: Globs,
    /// The case-insensitive pattern, for file systems that ignore case.
    caseless: Globs,
    /// A name that every path it matches has, in some case. Most paths do not, and are not compared further.
    name: Option<String>,
    /// The folder whose content the pattern matches, if it ends in `/**`.
    folder: Option<Globs>,
    /// The pattern as texts with holes, relative to its base.
    areas: Vec<Area>,
}

/// The part of the disk that a pattern is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// It is about this file, or this folder with everything in it.
    Whole(PathBuf),
    /// It is about something in this folder.
    Folder(PathBuf),
}

/// Whether a rule is about a path that is not fully known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    #[default]
    No,
    /// It depends on a value that only the shell knows.
    May,
    /// It is, or one of the files that match a pattern in the command would be.
    Yes,
}

/// A path in both of its forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JudgedPath {
    /// Without `.` and `..`, links not followed.
    pub plain: PathBuf,
    /// Links followed as far as it exists.
    pub real: PathBuf,
}

impl JudgedPath {
    /// Both forms of an absolute path.
    pub(super) fn new(path: &Path) -> Self {
        JudgedPath::of(path.to_owned())
    }

    /// Both forms of an absolute path.
    pub(super) fn of(path: PathBuf) -> Self {
        let real = in_normal_form(follow_links(&path));
        JudgedPath { plain: in_normal_form(path), real }
    }

    /// The given form, and the real one if it differs.
    pub(super) fn forms(&self) -> impl Iterator<Item = &Path> + Clone {
        let real = (!self.is_plain()).then_some(self.real.as_path());
        std::iter::once(self.plain.as_path()).chain(real)
    }

    /// Whether both forms are the same.
    fn is_plain(&self) -> bool {
        self.real.as_os_str() == self.plain.as_os_str()
    }
}

/// One of the two forms of a path.
type Form = fn(&JudgedPath) -> &Path;

/// The base directories of patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub workspace: JudgedPath,
    pub home: Option<JudgedPath>,
}

impl Places {
    /// The workspace and the home directory of a call.
    pub(super) fn new(cwd: &Path, home: Option<&Path>) -> Self {
        Places { workspace: JudgedPath::new(cwd), home: home.map(JudgedPath::new) }
    }
}

/// A path without `.` and `..`, as far as possible without accessing the disk.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    if is_normal(path) {
        return path.to_owned();
    }
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Like [`normalise`], for a path that usually is.
pub(super) fn in_normal_form(path: PathBuf) -> PathBuf {
    if is_normal(&path) { path } else { normalise(&path) }
}

/// A path with the characters of its names composed (NFC).
fn to_nfc(path: &Path) -> Cow<'_, Path> {
    match path.to_str().filter(|text| !text.is_ascii()) {
        Some(text) => Cow::Owned(PathBuf::from(text.nfc().collect::<String>())),
        None => Cow::Borrowed(path),
    }
}

/// The rest of a path below a folder, as by [`Path::strip_prefix`]; both are without `.`, `..` and empty names.
pub(super) fn rest_below<'p>(path: &'p Path, folder: &Path) -> Option<&'p Path> {
    let folder = folder.as_os_str().as_encoded_bytes();
    let rest = path.as_os_str().as_bytes().strip_prefix(folder.strip_suffix(b"/").unwrap_or(folder))?;
    match rest {
        [] => Some(Path::new("")),
        [b'/', rest @ ..] => Some(Path::new(OsStr::from_bytes(rest))),
        _ => None,
    }
}

/// Whether a path contains no `.`, `..` or empty names.
fn is_normal(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    let mut names = text.strip_prefix(b"/").unwrap_or(text).split(|byte| *byte == b'/');
    names.all(|name| !matches!(name, b"" | b"." | b".."))
}

impl PathPattern {
    /// Parses a pattern.
    pub(super) fn new(text: &str) -> Result<Self, UserError> {
        let (base, glob) = if let Some(rest) = text.strip_prefix("~/") {
            (Base::Home, rest)
        } else if text == "~" {
            (Base::Home, "**")
        } else if let Some(rest) = text.strip_prefix('/') {
            (Base::Root, rest)
        } else {
            let rest = text.strip_prefix("./").unwrap_or(text);
            let inner = rest.trim_end_matches('/');
            let floats = !text.starts_with("./") && (!inner.contains('/') || inner.starts_with("**/"));
            (if floats { Base::Floating } else { Base::Workspace }, rest)
        };
        if text.starts_with('!') {
            return Err("a path cannot be excluded with `!`".into());
        }
        if glob.split('/').any(|part| part == "..") {
            return Err(UserError::new("`..` is not allowed in it").remedy("write an absolute path"));
        }
        let names: Vec<&str> = glob.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        let glob = match (base, names.as_slice()) {
            (_, []) => "**".to_owned(),
            (Base::Floating, [first, ..]) if *first != "**" => format!("**/{}", names.join("/")),
            _ => names.join("/"),
        };
        let glob: String = glob.nfc().collect();
        let folder = glob.strip_suffix("/**").map(|folder| Globs::new(&[folder], false)).transpose()?;
        let areas = path_text::of_glob(&glob).iter().map(Area::new).collect();
        let written = [&format!("{glob}/**"), &*glob];
        let (globs, caseless) = (Globs::new(&written, false)?, Globs::new(&written, true)?);
        let name = needed_name(&glob).map(str::to_owned);
        Ok(PathPattern { base, globs, caseless, name, folder, areas })
    }

    /// Whether it is about files outside of the working directory.
    pub(super) fn is_outside(&self) -> bool {
        matches!(self.base, Base::Home | Base::Root)
    }

    /// Whether it matches both forms, which is required to allow.
    pub(super) fn allows(&self, path: &JudgedPath, places: &Places) -> bool {
        let is_match = |form: Form| self.is_match(&self.globs, path, form, places, false);
        is_match(|path| &path.plain) && is_match(|path| &path.real)
    }

    /// Whether it matches either form, which is sufficient to ask or deny.
    pub(super) fn concerns(&self, path: &JudgedPath, places: &Places) -> bool {
        let either = |globs: &Globs| self.is_either(globs, path, places);
        either(&self.globs) || either(&self.caseless) && has_no_case(&path.real)
    }

    /// The pattern relative to [`PathPattern::anchor`].
    pub(super) fn glob(&self) -> &str {
        self.globs.written.last().map_or("", Glob::glob)
    }

    /// The folder that it begins at, without links; `/` for one that is about files anywhere.
    pub(super) fn anchor<'a>(&self, places: &'a Places) -> &'a Path {
        let base = self.base(places).filter(|_| self.base != Base::Floating);
        base.map_or(Path::new("/"), |base| &base.real)
    }

    /// The folders above a file that it is about without which it would not be: with another name of one, the file is
    /// no longer found. Not those above the beginning of the pattern.
    pub(super) fn needed_folders<'p>(&self, file: &'p Path, places: &Places) -> Vec<&'p Path> {
        let glob = self.glob();
        let names: Vec<&str> = glob.strip_suffix("/**").unwrap_or(glob).split('/').collect();
        let is_any = |name: &&str| **name == *"**" || name.contains('{');
        let first = names.iter().position(is_any).unwrap_or(names.len());
        let last = names.iter().rev().position(is_any).unwrap_or(names.len());
        let above: Vec<&Path> = file.ancestors().skip(1).collect();
        let below_anchor = above.iter().filter(|folder| {
            rest_below(folder, self.anchor(places))
                .is_some_and(|rest| (1..=first).contains(&rest.iter().count()))
        });
        above.iter().take(last.saturating_sub(1)).chain(below_anchor).copied().collect()
    }

    /// Whether it begins at a known folder, and not anywhere.
    pub(super) fn is_anchored(&self) -> bool {
        self.base != Base::Floating
    }

    /// The names of the file or folder that it is about, after the last that is a pattern.
    pub(super) fn names(&self) -> Vec<&str> {
        let glob = self.glob();
        let glob = ["/**", "/*"].iter().find_map(|end| glob.strip_suffix(end)).unwrap_or(glob);
        let is_plain = |name: &&str| !name.contains(['*', '?', '[', '{', '\\']);
        let mut names: Vec<&str> = glob.rsplit('/').take_while(is_plain).collect();
        names.reverse();
        names
    }

    /// Whether the name of a file or folder that it is about may be this one: a cheap look before [`Self::concerns`].
    pub(super) fn may_end_in(&self, name: &[u8]) -> bool {
        let glob = self.glob();
        let glob = glob.strip_suffix("/**").unwrap_or(glob);
        let last = glob.rsplit('/').next().unwrap_or_default();
        let (end, is_whole) = last.strip_prefix('*').map_or((last, true), |end| (end, false));
        if !end.is_ascii() || end.contains(['*', '?', '[', ']', '{', '}', '\\']) {
            return true;
        }
        let start = name.len().checked_sub(end.len()).filter(|start| !is_whole || *start == 0);
        start
            .and_then(|start| name.get(start..))
            .is_some_and(|rest| rest.eq_ignore_ascii_case(end.as_bytes()))
    }

    /// The part of the disk that it is about; of one that is about files anywhere, the workspace.
    pub(super) fn beginning(&self, places: &Places) -> Option<Beginning> {
        let base = match self.base(places) {
            Some(base) => &base.real,
            None if self.base == Base::Root => Path::new("/"),
            None => return None,
        };
        // A name with other characters may be composed differently on the disk.
        let is_plain = |name: &str| name.is_ascii() && !name.contains(['*', '?', '[', '{', '\\']);
        let names: Vec<&str> = self.glob().split('/').collect();
        let plain = names.iter().take_while(|name| is_plain(name)).count();
        let path = names.iter().take(plain).fold(base.to_owned(), |path, name| path.join(name));
        let rest = names.get(plain..).unwrap_or_default();
        Some(if matches!(rest, [] | ["**"]) && self.is_anchored() {
            Beginning::Whole(path)
        } else {
            Beginning::Folder(path)
        })
    }

    /// Whether it is about everything in this folder, and so about removing or replacing it.
    pub(super) fn is_of_folder(&self, path: &JudgedPath, places: &Places) -> bool {
        self.folder.as_ref().is_some_and(|folder| self.is_either(folder, path, places))
    }

    /// Whether either form of a path matches.
    fn is_either(&self, globs: &Globs, path: &JudgedPath, places: &Places) -> bool {
        let is_match = |form: Form| self.is_match(globs, path, form, places, true);
        let is_plain = || path.is_plain() && self.base(places).is_none_or(JudgedPath::is_plain);
        is_match(|path| &path.plain) || !is_plain() && is_match(|path| &path.real)
    }

    /// The directory that it begins at, unless that is the root.
    fn base<'a>(&self, places: &'a Places) -> Option<&'a JudgedPath> {
        match self.base {
            Base::Root => None,
            Base::Home => places.home.as_ref(),
            Base::Workspace | Base::Floating => Some(&places.workspace),
        }
    }

    /// Whether it may be about something in this folder.
    pub(super) fn reaches_into(&self, folder: &PathText, places: &Places) -> bool {
        let below = folder.below();
        let below = self.comparable_text(&below);
        self.areas(places).iter().any(|area| path_text::meets(below.marks(), area.marks()))
    }

    /// The folder that holds all it is about, as far as it is known, unless it is about files anywhere.
    pub(super) fn known_folder(&self, places: &Places) -> Option<PathBuf> {
        let areas = self.areas(places);
        let starts = areas.iter().filter(|_| self.base != Base::Floating).map(|area| area.known_start());
        let folders =
            starts.map(|start| PathBuf::from(start.rsplit_once('/').map_or("", |(folder, _)| folder)));
        folders.reduce(|one, other| {
            let shared = one.ancestors().find(|folder| other.starts_with(folder));
            shared.unwrap_or(Path::new("/")).to_owned()
        })
    }

    /// Whether it is about a path that is not fully known.
    pub(super) fn may_concern(&self, path: &PathText, places: &Places) -> Match {
        let path = self.comparable_text(path);
        let has_name = |needed: &String| {
            let needed = PathText::literal(needed);
            path.is_open() || path.is_of_folders() || path.names().any(|name| needed.meets_marks(name))
        };
        if !self.name.as_ref().is_none_or(has_name) {
            return Match::No;
        }
        let areas = self.areas(places);
        let meets = |path: &PathText| areas.iter().any(|area| area.meets(path));
        if !meets(&path) {
            Match::No
        } else if meets(&path.opaque()) {
            Match::Yes
        } else {
            Match::May
        }
    }

    /// A text in the form compared with [`PathPattern::areas`].
    fn comparable_text<'t>(&self, path: &'t PathText) -> Cow<'t, PathText> {
        let below_root = (self.base == Base::Floating).then(|| path.strip_prefix("/")).flatten();
        match below_root {
            Some(path) => Cow::Owned(path.to_nfc().into_owned()),
            None => path.to_nfc(),
        }
    }

    /// The pattern as absolute texts, from both forms of its base; a floating one from anywhere.
    fn areas(&self, places: &Places) -> Cow<'_, [Area]> {
        let bases: Vec<&Path> = match self.base {
            Base::Floating => return Cow::Borrowed(&self.areas),
            Base::Root => vec![Path::new("")],
            Base::Workspace => places.workspace.forms().collect(),
            Base::Home => places.home.iter().flat_map(JudgedPath::forms).collect(),
        };
        let bases = bases.into_iter().map(|base| PathText::from(base).to_nfc().into_owned());
        bases.flat_map(|base| self.areas.iter().map(move |area| area.within(&base))).collect()
    }

    fn is_match(
        &self,
        globs: &Globs,
        path: &JudgedPath,
        form: Form,
        places: &Places,
        anywhere: bool,
    ) -> bool {
        let (path, base) = match self.base(places) {
            Some(base) => (form(path), form(base)),
            None if self.base == Base::Root => (form(path), Path::new("/")),
            None => return false,
        };
        let (path, base) = (&*to_nfc(path), &*to_nfc(base));
        let from_root =
            || (anywhere && self.base == Base::Floating).then(|| path.strip_prefix("/").unwrap_or(path));
        let Some(rest) = rest_below(path, base).or_else(from_root) else { return false };
        let mut names = rest.as_os_str().as_bytes().split(|byte| *byte == b'/');
        let needed = self.name.as_deref();
        needed.is_none_or(|needed| names.any(|name| name.eq_ignore_ascii_case(needed.as_bytes())))
            && globs.is_match(rest, anywhere)
    }
}

/// The longest name in a glob that is no pattern.
fn needed_name(glob: &str) -> Option<&str> {
    let is_plain = |name: &&str| !name.is_empty() && !name.contains(['*', '?', '\\']);
    let has_parts = glob.contains(['[', ']', '{', '}']);
    glob.split('/').filter(|_| !has_parts).filter(is_plain).max_by_key(|name| name.len())
}

/// Globs of which any may match. They are slow to compile, so that is left until they are first needed: a start
/// reads every rule, and needs none.
#[derive(Clone, Debug)]
struct Globs {
    written: Vec<Glob>,
    compiled: Arc<OnceLock<Result<GlobSet, globset::Error>>>,
}

impl Globs {
    /// The longest text whose compiled form certainly keeps the limits, in bytes. Longer ones are compiled at once.
    const MAX_UNCHECKED: usize = 4_096;

    fn new(globs: &[&str], caseless: bool) -> Result<Self, UserError> {
        let words = |error: &globset::Error| UserError::from(error.kind().to_string());
        let build = |glob: &&str| {
            let mut builder = GlobBuilder::new(glob);
            builder.literal_separator(true).backslash_escape(true).case_insensitive(caseless);
            builder.build().map_err(|error| words(&error))
        };
        let written = globs.iter().map(build).collect::<Result<_, _>>()?;
        let these = Globs { written, compiled: Arc::default() };
        if globs.iter().any(|glob| glob.len() > Self::MAX_UNCHECKED) {
            these.glob_set().as_ref().map_err(words)?;
        }
        Ok(these)
    }

    fn glob_set(&self) -> &Result<GlobSet, globset::Error> {
        self.compiled.get_or_init(|| {
            let mut set = GlobSetBuilder::new();
            for glob in &self.written {
                set.add(glob.clone());
            }
            set.build()
        })
    }

    /// Whether one matches; `doubt` if that cannot be said.
    fn is_match(&self, path: &Path, doubt: bool) -> bool {
        self.glob_set().as_ref().map_or(doubt, |set| set.is_match(path))
    }
}

/// Whether the file system ignores case for this path.
fn has_no_case(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()));
    let other = |name: &str| -> String {
        name.chars()
            .map(|c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
            .collect()
    };
    path.ancestors().any(|path| {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
        let other = other(name);
        other != name
            && identity(path).is_some_and(|found| identity(&path.with_file_name(other)) == Some(found))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Beginning, JudgedPath, PathPattern, Places, normalise};

    #[test]
    fn patterns_are_like_those_of_gitignore() {
        let places = Places::new(Path::new("/w"), Some(Path::new("/h")));
        let check = |pattern: &str, path: &str| {
            let (pattern, path) = (PathPattern::new(pattern).unwrap(), JudgedPath::new(Path::new(path)));
            (pattern.allows(&path, &places), pattern.concerns(&path, &places))
        };
        for (pattern, path) in [
            ("src/**", "/w/src/a/b.rs"),
            ("src", "/w/src/a/b.rs"),
            ("src/", "/w/src/a"),
            ("*.rs", "/w/a/b.rs"),
            ("**/.env", "/w/.env"),
            ("**/.env", "/w/a/.env"),
            ("./README.md", "/w/README.md"),
            ("~/.ssh/**", "/h/.ssh/id"),
            ("/etc/*", "/etc/passwd"),
            ("src/*.rs", "/w/x/../src/a.rs"),
            ("//w/.env", "/w/.env"),
            ("/w/./a//b/.", "/w/a/b/c"),
            (".//a/./b", "/w/a/b"),
            ("**/./.env", "/w/a/.env"),
            ("**.env", "/w/a/x.env"),
            ("**", "/w/a"),
            (".", "/w/a"),
        ] {
            assert_eq!(check(pattern, path), (true, true), "{pattern} and {path}");
        }
        for (pattern, path) in [
            ("src/*.rs", "/w/src/a/b.rs"),
            ("src/**", "/w/src/../Cargo.toml"),
            ("src/**", "/x/src/a"),
            ("./README.md", "/w/a/README.md"),
            ("~/.ssh/**", "/w/.ssh/id"),
        ] {
            assert_eq!(check(pattern, path), (false, false), "{pattern} and {path}");
        }
        assert_eq!(
            check("**/.env", "/x/.env"),
            (false, true),
            "floating rules deny anywhere, and allow here"
        );
        assert!(PathPattern::new("../x").is_err() && PathPattern::new("a[").is_err());
        assert!(PathPattern::new(&"?".repeat(1_000_000)).is_err(), "too large to be compiled");
        assert_eq!(normalise(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }

    #[test]
    fn a_pattern_says_where_its_files_are_and_how_their_names_end() {
        let places = Places::new(Path::new("/w"), Some(Path::new("/h")));
        let whole = |path: &str| Some(Beginning::Whole(path.into()));
        let folder = |path: &str| Some(Beginning::Folder(path.into()));
        for (pattern, beginning) in [
            ("**/.env", folder("/w")),
            (".env", folder("/w")),
            ("./.env", whole("/w/.env")),
            ("a/b/**", whole("/w/a/b")),
            ("a/*.pem", folder("/w/a")),
            ("a/{b/c,d}", folder("/w/a")),
            ("~/.ssh/**", whole("/h/.ssh")),
            ("~/.netrc", whole("/h/.netrc")),
            ("/srv/*/x", folder("/srv")),
            ("./caf\u{e9}/x", folder("/w")),
        ] {
            assert_eq!(PathPattern::new(pattern).unwrap().beginning(&places), beginning, "{pattern}");
        }
        for (pattern, name, may) in [
            ("**/.env", ".ENV", true),
            ("**/.env", "x.env", false),
            ("keys/**", "keys", true),
            ("keys/*", "other", true),
            ("*.pem", "a.Pem", true),
            ("*.pem", "pem", false),
            ("a/{b/c,d}", "d", true),
            ("**", "x", true),
        ] {
            assert_eq!(
                PathPattern::new(pattern).unwrap().may_end_in(name.as_bytes()),
                may,
                "{pattern}: {name}"
            );
        }
    }

    #[test]
    fn a_link_has_to_be_allowed_at_both_ends() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("src/link")).unwrap();
        let places = Places::new(&root, None);
        let link = JudgedPath::new(&root.join("src/link"));
        let inside = PathPattern::new("src/**").unwrap();
        assert!(!inside.allows(&link, &places) && inside.concerns(&link, &places));
        assert!(PathPattern::new("/etc/**").unwrap().concerns(&link, &places));
    }
}
