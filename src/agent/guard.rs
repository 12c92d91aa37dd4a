//! Notices a model that repeats itself: the same call with the same result, again and again.
//!
//! Pure. Looks back by turns, so that a model which repeats two calls side by side is seen as well
//! as one that repeats one. A result that changes does not count, so waiting for a server by polling it is fine.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::tools::{Content, ToolOutput};

use super::message::ToolCall;

/// Turns looked back upon.
const WINDOW: usize = 6;
/// Equal calls in the window from which on the model is warned.
const WARN: usize = 3;
/// Equal calls in the window that end the run.
const STOP: usize = 5;

/// What the latest call amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Nothing to say.
    Fresh,
    /// The model should be told; how often it has been.
    Warned(usize),
    /// The run should end.
    Stuck(usize),
}

/// The calls of the last turns of a run, as fingerprints.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    earlier: VecDeque<Vec<u64>>,
    /// Those of the present turn.
    present: Vec<u64>,
    stuck: Option<String>,
}

impl Guard {
    /// Notes a finished call and says what it amounts to.
    pub(super) fn note(&mut self, call: &ToolCall, output: &ToolOutput) -> Repeat {
        let print = fingerprint(call, output);
        self.present.push(print);
        let recent = self.earlier.iter().flatten().chain(&self.present);
        match recent.filter(|recent| **recent == print).count() {
            count if count >= STOP => {
                self.stuck = Some(call.name.clone());
                Repeat::Stuck(count)
            }
            count if count >= WARN => Repeat::Warned(count),
            _ => Repeat::Fresh,
        }
    }

    /// Notes that a turn has ended.
    pub(super) fn end_turn(&mut self) {
        if !self.present.is_empty() {
            self.earlier.push_back(std::mem::take(&mut self.present));
        }
        if self.earlier.len() >= WINDOW {
            self.earlier.pop_front();
        }
    }

    /// Forgets what was seen: the person wants the model to go on.
    pub(super) fn forgive(&mut self) {
        *self = Guard::default();
    }

    /// The tool the model is stuck on, once it is.
    pub(super) fn stuck(&self) -> Option<&str> {
        self.stuck.as_deref()
    }
}

impl Repeat {
    /// The line that is added to the result, for the model.
    pub(super) fn warning(self) -> Option<String> {
        let (Repeat::Warned(count) | Repeat::Stuck(count)) = self else {
            return None;
        };
        Some(format!(
            "[the same call gave the same result {count} times lately, and will again: \
             try something else, or say what is missing]"
        ))
    }
}

fn fingerprint(call: &ToolCall, output: &ToolOutput) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    call.arguments.to_string().hash(&mut hasher);
    for content in &output.content {
        match content {
            Content::Text { text } => text.hash(&mut hasher),
            Content::Image { data, .. } => data.hash(&mut hasher),
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Details;

    fn check(calls: &[(&str, &str)], expected: &[Repeat]) {
        check_turns(1, calls, expected);
    }

    fn check_turns(abreast: usize, calls: &[(&str, &str)], expected: &[Repeat]) {
        let mut guard = Guard::default();
        let noted: Vec<Repeat> = calls
            .iter()
            .enumerate()
            .map(|(index, (command, result))| {
                if index % abreast == 0 {
                    guard.end_turn();
                }
                let arguments = serde_json::json!({ "command": command });
                let call =
                    ToolCall { id: "c".into(), name: "bash".into(), arguments, thought_signature: None };
                guard.note(&call, &ToolOutput::new(*result, Details::None))
            })
            .collect();
        assert_eq!(noted, expected, "{calls:?}");
        assert_eq!(guard.stuck().is_some(), expected.iter().any(|r| matches!(r, Repeat::Stuck(_))));
    }

    #[test]
    fn only_equal_results_count() {
        use Repeat::{Fresh, Stuck, Warned};
        check(&[("a", "1"), ("a", "1"), ("a", "1")], &[Fresh, Fresh, Warned(3)]);
        check(&[("a", "1"), ("a", "2"), ("a", "3")], &[Fresh, Fresh, Fresh]);
        check(
            &[("a", "1"), ("b", "1"), ("a", "1"), ("b", "1"), ("a", "1")],
            &[Fresh, Fresh, Fresh, Fresh, Warned(3)],
        );
        check(&[("a", "1"); 5], &[Fresh, Fresh, Warned(3), Warned(4), Stuck(5)]);
        let (pairs, all) =
            ([("a", "1"), ("b", "1")].repeat(5), [Fresh, Fresh, Warned(3), Warned(4), Stuck(5)]);
        let twice: Vec<Repeat> = all.into_iter().flat_map(|repeat| [repeat; 2]).collect();
        check_turns(2, &pairs, &twice);
        // What lies further back than the window is forgotten.
        let spread = [("a", "1"), ("b", "1"), ("c", "1")].repeat(5);
        check(&spread, &[Fresh; 15]);
        assert!(Warned(3).warning().is_some_and(|line| line.contains("3 times")));
    }
}
