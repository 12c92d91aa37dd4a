//! Reads the contents of git objects by asking git.
//!
//! `git cat-file --batch` and `git check-attr` run nothing that a repository configures: no filters, hooks or pagers. Objects
//! that a partial clone lacks are not fetched.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use tau_tools::hashes::hexadecimal;
use tau_tools::process::{ChildEnv, git};

/// The time within which git answers.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The attributes with which git makes another text of any kind from a file.
const CONVERTING: [&str; 2] = ["filter", "working-tree-encoding"];

/// A git process that reads objects as long as this lives.
#[derive(Debug)]
pub(crate) struct GitObjects {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<InTime>,
}

/// The output of git, whose reads fail with `TimedOut` when nothing comes for too long.
#[derive(Debug)]
struct InTime(ChildStdout, Duration);

impl Read for InTime {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let limit = Timespec::try_from(self.1).ok();
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], limit.as_ref())? {
            0 => Err(ErrorKind::TimedOut.into()),
            _ => self.0.read(buffer),
        }
    }
}

impl GitObjects {
    /// Starts git for the repository in `dir`. Fails when git cannot be started.
    pub(crate) fn open(dir: &Path) -> io::Result<Self> {
        Self::start(dir, "--batch")
    }

    fn start(dir: &Path, what: &str) -> io::Result<Self> {
        Self::run(dir, ["cat-file", what].into_iter().map(OsStr::new))
    }

    /// Starts git with these words, for the repository in `dir`.
    fn run<'a>(dir: &Path, words: impl Iterator<Item = &'a OsStr>) -> io::Result<Self> {
        let mut command = Command::new("git");
        ChildEnv::of_helpers().apply(&mut command);
        let mut child = command
            .arg("--git-dir")
            .arg(dir)
            .args(words)
            .envs(git::hardening_variables(&[]))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child
            .stdout
            .take()
            .map(|out| BufReader::new(InTime(out, TIMEOUT)))
            .ok_or(ErrorKind::BrokenPipe)?;
        let input = child.stdin.take();
        Ok(GitObjects { child, input, output })
    }

    /// The content of an object, if it has this size and matches its name. Fails when git has ended, or
    /// answers unexpectedly; the process is of no use then.
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
        Ok((found == size && is_named(object, &bytes)).then_some(bytes))
    }

    /// The size in the next line, if the object is a file.
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

    /// The sizes of many objects; `None` for missing ones. Fails when git cannot be started, or does not
    /// answer as expected.
    pub(crate) fn sizes(dir: &Path, objects: &[&[u8]]) -> io::Result<Vec<Option<u64>>> {
        let git = Self::start(dir, "--batch-check")?;
        let text: String = objects.iter().map(|object| hexadecimal(object) + "\n").collect();
        git.ask(text.as_bytes(), |git| objects.iter().map(|_| git.size()).collect())
    }

    /// Whether each of many files, relative to `root` in the working tree `top`, is converted by a filter or to an
    /// encoding, which may keep its size. Fails like [`GitObjects::sizes`].
    pub(crate) fn conversions(dir: &Path, top: &Path, root: &Path, files: &[&[u8]]) -> io::Result<Vec<bool>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let places = [OsStr::new("-C"), root.as_os_str(), OsStr::new("--work-tree"), top.as_os_str()];
        let ask = ["check-attr", "--stdin", "-z"].into_iter().chain(CONVERTING).map(OsStr::new);
        let git = Self::run(dir, places.into_iter().chain(ask))?;
        git.ask(&[files.join(&0), vec![0]].concat(), |git| files.iter().map(|_| git.is_converted()).collect())
    }

    /// Whether one of the next attributes has a value.
    fn is_converted(&mut self) -> io::Result<bool> {
        let mut values = Vec::new();
        for _ in CONVERTING {
            // A path, a name and a value.
            let mut text = Vec::new();
            for _ in 0..3 {
                text.clear();
                self.output.read_until(0, &mut text)?;
            }
            values.push(text);
        }
        if values.iter().any(Vec::is_empty) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let none = [b"unspecified\0".as_slice(), b"unset\0", b"set\0"];
        Ok(values.iter().any(|value| !none.contains(&value.as_slice())))
    }

    /// Writes a question of any length, and reads the answer meanwhile.
    fn ask<T>(mut self, text: &[u8], read: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        let mut input = self.input.take().ok_or(ErrorKind::BrokenPipe)?;
        std::thread::scope(|scope| {
            // Git answers before it has read everything, so both run at the same time.
            scope.spawn(move || input.write_all(text).ok());
            let answer = read(&mut self);
            // It may have stopped reading, too.
            self.child.kill().ok();
            answer
        })
    }
}

/// Whether a content matches the object's name.
fn is_named(object: &[u8], bytes: &[u8]) -> bool {
    use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

    let mut digest = Context::new(if object.len() == 32 { &SHA256 } else { &SHA1_FOR_LEGACY_USE_ONLY });
    digest.update(format!("blob {}\0", bytes.len()).as_bytes());
    digest.update(bytes);
    digest.finish().as_ref() == object
}

impl Drop for GitObjects {
    fn drop(&mut self) {
        self.input = None;
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_what_its_name_says() {
        let bytes = |digits: &str| tau_tools::hashes::from_hexadecimal(digits).unwrap();
        for name in [
            "ce013625030ba8dba906f756967f9e9ca394464a",
            "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4",
        ] {
            assert!(is_named(&bytes(name), b"hello\n"), "{name}");
            assert!(!is_named(&bytes(name), b"hallo\n"), "{name}");
        }
        assert!(!is_named(b"", b"hello\n"));
    }
    #[test]
    fn a_git_that_hangs_is_not_waited_for() {
        let mut child = Command::new("sleep").arg("60").stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(InTime(child.stdout.take().unwrap(), Duration::from_millis(50)));
        let mut git = GitObjects { child, input: None, output };
        assert_eq!(git.size().unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
