//! ask_user: questions to the user, with or without choices.
//!
//! Owns the tool's arguments and the wording of its result. The agent decides whether anyone can answer.

use serde_json::{Map, Value};

use super::user::{self, DECLINED, UserAnswer, UserQuestion, UserReply, UserRequest};
use super::{Access, Details, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args};
use crate::user_error::UserError;

/// The tool's name for models.
pub const NAME: &str = "ask_user";
/// The maximum number of questions in one call.
pub const MAX_QUESTIONS: usize = 4;
/// The maximum number of choices in one question; each gets a digit.
pub const MAX_CHOICES: usize = 9;
/// The maximum length of a question or a choice, in characters.
const MAX_CHARS: usize = 2_000;

const NOBODY: &str =
    "Nobody can answer: no user is present. Decide by yourself, and say in your answer what you assumed.";
const NO_ANSWER: &str = "(no answer)";

tool! {
    /// The `ask_user` tool.
    pub(crate) struct AskUser(AskUserArgs, NAME, "ask_user.md", read_only: true);
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct AskUserArgs {
    /// At most 4.
    pub questions: Vec<UserQuestion>,
}

impl Tool for AskUser {
    type Args = AskUserArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        let mut args = args.clone();
        self.repair(&mut args);
        let first = args.get("questions").and_then(|questions| questions.get(0));
        first.and_then(|first| args::partial(first, "question")).unwrap_or_default().into()
    }

    fn repair(&self, args: &mut Value) {
        let Some(fields) = args.as_object_mut() else { return };
        // A single question that is not in a list.
        if !fields.contains_key("questions") && fields.contains_key("question") {
            let one = std::mem::take(fields);
            fields.insert("questions".to_owned(), Value::Array(vec![Value::Object(one)]));
        }
        if let Some(Value::Array(questions)) = fields.get_mut("questions") {
            questions.iter_mut().filter_map(Value::as_object_mut).for_each(repair_question);
        }
    }

    async fn prepare(&self, args: AskUserArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        let questions = args.questions;
        check(&questions).map_err(|why| ToolError::refused(format!("{NAME}: {why}")))?;
        Ok(PreparedCall::new(Access::default(), async move |_| {
            let asked = questions.clone();
            let ask = |reply| UserRequest::Ask { questions: asked, reply };
            let reply = user::request(context.user.as_ref(), &context.cancel, ask).await?;
            Ok(match reply.unwrap_or(UserReply::Nobody) {
                UserReply::Nobody => ToolOutput::new(NOBODY, Details::None),
                UserReply::Declined => ToolOutput::new(DECLINED, Details::None),
                UserReply::Answered(answers) => {
                    let text = for_user(&questions, &answers);
                    ToolOutput::new(for_model(&questions, &answers), Details::Text { text })
                }
            })
        }))
    }
}

/// Accepts field names from other programs' question tools, and choices that are objects.
fn repair_question(question: &mut Map<String, Value>) {
    for (theirs, ours) in [("options", "choices"), ("multiSelect", "multiple"), ("multi_select", "multiple")]
    {
        if !question.contains_key(ours)
            && let Some(value) = question.remove(theirs)
        {
            question.insert(ours.to_owned(), value);
        }
    }
    question.remove("header");
    let Some(Value::Array(choices)) = question.get_mut("choices") else { return };
    for choice in choices {
        let text = |key: &str| choice.get(key).and_then(Value::as_str);
        let joined = match (text("label"), text("description").filter(|text| !text.is_empty())) {
            (Some(label), Some(description)) => format!("{label}: {description}"),
            (Some(label), None) => label.to_owned(),
            (None, _) => continue,
        };
        *choice = Value::String(joined);
    }
}

/// Checks that the user can be asked these questions.
fn check(questions: &[UserQuestion]) -> Result<(), UserError> {
    if questions.is_empty() || questions.len() > MAX_QUESTIONS {
        return Err(format!("ask one to {MAX_QUESTIONS} questions at once, not {}", questions.len()).into());
    }
    for UserQuestion { question, choices, multiple } in questions {
        if choices.len() > MAX_CHOICES {
            return Err(format!("a question has at most {MAX_CHOICES} choices, not {}", choices.len()).into());
        }
        if *multiple && choices.is_empty() {
            return Err("`multiple` needs choices".into());
        }
        let mut texts = std::iter::once(question).chain(choices);
        if texts.any(|text| text.trim().is_empty()) {
            return Err("a question or choice is blank".into());
        }
        let mut texts = std::iter::once(question).chain(choices);
        if texts.any(|text| text.chars().count() > MAX_CHARS) {
            return Err(format!("a question or choice is longer than {MAX_CHARS} characters").into());
        }
    }
    Ok(())
}

