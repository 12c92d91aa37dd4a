//! Which rows of the session's tree are shown. What a search leaves of them is for [`super`].

use crate::agent::session::outline::{OutlineRow, RowKind};

/// Which rows are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Everything that was said and done.
    #[default]
    Default,
    NoTools,
    UserOnly,
    Labelled,
    /// Changes of settings, too.
    All,
}

impl Filter {
    const ORDER: [Filter; 5] =
        [Filter::Default, Filter::NoTools, Filter::UserOnly, Filter::Labelled, Filter::All];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Filter::Default => "messages and tools",
            Filter::NoTools => "without tools",
            Filter::UserOnly => "yours only",
            Filter::Labelled => "labelled only",
            Filter::All => "everything",
        }
    }

    /// The one `by` places further, round and round.
    pub(super) fn step(self, by: isize) -> Self {
        let count = Self::ORDER.len() as isize;
        let at = Self::ORDER.iter().position(|filter| *filter == self).unwrap_or_default() as isize;
        Self::ORDER.get((at + by).rem_euclid(count) as usize).copied().unwrap_or_default()
    }

    /// Whether it lets a row be shown.
    pub(super) fn takes(self, row: &OutlineRow) -> bool {
        match self {
            Filter::Default => row.kind != RowKind::Setting,
            Filter::NoTools => !matches!(row.kind, RowKind::Setting | RowKind::Tool | RowKind::Calls),
            Filter::UserOnly => row.kind == RowKind::User,
            Filter::Labelled => row.label.is_some(),
            Filter::All => true,
        }
    }
}
