//! The prompts of a server as slash commands, with their arguments.

use std::collections::{BTreeMap, HashSet};

use rmcp::model::{ArgumentInfo, CompleteRequestParams, CompletionContext, JsonObject, Prompt, Reference};
use serde_json::Value;

use super::names::plain;
use crate::extensions::templates::arguments::Arguments;
use tau_protocol::extension::PromptArgument;
use tau_tools::user_error::UserError;

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_LEN: usize = 1_000;
/// The maximum number of arguments of a prompt.
const MAX_ARGUMENTS: usize = 64;
/// The maximum length of a suggested value, in characters.
const MAX_VALUE_LEN: usize = 1_000;

/// A prompt of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct McpPrompt {
    /// Its command, without the slash: `server:prompt`.
    pub(super) command: String,
    /// Its name at the server.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) arguments: Vec<PromptArgument>,
}

/// The prompts of a server by their commands, which are unique.
pub(super) fn of_server(server: &str, mut listed: Vec<Prompt>) -> Vec<McpPrompt> {
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    listed.dedup_by(|one, other| one.name == other.name);
    listed.truncate(super::MAX_LISTED);
    let mut taken = HashSet::new();
    let prompt = |prompt: Prompt| {
        let plain = format!("{}:{}", plain(server), plain(&prompt.name));
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let command = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name))?;
        taken.insert(command.clone());
        let short = |text: String| text.trim().chars().take(MAX_DESCRIPTION_LEN).collect::<String>();
        let argument = |argument: rmcp::model::PromptArgument| PromptArgument {
            name: argument.name,
            description: short(argument.description.or(argument.title).unwrap_or_default()),
            required: argument.required.unwrap_or(false),
        };
        Some(McpPrompt {
            command,
            name: prompt.name,
            description: short(prompt.description.or(prompt.title).unwrap_or_default()),
            arguments: prompt
                .arguments
                .unwrap_or_default()
                .into_iter()
                .take(MAX_ARGUMENTS)
                .map(argument)
                .collect(),
        })
    };
    listed.into_iter().filter_map(prompt).collect()
}

/// The arguments typed after a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FilledArguments {
    /// Values by the names of arguments.
    pub(super) values: BTreeMap<String, String>,
    /// Text that belongs to no argument.
    pub(super) rest: String,
}

impl FilledArguments {
    /// The values in the format of requests.
    pub(super) fn json(&self) -> Option<JsonObject> {
        let value = |(name, value): (&String, &String)| (name.clone(), Value::from(value.as_str()));
        (!self.values.is_empty()).then(|| self.values.iter().map(value).collect())
    }
}

impl McpPrompt {
    /// Its arguments for display: `<city> [state]`.
    pub(super) fn hint(&self) -> String {
        let hint = |argument: &PromptArgument| match argument.required {
            true => format!("<{}>", argument.name),
            false => format!("[{}]", argument.name),
        };
        self.arguments.iter().map(hint).collect::<Vec<_>>().join(" ")
    }

    /// Parses typed arguments: words in the order of the arguments, or `name=value`. Further words belong to
    /// the last argument, so that a sentence needs no quotes. The error is the missing arguments.
    pub(super) fn fill(&self, typed: &str) -> Result<FilledArguments, UserError> {
        let arguments = Arguments::of(typed);
        let filled = self.assign(&arguments);
        let missing: Vec<&str> = self
            .arguments
            .iter()
            .filter(|argument| argument.required && !filled.values.contains_key(&argument.name))
            .map(|argument| argument.name.as_str())
            .collect();
        if missing.is_empty() {
            return Ok(filled);
        }
        let names = missing.join(", ");
        let (command, hint) = (&self.command, self.hint());
        Err(format!("/{command} needs a value for {names}; type /{command} {hint}").into())
    }

    fn assign(&self, arguments: &Arguments) -> FilledArguments {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        let mut loose = Vec::new();
        for word in arguments.words() {
            match self.named_argument(word) {
                Some((argument, value)) => drop(values.insert(argument.name.clone(), value.to_owned())),
                None => loose.push(word.as_str()),
            }
        }
        let free: Vec<&PromptArgument> =
            self.arguments.iter().filter(|argument| !values.contains_key(&argument.name)).collect();
        let Some((last, before)) = free.split_last() else {
            return FilledArguments { values, rest: loose.join(" ") };
        };
        let mut loose = loose.into_iter();
        for (argument, word) in before.iter().zip(loose.by_ref().take(before.len())) {
            values.insert(argument.name.clone(), word.to_owned());
        }
        let rest = loose.collect::<Vec<_>>().join(" ");
        if !rest.is_empty() {
            values.insert(last.name.clone(), rest);
        }
        FilledArguments { values, rest: String::new() }
    }

