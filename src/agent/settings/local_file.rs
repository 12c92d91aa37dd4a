//! Keeps a user's local project settings out of the repository.
//!
//! `.tau/.gitignore` lists the file, `.tau/config.local.toml`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::permissions::LOCAL;
use tau_tools::regular_files::read_text;
use tau_tools::user_error::UserError;

/// The name of git's ignore file.
const IGNORE: &str = ".gitignore";
/// The maximum size of such a file, in bytes.
const MAX_SIZE: u64 = 64 * 1024;
/// The content of a new one. It ignores itself, so that nothing new appears in the repository.
const NEW: &str = "/.gitignore\n/config.local.toml\n";
/// Lines that already ignore the file.
const COVERS: [&str; 5] = [LOCAL, "/config.local.toml", "*.local.toml", "/*.local.toml", "*"];

/// Makes git ignore the file in the folder; the content of an existing `.gitignore` is kept. The error is a
/// sentence for the user: the failure, and what to do.
pub fn ignore(folder: &Path) -> Result<(), UserError> {
    let path = folder.join(IGNORE);
    let failed = |error: io::Error| {
        UserError::new(format!(
            "{}: {error}; add the line {LOCAL}, so that your own rules stay out of the repository",
            path.display()
        ))
    };
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut new = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
            new.write_all(NEW.as_bytes()).map_err(failed)
        }
        Err(error) => Err(failed(error)),
        Ok(known) if !known.is_file() => Err(failed(io::Error::other("not a regular file"))),
        Ok(_) => {
            let text = read_text(&path, MAX_SIZE).map_err(failed)?;
            let says = text.lines().map(str::trim).rfind(|line| {
                let rule = line.strip_prefix('!').unwrap_or(line);
                COVERS.contains(&rule)
            });
            if says.is_some_and(|line| !line.starts_with('!')) {
                return Ok(());
            }
            let line = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
            let mut options = OpenOptions::new();
            let mut file = options.append(true).custom_flags(flags).open(&path).map_err(failed)?;
            file.write_all(format!("{line}/{LOCAL}\n").as_bytes()).map_err(failed)
        }
    }
}

/// The first of these paths that exists and leads out of the project in `root`.
pub fn leads_out(root: &Path, paths: &[&Path]) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    let is_out = |path: &&&Path| match path.canonicalize() {
        Ok(real) => !real.starts_with(&root),
        // Writing through a dangling link would create its target.
        Err(_) => path.is_symlink(),
    };
    paths.iter().find(is_out).map(|path| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_file_is_ignored_once_and_nothing_else_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(IGNORE);
        ignore(folder.path()).unwrap();
        ignore(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), NEW);
        for (before, after) in [
            ("", "/config.local.toml\n"),
            ("*.log", "*.log\n/config.local.toml\n"),
            ("*.log\r\n", "*.log\r\n/config.local.toml\n"),
            ("config.local.toml\n", "config.local.toml\n"),
            ("*\n", "*\n"),
            ("*\n!config.local.toml\n", "*\n!config.local.toml\n/config.local.toml\n"),
            ("# config.local.toml\n", "# config.local.toml\n/config.local.toml\n"),
        ] {
            fs::write(&path, before).unwrap();
            ignore(folder.path()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn nothing_outside_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("work"), dir.path().join("bashrc"));
        fs::create_dir_all(root.join(".tau")).unwrap();
        fs::write(&outside, "mine\n").unwrap();
        std::os::unix::fs::symlink(&outside, root.join(".tau/.gitignore")).unwrap();
        assert!(ignore(&root.join(".tau")).unwrap_err().contains("not a regular file"));
        assert_eq!(fs::read_to_string(&outside).unwrap(), "mine\n");
        let file = root.join(".tau/config.local.toml");
        let out = |file: &Path| leads_out(&root, &[&root.join(".tau"), file]);
        assert_eq!(out(&file), None);
        for to in [&outside, &dir.path().join("missing")] {
            std::os::unix::fs::symlink(to, &file).unwrap();
            assert_eq!(out(&file).as_ref(), Some(&file));
            fs::remove_file(&file).unwrap();
        }
    }
}
