//! Fuzzy matching of a query against rows, best first.

use frizbee::{Config, Matcher};

/// A row that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Its index in the rows given.
    pub index: usize,
    /// Byte offsets of the matched characters, rising.
    pub marks: Vec<usize>,
}

/// The rows that match, best first; all of them, in order, for an empty query. Words of the
/// query all have to match; `'word` matches as it stands, `^word` at the start, `!word` not.
pub fn rank<S: AsRef<str>>(query: &str, rows: &[S]) -> Vec<Match> {
    if query.trim().is_empty() {
        return (0..rows.len()).map(|index| Match { index, marks: Vec::new() }).collect();
    }
    let mut matcher = Matcher::from_query(query, &Config::default());
    let found = matcher.match_list_indices(rows);
    found
        .into_iter()
        .map(|found| {
            let mut marks: Vec<usize> = found.indices.iter().map(|at| *at as usize).collect();
            marks.sort_unstable();
            Match { index: found.index as usize, marks }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_marks() {
        let rows = ["src/app/update.rs", "src/view/mod.rs", "updates.md"];
        let found = rank("upd", &rows);
        assert_eq!(found.len(), 2);
        for found in &found {
            let marked: String = rows[found.index]
                .char_indices()
                .filter(|(at, _)| found.marks.contains(at))
                .map(|(_, c)| c)
                .collect();
            assert_eq!(marked, "upd");
        }
        assert_eq!(rank("", &rows).len(), 3);
        assert_eq!(rank("zzz", &rows).len(), 0);
    }

    #[test]
    fn marks_are_byte_offsets() {
        let found = rank("wor", &["größe wor"]);
        assert_eq!(found.first().map(|found| found.marks.clone()), Some(vec![8, 9, 10]));
    }
}
