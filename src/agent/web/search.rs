//! The tool `web_search`: asks the service that the user has chosen.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use url::Url;

use super::fetch::check_network;
use super::marks::mark_untrusted;
use super::{WebState, address};
use crate::catalogue::search_services::{Question, SearchService};
use crate::provider::{Failure, Headers, HttpRequest};
use crate::secrets::Secret;
use crate::settings::value::BaseUrl;
use tau_tools::budget::shorten;
use tau_tools::user_error::UserError;
use tau_tools::{Access, Details, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args};

/// The name of the tool.
pub(super) const NAME: &str = "web_search";
/// The default number of results of a call, and the maximum.
const USUAL: u64 = 8;
const MAX_RESULTS: u64 = 20;
/// The maximum length of a query, in characters. Services accept about 400.
const MAX_QUERY_LEN: usize = 400;
/// The maximum lengths of the title, address and text of a result, in characters.
const MAX_LEN: [usize; 3] = [200, 1_000, 600];
/// The maximum size of a service's answer, in bytes.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// The time limit for the answer.
const TIME: Duration = Duration::from_secs(30);

/// The tool.
pub(super) struct WebSearchTool {
    spec: ToolSpec,
    shared: Arc<WebState>,
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(super) struct WebSearchArgs {
    /// What to search for.
    query: String,
    /// Number of results.
    limit: Option<u64>,
}

/// The endpoint of a service.
struct Endpoint {
    service: &'static SearchService,
    url: Url,
}

impl WebSearchTool {
    pub(super) fn new(shared: Arc<WebState>) -> Self {
        let spec = args::spec::<WebSearchArgs>(NAME, include_str!("search.md"));
        WebSearchTool { spec: ToolSpec { read_only: true, ..spec }, shared }
    }

    fn endpoint(&self) -> Result<Endpoint, UserError> {
        let options = self.shared.options.lock();
        let service =
            options.search.0.ok_or("web_search is off; the user can set web_search in config.toml")?;
        let url = address_of(service, options.search_url.as_ref())?;
        Ok(Endpoint { service, url })
    }

    async fn key(&self, service: &SearchService) -> Result<Option<Secret>, UserError> {
        let key = match &self.shared.keys {
            Some(keys) => keys.of_service(service.id).await.map_err(UserError::of)?,
            None => None,
        };
        match (&key, service.env) {
            (None, Some(variable)) => Err(format!(
                "there is no key for {}; the user can set {variable}, or run `tau auth set {}`",
                service.name, service.id
            )
            .into()),
            _ => Ok(key),
        }
    }

    async fn run(
        &self,
        endpoint: Endpoint,
        query: String,
        limit: u64,
        context: ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let failed =
            |why: String| ToolError::refused(format!("cannot search with {}: {why}", endpoint.service.name));
        let work = async {
            let key = self.key(endpoint.service).await.map_err(ToolError::refused)?;
            let asked = self.ask(&endpoint, key.as_ref(), &query, limit, &context);
            let answer = match tokio::time::timeout(TIME, asked).await {
                Ok(answer) => answer.map_err(|failure| failed(failure.message))?,
                Err(_) => return Err(failed(format!("no answer within {} seconds", TIME.as_secs()))),
            };
            let answer: Value =
                serde_json::from_str(&answer).map_err(|_| failed("the answer is not JSON".to_owned()))?;
            let found = results(endpoint.service, &answer, limit)
                .ok_or_else(|| failed("the answer has no list of results".to_owned()))?;
            Ok(describe(endpoint.service, &found))
        };
        match context.cancel.run_until_cancelled(work).await {
            Some(answer) => answer,
            None => Err(ToolError::aborted()),
        }
    }

    async fn ask(
        &self,
        endpoint: &Endpoint,
        key: Option<&Secret>,
        query: &str,
        limit: u64,
        context: &ToolContext,
    ) -> Result<String, Failure> {
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        if let Some(key) = key {
            let (name, before) = endpoint.service.key_header;
            headers.push((name.to_owned(), format!("{before}{}", key.expose())));
        }
        let http = &self.shared.service;
        match endpoint.service.question {
            Question::Parameters { words, count, others } => {
                let mut url = endpoint.url.clone();
                url.query_pairs_mut().append_pair(words, query).extend_pairs(others);
                if let Some(count) = count {
                    url.query_pairs_mut().append_pair(count, &limit.to_string());
                }
                http.get(url.as_str(), &Headers(headers), MAX_ANSWER, &context.cancel).await
            }
            Question::Json { words, count } => {
                headers.push(("content-type".to_owned(), "application/json".to_owned()));
                let mut body = Map::new();
                body.insert(words.to_owned(), json!(query));
                body.insert(count.to_owned(), json!(limit));
                let (url, headers) = (endpoint.url.to_string(), Headers(headers));
                let request = HttpRequest { url, headers, body: Value::Object(body) };
                http.post(&request, MAX_ANSWER, &context.cancel).await
            }
        }
    }
}

impl Tool for WebSearchTool {
    type Args = WebSearchArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        title(args)
    }

    fn prepares_from_arguments(&self) -> bool {
        true
    }

