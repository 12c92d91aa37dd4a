//! Decides which calls of an answer may run now.
//!
//! Read-only calls run side by side. Calls that change something run one after another. A change of a file
//! waits for earlier reads of it, and later ones wait for the change; a command that is not known to be
//! read-only waits for every earlier call, and every later one waits for it. A call that needs approval may
//! be prepared and judged early; its decision is then held until the calls before it have ended.

use std::future::{Future, poll_fn};
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::task::Poll;

use tokio::sync::oneshot;
use unicode_normalization::UnicodeNormalization;

use super::approvals::Decision;
use crate::permissions;
use tau_tools::{Access, AnyTool, ToolError, paths};

/// The things that a call may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// These files, and everything below these folders; compared by [`key`].
    Files { reads: Vec<String>, writes: Vec<String> },
    /// Unknown reads.
    Reading,
    /// Any change.
    Anything,
}

impl Reach {
    /// The reach of a call that is not run.
    pub(crate) fn nothing() -> Self {
        Reach::Files { reads: Vec::new(), writes: Vec::new() }
    }

    /// The reach of a call of `tool`, which touches `access` as far as is known.
    pub(crate) fn of(tool: &dyn AnyTool, access: Option<&Access>, cwd: &Path) -> Self {
        let read_only = tool.spec().read_only;
        let Some(access) = access else {
            return if read_only { Reach::Reading } else { Reach::Anything };
        };
        let only_reads = |command: &String| permissions::only_reads(command, cwd);
        let is_file_work = !access.program && !access.unknown && access.network.is_empty();
        let keys = |paths: &[PathBuf]| paths.iter().map(|path| key(path)).collect::<Option<Vec<String>>>();
        let files = (keys(&access.reads), keys(&access.writes));
        match (&access.commands[..], files) {
            ([], (Some(reads), Some(writes))) if is_file_work && !(reads.is_empty() && writes.is_empty()) => {
                Reach::Files { reads, writes }
            }
            _ if read_only => Reach::Reading,
            ([_, ..], _)
                if is_file_work && access.writes.is_empty() && access.commands.iter().all(only_reads) =>
            {
                Reach::Reading
            }
            _ => Reach::Anything,
        }
    }

    /// Whether the order of two such calls matters.
    fn conflicts(&self, other: &Reach) -> bool {
        match (self, other) {
            (Reach::Anything, _) | (_, Reach::Anything) => true,
            (Reach::Reading, Reach::Reading) => false,
            (Reach::Reading, Reach::Files { writes, .. }) | (Reach::Files { writes, .. }, Reach::Reading) => {
                !writes.is_empty()
            }
            (Reach::Files { reads, writes }, Reach::Files { reads: other_reads, writes: other_writes }) => {
                // Undo keeps one change at a time.
                !writes.is_empty() && !other_writes.is_empty()
                    || overlap(writes, other_reads)
                    || overlap(reads, other_writes)
            }
        }
    }
}

/// Whether one of `some` and one of `others` are the same or one contains the other.
fn overlap(some: &[String], others: &[String]) -> bool {
    let holds = |folder: &str, path: &str| Path::new(path).starts_with(folder);
    some.iter().any(|one| others.iter().any(|other| holds(one, other) || holds(other, one)))
}

/// A canonical name of a file, independent of the path that leads to it and of Unicode composition; in lower
/// case, for file systems that ignore case. `None` if it cannot be determined.
fn key(path: &Path) -> Option<String> {
    let path = paths::identity(path);
    let is_plain = path.components().all(|part| part != Component::ParentDir);
    is_plain.then(|| path.to_string_lossy().nfc().collect::<String>().to_lowercase())
}

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Started,
    Ended,
}

/// A call of the answer.
#[derive(Debug)]
struct Place {
    reach: Reach,
    /// Whether it may be prepared and approved before the calls before it have ended, provided that these may
    /// be, too.
    early: bool,
    stage: Stage,
    /// The decision that is held until it may run.
    held: Option<HeldDecision>,
}

/// A decision on its way to the task of a call.
#[derive(Debug)]
struct HeldDecision {
    made: oneshot::Receiver<Decision>,
    task: oneshot::Sender<Decision>,
}

/// The calls of an answer, by their index in it.
#[derive(Debug, Default)]
pub(crate) struct CallOrder(Vec<Place>);

