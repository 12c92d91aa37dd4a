//! Filters of the session's tree. A search narrows its rows further: see [`super`].

use tau_protocol::outline::{OutlineRow, RowKind};

/// The set of displayed rows.
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

    /// Its display name.
    pub fn name(self) -> &'static str {
        match self {
            TreeFilter::Default => "messages and tools",
            TreeFilter::NoTools => "without tools",
            TreeFilter::UserOnly => "your messages only",
            TreeFilter::Labelled => "labelled only",
            TreeFilter::All => "everything",
        }
    }

    /// The filter `by` places further, wrapping around.
    pub(super) fn step(self, by: isize) -> Self {
        let count = Self::ORDER.len() as isize;
        let at = Self::ORDER.iter().position(|filter| *filter == self).unwrap_or_default() as isize;
        Self::ORDER.get((at + by).rem_euclid(count) as usize).copied().unwrap_or_default()
    }

    /// Whether it shows a row.
    pub(super) fn takes(self, row: &OutlineRow) -> bool {
        match self {
            // A call is represented by its result, unless it has its own label.
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
