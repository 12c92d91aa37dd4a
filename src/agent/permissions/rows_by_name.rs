//! Finds the rows of a table that list a name.

use std::collections::HashMap;

/// A table whose rows list several names each, found by name: tables are asked about for each word of a command.
pub(super) struct RowsByName<Row: 'static>(HashMap<&'static str, Vec<&'static Row>>);

impl<Row> RowsByName<Row> {
    /// `names` returns those that a row lists, separated by blanks.
    pub(super) fn new(rows: &'static [Row], names: fn(&Row) -> &'static str) -> Self {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        for row in rows {
            names(row).split(' ').for_each(|name| by_name.entry(name).or_default().push(row));
        }
        RowsByName(by_name)
    }

    /// The rows that list a name, in the order of the table.
    pub(super) fn get(&self, name: &str) -> &[&'static Row] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }
}