impl CallOrder {
    /// Adds the next call; `early` if it can be prepared and approved before the calls before it have ended.
    pub(crate) fn push(&mut self, reach: Reach, early: bool) {
        self.0.push(Place { reach, early, stage: Stage::Waiting, held: None });
    }

    /// The first call that can start now; if the user can be asked (`asks`), also one that can only be
    /// prepared.
    pub(crate) fn next_to_start(&self, asks: bool) -> Option<usize> {
        let is_early = |index: usize| {
            let mut until = self.0.iter().take(index + 1).filter(|place| place.stage != Stage::Ended);
            asks && until.all(|place| place.early)
        };
        let is_waiting =
            |index: &usize| self.0.get(*index).is_some_and(|place| place.stage == Stage::Waiting);
        (0..self.0.len()).filter(is_waiting).find(|index| self.is_free(*index) || is_early(*index))
    }

    /// The calls that have not started.
    pub(crate) fn waiting(&self) -> Vec<usize> {
        let waiting = self.0.iter().enumerate().filter(|(_, place)| place.stage == Stage::Waiting);
        waiting.map(|(index, _)| index).collect()
    }

    /// Whether no unfinished call before this one conflicts with it.
    pub(crate) fn is_free(&self, index: usize) -> bool {
        let Some(this) = self.0.get(index) else { return true };
        let mut before = self.0.iter().take(index).filter(|place| place.stage != Stage::Ended);
        before.all(|place| !place.reach.conflicts(&this.reach))
    }

    pub(crate) fn start(&mut self, index: usize) {
        self.set_stage(index, Stage::Started);
    }

    pub(crate) fn end(&mut self, index: usize) {
        self.set_stage(index, Stage::Ended);
    }

    fn set_stage(&mut self, index: usize, stage: Stage) {
        if let Some(place) = self.0.get_mut(index) {
            place.stage = stage;
            place.held = None;
        }
    }

    /// Changes the reach of a call that turned out different from its announcement.
    pub(crate) fn revise(&mut self, index: usize, reach: Reach) {
        if let Some(place) = self.0.get_mut(index) {
            place.reach = reach;
        }
    }

    /// The channel for the decision on a call that is not free, instead of its task.
    pub(crate) fn hold(
        &mut self,
        index: usize,
        task: oneshot::Sender<Decision>,
    ) -> oneshot::Sender<Decision> {
        let Some(place) = self.0.get_mut(index) else { return task };
        let (decide, made) = oneshot::channel();
        place.held = Some(HeldDecision { made, task });
        decide
    }

    /// Waits for the next call that is free and decided; [`HeldCall::run`] runs it. Stays pending without
    /// such a call. Cancel safe.
    pub(crate) fn next_held_call(&mut self) -> impl Future<Output = HeldCall> {
        poll_fn(|cx| {
            for index in 0..self.0.len() {
                if !self.is_free(index) {
                    continue;
                }
                let Some(place) = self.0.get_mut(index) else { continue };
                let Some(held) = &mut place.held else { continue };
                let Poll::Ready(made) = Pin::new(&mut held.made).poll(cx) else { continue };
                let held = place.held.take();
                // Withdrawn: its task ends by itself.
                if let (Ok(decision), Some(HeldDecision { task, .. })) = (made, held) {
                    return Poll::Ready(HeldCall { index, decision, task });
                }
            }
            Poll::Pending
        })
    }

    /// Whether a call was allowed, and waited only for its turn.
    pub(crate) fn was_held_back(&mut self, index: usize) -> bool {
        let held = self.0.get_mut(index).and_then(|place| place.held.as_mut());
        held.is_some_and(|held| matches!(held.made.try_recv(), Ok(Ok(_))))
    }

    /// Ends the calls whose decision is held, with this reason. Returns their indexes.
    pub(crate) fn refuse_held_calls(&mut self, reason: &str) -> Vec<usize> {
        let mut refused = Vec::new();
        for (index, place) in self.0.iter_mut().enumerate() {
            if let Some(HeldDecision { task, .. }) = place.held.take() {
                // The task of a call that was stopped in the meantime is gone.
                let _ = task.send(Err(ToolError::refused(reason)));
                refused.push(index);
            }
        }
        refused
    }
}

/// A call that may run now, and the decision on it.
#[derive(Debug)]
pub(crate) struct HeldCall {
    pub(crate) index: usize,
    decision: Decision,
    task: oneshot::Sender<Decision>,
}