    /// A word of the form `name=value`, if there is an argument with that name.
    fn named_argument<'a>(&self, word: &'a str) -> Option<(&PromptArgument, &'a str)> {
        let (name, value) = word.split_once('=')?;
        Some((self.arguments.iter().find(|argument| argument.name == name)?, value))
    }

    /// The completion for the last word of `typed`: the name of its argument, and the request. `None` if no
    /// argument is left.
    pub(super) fn completion(&self, typed: &str) -> Option<(String, CompleteRequestParams)> {
        let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let (before, word) = (typed.get(..start)?, typed.get(start..).unwrap_or_default());
        let known = self.assign(&Arguments::of(before)).values;
        let (argument, value) = match self.named_argument(word) {
            Some(named) => named,
            None => {
                let free = self.arguments.iter().find(|argument| !known.contains_key(&argument.name));
                (free.or(self.arguments.last())?, word)
            }
        };
        let info = ArgumentInfo::new(argument.name.clone(), value);
        let context = CompletionContext::with_arguments(known.into_iter().collect());
        let params = CompleteRequestParams::new(Reference::for_prompt(self.name.clone()), info);
        let params = if context.has_arguments() { params.with_context(context) } else { params };
        Some((argument.name.clone(), params))
    }
}

/// The usable suggestions of a server.
pub(super) fn usable_suggestions(values: Vec<String>) -> Vec<String> {
    let usable = |value: &String| !value.trim().is_empty() && value.chars().count() <= MAX_VALUE_LEN;
    values.into_iter().filter(usable).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(arguments: &[(&str, bool)]) -> McpPrompt {
        let argument = |(name, required): &(&str, bool)| {
            rmcp::model::PromptArgument::new(*name).with_required(*required)
        };
        let arguments = arguments.iter().map(argument).collect();
        of_server("my.server", vec![Prompt::new("the prompt", Some("x"), Some(arguments))]).remove(0)
    }

    #[test]
    fn commands_are_plain_and_unique() {
        let listed = ["b/c", "a", "b c", "a"].map(|name| Prompt::new(name, None::<&str>, None));
        let commands: Vec<String> =
            of_server("s", listed.to_vec()).into_iter().map(|prompt| prompt.command).collect();
        assert_eq!(commands, ["s:a", "s:b_c", "s:b_c_2"]);
        assert_eq!(prompt(&[("city", true), ("state", false)]).hint(), "<city> [state]");
    }

    #[test]
    fn arguments_are_words_in_order_or_named() {
        let weather = prompt(&[("city", true), ("state", false)]);
        let check = |typed: &str, expected: &[(&str, &str)]| {
            let expected = expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            assert_eq!(weather.fill(typed).map(|filled| filled.values), Ok(expected.collect()), "{typed}");
        };
        check("Paris", &[("city", "Paris")]);
        check("'New York' NY", &[("city", "New York"), ("state", "NY")]);
        check("state=NY New", &[("state", "NY"), ("city", "New")]);
        check("state=NY New York", &[("state", "NY"), ("city", "New York")]);
        check("Paris Ile de France", &[("city", "Paris"), ("state", "Ile de France")]);
        check("x=1", &[("city", "x=1")]);
        let missing = weather.fill("state=NY").unwrap_err();
        assert_eq!(
            missing,
            "/my_server:the_prompt needs a value for city; type /my_server:the_prompt <city> [state]"
        );
        assert_eq!(prompt(&[]).fill(" and more ").unwrap().rest, "and more");
    }

    #[test]
    fn the_argument_that_is_being_typed_is_completed() {
        let weather = prompt(&[("city", true), ("state", false)]);
        let check = |typed: &str, name: &str, value: &str, known: &[(&str, &str)]| {
            let (argument, params) = weather.completion(typed).unwrap();
            assert_eq!((argument.as_str(), params.argument.value.as_str()), (name, value), "{typed}");
            let given = params.context.and_then(|context| context.arguments).unwrap_or_default();
            let expected = known.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            assert_eq!(given, expected.collect(), "{typed}");
        };
        check("", "city", "", &[]);
        check("Par", "city", "Par", &[]);
        check("Paris ", "state", "", &[("city", "Paris")]);
        check("state=N", "state", "N", &[]);
        check("state=NY N", "city", "N", &[("state", "NY")]);
        assert!(prompt(&[]).completion("x").is_none());
    }
}
