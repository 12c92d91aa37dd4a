//! The changes of attempts: their hunks, and a patch of those that the user has chosen.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::{Attempt, Attempts};
use tau_protocol::attempt::AttemptHunk;
use tau_tools::paths::identity;
use tau_tools::user_error::UserError;

/// The options of a difference: no program that a repository names, and names as `git apply` reads them.
const DIFF: [&str; 9] = *tau_tools::words!(
    "diff --no-ext-diff --no-textconv --no-color --no-renames --no-relative --submodule=short \
     --src-prefix=a/ --dst-prefix=b/"
);

/// The beginning of the patch of a file.
const BEGIN: &[u8] = b"diff --git ";

/// Lines in the header of a patch that does more than change lines.
const BEYOND_LINES: [&str; 4] = ["new file mode ", "deleted file mode ", "old mode ", "GIT binary patch"];

/// A part of a difference: a file, and the numbers of its hunks, from 1. Without numbers all of them are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub path: String,
    pub hunks: Vec<usize>,
}

impl Part {
    /// Reads `PATH` or `PATH:1,3`.
    pub fn read(text: &str) -> Self {
        let numbers = |list: &str| {
            list.split(',')
                .map(|number| number.parse().ok().filter(|number| *number > 0))
                .collect::<Option<Vec<_>>>()
        };
        match text.rsplit_once(':').and_then(|(path, list)| Some((path, numbers(list)?))) {
            Some((path, hunks)) => Part { path: path.to_owned(), hunks },
            None => Part { path: text.to_owned(), hunks: Vec::new() },
        }
    }
}

/// The parts of an attempt with these names, as they are seen from a directory, else from the top.
pub(crate) fn parts(
    attempts: &Attempts,
    attempt: &Attempt,
    names: &[String],
    cwd: &Path,
) -> Result<Vec<Part>, UserError> {
    let changed = if names.is_empty() { Vec::new() } else { patches(attempts, attempt)? };
    let seen = |name: &String| {
        let part = Part::read(name);
        let path = cwd.join(&part.path);
        let path = match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => identity(folder).join(name),
            _ => path,
        };
        let here = path.strip_prefix(&attempts.top).ok().map(|path| path.to_string_lossy().into_owned());
        match here.filter(|here| changed.iter().any(|(path, _)| path.to_string_lossy() == *here)) {
            Some(path) => Part { path, ..part },
            None => part,
        }
    };
    Ok(names.iter().map(seen).collect())
}

/// An attempt of which parts are taken; all of it if none are named.
#[derive(Clone, Debug)]
pub(crate) struct Choice<'a> {
    pub attempt: &'a Attempt,
    pub parts: Vec<Part>,
}

impl Choice<'_> {
    /// Whether all of the attempt is taken.
    pub fn is_whole(&self) -> bool {
        self.parts.is_empty()
    }
}

#[derive(Debug)]
struct FilePatch {
    head: Vec<u8>,
    hunks: Vec<Hunk>,
}

/// A hunk of a patch: the lines that it is about before and after it, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    old: (i64, i64),
    new: (i64, i64),
    /// The rest of its first line.
    about: Vec<u8>,
    lines: Vec<u8>,
}

/// The hunks of an attempt that are taken of a file.
struct TakenHunks {
    attempt: u32,
    patch: FilePatch,
    /// Their numbers, from 1, in order.
    numbers: Vec<usize>,
}

/// The difference of an attempt to the files that it began with: one patch for each file, with its path.
fn patches(attempts: &Attempts, attempt: &Attempt) -> Result<Vec<(OsString, Vec<u8>)>, UserError> {
    let Some(files) = &attempt.files else {
        let none = UserError::new(format!("attempt {} has no result", attempt.number));
        return Err(match &attempt.unkept {
            Some(why) => none.because(why),
            None => none,
        });
    };
    let git = attempts.git();
    let between = [attempts.base.as_str(), files, "--"];
    let names = git.names(&[&DIFF[..], &["--name-only", "-z"], &between].concat())?;
    let arguments = [&DIFF[..], &["--patch", "--binary", "--full-index"], &between].concat();
    let patches = split(&git.bytes(&arguments.into_iter().map(OsStr::new).collect::<Vec<_>>())?);
    if names.len() != patches.len() {
        return Err(format!("git shows {} changes of {} files", patches.len(), names.len()).into());
    }
    Ok(names.into_iter().zip(patches).collect())
}

