//! Indexes the table of places by the base of a path, then by names.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::places::PLACES;
use super::{Protected, Spelled};
use crate::permissions::path_text::{self, PathText};

/// The minimum length of a name that is recognised without its dot.
const MIN_DOTLESS: usize = 5;

/// The base of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Home,
    Root,
    Anywhere,
}

/// A place of the table.
struct Place {
    kind: Protected,
    anchor: Anchor,
    /// Its names, in lower case.
    names: Vec<PathText>,
    /// Its names as one text; relative to its anchor, absolute below the root.
    text: PathText,
}

/// The indexed table.
pub(super) struct PlaceTable {
    places: Vec<Place>,
    /// The places by their first name; those whose first name is a pattern are below the empty one.
    first: HashMap<String, Vec<usize>>,
    /// Names that are recognised without their dot.
    dotless: HashMap<String, Protected>,
}

static TABLE: LazyLock<PlaceTable> = LazyLock::new(PlaceTable::new);

impl PlaceTable {
    pub(super) fn get() -> &'static PlaceTable {
        &TABLE
    }

    fn new() -> Self {
        let places: Vec<Place> = PLACES.iter().map(|(kind, path, _)| Place::new(*kind, path)).collect();
        let mut first: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, place) in places.iter().enumerate() {
            let name = place.names.first().and_then(PathText::text).unwrap_or_default();
            first.entry(name).or_default().push(index);
        }
        let dotless = places.iter().filter_map(Place::dotless).collect();
        PlaceTable { places, first, dotless }
    }

    /// The kind of the place that a path is in: `names` are its names from the anchor on, in lower case.
    pub(super) fn kind(&self, anchor: Anchor, names: &[String]) -> Option<Protected> {
        let starts = if anchor == Anchor::Anywhere { names.len() } else { 1 };
        (0..starts).find_map(|start| {
            let rest = names.get(start..)?;
            let by_name = self.first.get(rest.first()?).into_iter().chain(self.first.get(""));
            let mut candidates = by_name.flatten().filter_map(|index| self.places.get(*index));
            candidates.find(|place| place.anchor == anchor && place.contains(rest)).map(|place| place.kind)
        })
    }

    /// Every place of an anchor as a text.
    pub(super) fn texts(&self, anchor: Anchor) -> impl Iterator<Item = (Protected, PathText)> {
        let places = self.places.iter().filter(move |place| place.anchor == anchor);
        places.map(|place| (place.kind, place.text.clone()))
    }

    /// The kind of a place of which a form occurs literally in these parts of a path, beginning with a
    /// distinctive name: one with a dot, or several in a row.
    pub(super) fn form(&self, parts: &[Spelled], counts: impl Fn(Protected) -> bool) -> Option<Protected> {
        let places = self.places.iter().filter(|place| place.anchor != Anchor::Root && counts(place.kind));
        let is_written = |place: &&Place| {
            (0..place.names.len()).any(|from| {
                let names = place.names.get(from..).unwrap_or_default();
                let says = names.first().is_some_and(|name| name.starts_with("."))
                    || place.anchor == Anchor::Anywhere && from == 0;
                let fits = |at: &[Spelled]| at.iter().zip(names).all(|(part, name)| part.is_form(name));
                says && parts.windows(names.len()).any(fits)
            })
        };
        places.into_iter().find(is_written).map(|place| place.kind)
    }

    /// The kind of a place with this name, except for its dot.
    pub(super) fn form_without_dot(&self, word: &str) -> Option<Protected> {
        if ["authorized_keys", "id_rsa", "id_ed25519", "id_ecdsa"].contains(&word) {
            return Some(Protected::Ssh);
        }
        self.dotless.get(word).copied()
    }
}

impl Place {
    fn new(kind: Protected, path: &str) -> Self {
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
        Place { kind, anchor, names: rest.split('/').map(one).collect(), text }
    }

    /// Its name without the dot, unless that is a common word.
    fn dotless(&self) -> Option<(String, Protected)> {
        let [name] = self.names.as_slice() else { return None };
        let name = name.text()?;
        let bare = name.strip_prefix('.')?;
        let says =
            bare.ends_with("rc") || bare.contains('_') || bare.ends_with("env") || bare.starts_with("git");
        (says && bare.len() >= MIN_DOTLESS).then(|| (bare.to_owned(), self.kind))
    }

    /// Whether a path with these names is the place, or in it.
    fn contains(&self, names: &[String]) -> bool {
        names.len() >= self.names.len()
            && self.names.iter().zip(names).all(|(own, name)| match own.text() {
                Some(text) => text == *name,
                None => own.meets(&PathText::literal(name)),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_read_as_it_is_written_and_has_a_source() {
        let table = PlaceTable::get();
        assert!(table.places.len() >= 80, "only {} places", table.places.len());
        for (place, (_, path, source)) in table.places.iter().zip(PLACES) {
            assert!(!source.is_empty() && path.starts_with(['~', '/', '*']), "{path}");
            assert!(!place.names.iter().any(PathText::is_empty), "{path}");
            let concrete: Vec<String> = path
                .to_lowercase()
                .trim_start_matches("~/")
                .trim_start_matches("**/")
                .trim_start_matches('/')
                .split('/')
                .map(|name| name.replace('*', "x"))
                .collect();
            assert!(table.kind(place.anchor, &concrete).is_some(), "{path}");
        }
        let mut paths: Vec<&str> = PLACES.iter().map(|(_, path, _)| *path).collect();
        paths.sort_unstable();
        assert!(paths.windows(2).all(|pair| pair.first() != pair.last()), "a place is there twice");
    }
}
