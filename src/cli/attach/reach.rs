//! Where a server is reached, and the reasons why it is not.

use std::path::PathBuf;

use tau_tools::path_text;

/// The address that a server listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// `http://` or `https://`, host and port.
    Url(String),
    /// A Unix socket.
    Socket(PathBuf),
}

impl Address {
    /// Parses an argument as an address: a URL, `host:port`, `unix:PATH` or a path; `None` for any other text.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Some(Address::Socket(path_text::path(path.to_owned())));
        }
        if let Some((scheme, _)) = text.split_once("://") {
            let (text, _) = split_link(text);
            let is_known = ["http", "https", "ssh"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
            return is_known.then(|| Address::Url(text.trim_end_matches('/').to_owned()));
        }
        if ["/", "./", "../"].iter().any(|start| text.starts_with(start)) {
            return Some(Address::Socket(PathBuf::from(text)));
        }
        let (host, port) = text.rsplit_once(':')?;
        let is_port = !port.is_empty() && port.parse::<u16>().is_ok();
        (is_port && !host.is_empty()).then(|| Address::Url(format!("http://{text}")))
    }

    /// The form that `tau serve` prints.
    pub(crate) fn text(&self) -> String {
        match self {
            Address::Url(url) => url.clone(),
            Address::Socket(path) => format!("unix:{}", path_text::text(path)),
        }
    }
}

/// Splits a link as printed by `tau serve` at its fragment, and returns the token in that.
pub(crate) fn split_link(text: &str) -> (&str, Option<&str>) {
    match text.split_once('#') {
        Some((address, fragment)) if address.contains("://") => (address, fragment.strip_prefix("token=")),
        _ => (text, None),
    }
}

/// The reason why a request was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// There is no connection.
    Unreachable(String),
    /// The server cannot accept this now: it is worth sending again.
    Busy(String),
    /// The session is not open there, or does not know this client: it must be opened again.
    NotAttached(String),
    /// The server refuses, and would do so again.
    Refused(String),
    /// No process has the session open any more.
    Ended(String),
}

impl Trouble {
    /// Whether the session changes hands, so that the same request succeeds soon.
    pub(crate) fn is_brief(&self) -> bool {
        match self {
            Trouble::Busy(_) | Trouble::NotAttached(_) | Trouble::Ended(_) => true,
            Trouble::Unreachable(_) | Trouble::Refused(_) => false,
        }
    }

    /// The fault, in words for the user.
    pub(crate) fn text(&self) -> &str {
        match self {
            Trouble::Unreachable(text)
            | Trouble::Busy(text)
            | Trouble::NotAttached(text)
            | Trouble::Refused(text)
            | Trouble::Ended(text) => text,
        }
    }
}
