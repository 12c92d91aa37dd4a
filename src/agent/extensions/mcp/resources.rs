//! The resources of a server, and references to them in the user's text: `@server:uri`.

use rmcp::model::{Resource, ResourceTemplate};

use super::names::plain;
use super::patterns::matches;
use tau_protocol::extension::McpResource;

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_LEN: usize = 300;
/// The maximum number of resources named in a text.
const MAX_MENTIONS: usize = 16;
/// Characters that may follow the name of a resource in a sentence.
const PUNCTUATION: [char; 13] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '\'', '"', '`'];

/// The resources of a server, then its templates. Those whose address has blanks cannot be named and are left
/// out.
pub(super) fn of_server(
    server: &str,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
) -> Vec<McpResource> {
    let server = plain(server);
    let described = |title: Option<String>, description: Option<String>| {
        let text = description.or(title).unwrap_or_default();
        text.trim().chars().take(MAX_DESCRIPTION_LEN).collect::<String>()
    };
    let resources = resources.into_iter().take(super::MAX_LISTED).map(|resource| McpResource {
        server: server.clone(),
        uri: resource.uri,
        name: resource.name,
        description: described(resource.title, resource.description),
        is_template: false,
    });
    let templates = templates.into_iter().take(super::MAX_LISTED).map(|template| McpResource {
        server: server.clone(),
        uri: template.uri_template,
        name: template.name,
        description: described(template.title, template.description),
        is_template: true,
    });
    let can_be_named = |resource: &McpResource| !resource.uri.contains(char::is_whitespace);
    resources.chain(templates).filter(can_be_named).collect()
}

/// Whether an address is that of the resource, or matches the template.
fn is_at(resource: &McpResource, uri: &str) -> bool {
    if !resource.is_template {
        return resource.uri == uri;
    }
    let (mut pattern, mut rest) = (String::new(), resource.uri.as_str());
    while let Some((before, after)) = rest.split_once('{') {
        pattern.push_str(before);
        pattern.push('*');
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    pattern.push_str(rest);
    !uri.contains(['{', '}']) && matches(&pattern, uri)
}

/// A resource that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// The name of the server, verbatim.
    pub(super) server: String,
    pub(super) uri: String,
    /// Whether the server has such a resource.
    pub(super) is_known: bool,
}

/// The resources that a text names, each once.
pub(super) fn mentions(text: &str, resources: &[McpResource]) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(['(', '[', '{', '<', '\'', '"', '`']);
        let Some((server, rest)) = word.strip_prefix('@').and_then(|word| word.split_once(':')) else {
            continue;
        };
        let of_server: Vec<&McpResource> =
            resources.iter().filter(|resource| resource.server == server).collect();
        let bare = rest.trim_end_matches(PUNCTUATION);
        if of_server.is_empty() || bare.is_empty() {
            continue;
        }
        let is_known = |uri: &str, is_template: bool| {
            of_server.iter().any(|known| known.is_template == is_template && is_at(known, uri))
        };
        // Punctuation belongs to the sentence unless an address ends with it.
        let mut ways = std::iter::successors(Some(rest), |longer| longer.strip_suffix(PUNCTUATION));
        let listed = ways.find(|uri| is_known(uri, false));
        let known = listed.or_else(|| [bare, rest].into_iter().find(|uri| is_known(uri, true)));
        let mention = Mention {
            server: server.to_owned(),
            uri: known.unwrap_or(bare).to_owned(),
            is_known: known.is_some(),
        };
        if !found.contains(&mention) && found.len() < MAX_MENTIONS {
            found.push(mention);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_named_in_texts() {
        let resources =
            vec![Resource::new("demo://a", "a"), Resource::new("demo://b.", "b"), Resource::new("c d", "c")];
        let templates = vec![ResourceTemplate::new("demo://lines/{n}/of/{file}", "lines")];
        let resources = of_server("my demo", resources, templates);
        assert_eq!(resources.len(), 3);
        let check = |text: &str, expected: &[(&str, bool)]| {
            let found = mentions(text, &resources);
            let found: Vec<(&str, bool)> =
                found.iter().map(|mention| (mention.uri.as_str(), mention.is_known)).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("see @my_demo:demo://a, and (@my_demo:demo://b.)", &[("demo://a", true), ("demo://b.", true)]);
        check("@my_demo:demo://a @my_demo:demo://a", &[("demo://a", true)]);
        check("@my_demo:demo://lines/3/of/x.rs.", &[("demo://lines/3/of/x.rs", true)]);
        check("@my_demo:demo://lines/{n}/of/{file}", &[("demo://lines/{n}/of/{file", false)]);
        check("@my_demo:nothing!", &[("nothing", false)]);
        check("@my_demo: @other:demo://a x@my_demo:demo://a @src/lib.rs:3", &[]);
    }
}
