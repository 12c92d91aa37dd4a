//! How far a pattern of paths has matched the names on the way to a folder: two ways with the same steps lead to the
//! same matches in it.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::path_pattern::{PathPattern, Places, rest_below};

/// The names of a pattern, one after the other.
pub(super) struct PatternSteps<'a> {
    base: &'a Path,
    steps: Vec<Step<'a>>,
}

enum Step<'a> {
    /// `**`: any number of names.
    Any,
    Name(&'a str),
    /// `None` for a part of a pattern that goes over several names: any name.
    Pattern(Option<GlobMatcher>),
}

impl<'a> PatternSteps<'a> {
    pub(super) fn new(pattern: &'a PathPattern, places: &'a Places) -> Self {
        let step = |name: &'a str| match name {
            "**" => Step::Any,
            name if !name.contains(['*', '?', '[', '{', '}', '\\']) => Step::Name(name),
            name => {
                let glob = GlobBuilder::new(name).literal_separator(true).backslash_escape(true).build();
                Step::Pattern(glob.ok().map(|glob| glob.compile_matcher()))
            }
        };
        // A bit for each, and one behind the last.
        let steps = pattern.glob().split('/').take(63).map(step).collect();
        PatternSteps { base: pattern.anchor(places), steps }
    }

    /// The steps that may come next behind a path, one bit for each.
    pub(super) fn steps_after(&self, path: &Path) -> u64 {
        let Some(rest) = rest_below(path, self.base) else { return 0 };
        rest.iter().fold(self.with_empty(1), |before, name| {
            let next =
                self.steps.iter().enumerate().filter(|(at, _)| before >> at & 1 == 1).map(|(at, step)| {
                    match step {
                        Step::Any => 1 << at,
                        Step::Name(own) if name == *own => 2 << at,
                        Step::Pattern(None) => 2 << at,
                        Step::Pattern(Some(glob)) if glob.is_match(name) => 2 << at,
                        Step::Name(_) | Step::Pattern(Some(_)) => 0,
                    }
                });
            self.with_empty(next.fold(0, |all, next| all | next))
        })
    }

    /// With the steps behind those that may match nothing.
    fn with_empty(&self, steps: u64) -> u64 {
        let any = self.steps.iter().enumerate().filter(|(_, step)| matches!(step, Step::Any));
        any.fold(steps, |steps, (at, _)| if steps >> at & 1 == 1 { steps | 2 << at } else { steps })
    }
}