/// The answer to a question, in words; `whose` they are, if it is not one of the choices.
fn words(question: &UserQuestion, answer: &UserAnswer, whose: &str) -> String {
    let chosen = answer.choices.iter().filter_map(|index| question.choices.get(*index));
    let mut parts: Vec<String> = chosen.map(|choice| choice.trim().to_owned()).collect();
    let text = answer.text.trim();
    if !text.is_empty() {
        let own = if question.choices.is_empty() { String::new() } else { format!("in {whose} own words: ") };
        parts.push(format!("{own}{text}"));
    }
    if parts.is_empty() { NO_ANSWER.to_owned() } else { parts.join("; ") }
}

/// The answers in words, in the order of the questions.
fn all_words(questions: &[UserQuestion], answers: &[UserAnswer], whose: &str) -> Vec<String> {
    let none = UserAnswer::default();
    let answer = |index: usize| answers.get(index).unwrap_or(&none);
    questions.iter().enumerate().map(|(index, question)| words(question, answer(index), whose)).collect()
}

/// A single answer verbatim, or several answers numbered like their questions.
fn for_model(questions: &[UserQuestion], answers: &[UserAnswer]) -> String {
    let words = all_words(questions, answers, "the user's");
    match words.as_slice() {
        [one] => one.clone(),
        several => {
            let numbered: Vec<String> =
                several.iter().enumerate().map(|(index, words)| format!("{}. {words}", index + 1)).collect();
            numbered.join("\n")
        }
    }
}

/// The questions with their answers, one below the other.
fn for_user(questions: &[UserQuestion], answers: &[UserAnswer]) -> String {
    let words = all_words(questions, answers, "your");
    let pairs = questions.iter().zip(words);
    // The lines of an answer are aligned.
    let row = |question: &str, words: &str| format!("{question}\n→ {}", words.replace('\n', "\n  "));
    let rows: Vec<String> = pairs.map(|(question, words)| row(question.question.trim(), &words)).collect();
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn question(choices: &[&str], multiple: bool) -> UserQuestion {
        let choices = choices.iter().map(|text| (*text).to_owned()).collect();
        UserQuestion { question: "Which?".to_owned(), choices, multiple }
    }

    fn answer(choices: &[usize], text: &str) -> UserAnswer {
        UserAnswer { choices: choices.to_vec(), text: text.to_owned() }
    }

    #[test]
    fn answers_become_short_text() {
        let one = [question(&["a", "b"], false)];
        assert_eq!(for_model(&one, &[answer(&[1], "")]), "b");
        assert_eq!(for_model(&one, &[answer(&[], " c ")]), "in the user's own words: c");
        assert_eq!(for_model(&one, &[answer(&[7], "")]), NO_ANSWER, "no such choice");
        let three = [question(&["a", "b", "c"], true), question(&[], false), question(&["x"], false)];
        let answers = [answer(&[0, 2], "and d"), answer(&[], "free")];
        let expected = "1. a; c; in the user's own words: and d\n2. free\n3. (no answer)";
        assert_eq!(for_model(&three, &answers), expected);
        assert_eq!(for_user(&one, &[answer(&[0], "")]), "Which?\n→ a");
        assert_eq!(for_user(&one, &[answer(&[], "c")]), "Which?\n→ in your own words: c");
        let lines = [question(&[], false)];
        assert_eq!(for_user(&lines, &[answer(&[], "one\ntwo")]), "Which?\n→ one\n  two");
    }

    #[test]
    fn what_nobody_could_answer_is_refused() {
        assert_eq!(check(&[question(&["a"], true)]), Ok(()));
        let many: Vec<&str> = vec!["a"; 10];
        let blank = UserQuestion { question: " \n".to_owned(), ..UserQuestion::default() };
        let long = UserQuestion { question: "x".repeat(2_001), ..UserQuestion::default() };
        let five = vec![question(&[], false); 5];
        let faults = [
            vec![],
            five,
            vec![question(&many, false)],
            vec![question(&["a", " "], false)],
            vec![question(&[], true)],
            vec![blank],
            vec![long],
        ];
        for questions in faults {
            assert!(check(&questions).is_err(), "{questions:?}");
        }
    }

    #[test]
    fn calls_in_the_shape_of_other_tools_are_understood() {
        let read = |mut args: Value| -> AskUserArgs {
            let tool = AskUser::default();
            Tool::repair(&tool, &mut args);
            args::parse(args, &tool.spec).unwrap()
        };
        let theirs = json!({"questions": [{
            "question": "Which?", "header": "Pick", "multiSelect": true,
            "options": [{"label": "a", "description": "the first"}, {"label": "b"}],
        }]});
        assert_eq!(read(theirs).questions, [question(&["a: the first", "b"], true)]);
        let bare = json!({"question": "Which?", "choices": ["a"]});
        assert_eq!(read(bare).questions, [question(&["a"], false)]);
    }
}
