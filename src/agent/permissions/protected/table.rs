//! Indexes the table of places by the base of a path, then by names.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use super::{
    KEY_ENDS, KEY_NAMES, LiteralPart, ProtectedKind, READ_BY_PROGRAMS, SYSTEM_KEYS, key_places::key_places,
    places,
};
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
    /// Its names in lower case, relative to its anchor, absolute below the root.
    area: Area,
    /// The end of its first name in that, in marks.
    first_end: usize,
}

/// The names of a place from a distinctive one on, or the name of a folder with keys.
#[derive(Clone, Copy)]
enum Form {
    /// The index of the place, and the position of that name in its text.
    OfPlace(usize, usize),
    /// The index in the places with keys.
    OfKeys(usize),
}

/// The indexed table.
pub(super) struct PlaceTable {
    places: Vec<Place>,
    /// Those of places that are not below the root, in their order, then the names of folders with keys.
    forms: Vec<Form>,
    /// Their indexes by the mark with which they begin.
    forms_by_start: BTreeMap<Mark, Vec<usize>>,
    /// The indexes of the places by their first name, in their order.
    by_first: HashMap<Cow<'static, str>, Vec<usize>>,
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
        let places: Vec<Place> = places::places().map(|(kind, path, _)| Place::new(kind, path)).collect();
        let (mut by_first, mut patterns) = (HashMap::<_, Vec<usize>>::new(), Vec::new());
        for (index, (place, (_, path, _))) in places.iter().zip(places::places()).enumerate() {
            match path_text::text_of(place.first()) {
                Some(_) => by_first.entry(first_name(path)).or_default().push(index),
                None => patterns.push(index),
            }
        }
        let area = |place: &&str| Area::new(&PathText::literal(&place.to_lowercase()));
        let key_areas: Vec<Area> = key_places().chain(READ_BY_PROGRAMS).map(|place| area(&place)).collect();
        let of_places = places
            .iter()
            .enumerate()
            .flat_map(|(index, place)| place.starts_of_forms().map(move |from| Form::OfPlace(index, from)));
        let key_folders = key_places().enumerate().filter(|(_, place)| !place.contains('/'));
        let forms = of_places.chain(key_folders.map(|(index, _)| Form::OfKeys(index))).collect();
        let dotless = places.iter().filter_map(Place::dotless).collect();
        let key_names = KEY_NAMES.iter().filter(|name| **name != "auth.json");
        let key_names = key_names.map(|name| PathText::literal(name)).collect();
        let key_ends = KEY_ENDS.iter().flat_map(|end| path_text::of_glob(&format!("*{end}"))).collect();
        let system_keys = SYSTEM_KEYS.iter().map(area).collect();
        let forms_by_start = BTreeMap::new();
        let mut table = PlaceTable {
            places,
            forms,
            forms_by_start,
            by_first,
            patterns,
            dotless,
            key_names,
            key_ends,
            key_places: key_areas,
            system_keys,
        };
        for index in 0..table.forms.len() {
            let start = table.names_of_form(index).next().and_then(|name| name.first().copied());
            start.into_iter().for_each(|start| table.forms_by_start.entry(start).or_default().push(index));
        }
        table
    }

    /// The kind of the place that a path is in: `names` are its names from the anchor on, in lower case.
    pub(super) fn kind(&self, anchor: Anchor, names: &[Cow<'_, str>]) -> Option<ProtectedKind> {
        let starts = if anchor == Anchor::Anywhere { names.len() } else { 1 };
        (0..starts).find_map(|start| {
            let rest = names.get(start..)?;
            let by_name = self.by_first.get(rest.first()?.as_ref()).into_iter().flatten();
            let mut candidates = by_name.chain(&self.patterns).filter_map(|index| self.places.get(*index));
            candidates.find(|place| place.anchor == anchor && place.contains(rest)).map(|place| place.kind)
        })
    }

    fn kind_of_form(&self, index: usize) -> Option<ProtectedKind> {
        match self.forms.get(index)? {
            Form::OfPlace(place, _) => self.places.get(*place).map(|place| place.kind),
            Form::OfKeys(_) => Some(ProtectedKind::Keys),
        }
    }

    fn names_of_form(&self, index: usize) -> impl Iterator<Item = &[Mark]> {
        let text = match self.forms.get(index) {
            Some(Form::OfPlace(place, from)) => {
                self.places.get(*place).and_then(|place| place.area.marks().get(*from..))
            }
            Some(Form::OfKeys(place)) => self.key_places.get(*place).map(Area::marks),
            None => None,
        };
        text.into_iter().flat_map(names_of)
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
            if !self.kind_of_form(*index).is_some_and(&counts) {
                return false;
            }
            let mut parts = parts.get(at..).unwrap_or_default().iter();
            self.names_of_form(*index).all(|name| parts.next().is_some_and(|part| part.is_form(name)))
        };
        let starting = |(at, part): (usize, &LiteralPart<'_>)| {
            let starts = self.forms_by_start.iter().filter(|(start, _)| part.may_start_with(**start));
            starts.filter_map(|(_, forms)| forms.iter().copied().find(|index| is_written(at, index))).min()
        };
        let first = parts.iter().enumerate().filter_map(starting).min();
        first.and_then(|first| self.kind_of_form(first))
    }

    /// The kind of the first place that is anywhere, and in a folder whose path ends with these names.
    pub(super) fn below(&self, names: &[&[Mark]]) -> Option<ProtectedKind> {
        let is_in = |place: &&Place| {
            let folders = place.names().count() - 1;
            let ends =
                names.len().checked_sub(folders).and_then(|start| names.get(start..)).unwrap_or_default();
            !ends.is_empty()
                && ends.iter().zip(place.names()).all(|(name, folder)| path_text::meets(name, folder))
        };
        let mut anywhere = self.places.iter().filter(|place| place.anchor == Anchor::Anywhere);
        anywhere.find(is_in).map(|place| place.kind)
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

fn names_of(path: &[Mark]) -> impl Iterator<Item = &[Mark]> {
    path.split(|mark| *mark == Mark::Char('/'))
}

/// The anchor of a place of the table, and its path from there.
fn split_anchor(path: &'static str) -> (Anchor, &'static str) {
    if let Some(rest) = path.strip_prefix("~/") {
        (Anchor::Home, rest)
    } else if let Some(rest) = path.strip_prefix("**/") {
        (Anchor::Anywhere, rest)
    } else {
        (Anchor::Root, path.trim_start_matches('/'))
    }
}

/// The first name of a place of the table, in lower case.
fn first_name(path: &'static str) -> Cow<'static, str> {
    let name = split_anchor(path).1.split('/').next().unwrap_or_default();
    super::lower(Cow::Borrowed(name))
}

impl Place {
    fn new(kind: ProtectedKind, path: &'static str) -> Self {
        let (anchor, rest) = split_anchor(path);
        let rest = rest.to_lowercase();
        let text = if anchor == Anchor::Root { format!("/{rest}") } else { rest };
        let area = path_text::of_glob(&text).first().map(Area::new).unwrap_or_default();
        let is_end = |(at, mark): &(usize, &Mark)| *at > 0 && **mark == Mark::Char('/');
        let first_end = area.marks().iter().enumerate().find(is_end).map_or(area.marks().len(), |(at, _)| at);
        Place { kind, anchor, area, first_end }
    }

    /// Its names, in lower case.
    fn names(&self) -> impl Iterator<Item = &[Mark]> {
        let root = usize::from(self.anchor == Anchor::Root);
        names_of(self.area.marks().get(root..).unwrap_or_default())
    }

    fn first(&self) -> &[Mark] {
        let start = usize::from(self.anchor == Anchor::Root);
        self.area.marks().get(start..self.first_end).unwrap_or_default()
    }

    /// The positions of its names that have a dot before them; also of the first, where it may be anywhere.
    fn starts_of_forms(&self) -> impl Iterator<Item = usize> {
        let marks = self.area.marks();
        let is_start = |at: usize| match at.checked_sub(1) {
            None => self.anchor == Anchor::Anywhere || marks.first() == Some(&Mark::Char('.')),
            Some(before) => marks.get(before..=at) == Some(&[Mark::Char('/'), Mark::Char('.')]),
        };
        (0..marks.len()).filter(move |at| self.anchor != Anchor::Root && is_start(*at))
    }

    /// Its name without the dot, unless that is a common word.
    fn dotless(&self) -> Option<(String, ProtectedKind)> {
        let mut names = self.names();
        let name = names.next().filter(|_| names.next().is_none()).and_then(path_text::text_of)?;
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
        let is_own = |own: &[Mark], name: Option<&Cow<'_, str>>| {
            name.is_some_and(|name| path_text::is_match(own, name))
        };
        let mut names = names.iter();
        is_own(self.first(), names.next())
            && (self.first_end == self.area.marks().len()
                || self.names().skip(1).all(|own| is_own(own, names.next())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_read_as_it_is_written_and_has_a_source() {
        let table = PlaceTable::get();
        assert!(table.places.len() >= 80, "only {} places", table.places.len());
        for (place, (_, path, source)) in table.places.iter().zip(places::places()) {
            assert!(!source.is_empty() && path.starts_with(['~', '/', '*']), "{path}");
            assert!(place.names().all(|name| !name.is_empty()), "{path}");
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
        let mut paths: Vec<&str> = places::places().map(|(_, path, _)| path).collect();
        paths.sort_unstable();
        assert!(paths.windows(2).all(|pair| pair.first() != pair.last()), "a place is there twice");
    }
}