    async fn prepare(
        &self,
        args: WebSearchArgs,
        context: ToolContext,
    ) -> Result<PreparedCall<'_>, ToolError> {
        let endpoint = self.endpoint().map_err(ToolError::refused)?;
        check_network(&context)?;
        let query = args.query.split_whitespace().collect::<Vec<_>>().join(" ");
        if query.is_empty() {
            return Err(ToolError::refused("`query` is empty; write what to search for"));
        }
        if query.chars().count() > MAX_QUERY_LEN {
            return Err(ToolError::refused(format!(
                "`query` has more than {MAX_QUERY_LEN} characters; shorten it"
            )));
        }
        let limit = args.limit.unwrap_or(USUAL).clamp(1, MAX_RESULTS);
        let access = Access { network: vec![address::host(&endpoint.url)], ..Access::default() };
        Ok(PreparedCall::new(access, move |_| self.run(endpoint, query, limit, context)))
    }
}

/// The title of a call.
pub(super) fn title(args: &Value) -> String {
    args::partial(args, "query").unwrap_or_default().into()
}

/// The address of the service: the user's, or the default.
fn address_of(service: &SearchService, own: Option<&BaseUrl>) -> Result<Url, UserError> {
    let text = match own {
        Some(own) if service.path.is_empty() => own.as_str().to_owned(),
        Some(own) => {
            let base = own.as_str().trim_end_matches('/');
            let has_path = base.ends_with(&format!("/{}", service.path));
            if has_path { base.to_owned() } else { format!("{base}/{}", service.path) }
        }
        None if service.url.is_empty() => {
            return Err(format!(
                "{} needs an address; the user can set web_search_url in config.toml",
                service.name
            )
            .into());
        }
        None => service.url.to_owned(),
    };
    Url::parse(&text).map_err(|error| UserError::new("web_search_url cannot be used").because(error))
}

/// A result of a search.
#[derive(Debug, PartialEq)]
struct SearchHit {
    title: String,
    url: String,
    text: String,
}

/// The results in the answer of a service; `None` if it has no list of them.
fn results(service: &SearchService, answer: &Value, limit: u64) -> Option<Vec<SearchHit>> {
    let Some(list) = answer.pointer(service.results) else {
        // Without results, some services omit the list.
        return answer.is_object().then(Vec::new).filter(|_| answer.get("error").is_none());
    };
    let found = list.as_array()?.iter().filter_map(|result| {
        let mut fields = service.fields.iter().zip(MAX_LEN).map(|(pointer, longest)| {
            let text = result.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            line(text, longest)
        });
        let found = SearchHit { title: fields.next()?, url: fields.next()?, text: fields.next()? };
        (!found.url.is_empty()).then_some(found)
    });
    Some(found.take(usize::try_from(limit).unwrap_or(usize::MAX)).collect())
}

/// Untrusted text as one line.
fn line(text: &str, longest: usize) -> String {
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), longest)
}

fn describe(service: &SearchService, found: &[SearchHit]) -> ToolOutput {
    if found.is_empty() {
        return ToolOutput::new(format!("{} found nothing", service.name), Details::None);
    }
    let mut list = String::new();
    for (number, SearchHit { title, url, text }) in (1..).zip(found) {
        let title = if title.is_empty() { "(no title)" } else { title };
        list.push_str(&format!("{number}. {title}\n   {url}\n"));
        if !text.is_empty() {
            list.push_str(&format!("   {text}\n"));
        }
    }
    let list = list.trim_end();
    ToolOutput::new(mark_untrusted("search_results", list), Details::Text { text: list.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::search_services::{SERVICES, service};

    #[test]
    fn services_are_asked_where_the_user_says() {
        let of = |id: &str, own: Option<&str>| {
            let own = own.map(|text| BaseUrl::new(text).unwrap());
            address_of(service(id).unwrap(), own.as_ref()).map(|url| url.to_string())
        };
        assert_eq!(of("brave", None).unwrap(), "https://api.search.brave.com/res/v1/web/search");
        assert_eq!(of("tavily", Some("http://localhost:1/x")).unwrap(), "http://localhost:1/x");
        for own in ["http://localhost:8888", "http://localhost:8888/", "http://localhost:8888/search"] {
            assert_eq!(of("searxng", Some(own)).unwrap(), "http://localhost:8888/search");
        }
        assert!(of("searxng", None).unwrap_err().contains("web_search_url"));
    }

    #[test]
    fn answers_of_all_services_are_read() {
        let brave = json!({"web": {"results": [{"title": "A\nb", "url": "https://a/", "description": "x"}]}});
        let others = json!({"results": [{"title": "A b", "url": "https://a/", "content": "x"}]});
        for service in SERVICES {
            let answer = if service.id == "brave" { &brave } else { &others };
            let expected = SearchHit { title: "A b".into(), url: "https://a/".into(), text: "x".into() };
            assert_eq!(results(service, answer, 8), Some(vec![expected]), "{}", service.id);
        }
        let brave = service("brave").unwrap();
        assert_eq!(results(brave, &json!({"type": "search"}), 8), Some(vec![]));
        assert_eq!(results(brave, &json!({"error": "x"}), 8), None);
        assert_eq!(results(brave, &json!({"web": {"results": 1}}), 8), None);
        assert_eq!(results(brave, &json!([]), 8), None);
        let many: Vec<Value> = (0..9).map(|n| json!({"url": format!("https://{n}/")})).collect();
        assert_eq!(results(service("tavily").unwrap(), &json!({ "results": many }), 3).unwrap().len(), 3);
    }
}
