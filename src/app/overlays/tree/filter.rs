//! Which rows of the session's tree are shown. A search narrows them further: see [`super`].

use tau_protocol::outline::{OutlineRow, RowKind};

/// Which rows are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeFilter {
    /// Messages, tool calls and commands.
    #[default]
    Default,
    NoTools,
    UserOnly,
    Labelled,
    /// Changes of settings, too.
    All,
}

impl TreeFilter {
    const ORDER: [TreeFilter; 5] = [
        TreeFilter::Default,
        TreeFilter::NoTools,
        TreeFilter::UserOnly,
        TreeFilter::Labelled,
        TreeFilter::All,
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            TreeFilter::Default => "messages and tools",
            TreeFilter::NoTools => "without tools",
            TreeFilter::UserOnly => "your messages only",
            TreeFilter::Labelled => "labelled only",
            TreeFilter::All => "everything",
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
            // A call is shown by its result, unless it has a label of its own.
            TreeFilter::Default => {
                row.kind != RowKind::Setting && (row.kind != RowKind::Calls || row.label.is_some())
            }
            TreeFilter::NoTools => !matches!(row.kind, RowKind::Setting | RowKind::Tool | RowKind::Calls),
            TreeFilter::UserOnly => row.kind == RowKind::User,
            TreeFilter::Labelled => row.label.is_some(),
            TreeFilter::All => true,
        }
    }
}
