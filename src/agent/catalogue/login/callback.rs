//! The local address that the browser returns to after a login, with a plain page.
//!
//! Anyone who can reach it can send anything. Only requests with the mark of this login count; all others
//! get a page that says so and changes nothing.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use super::without;
use crate::export::pen;
use tau_tools::user_error::UserError;

/// The maximum size of a request head, in bytes.
const MAX_SIZE: usize = 32 * 1024;
/// The time limit for a request on an open connection; browsers open some that they never use.
const WITHIN: Duration = Duration::from_secs(20);
/// The time that the user has in the browser.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The maximum number of concurrent connections; further ones wait.
const CONNECTIONS: usize = 32;

/// A final address of a browser on another machine, which the user has pasted.
#[derive(Debug)]
pub struct PastedAddress {
    pub address: String,
    /// Takes what is wrong with it; the login waits on.
    pub wrong: oneshot::Sender<UserError>,
}

impl PastedAddress {
    /// The address, and what says that it is wrong.
    pub fn new(address: String) -> (Self, oneshot::Receiver<UserError>) {
        let (wrong, answer) = oneshot::channel();
        (PastedAddress { address, wrong }, answer)
    }
}

/// How the browser's return to one login is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The address has this `state`.
    State(String),
    /// The path itself is a secret, because the authorization server returns no state.
    Path,
}

/// A result of the authorization server, carried by the browser.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The code that is exchanged for tokens, and its issuer.
    Code { code: String, issuer: Option<String> },
    /// No tokens were granted; the reason.
    Refused(String),
    /// It does not belong to this login.
    Foreign,
}

impl Arrival {
    /// The result that an address carries for the login with this path and mark; `None` if it is another
    /// page.
    pub(crate) fn of(address: &Url, path: &str, mark: &Mark) -> Option<Self> {
        if address.path() != path {
            return None;
        }
        let value = |wanted: &str| {
            let found = address.query_pairs().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.into_owned()).filter(|value| !value.is_empty())
        };
        if matches!(mark, Mark::State(state) if value("state").as_deref() != Some(state)) {
            return Some(Arrival::Foreign);
        }
        Some(match (value("error"), value("code")) {
            (Some(error), _) => Arrival::Refused(match value("error_description") {
                Some(description) => format!("{error}: {description}"),
                None => error,
            }),
            (None, Some(code)) => Arrival::Code { code, issuer: value("iss") },
            (None, None) => Arrival::Foreign,
        })
    }
}

/// Limits the time that a login takes.
pub(crate) async fn in_time<T>(login: impl Future<Output = Result<T, UserError>>) -> Result<T, UserError> {
    let late = |_| format!("nobody has logged in within {} minutes", LOGIN_TIMEOUT.as_secs() / 60);
    timeout(LOGIN_TIMEOUT, login).await.map_err(late)?
}

/// Shows the end of a login in the browser, if that is where it came from.
pub(crate) async fn show_outcome<T>(
    visitor: Option<Visitor>,
    done: Result<T, UserError>,
) -> Result<T, UserError> {
    if let Some(visitor) = visitor {
        let failed = done.as_ref().err().map(|why| format!("tau is not logged in: {why}."));
        visitor.show(Page::of_login(failed.as_deref())).await;
    }
    done
}

/// A page to show in the browser.
pub(crate) struct Page<'a> {
    pub(crate) status: &'static str,
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Page<'a> {
    /// The page at the end of a login; `failed` says why the login failed.
    pub(crate) fn of_login(failed: Option<&'a str>) -> Self {
        match failed {
            None => Page {
                status: "200 OK",
                title: "tau is logged in",
                text: "You can close this page and go back to the terminal.",
            },
            Some(text) => Page { status: "400 Bad Request", title: "The login has failed", text },
        }
    }
}

/// A connection of a browser that waits for a page.
pub(crate) struct Visitor(TcpStream);

impl Visitor {
    /// Shows a page; a closed connection is ignored.
    pub(crate) async fn show(mut self, page: Page<'_>) {
        let _ = timeout(WITHIN, self.write(page)).await;
    }

    async fn write(&mut self, page: Page<'_>) -> std::io::Result<()> {
        let (title, text) = (escape_line(page.title), escape_line(page.text));
        let body = format!(
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <title>{title}</title><style>body{{font:16px sans-serif;margin:4em auto;max-width:36em;\
             padding:0 1em}}</style><h1>{title}</h1><p>{text}</p>\n"
        );
        let head = format!(
            "HTTP/1.1 {}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
             cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
             content-security-policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n\
             connection: close\r\n\r\n",
            page.status,
            body.len()
        );
        self.0.write_all(head.as_bytes()).await?;
        self.0.write_all(body.as_bytes()).await?;
        self.0.shutdown().await
    }
}

/// The local address, and its listener.
pub(crate) struct Callback {
    listener: TcpListener,
    address: Url,
    visits: JoinSet<Option<(Url, Visitor)>>,
}

