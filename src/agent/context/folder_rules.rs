//! Rules for the model in `.claude/rules`: instruction files, some only for certain paths.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::extensions::front_matter::FrontMatter;

/// The maximum number of rule files in a folder.
const MAX_RULES: usize = 100;
/// The maximum depth of rule folders.
const MAX_DEPTH: usize = 4;

/// The rule files in `.claude`, a folder of that name, by name.
pub(super) fn files(claude: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&claude.join("rules"), 0, &mut found);
    found.sort();
    found
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.take(MAX_RULES * 4).flatten().map(|entry| entry.path()) {
        // Links to folders are not followed.
        let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
        if is_folder && depth < MAX_DEPTH {
            walk(&path, depth + 1, found);
        } else if path.extension().is_some_and(|end| end == "md") && found.len() < MAX_RULES && path.is_file()
        {
            found.push(path);
        }
    }
}

/// The text of a rule and the paths it applies to; `None` for all.
pub(super) fn parse(text: &str) -> (Option<Vec<String>>, &str) {
    let Ok(matter) = FrontMatter::parse(text) else { return (None, text) };
    let body = text.get(matter.length..).unwrap_or_default();
    let Some(paths) = matter.get("paths") else { return (None, body) };
    let paths = paths.texts(('{', '}'));
    // Without paths it applies to all.
    (Some(paths).filter(|paths| !paths.is_empty()), body)
}

/// Whether one of the paths below `base` matches one of the patterns.
pub(super) fn concern(patterns: &[String], base: &Path, paths: &[PathBuf]) -> bool {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        add(&mut set, pattern);
        // A folder stands for its contents.
        add(&mut set, &format!("{}/**", pattern.trim_end_matches('/')));
    }
    let set = set.build().unwrap_or_else(|_| GlobSet::empty());
    paths.iter().filter_map(|path| path.strip_prefix(base).ok()).any(|path| set.is_match(path))
}

/// Adds a pattern; an invalid one matches nothing.
fn add(set: &mut GlobSetBuilder, pattern: &str) {
    if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
        set.add(glob);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_say_which_paths_they_are_for() {
        let of = |text: &str| parse(text).0;
        assert_eq!(parse("just text"), (None, "just text"));
        assert_eq!(parse("---\ndescription: x\n---\ntext"), (None, "text"));
        let list = Some(vec!["src/**/*.{ts,tsx}".to_owned(), "lib/*".to_owned()]);
        assert_eq!(of("---\npaths:\n  - \"src/**/*.{ts,tsx}\"\n  - lib/*\n---\nx"), list);
        assert_eq!(of("---\npaths: src/**/*.{ts,tsx}, lib/*\n---\nx"), list);
        let base = Path::new("/p");
        let concerns = |pattern: &str, path: &str| concern(&[pattern.to_owned()], base, &[base.join(path)]);
        for (pattern, path, is_meant) in [
            ("src/**/*.ts", "src/a/b.ts", true),
            ("src/**/*.ts", "src/b.ts", true),
            ("**/*.ts", "b.ts", true),
            ("*.ts", "src/b.ts", false),
            ("src", "src/b.ts", true),
            ("./src/", "src/b.ts", true),
            ("src/*", "srcs/b.ts", false),
            ("[", "a", false),
        ] {
            assert_eq!(concerns(pattern, path), is_meant, "{pattern} {path}");
        }
    }
}
