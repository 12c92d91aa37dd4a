//! `tool_search` and `tool_call`, for MCP tools whose schemas are too large for every request.
//!
//! The model sees their names, each with a line, in the description of `tool_search`; its results are the
//! schemas, as text. It calls the tools with `tool_call`. So the tools of a request never change, and the
//! provider's cache of the request stays valid. The engine replaces a call of `tool_call` by the call of the
//! tool itself before it is judged.

use std::sync::Arc;

use serde_json::{Value, json};

use tau_tools::budget::whole_words_within;
use tau_tools::{
    Access, AnyTool, Details, PreparedCall, PreparingCall, ToolContext, ToolError, ToolOutput, ToolSpec,
    Toolbox, args, budget,
};

/// The name of the tool that finds others.
pub(crate) const TOOL_SEARCH: &str = "tool_search";
/// The name of the tool that calls others.
pub(crate) const TOOL_CALL: &str = "tool_call";
/// The maximum length of a tool's description in the list, in characters.
const MAX_LINE_LEN: usize = 100;
/// The maximum number of results of a search.
const MAX_FOUND: usize = 10;
/// The maximum weight of the list; with more tools it has only their names.
const MAX_LIST_SIZE: usize = 64 * 1024;

/// The approximate number of tokens that the schemas of tools take in a request.
pub(crate) fn tokens(tools: &[Arc<dyn AnyTool>]) -> u64 {
    let weight = |tool: &Arc<dyn AnyTool>| {
        let spec = tool.spec();
        let schema = spec.parameters.to_string();
        [&spec.name, &spec.description, &schema].map(|text| budget::token_weight(text)).iter().sum::<usize>()
    };
    u64::try_from(tools.iter().map(weight).sum::<usize>() / budget::TOKEN).unwrap_or(u64::MAX)
}

/// `tool_search` and `tool_call` for these tools.
pub(crate) fn in_place_of(tools: &[Arc<dyn AnyTool>]) -> [Arc<dyn AnyTool>; 2] {
    let all = tools.iter().fold(Toolbox::empty(), |all, tool| all.with(Arc::clone(tool)));
    [Arc::new(Search::new(all.clone())), Arc::new(Call::new(all))]
}

/// The name and the arguments in a call of `tool_call`.
pub(crate) fn target(arguments: &Value) -> Option<(String, Value)> {
    let name = arguments.get("name")?.as_str()?.to_owned();
    let given = match arguments.get("arguments") {
        // Some models encode an object as a string.
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        Some(given) => given.clone(),
        None => json!({}),
    };
    Some((name, given))
}

/// The words in a call of `tool_search`.
pub(crate) fn words(arguments: &Value) -> String {
    arguments.get("query").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The first line of a description, shortened to whole words: what a cut leaves of a secret would not be masked.
fn line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    match whole_words_within(line, MAX_LINE_LEN) {
        words if words.len() < line.len() => format!("{words}…"),
        _ => line.to_owned(),
    }
}

struct Search {
    spec: ToolSpec,
    tools: Toolbox,
}

impl Search {
    fn new(tools: Toolbox) -> Self {
        let with_lines =
            |tool: &Arc<dyn AnyTool>| format!("{}: {}", tool.spec().name, line(&tool.spec().description));
        let mut list: Vec<String> = tools.iter().map(with_lines).collect();
        if list.iter().map(String::len).sum::<usize>() > MAX_LIST_SIZE {
            list = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        }
        let description = format!(
            "Find tools of MCP servers and load the schemas of their arguments. They are not in the list of your \
             tools: search for one, then call it with {TOOL_CALL}. The query is one or more names, or words; at \
             most {MAX_FOUND} tools are found. These can be found:\n{}",
            list.join("\n")
        );
        let parameters = json!({
            "type": "object",
            "properties": { "query": { "type": "string", "description": "Names of tools, or words to look for." } },
            "required": ["query"],
        });
        Search {
            spec: ToolSpec {
                name: TOOL_SEARCH.to_owned(),
                label: args::label(TOOL_SEARCH),
                description,
                parameters,
                read_only: true,
            },
            tools,
        }
    }

    /// The best matching tools, best first.
    fn find(&self, query: &str) -> Vec<&Arc<dyn AnyTool>> {
        let query = query.to_lowercase();
        let words: Vec<&str> = query
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
            .filter(|word| !word.is_empty())
            .collect();
        let score = |tool: &Arc<dyn AnyTool>| -> usize {
            let name = tool.spec().name.to_lowercase();
            let said = tool.spec().description.to_lowercase();
            let of_word = |word: &&str| match () {
                () if name == *word => 100,
                () if name.contains(*word) => 10,
                () if said.contains(*word) => 1,
                () => 0,
            };
            words.iter().map(of_word).sum()
        };
        let mut found: Vec<(usize, &Arc<dyn AnyTool>)> =
            self.tools.iter().map(|tool| (score(tool), tool)).filter(|(score, _)| *score > 0).collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().map(|(_, tool)| tool).take(MAX_FOUND).collect()
    }
}

impl AnyTool for Search {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        words(args)
    }

    fn prepare(&self, args: Value, _: ToolContext) -> PreparingCall<'_> {
        Box::pin(async move {
            let query = words(&args);
            Ok(PreparedCall::new(Access::default(), move |_| async move {
                let found = self.find(&query);
                if found.is_empty() {
                    let hint = "no tool fits; use words of the names in the description of this tool";
                    return Err(ToolError::refused(hint));
                }
                let one = |tool: &&Arc<dyn AnyTool>| {
                    let ToolSpec { name, description, parameters, .. } = tool.spec();
                    json!({ "name": name, "description": description, "arguments": parameters }).to_string()
                };
                let names: Vec<&str> = found.iter().map(|tool| tool.spec().name.as_str()).collect();
                let details = Details::Text { text: names.join("\n") };
                let schemas: Vec<String> = found.iter().map(one).collect();
                let text = format!("Call these with {TOOL_CALL}:\n{}", schemas.join("\n"));
                Ok(ToolOutput::new(text, details))
            }))
        })
    }
}

struct Call {
    spec: ToolSpec,
    tools: Toolbox,
}

impl Call {
    fn new(tools: Toolbox) -> Self {
        let description = format!("Call a tool that {TOOL_SEARCH} has found.");
        let parameters = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name of the tool." },
                "arguments": { "type": "object", "description": "Its arguments, as its schema says." },
            },
            "required": ["name", "arguments"],
        });
        Call {
            spec: ToolSpec {
                name: TOOL_CALL.to_owned(),
                label: args::label(TOOL_CALL),
                description,
                parameters,
                read_only: false,
            },
            tools,
        }
    }
}

impl AnyTool for Call {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        let Some((name, given)) = target(args) else { return String::new() };
        let inner = self.tools.get(&name).map(|tool| tool.title(&given)).unwrap_or_default();
        format!("{name} {inner}").trim_end().to_owned()
    }

    fn prepare(&self, _: Value, _: ToolContext) -> PreparingCall<'_> {
        // The engine replaces calls that name a tool.
        let why = format!("name a tool that {TOOL_SEARCH} has found, and its arguments as an object");
        Box::pin(async move { Err(ToolError::refused(why)) })
    }
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_description_is_cut_between_words() {
        let text = format!("{} {}", ["word"; 19].join(" "), "k".repeat(60));
        assert_eq!(line(&text), format!("{}…", ["word"; 19].join(" ")));
        assert_eq!(line(&"k".repeat(200)), "…");
        assert_eq!(line("\n all of it \nmore"), "all of it");
    }
}
