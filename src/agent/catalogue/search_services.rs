//! The services that search the web, as data: how each is asked, and where its answer has what.

/// A service that searches the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchService {
    /// Its name in settings and for `tau auth`.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Where it is asked; empty if everybody has their own. Then `path` follows the address of the user.
    pub url: &'static str,
    /// What follows an address that the user sets.
    pub path: &'static str,
    /// The environment variable of its key; `None` if it needs none.
    pub env: Option<&'static str>,
    /// Where the key goes: a header, and what comes before the key in it.
    pub key_header: (&'static str, &'static str),
    /// How the question is sent.
    pub question: Question,
    /// Where the list of results is in the answer, as a JSON pointer (RFC 6901).
    pub results: &'static str,
    /// Where title, address and text are in a result, as JSON pointers.
    pub fields: [&'static str; 3],
}

/// How a question is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// GET, with the parameters for the words and the number of results, and others as they are.
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

/// The service of that name.
pub fn service(id: &str) -> Option<&'static SearchService> {
    SERVICES.iter().find(|service| service.id == id)
}
