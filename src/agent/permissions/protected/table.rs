//! Indexes the table of places by the base of a path, then by names.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use super::places::places;
use super::{KEY_ENDS, KEY_NAMES, KEY_PLACES, LiteralPart, ProtectedKind, READ_BY_PROGRAMS, SYSTEM_KEYS};
use crate::permissions::path_text::{self, Area, Mark, PathText};

/// The minimum length of a name that is recognised without its dot.
const MIN_DOTLESS: usize = 5;

/// The base of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Home,
    Root,
    Anywhere,
}

struct Place {
    kind: ProtectedKind,
    anchor: Anchor,
    /// Its names, in lower case.
    names: Vec<PathText>,
    /// Its names as one text; relative to its anchor, absolute below the root.
    area: Area,
}

/// The names of a place from a distinctive one on.
struct Form {
    kind: ProtectedKind,
    names: Vec<PathText>,
}

/// The indexed table.
pub(super) struct PlaceTable {
    places: Vec<Place>,
    /// The forms of places that are not below the root, in their order, then the names of folders with keys.
    forms: Vec<Form>,
    /// Their indexes by the mark with which they begin.
    forms_by_start: BTreeMap<Mark, Vec<usize>>,
    /// The folders of places that may be anywhere, as names, in their order.
    folders: Vec<(Vec<PathText>, ProtectedKind)>,
    /// The places by their first name.
    first: HashMap<String, Vec<usize>>,
    /// Those whose first name is a pattern.
    patterns: Vec<usize>,
    /// Names that are recognised without their dot.
    dotless: HashMap<String, ProtectedKind>,
    /// Names of files with keys, wherever they are.
    pub(super) key_names: Vec<PathText>,
    /// Names that end as those of such files do.
    pub(super) key_ends: Vec<PathText>,
    /// Files and folders with keys, in the home directory and in the system's.
    pub(super) key_places: Vec<Area>,
    pub(super) system_keys: Vec<Area>,
}

static TABLE: LazyLock<PlaceTable> = LazyLock::new(PlaceTable::new);