impl Callback {
    /// Listens on this port of this machine, or on any free one. `host` is its name in the address.
    pub(crate) async fn listen(port: Option<u16>, host: &str, path: &str) -> Result<Self, UserError> {
        let wanted = port.unwrap_or(0);
        let failed = |error: std::io::Error| match port {
            Some(port) => format!("tau cannot listen at 127.0.0.1:{port}: {error}"),
            None => format!("tau cannot listen at 127.0.0.1: {error}"),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let address = Url::parse(&format!("http://{host}:{port}{path}"));
        let address = address.map_err(UserError::of)?;
        Ok(Callback { listener, address, visits: JoinSet::new() })
    }

    pub(crate) fn address(&self) -> &Url {
        &self.address
    }

    /// Waits for the code of a login and its issuer, from the browser or from `pasted`, which has final addresses of
    /// a browser on another machine. The visitor waits for [`show_outcome`].
    pub(crate) async fn code(
        &mut self,
        mark: &Mark,
        pasted: &mut mpsc::Receiver<PastedAddress>,
    ) -> Result<(String, Option<String>, Option<Visitor>), UserError> {
        loop {
            let (arrival, visitor) = tokio::select! {
                (arrival, visitor) = self.arrival(mark) => (arrival, Some(visitor)),
                Some(PastedAddress { address, wrong }) = pasted.recv() => {
                    let address = Url::parse(address.trim()).ok();
                    let arrival = address.and_then(|address| Arrival::of(&address, self.address.path(), mark));
                    let Some(arrival) = arrival.filter(|arrival| *arrival != Arrival::Foreign) else {
                        let text = "what was pasted does not belong to this login";
                        let _ = wrong.send(UserError::new(text).remedy("paste the address of the last page of the browser"));
                        continue;
                    };
                    (arrival, None)
                }
            };
            let failed = match arrival {
                Arrival::Code { code, issuer } => return Ok((code, issuer, visitor)),
                Arrival::Refused(why) => format!("the login was refused: {}", without(&why, &[])).into(),
                Arrival::Foreign => continue,
            };
            return show_outcome(visitor, Err(failed)).await;
        }
    }

    /// Waits for the browser to return to the login with this mark. Cancel safe.
    async fn arrival(&mut self, mark: &Mark) -> (Arrival, Visitor) {
        loop {
            let is_full = self.visits.len() >= CONNECTIONS;
            tokio::select! {
                accepted = self.listener.accept(), if !is_full => match accepted {
                    Ok((stream, _)) => drop(self.visits.spawn(request(stream, self.address.clone()))),
                    // Out of file descriptors: some are released soon.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
                Some(visit) = self.visits.join_next() => {
                    let Ok(Some((address, visitor))) = visit else { continue };
                    let page = match Arrival::of(&address, self.address.path(), mark) {
                        Some(Arrival::Foreign) => Page {
                            status: "400 Bad Request",
                            title: "This is not the login that tau waits for",
                            text: "Open the address that tau has printed, and log in there.",
                        },
                        Some(arrival) => return (arrival, visitor),
                        None => Page { status: "404 Not Found", title: "Not found", text: "" },
                    };
                    visitor.show(page).await;
                }
            }
        }
    }
}

/// The address that a browser requests.
async fn request(mut stream: TcpStream, base: Url) -> Option<(Url, Visitor)> {
    let mut head = Vec::new();
    let reading = async {
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let mut part = [0; 4096];
            let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
            head.extend_from_slice(part.get(..count)?);
            if head.len() > MAX_SIZE {
                return None;
            }
        }
        Some(())
    };
    timeout(WITHIN, reading).await.ok()??;
    let line = String::from_utf8_lossy(&head);
    let mut words = line.lines().next()?.split(' ');
    let target = words.next().filter(|method| *method == "GET").and_then(|_| words.next())?;
    let address = target.starts_with('/').then(|| base.join(target).ok())??;
    Some((address, Visitor(stream)))
}

/// Text for a page, on one line.
fn escape_line(text: &str) -> String {
    pen::escape_html(&text.replace(char::is_control, " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_the_state_counts() {
        let url = |text: &str| Url::parse(&format!("http://127.0.0.1:1{text}")).unwrap();
        let mark = Mark::State("s1".to_owned());
        let of = |text: &str| Arrival::of(&url(text), "/callback", &mark);
        let code =
            |issuer: Option<&str>| Arrival::Code { code: "c d".into(), issuer: issuer.map(str::to_owned) };
        assert_eq!(of("/callback?code=c+d&state=s1"), Some(code(None)));
        assert_eq!(of("/callback?iss=https%3A%2F%2Fa&state=s1&code=c%20d"), Some(code(Some("https://a"))));
        let refused = |text: &str| Some(Arrival::Refused(text.to_owned()));
        assert_eq!(of("/callback?error=access_denied&state=s1&code=x"), refused("access_denied"));
        assert_eq!(of("/callback?error=a&error_description=b+c&state=s1"), refused("a: b c"));
        for foreign in ["?code=c", "?code=c&state=s2", "?state=s1", "", "?error=x", "?code=&state=s1"] {
            assert_eq!(of(&format!("/callback{foreign}")), Some(Arrival::Foreign), "{foreign}");
        }
        for other in ["/favicon.ico", "/", "/callback/x?code=c&state=s1"] {
            assert_eq!(of(other), None, "{other}");
        }
        let secret = |text: &str| Arrival::of(&url(text), "/callback/s3cret", &Mark::Path);
        assert_eq!(secret("/callback/s3cret?code=c+d"), Some(code(None)));
        assert_eq!(secret("/callback/s3cret"), Some(Arrival::Foreign));
        assert_eq!(secret("/callback/guess?code=c"), None);
    }

    #[test]
    fn pages_hold_text_only() {
        assert_eq!(escape_line("<a href='x'>\u{1b}&\"\n"), "&lt;a href=&#39;x&#39;&gt; &amp;&quot; ");
    }
}