/// The patches of the files in a difference. Git prints two for a file that becomes a link or the like: one that deletes
/// it, and one that makes it again.
fn split(difference: &[u8]) -> Vec<Vec<u8>> {
    let mut patches: Vec<(&[u8], Vec<u8>)> = Vec::new();
    for line in difference.split_inclusive(|byte| *byte == b'\n') {
        let begins = line.starts_with(BEGIN);
        match patches.last_mut() {
            Some((begin, patch)) if !begins || *begin == line => patch.extend(line),
            _ => patches.push((line, line.to_vec())),
        }
    }
    patches.into_iter().map(|(_, patch)| patch).collect()
}

impl FilePatch {
    fn read(patch: &[u8]) -> Self {
        let (mut head, mut hunks): (Vec<u8>, Vec<Hunk>) = (Vec::new(), Vec::new());
        if patch.split_inclusive(|byte| *byte == b'\n').skip(1).any(|line| line.starts_with(BEGIN)) {
            // Of two patches no part can be taken.
            return FilePatch { head: patch.to_vec(), hunks };
        }
        for line in patch.split_inclusive(|byte| *byte == b'\n') {
            match (Hunk::begin(line), hunks.last_mut()) {
                (Some(hunk), _) => hunks.push(hunk),
                (None, Some(hunk)) => hunk.lines.extend(line),
                (None, None) => head.extend(line),
            }
        }
        FilePatch { head, hunks }
    }

    /// Whether it only changes lines of a file that is there before and after it.
    fn is_of_lines(&self) -> bool {
        let head = String::from_utf8_lossy(&self.head);
        !self.hunks.is_empty() && !head.lines().any(|line| BEYOND_LINES.iter().any(|it| line.starts_with(it)))
    }

    /// The header in words: what there is to know of it beside the hunks.
    fn about(&self) -> Vec<String> {
        let head = String::from_utf8_lossy(&self.head);
        let lines = head
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with("literal ") && !line.starts_with("delta "));
        if lines.clone().any(|line| line.as_bytes().starts_with(BEGIN)) {
            return vec!["another kind of file".to_owned()];
        }
        let mode = |begin: &str| lines.clone().find_map(|line| line.strip_prefix(begin));
        let executes = |mode: &str| mode.ends_with("755");
        let changed = match (mode("old mode "), mode("new mode ")) {
            (Some(old), Some(new)) if executes(new) && !executes(old) => Some("made executable"),
            (Some(old), Some(new)) if executes(old) && !executes(new) => Some("no longer executable"),
            (Some(_), Some(_)) => Some("another kind of file"),
            _ => None,
        };
        let made = mode("new file mode ").map(|mode| match mode {
            mode if executes(mode) => "new file, executable",
            "120000" => "new link",
            _ => "new file",
        });
        let deleted = mode("deleted file mode ").map(|_| "deleted");
        let binary = lines.clone().find(|line| line.starts_with("GIT binary patch")).map(|_| "binary");
        [changed, made, deleted, binary].into_iter().flatten().map(str::to_owned).collect()
    }
}

impl Hunk {
    /// The hunk that begins with this line: `@@ -1,2 +3,4 @@ about`.
    fn begin(line: &[u8]) -> Option<Self> {
        let rest = line.strip_prefix(b"@@ -")?;
        let end = rest.windows(3).position(|bytes| bytes == b" @@")?;
        let (old, new) = std::str::from_utf8(rest.get(..end)?).ok()?.split_once(" +")?;
        let range = |text: &str| match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        };
        let about = rest.get(end + 3..).unwrap_or_default().to_vec();
        Some(Hunk { old: range(old)?, new: range(new)?, about, lines: Vec::new() })
    }

    fn growth(&self) -> i64 {
        self.new.1 - self.old.1
    }

    /// The first of the old lines, and the one behind the last.
    fn place(&self) -> (i64, i64) {
        (self.old.0, self.old.0 + self.old.1.max(1))
    }

    fn first_line(&self) -> String {
        let ((old, before), (new, after)) = (self.old, self.new);
        format!("@@ -{old},{before} +{new},{after} @@")
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.first_line().as_bytes());
        to.extend(&self.about);
        to.extend(&self.lines);
    }
}