impl PlaceTable {
    pub(super) fn get() -> &'static PlaceTable {
        &TABLE
    }

    fn new() -> Self {
        let places: Vec<Place> = places().map(|(kind, path, _)| Place::new(kind, path)).collect();
        let (mut first, mut patterns): (HashMap<String, Vec<usize>>, _) = (HashMap::new(), Vec::new());
        for (index, place) in places.iter().enumerate() {
            match place.names.first().and_then(PathText::text) {
                Some(name) => first.entry(name).or_default().push(index),
                None => patterns.push(index),
            }
        }
        let key_folders = KEY_PLACES.iter().filter(|place| !place.contains('/'));
        let key_folders =
            key_folders.map(|name| Form { kind: ProtectedKind::Keys, names: vec![PathText::literal(name)] });
        let forms: Vec<Form> = places.iter().flat_map(Place::forms).chain(key_folders).collect();
        let mut forms_by_start: BTreeMap<Mark, Vec<usize>> = BTreeMap::new();
        for (index, form) in forms.iter().enumerate() {
            let start = form.names.first().and_then(|name| name.marks().first());
            start.into_iter().for_each(|start| forms_by_start.entry(*start).or_default().push(index));
        }
        let anywhere = places.iter().filter(|place| place.anchor == Anchor::Anywhere);
        let folders = anywhere.filter_map(|place| {
            let (_, folders) = place.names.split_last()?;
            (!folders.is_empty()).then(|| (folders.to_vec(), place.kind))
        });
        let folders = folders.collect();
        let dotless = places.iter().filter_map(Place::dotless).collect();
        let key_names = KEY_NAMES.iter().filter(|name| **name != "auth.json");
        let key_names = key_names.map(|name| PathText::literal(name)).collect();
        let key_ends = KEY_ENDS.iter().flat_map(|end| path_text::of_glob(&format!("*{end}"))).collect();
        let area = |place: &&str| Area::new(PathText::literal(&place.to_lowercase()));
        let key_places = KEY_PLACES.iter().chain(&READ_BY_PROGRAMS);
        let (key_places, system_keys) = (key_places.map(area), SYSTEM_KEYS.iter().map(area));
        let (key_places, system_keys) = (key_places.collect(), system_keys.collect());
        PlaceTable {
            places,
            forms,
            forms_by_start,
            folders,
            first,
            patterns,
            dotless,
            key_names,
            key_ends,
            key_places,
            system_keys,
        }
    }

    /// The kind of the place that a path is in: `names` are its names from the anchor on, in lower case.
    pub(super) fn kind(&self, anchor: Anchor, names: &[Cow<'_, str>]) -> Option<ProtectedKind> {
        let starts = if anchor == Anchor::Anywhere { names.len() } else { 1 };
        (0..starts).find_map(|start| {
            let rest = names.get(start..)?;
            let by_name = self.first.get(rest.first()?.as_ref()).into_iter().flatten().chain(&self.patterns);
            let mut candidates = by_name.filter_map(|index| self.places.get(*index));
            candidates.find(|place| place.anchor == anchor && place.contains(rest)).map(|place| place.kind)
        })
    }

    /// The kind of the first place with these anchors that a text can be, or be below.
    pub(super) fn find_kind(
        &self,
        text: &PathText,
        anchors: &[Anchor],
        counts: impl Fn(ProtectedKind) -> bool,
    ) -> Option<ProtectedKind> {
        let of_anchor = |anchor: &Anchor| {
            let anchor = *anchor;
            self.places.iter().filter(move |place| place.anchor == anchor)
        };
        let mut places = anchors.iter().flat_map(of_anchor).filter(|place| counts(place.kind));
        places.find(|place| place.area.meets(text)).map(|place| place.kind)
    }

    /// The kind of a place of which a form occurs literally in these parts of a path, beginning with a
    /// distinctive name: one with a dot, or several in a row.
    pub(super) fn form(
        &self,
        parts: &[LiteralPart<'_>],
        counts: impl Fn(ProtectedKind) -> bool,
    ) -> Option<ProtectedKind> {
        let is_written = |at: usize, index: &usize| {
            let Some(form) = self.forms.get(*index).filter(|form| counts(form.kind)) else { return false };
            let names = parts.get(at..at + form.names.len()).unwrap_or_default();
            !names.is_empty() && names.iter().zip(&form.names).all(|(part, name)| part.is_form(name))
        };
        let starting = |(at, part): (usize, &LiteralPart<'_>)| {
            let starts = self.forms_by_start.iter().filter(|(start, _)| part.may_start_with(**start));
            starts.filter_map(|(_, forms)| forms.iter().copied().find(|index| is_written(at, index))).min()
        };
        let first = parts.iter().enumerate().filter_map(starting).min();
        first.and_then(|first| self.forms.get(first)).map(|form| form.kind)
    }

    /// The kind of the first place that is anywhere, and in a folder whose path ends with these names.
    pub(super) fn below(&self, names: &[&[Mark]]) -> Option<ProtectedKind> {
        let is_in = |(folders, _): &&(Vec<PathText>, ProtectedKind)| {
            let start = names.len().checked_sub(folders.len());
            let ends = start.and_then(|start| names.get(start..)).unwrap_or_default();
            !ends.is_empty() && ends.iter().zip(folders).all(|(name, folder)| folder.meets_marks(name))
        };
        self.folders.iter().find(is_in).map(|(_, kind)| *kind)
    }

    /// The kind of a place with this name, except for its dot.
    pub(super) fn form_without_dot(&self, word: &str) -> Option<ProtectedKind> {
        if ["authorized_keys", "id_rsa", "id_ed25519", "id_ecdsa"].contains(&word) {
            return Some(ProtectedKind::Ssh);
        }
        if word.starts_with("--git-") || word == "--absolute-git-dir" {
            return Some(ProtectedKind::Git);
        }
        self.dotless.get(word).copied()
    }
}

impl Place {
    fn new(kind: ProtectedKind, path: &str) -> Self {
        let lower = path.to_lowercase();
        let (anchor, rest) = if let Some(rest) = lower.strip_prefix("~/") {
            (Anchor::Home, rest)
        } else if let Some(rest) = lower.strip_prefix("**/") {
            (Anchor::Anywhere, rest)
        } else {
            (Anchor::Root, lower.trim_start_matches('/'))
        };
        let one = |text: &str| path_text::of_glob(text).into_iter().next().unwrap_or_default();
        let text = if anchor == Anchor::Root { one(&format!("/{rest}")) } else { one(rest) };
        let names: Vec<PathText> = rest.split('/').map(one).collect();
        Place { kind, anchor, names, area: Area::new(text) }
    }

    /// Its names from each on that has a dot before it, and all of them where it may be anywhere.
    fn forms(&self) -> impl Iterator<Item = Form> {
        let starts = (0..self.names.len()).filter(|_| self.anchor != Anchor::Root);
        starts.filter_map(|from| {
            let names = self.names.get(from..)?.to_vec();
            let is_hidden = names.first()?.starts_with(".");
            let says = is_hidden || self.anchor == Anchor::Anywhere && from == 0;
            says.then_some(Form { kind: self.kind, names })
        })
    }

    /// Its name without the dot, unless that is a common word.
    fn dotless(&self) -> Option<(String, ProtectedKind)> {
        let [name] = self.names.as_slice() else { return None };
        let name = name.text()?;
        let bare = name.strip_prefix('.')?;
        if bare == "node_modules" {
            return None;
        }
        let says =
            bare.ends_with("rc") || bare.contains('_') || bare.ends_with("env") || bare.starts_with("git");
        (says && bare.len() >= MIN_DOTLESS).then(|| (bare.to_owned(), self.kind))
    }

    /// Whether a path with these names is the place, or in it.
    fn contains(&self, names: &[Cow<'_, str>]) -> bool {
        names.len() >= self.names.len() && self.names.iter().zip(names).all(|(own, name)| own.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_read_as_it_is_written_and_has_a_source() {
        let table = PlaceTable::get();
        assert!(table.places.len() >= 80, "only {} places", table.places.len());
        for (place, (_, path, source)) in table.places.iter().zip(places()) {
            assert!(!source.is_empty() && path.starts_with(['~', '/', '*']), "{path}");
            assert!(!place.names.iter().any(PathText::is_empty), "{path}");
            let concrete: Vec<Cow<'_, str>> = path
                .to_lowercase()
                .trim_start_matches("~/")
                .trim_start_matches("**/")
                .trim_start_matches('/')
                .split('/')
                .map(|name| Cow::Owned(name.replace('*', "x")))
                .collect();
            assert!(table.kind(place.anchor, &concrete).is_some(), "{path}");
        }
        let mut paths: Vec<&str> = places().map(|(_, path, _)| path).collect();
        paths.sort_unstable();
        assert!(paths.windows(2).all(|pair| pair.first() != pair.last()), "a place is there twice");
    }
}
