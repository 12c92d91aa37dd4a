//! The contents of objects of a git repository, by asking git.
//!
//! `git cat-file --batch` runs nothing that a repository names: no filters, hooks or pagers. Objects
//! that a partial clone lacks are not fetched.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::agent::settings::paths::hexadecimal;

/// A git that reads objects as long as this lives.
#[derive(Debug)]
pub(crate) struct GitObjects {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl GitObjects {
    /// Starts git for the repository in `dir`.
    ///
    /// # Errors
    /// When git cannot be started.
    pub(crate) fn open(dir: &Path) -> io::Result<Self> {
        Self::start(dir, "--batch")
    }

    fn start(dir: &Path, what: &str) -> io::Result<Self> {
        let mut command = Command::new("git");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"] {
            command.env_remove(name);
        }
        let mut child = command
            .arg("--git-dir")
            .arg(dir)
            .args(["cat-file", what])
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().map(BufReader::new).ok_or(ErrorKind::BrokenPipe)?;
        let input = child.stdin.take();
        Ok(GitObjects { child, input, output })
    }

    /// The content of an object, if it has this size.
    ///
    /// # Errors
    /// When git has ended, or has another answer; git is of no use then.
    pub(crate) fn read(&mut self, object: &[u8], size: u64) -> io::Result<Option<Vec<u8>>> {
        let input = self.input.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        writeln!(input, "{}", hexadecimal(object))?;
        input.flush()?;
        let Some(found) = self.size()? else { return Ok(None) };
        let mut bytes = Vec::new();
        (&mut self.output).take(found).read_to_end(&mut bytes)?;
        let mut end = [0];
        self.output.read_exact(&mut end)?;
        if bytes.len() as u64 != found || end != *b"\n" {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok((found == size).then_some(bytes))
    }

    /// The size in the next line: of an object that is a file.
    fn size(&mut self) -> io::Result<Option<u64>> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let mut words = line.split_whitespace().skip(1);
        match (words.next(), words.next().and_then(|size| size.parse().ok())) {
            (Some("blob"), Some(size)) => Ok(Some(size)),
            (Some("missing"), _) => Ok(None),
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }

    /// The sizes of many objects; `None` for those that are missing.
    ///
    /// # Errors
    /// When git cannot be started, or does not answer as expected.
    pub(crate) fn sizes(dir: &Path, objects: &[&[u8]]) -> io::Result<Vec<Option<u64>>> {
        let mut git = Self::start(dir, "--batch-check")?;
        let text: String = objects.iter().map(|object| hexadecimal(object) + "\n").collect();
        let mut input = git.input.take().ok_or(ErrorKind::BrokenPipe)?;
        std::thread::scope(|scope| {
            // Git answers before it has read everything, so both happen at once.
            scope.spawn(move || input.write_all(text.as_bytes()).ok());
            objects.iter().map(|_| git.size()).collect()
        })
    }
}

impl Drop for GitObjects {
    fn drop(&mut self) {
        self.input = None;
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