/// The difference as text, with the numbers of the hunks.
pub(crate) fn numbered_patches(
    attempts: &Attempts,
    attempt: &Attempt,
) -> Result<Vec<(String, String)>, UserError> {
    let text = |patch: &[u8]| {
        let FilePatch { head, hunks } = FilePatch::read(patch);
        let mut text = String::from_utf8_lossy(&head).into_owned();
        for (at, hunk) in hunks.iter().enumerate() {
            text.push_str(&format!("# attempt {} hunk {}\n", attempt.number, at + 1));
            let mut bytes = Vec::new();
            hunk.write(&mut bytes);
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
        text
    };
    let all = patches(attempts, attempt)?;
    Ok(all.into_iter().map(|(path, patch)| (in_words(&path), text(&patch))).collect())
}

/// The hunks of an attempt, file by file, for a list.
pub(crate) fn of(
    attempts: &Attempts,
    attempt: &Attempt,
) -> Result<Vec<(String, Vec<AttemptHunk>)>, UserError> {
    let hunks = |patch: FilePatch| {
        if patch.hunks.is_empty() {
            let (title, text) = ("the whole file".to_owned(), patch.about().join(", "));
            return vec![AttemptHunk { number: None, start: 0, end: u64::MAX, title, text }];
        }
        let about = patch.about().join(", ");
        let hunk = |(at, hunk): (usize, &Hunk)| {
            let (start, end) = hunk.place();
            let of = String::from_utf8_lossy(&hunk.about).trim_end().to_owned();
            AttemptHunk {
                number: Some(at + 1),
                start: u64::try_from(start).unwrap_or_default(),
                end: u64::try_from(end).unwrap_or_default(),
                title: match about.as_str() {
                    "" => format!("{}{of}", hunk.first_line()),
                    whole if whole.starts_with("new ") || whole == "deleted" => format!("· {whole}"),
                    about => format!("· {about} · {}{of}", hunk.first_line()),
                },
                text: String::from_utf8_lossy(&hunk.lines).into_owned(),
            }
        };
        patch.hunks.iter().enumerate().map(hunk).collect()
    };
    let all = patches(attempts, attempt)?;
    Ok(all.into_iter().map(|(path, patch)| (in_words(&path), hunks(FilePatch::read(&patch)))).collect())
}

fn in_words(path: &OsStr) -> String {
    path.to_string_lossy().into_owned()
}

/// The patch of what was chosen, and the files that it changes. It lacks what `is_there` finds in the directory already,
/// of a patch of one hunk, or of a whole file that has none.
pub(super) fn patch(
    attempts: &Attempts,
    choices: &[Choice<'_>],
    is_there: &dyn Fn(&[u8]) -> bool,
) -> Result<(Vec<u8>, Vec<OsString>), UserError> {
    let mut files: BTreeMap<OsString, Vec<TakenHunks>> = BTreeMap::new();
    for Choice { attempt, parts } in choices {
        let number = attempt.number;
        for (path, bytes) in patches(attempts, attempt)? {
            let patch = FilePatch::read(&bytes);
            let name = in_words(&path);
            let mut of_file = parts.iter().filter(|part| part.path == name).peekable();
            if of_file.peek().is_none() && !parts.is_empty() {
                continue;
            }
            let mut numbers: Vec<usize> = of_file.flat_map(|part| part.hunks.iter().copied()).collect();
            if let Some(missing) = numbers.iter().find(|number| **number == 0 || **number > patch.hunks.len())
            {
                return Err(format!("{name} has no hunk {missing} in attempt {number}").into());
            }
            if numbers.is_empty() || parts.iter().any(|part| part.path == name && part.hunks.is_empty()) {
                numbers = (1..=patch.hunks.len()).collect();
            }
            numbers.sort_unstable();
            numbers.dedup();
            files.entry(path).or_default().push(TakenHunks { attempt: number, patch, numbers });
        }
        let is_changed = |part: &&Part| {
            let mut of_part = files.iter().filter(|(path, _)| in_words(path) == part.path);
            of_part.any(|(_, taken)| taken.iter().any(|it| it.attempt == number))
        };
        if let Some(part) = parts.iter().find(|part| !is_changed(part)) {
            return Err(format!("attempt {number} does not change {:?}", part.path).into());
        }
    }
    let (mut patch, mut changes) = (Vec::new(), Vec::new());
    for (path, mut taken) in files {
        let name = in_words(&path);
        taken.retain_mut(|taken| !taken.drop_present(is_there));
        if !taken.is_empty() {
            write_file(&name, &taken, &mut patch)?;
            changes.push(path);
        }
    }
    Ok((patch, changes))
}

impl TakenHunks {
    /// Leaves out the hunks that are in the directory already; returns whether nothing is left.
    fn drop_present(&mut self, is_there: &dyn Fn(&[u8]) -> bool) -> bool {
        let FilePatch { head, hunks } = &self.patch;
        if hunks.is_empty() {
            return is_there(head);
        }
        let is_present = |number: &usize| {
            let mut patch = head.clone();
            number.checked_sub(1).and_then(|at| hunks.get(at)).iter().for_each(|hunk| hunk.write(&mut patch));
            is_there(&patch)
        };
        self.numbers.retain(|number| !is_present(number));
        self.numbers.is_empty()
    }
}

/// Writes the patch of a file with the hunks of one attempt, or of several.
fn write_file(path: &str, taken: &[TakenHunks], to: &mut Vec<u8>) -> Result<(), UserError> {
    let Some(first) = taken.first() else { return Ok(()) };
    if let [_, other, ..] = taken
        && taken.iter().any(|of| !of.patch.is_of_lines())
    {
        let (one, other) = (first.attempt, other.attempt);
        return Err(UserError::new(format!("attempts {one} and {other} both change {path} as a whole"))
            .remedy("take it of one of them only"));
    }
    // Each with its number, and with where it would begin if it were the only one.
    let mut hunks: Vec<(u32, usize, Hunk)> = Vec::new();
    for TakenHunks { attempt, patch, numbers } in taken {
        let mut grown = 0;
        for (number, hunk) in (1..).zip(&patch.hunks) {
            if numbers.contains(&number) {
                let new = (hunk.new.0 - grown, hunk.new.1);
                hunks.push((*attempt, number, Hunk { new, ..hunk.clone() }));
            }
            grown += hunk.growth();
        }
    }
    hunks.sort_by_key(|(_, _, hunk)| hunk.place());
    for pair in hunks.windows(2) {
        if let [(one, first, before), (other, second, after)] = pair
            && one != other
            && after.place().0 < before.place().1
        {
            return Err(UserError::new(format!(
                "hunk {first} of attempt {one} and hunk {second} of attempt {other} change the same place of {path}"
            ))
            .remedy("take one of them only"));
        }
    }
    to.extend(&first.patch.head);
    let mut grown = 0;
    for (_, _, mut hunk) in hunks {
        hunk.new.0 += grown;
        grown += hunk.growth();
        hunk.write(to);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_files_or_hunks_of_them() {
        let part = |path: &str, hunks: &[usize]| Part { path: path.to_owned(), hunks: hunks.to_vec() };
        assert_eq!(Part::read("src/a.rs"), part("src/a.rs", &[]));
        assert_eq!(Part::read("src/a.rs:1,3"), part("src/a.rs", &[1, 3]));
        assert_eq!(Part::read("a:b"), part("a:b", &[]));
        assert_eq!(Part::read("a:0"), part("a:0", &[]));
        assert_eq!(Part::read("a:b:2"), part("a:b", &[2]));
    }

    const HEAD: &str = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n";

    fn take_hunks(attempt: u32, patch: &str, numbers: &[usize]) -> TakenHunks {
        TakenHunks { attempt, patch: FilePatch::read(patch.as_bytes()), numbers: numbers.to_vec() }
    }

    fn patch_text(taken: &[TakenHunks]) -> Result<String, String> {
        let mut bytes = Vec::new();
        write_file("x", taken, &mut bytes).map_err(String::from)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_patch_has_a_head_and_hunks() {
        let patch = format!(
            "{HEAD}@@ -1 +1,2 @@ fn x\n-a\n+b\n+c\n@@ -9,0 +11 @@\n+d\n\\ No newline at end of file\n"
        );
        let FilePatch { head, hunks } = FilePatch::read(patch.as_bytes());
        assert_eq!(head, HEAD.as_bytes());
        let [first, second] = hunks.as_slice() else { panic!("{hunks:?}") };
        assert_eq!((first.old, first.new, first.place(), first.growth()), ((1, 1), (1, 2), (1, 2), 1));
        assert_eq!((second.old, second.new, second.place()), ((9, 0), (11, 1), (9, 10)));
        assert!(second.lines.ends_with(b"file\n"));
        assert!(FilePatch::read(b"diff --git a/x b/x\nnew file mode 100644\n").hunks.is_empty());
        let link = HEAD.replace("index", "deleted file mode 100644\nindex") + "@@ -1 +0,0 @@\n-a\n";
        let link = link + &HEAD.replace("index", "new file mode 120000\nindex") + "@@ -0,0 +1 @@\n+b\n";
        let (link, other) = (link.replace("/x", "/l"), patch.replace("/x", "/y"));
        assert_eq!(
            split(format!("{patch}{link}{other}").as_bytes()),
            [patch.as_bytes(), link.as_bytes(), other.as_bytes()].map(<[u8]>::to_vec)
        );
        let of_link = FilePatch::read(link.as_bytes());
        assert!(of_link.head == link.as_bytes() && of_link.hunks.is_empty() && !of_link.is_of_lines());
        assert_eq!(of_link.about(), ["another kind of file"]);
    }

    #[test]
    fn the_header_of_git_is_said_in_words() {
        let about = |head: &str| {
            FilePatch::read(format!("diff --git a/x b/x\n{head}\n").as_bytes()).about().join(", ")
        };
        assert_eq!(about("index 1..2 100644\n--- a/x\n+++ b/x"), "");
        assert_eq!(about("new file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x"), "new file");
        assert_eq!(about("new file mode 100755"), "new file, executable");
        assert_eq!(about("new file mode 120000"), "new link");
        assert_eq!(about("deleted file mode 100644"), "deleted");
        assert_eq!(about("old mode 100644\nnew mode 100755"), "made executable");
        assert_eq!(about("old mode 100755\nnew mode 100644"), "no longer executable");
        assert_eq!(about("index 1..2 100644\nGIT binary patch\nliteral 3\nold mode 1"), "binary");
    }

    #[test]
    fn hunks_of_several_attempts_make_one_patch() {
        let one = format!("{HEAD}@@ -1,2 +1,4 @@\n a\n+b\n+c\n d\n@@ -9,2 +11,1 @@\n-e\n f\n");
        let other = format!("{HEAD}@@ -5,1 +5,2 @@\n g\n+h\n@@ -8,2 +9,2 @@\n-i\n+j\n k\n");
        assert_eq!(
            patch_text(&[take_hunks(1, &one, &[2])]),
            Ok(format!("{HEAD}@@ -9,2 +9,1 @@\n-e\n f\n")),
            "what is not taken moves nothing"
        );
        assert_eq!(
            patch_text(&[take_hunks(1, &one, &[1, 2]), take_hunks(2, &other, &[1])]),
            Ok(format!(
                "{HEAD}@@ -1,2 +1,4 @@\n a\n+b\n+c\n d\n@@ -5,1 +7,2 @@\n g\n+h\n@@ -9,2 +12,1 @@\n-e\n f\n"
            ))
        );
        assert_eq!(
            patch_text(&[take_hunks(1, &one, &[2]), take_hunks(2, &other, &[2])]),
            Err("hunk 2 of attempt 2 and hunk 2 of attempt 1 change the same place of x; take one of them only".to_owned())
        );
        let new = "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n";
        assert_eq!(
            patch_text(&[take_hunks(1, new, &[1]), take_hunks(3, new, &[1])]),
            Err("attempts 1 and 3 both change x as a whole; take it of one of them only".to_owned())
        );
    }
}
