//! Fetches a page: redirects, limits, and conversion of the body.

use std::time::Duration;

use url::Url;

use super::body::{ContentType, Kind};
use super::marks::mark_untrusted;
use super::{WebState, address, denying_rule, markdown};
use crate::provider::http::guarded::{GuardedAnswer, GuardedFailure};
use tau_tools::budget;
use tau_tools::counted::pluralize;
use tau_tools::secret_cuts::SecretFinder;
use tau_tools::user_error::UserError;

/// The content types that tau can use, best first.
const ACCEPT: &str = "text/markdown, text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, \
    image/png, image/jpeg, image/webp, image/gif, */*;q=0.5";
/// The maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 10;
/// The maximum characters of an error page that are shown.
const ERROR_TEXT: usize = 1_500;
/// The maximum bytes of an error page that are read.
const ERROR_BYTES: usize = 64 * 1024;
/// The maximum length of another host's address that is shown, in characters.
const SHOWN_URL: usize = 2_000;

/// The limits of a fetch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The time limit from the first request to the last byte.
    pub(super) time: Duration,
    /// The maximum size of a body, in bytes after decompression.
    pub(super) bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { time: Duration::from_secs(60), bytes: 5 * 1024 * 1024 }
    }
}

/// A page that was fetched.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    /// The final address, after redirects.
    pub(super) url: Url,
    pub(super) status: u16,
    /// The content type sent by the server.
    pub(super) content_type: String,
    pub(super) title: Option<String>,
    pub(super) body: PageBody,
    /// Describes missing parts, as part of a sentence.
    pub(super) note: Option<&'static str>,
}

/// The part of a page that is kept.
#[derive(Debug, PartialEq)]
pub(super) enum PageBody {
    Text(String),
    Picture(Vec<u8>),
}

impl Page {
    /// Its size in bytes.
    pub(super) fn size(&self) -> usize {
        match &self.body {
            PageBody::Text(text) => text.len(),
            PageBody::Picture(bytes) => bytes.len(),
        }
    }
}

/// The outcome of a fetch.
#[derive(Debug, PartialEq)]
pub(super) enum FetchOutcome {
    Page(Page),
    /// A redirect to another host, which the user may not have allowed: the model must request it.
    Elsewhere {
        status: u16,
        to: Url,
        why: &'static str,
    },
}

/// Fetches a page, within the limits. The error is the reason the page could not be fetched, as a sentence
/// for the model.
pub(super) async fn fetch(
    url: Url,
    shared: &WebState,
    secrets: &SecretFinder,
) -> Result<FetchOutcome, UserError> {
    let limits = shared.limits;
    match tokio::time::timeout(limits.time, follow(url, shared, secrets)).await {
        Ok(fetched) => fetched,
        Err(_) => Err(format!("the page was not complete within {:?}", limits.time).into()),
    }
}

async fn follow(mut url: Url, shared: &WebState, secrets: &SecretFinder) -> Result<FetchOutcome, UserError> {
    for _ in 0..=MAX_REDIRECTS {
        address::check_host(&url, &shared.options.lock().allow_private)?;
        let answer =
            shared.http.get(&url, ACCEPT).await.map_err(|failure| describe(failure, &url, shared))?;
        let Some(target) = redirect(&answer, &url)? else {
            return complete(answer, url, shared, secrets).await;
        };
        let Some(why) = objection(&url, &target) else {
            url = target;
            continue;
        };
        address::check_host(&target, &shared.options.lock().allow_private)
            .map_err(|refusal| format!("{} redirects to {}: {refusal}", short(&url), short(&target)))?;
        return Ok(FetchOutcome::Elsewhere { status: answer.status(), to: target, why });
    }
    Err(format!("it redirects more than {MAX_REDIRECTS} times").into())
}

/// The reason why a redirect is not followed.
fn objection(from: &Url, to: &Url) -> Option<&'static str> {
    if address::host(to) != address::host(from) {
        return Some("which is another host");
    }
    (from.scheme() == "https" && to.scheme() == "http").then_some("which is not encrypted")
}

