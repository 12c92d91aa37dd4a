//! The page at `/`: files embedded in the program. It loads nothing from elsewhere, has no script in its
//! HTML, and inserts foreign text into the document only as text.
//!
//! The files need no token. The page asks for it, or takes it from `/#token=…`, which browsers do not send,
//! and sends it with each request, like other clients.

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::problem::Problem;

/// The path of the page's files.
pub(super) const FOLDER: &str = "/page/";

/// The sources that the browser may load and run: this server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Name, media type, text.
const FILES: [(&str, &str, &str); 12] = [
    ("style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    ("icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("main.js", SCRIPT, include_str!("page/main.js")),
    ("actions.js", SCRIPT, include_str!("page/actions.js")),
    ("api.js", SCRIPT, include_str!("page/api.js")),
    ("asks.js", SCRIPT, include_str!("page/asks.js")),
    ("attempts.js", SCRIPT, include_str!("page/attempts.js")),
    ("board.js", SCRIPT, include_str!("page/board.js")),
    ("jobs.js", SCRIPT, include_str!("page/jobs.js")),
    ("markdown.js", SCRIPT, include_str!("page/markdown.js")),
    ("text.js", SCRIPT, include_str!("page/text.js")),
    ("transcript.js", SCRIPT, include_str!("page/transcript.js")),
];

/// The document.
pub(super) async fn index() -> Response {
    response("text/html; charset=utf-8", include_str!("page/index.html"))
}

/// A file named by the document.
pub(super) async fn file(Path(name): Path<String>) -> Result<Response, Problem> {
    let file = FILES.iter().find(|(known, ..)| *known == name);
    let (_, kind, text) = file.ok_or_else(|| Problem::not_found("the page has no such file"))?;
    Ok(response(kind, text))
}

fn response(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        // Another version of tau may serve another page.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers.map(|(name, value)| (name, HeaderValue::from_static(value))), text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        let html = include_str!("page/index.html");
        let files = FILES.iter().map(|(name, _, text)| (*name, *text));
        for (name, text) in files.chain([("index.html", html)]) {
            let own = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!own.contains("://"), "{name} names an address");
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style="]
            {
                assert!(!text.contains(word), "{name}: {word}");
            }
        }
        assert!(!html.contains("<style") && html.matches("<script").count() == 1, "{html}");
        assert!(!POLICY.contains("unsafe"));
        // Every named file exists, and every file is named.
        for (name, ..) in FILES {
            let path = format!("{FOLDER}{name}");
            let by_files = FILES.iter().any(|(_, _, text)| text.contains(&path));
            assert!(html.contains(&path) || by_files, "{name}");
        }
    }
}
