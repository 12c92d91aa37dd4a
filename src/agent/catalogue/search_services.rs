//! The web search services, as data: how to query each, and how to read its answers.

/// A web search service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchService {
    /// Its name in settings and for `tau auth`.
    pub id: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// The address of the service; empty if users run their own. Then `path` is appended to the user's
    /// address.
    pub url: &'static str,
    /// The path that is appended to an address set by the user.
    pub path: &'static str,
    /// The environment variable of its key; `None` if it needs none.
    pub env: Option<&'static str>,
    /// The header of the key, and the prefix before the key in it.
    pub key_header: (&'static str, &'static str),
    /// How a query is sent.
    pub question: Question,
    /// The list of results in the answer, as a JSON pointer (RFC 6901).
    pub results: &'static str,
    /// Title, address and text in a result, as JSON pointers.
    pub fields: [&'static str; 3],
}

/// How a query is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// GET, with the parameter names for the query and the number of results, and fixed others.
    Parameters {
        words: &'static str,
        count: Option<&'static str>,
        others: &'static [(&'static str, &'static str)],
    },
    /// POST of a JSON object with these fields.
    Json { words: &'static str, count: &'static str },
}

/// All services. Formats as in their documentation: api-dashboard.search.brave.com, docs.tavily.com,
/// docs.searxng.org.
pub const SERVICES: &[SearchService] = &[
    SearchService {
        id: "brave",
        name: "Brave Search",
        url: "https://api.search.brave.com/res/v1/web/search",
        path: "",
        env: Some("BRAVE_API_KEY"),
        key_header: ("x-subscription-token", ""),
        question: Question::Parameters {
            words: "q",
            count: Some("count"),
            others: &[("text_decorations", "false")],
        },
        results: "/web/results",
        fields: ["/title", "/url", "/description"],
    },
    SearchService {
        id: "tavily",
        name: "Tavily",
        url: "https://api.tavily.com/search",
        path: "",
        env: Some("TAVILY_API_KEY"),
        key_header: ("authorization", "Bearer "),
        question: Question::Json { words: "query", count: "max_results" },
        results: "/results",
        fields: ["/title", "/url", "/content"],
    },
    SearchService {
        id: "searxng",
        name: "SearXNG",
        url: "",
        path: "search",
        env: None,
        key_header: ("authorization", "Bearer "),
        question: Question::Parameters { words: "q", count: None, others: &[("format", "json")] },
        results: "/results",
        fields: ["/title", "/url", "/content"],
    },
];

/// The service with that name.
pub fn service(id: &str) -> Option<&'static SearchService> {
    SERVICES.iter().find(|service| service.id == id)
}