/// The target of a redirect.
fn redirect(answer: &GuardedAnswer, from: &Url) -> Result<Option<Url>, UserError> {
    if !matches!(answer.status(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = answer.header("location") else { return Ok(None) };
    let target = from.join(location).map_err(|error| error.to_string().into()).and_then(address::check_url);
    target
        .map(Some)
        .map_err(|why| format!("{} redirects to an address that cannot be used: {why}", short(from)).into())
}

/// A URL in a form that can be shown to the model.
pub(super) fn short(url: &Url) -> String {
    let text: String = url.as_str().chars().take(SHOWN_URL).collect();
    if text.len() < url.as_str().len() { format!("{text}…") } else { text }
}

fn describe(failure: GuardedFailure, url: &Url, shared: &WebState) -> String {
    match failure {
        GuardedFailure::Refused(address) => match denying_rule(&shared.rules, address) {
            Some(rule) => format!("{} leads to {address}, which a rule denies ({rule})", address::host(url)),
            None => address::refusal(&address::host(url), Some(address)),
        },
        GuardedFailure::Failed(failure) => failure.to_string(),
    }
}

/// Reads the body and converts it for models.
async fn complete(
    mut answer: GuardedAnswer,
    url: Url,
    shared: &WebState,
    secrets: &SecretFinder,
) -> Result<FetchOutcome, UserError> {
    let said = ContentType::parse(answer.header("content-type"));
    let status = answer.status();
    if !(200..300).contains(&status) {
        return Err(read_error_message(answer, &said, url, secrets).await.into());
    }
    let body = read(&mut answer, shared.limits.bytes).await?;
    let kind = said.kind(&body);
    let (title, body, note) = match kind {
        Kind::Html => {
            let page = markdown::convert(said.decode(&body, kind), url.clone()).await;
            let page = page.ok_or("the page cannot be converted to markdown")?;
            (page.title, PageBody::Text(page.text), page.note)
        }
        Kind::Text => (None, PageBody::Text(said.decode(&body, kind)), None),
        Kind::Picture => (None, PageBody::Picture(body), None),
        Kind::Other => {
            let name = if said.name.is_empty() { "a binary file" } else { &said.name };
            return Err(format!(
                "it is {name} ({}); only web pages, text and pictures (PNG, JPEG, GIF, WebP) are fetched",
                pluralize(body.len(), "byte")
            )
            .into());
        }
    };
    Ok(FetchOutcome::Page(Page { url, status, content_type: said.name, title, body, note }))
}

async fn read(answer: &mut GuardedAnswer, most: usize) -> Result<Vec<u8>, UserError> {
    let too_large = || format!("it is larger than {} KB, and larger pages are not fetched", most / 1024);
    if answer.length().is_some_and(|length| length > most as u64) {
        return Err(too_large().into());
    }
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await.map_err(|failure| failure.message)? {
        body.extend_from_slice(&bytes);
        if body.len() > most {
            return Err(too_large().into());
        }
    }
    Ok(body)
}

/// The message of an answer with an error status.
async fn read_error_message(
    mut answer: GuardedAnswer,
    said: &ContentType,
    url: Url,
    secrets: &SecretFinder,
) -> String {
    let status = answer.status();
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = answer.chunk().await {
        body.extend_from_slice(&bytes);
        if body.len() > ERROR_BYTES {
            break;
        }
    }
    let kind = said.kind(&body);
    let text = match kind {
        Kind::Html => markdown::convert(said.decode(&body, kind), url).await.map(|page| page.text),
        Kind::Text => Some(said.decode(&body, kind)),
        Kind::Picture | Kind::Other => None,
    };
    let text = text.unwrap_or_default();
    let text = text.trim();
    let end = secrets.end(text, budget::start_within_characters(text, ERROR_TEXT).len());
    let text = text.get(..end).unwrap_or_default();
    match text.is_empty() {
        true => format!("the server answers HTTP {status}"),
        false => format!("the server answers HTTP {status}. {}", mark_untrusted("web_page", text)),
    }
}

#[cfg(test)]
mod tests {
    use super::objection;

    #[test]
    fn no_redirect_leaves_the_host_or_its_encryption() {
        let why = |from: &str, to: &str| objection(&from.parse().unwrap(), &to.parse().unwrap());
        assert_eq!(why("https://a.example/x", "http://a.example/x"), Some("which is not encrypted"));
        assert_eq!(why("https://a.example/x", "https://b.example/x"), Some("which is another host"));
        for from in ["http", "https"] {
            assert_eq!(why(&format!("{from}://a.example/"), "https://A.example:8443/y"), None);
        }
    }
}