impl HeldCall {
    /// Sends the decision to the call's task.
    pub(crate) fn run(self) {
        // The task of a call that was stopped in the meantime is gone.
        let _ = self.task.send(self.decision);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use tau_tools::Toolbox;

    fn reach(cwd: &Path, tool: &str, arguments: &Value) -> Reach {
        let tools = Toolbox::all();
        let tool = tools.get(tool).unwrap();
        Reach::of(&**tool, tool.touches(arguments, cwd).as_ref(), cwd)
    }

    #[test]
    fn which_calls_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path();
        fs::create_dir(cwd.join("src")).unwrap();
        fs::write(cwd.join("src/a"), "").unwrap();
        std::os::unix::fs::symlink("src/a", cwd.join("link")).unwrap();
        let path = |tool: &'static str, path: &str| (tool, json!({ "path": path }));
        let bash = |command: &str| ("bash", json!({ "command": command }));
        let grep = |path: &str| ("grep", json!({ "pattern": "x", "path": path }));
        for (one, other, in_order) in [
            (path("read", "src/a"), path("read", "src/a"), false),
            (path("read", "src/a"), path("edit", "src/b"), false),
            (path("read", "src/a"), path("edit", "src/a"), true),
            (path("read", "src/../src/a"), path("write", "link"), true),
            (path("write", "new/./\u{e9}"), path("read", "new/e\u{301}"), true),
            (path("write", "new/../x"), path("read", "x"), true),
            (path("edit", "src/a"), path("edit", "src/b"), true),
            (path("edit", "src/a"), path("write", "link"), true),
            (path("edit", "src/a"), path("ls", "src"), true),
            (path("edit", "src/a"), ("ls", json!({})), true),
            (path("edit", "src/a"), grep("src"), true),
            (path("edit", "src/a"), grep("tests"), false),
            (bash("cat src/a"), bash("sleep 1; git log --oneline"), false),
            (bash("cat src/a"), path("read", "src/a"), false),
            (bash("cat src/a"), path("edit", "src/b"), true),
            (bash("cat src/a"), bash("make"), true),
            (bash("git add a"), bash("git add b"), true),
            (bash("cargo test"), path("read", "src/a"), true),
            (bash("cargo test"), path("edit", "src/a"), true),
            (bash("cat a >b"), bash("cat b"), true),
            (bash("true"), ("web_search", json!({ "query": "x" })), false),
            (path("edit", "src/a"), ("edit", json!({})), true),
        ] {
            let Some(_) = Toolbox::all().get(other.0) else { continue };
            let (a, b) = (reach(cwd, one.0, &one.1), reach(cwd, other.0, &other.1));
            assert_eq!(a.conflicts(&b), in_order, "{one:?}, {other:?}");
            assert_eq!(b.conflicts(&a), in_order, "{other:?}, {one:?}");
        }
    }

    /// For all calls and all orders of completion: conflicting calls never overlap and start in their order,
    /// and no call waits without need.
    #[test]
    fn calls_overlap_where_their_order_does_not_matter() {
        let mut seed = 7_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let files = |reads: &[&str], writes: &[&str]| Reach::Files {
            reads: reads.iter().map(|path| (*path).to_owned()).collect(),
            writes: writes.iter().map(|path| (*path).to_owned()).collect(),
        };
        let kinds = [
            Reach::Reading,
            Reach::Anything,
            Reach::nothing(),
            files(&["/a"], &[]),
            files(&["/a/b"], &["/a/b"]),
            files(&["/c"], &["/c"]),
            files(&["/"], &[]),
        ];
        for _ in 0..300 {
            let mut order = CallOrder::default();
            let reaches: Vec<Reach> = (0..9).map(|_| kinds[random(kinds.len())].clone()).collect();
            reaches.iter().for_each(|reach| order.push(reach.clone(), false));
            let (mut running, mut ended): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
            while ended.len() < reaches.len() {
                while let Some(index) = order.next_to_start(false) {
                    assert!(running.iter().all(|other| !reaches[*other].conflicts(&reaches[index])));
                    order.start(index);
                    running.push(index);
                }
                for waiting in order.waiting() {
                    let waits_for =
                        |other: usize| !ended.contains(&other) && reaches[other].conflicts(&reaches[waiting]);
                    assert!((0..waiting).any(waits_for), "{waiting} of {reaches:?}");
                }
                let index = running.swap_remove(random(running.len()));
                order.end(index);
                ended.push(index);
            }
        }
    }
}
