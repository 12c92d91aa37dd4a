//! Detects a model that repeats itself: the same call with the same result, turn after turn.
//!
//! Pure. A result that changes does not count, so polling a server is fine; nor does a call that one answer
//! makes several times, since the model has not seen its result yet.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use tau_protocol::message::ToolCall;
use tau_tools::{Content, ToolOutput};

/// The number of recent turns with calls that are considered.
const WINDOW: usize = 12;
/// The model is warned once an identical call is in this many of them.
const WARN: usize = 3;
/// The run ends once an identical call is in this many of them.
const STOP: usize = 5;

/// How the latest call relates to earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It is new, or rare enough.
    Fresh,
    /// The model should be warned; the number of times the call was made.
    Warned(usize),
    /// The run should end; the number of times the call was made.
    Stuck(usize),
}

/// The last calls of a run, as fingerprints, turn by turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopGuard {
    turns: VecDeque<HashSet<u64>>,
    stuck: Option<String>,
}

impl LoopGuard {
    /// Starts a turn: the calls of another answer follow.
    pub(crate) fn next_turn(&mut self) {
        self.turns.push_back(HashSet::new());
        if self.turns.len() > WINDOW {
            self.turns.pop_front();
        }
    }

    /// Records a finished call and judges it.
    pub(crate) fn note(&mut self, call: &ToolCall, output: &ToolOutput) -> Repeat {
        let print = fingerprint(call, output);
        if let Some(turn) = self.turns.back_mut() {
            turn.insert(print);
        }
        match self.turns.iter().filter(|turn| turn.contains(&print)).count() {
            count if count >= STOP => {
                self.stuck = Some(call.name.clone());
                Repeat::Stuck(count)
            }
            count if count >= WARN => Repeat::Warned(count),
            _ => Repeat::Fresh,
        }
    }

    /// Resets the guard: the user wants the model to continue.
    pub(crate) fn reset(&mut self) {
        *self = LoopGuard::default();
    }

    /// The tool that the model is stuck on, if any.
    pub(crate) fn stuck_tool(&self) -> Option<&str> {
        self.stuck.as_deref()
    }
}

impl Repeat {
    /// The warning for the model that is added to the result.
    pub(crate) fn warning(self) -> Option<String> {
        let (Repeat::Warned(count) | Repeat::Stuck(count)) = self else {
            return None;
        };
        Some(format!(
            "[this call has recently returned the same result {count} times: \
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
    use tau_tools::Details;

    /// Plays turns of calls and returns the judgement of the last call of each.
    fn play(turns: &[&[(&str, &str)]]) -> (Vec<Repeat>, LoopGuard) {
        let mut guard = LoopGuard::default();
        let mut noted = Vec::new();
        for turn in turns {
            guard.next_turn();
            let mut last = Repeat::Fresh;
            for (command, result) in *turn {
                let arguments = serde_json::json!({ "command": command });
                let call =
                    ToolCall { id: "c".into(), name: "bash".into(), arguments, thought_signature: None };
                last = guard.note(&call, &ToolOutput::new(*result, Details::None));
            }
            noted.push(last);
        }
        (noted, guard)
    }

    fn check(calls: &[(&str, &str)], expected: &[Repeat]) {
        let turns: Vec<&[(&str, &str)]> = calls.iter().map(std::slice::from_ref).collect();
        let (noted, guard) = play(&turns);
        assert_eq!(noted, expected, "{calls:?}");
        assert_eq!(guard.stuck_tool().is_some(), expected.iter().any(|r| matches!(r, Repeat::Stuck(_))));
    }

    #[test]
    fn alternating_calls_are_detected() {
        let (noted, guard) = play(&[[("a", "1")].as_slice(), &[("b", "1")]].repeat(5));
        assert_eq!(noted.last(), Some(&Repeat::Stuck(5)));
        assert_eq!(guard.stuck_tool(), Some("bash"));
    }

    #[test]
    fn one_answer_counts_once() {
        let (noted, guard) = play(&[&[("a", "1"); 20], &[("a", "1"); 20]]);
        assert_eq!(noted, [Repeat::Fresh, Repeat::Fresh]);
        assert_eq!(guard.stuck_tool(), None);
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
        assert!(Warned(3).warning().is_some_and(|line| line.contains("3 times")));
    }
}
