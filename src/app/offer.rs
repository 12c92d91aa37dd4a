//! What could be turned on that nobody has decided about: hooks of another agent, tools for the web. It is asked when
//! it is first of use.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::approval::QUIET;
use super::key::{Key, KeyCode, Mods};
use super::msg::Millis;
use super::outcome::KeyOutcome;

/// What could be offered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offers {
    pub hooks: Option<HookOffer>,
    pub web: Option<WebOffer>,
}

/// Hooks of another agent that could run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookOffer {
    /// The files that have them, as the user knows them.
    pub files: Vec<String>,
    /// The event and the command of each.
    pub hooks: Vec<(String, String)>,
    /// Some are in a project, which is to be trusted again with them.
    pub of_project: bool,
}

/// The tools for the web.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WebOffer {
    /// The service that a key is known for: its name in settings, and for people.
    pub search: Option<(String, String)>,
}

/// What is offered.
#[derive(Clone, Debug, PartialEq)]
pub enum Offer {
    Hooks(HookOffer),
    Web(WebOffer),
}

/// The user's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferAnswer {
    /// From now on.
    Yes,
    /// Of hooks: not now. Of the web: in this session only.
    Once,
    /// Never, and it is not asked again.
    Never,
}

/// The question on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferView {
    pub offer: Offer,
    /// The answer that is marked.
    pub selected: usize,
    /// Since when nothing was typed that was meant for the composer.
    quiet_since: Millis,
}

impl OfferView {
    /// The question, which appears now. Of hooks, the cautious answer is marked.
    pub fn new(offer: Offer, now: Millis) -> Self {
        let selected = usize::from(matches!(offer, Offer::Hooks(_)));
        OfferView { offer, selected, quiet_since: now }
    }

    /// The answers, in the order in which they are shown.
    pub fn answers(&self) -> [(OfferAnswer, &'static str); 3] {
        let [yes, once, never] = match self.offer {
            Offer::Hooks(_) => ["run them", "not now; ask again next time", "never run them"],
            Offer::Web(_) => ["yes, from now on", "only in this session", "no, and do not ask again"],
        };
        [(OfferAnswer::Yes, yes), (OfferAnswer::Once, once), (OfferAnswer::Never, never)]
    }

    /// Whether what is typed now was meant for the composer. That puts off the next key.
    pub(crate) fn is_early(&mut self, now: Millis) -> bool {
        let is_early = now - self.quiet_since < QUIET;
        if is_early {
            self.quiet_since = now;
        }
        is_early
    }

    /// A key.
    pub(crate) fn key(&mut self, key: Key) -> KeyOutcome<OfferAnswer> {
        let answers = self.answers();
        let answer = |at: usize| answers.get(at).map(|(answer, _)| KeyOutcome::Done(*answer));
        let number = key.typed().and_then(|digit| digit.to_digit(10));
        let number = number.and_then(|digit| (digit as usize).checked_sub(1));
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Closed,
            (KeyCode::Up, _) => self.selected = self.selected.saturating_sub(1),
            (KeyCode::Down, _) => self.selected = (self.selected + 1).min(answers.len().saturating_sub(1)),
            (KeyCode::Enter, _) => return answer(self.selected).unwrap_or(KeyOutcome::Closed),
            _ => return number.and_then(answer).unwrap_or(KeyOutcome::Ignored),
        }
        KeyOutcome::Handled
    }
}

/// Whether a text has the address of a page that may be fetched: one on the public internet.
pub(crate) fn has_address(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        text.match_indices(scheme).any(|(at, _)| {
            let rest = text.get(at + scheme.len()..).unwrap_or_default();
            let end = |c: char| c.is_whitespace() || "/?#\\\"'<>`,;()[]{}|".contains(c);
            let place = rest.split(end).next().unwrap_or_default();
            let host = place.rsplit('@').next().unwrap_or_default();
            is_public(host.split(':').next().unwrap_or_default().trim_end_matches('.'))
        })
    })
}

fn is_public(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            !(address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified())
        }
        Ok(IpAddr::V6(_)) => false,
        Err(_) => {
            let last = host.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
            let is_local =
                ["localhost", "local", "internal", "lan", "home", "test", "invalid"].contains(&last.as_str());
            host.contains('.') && !last.is_empty() && !is_local
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_on_the_public_internet_is_found() {
        for text in [
            "read https://example.com/a",
            "(http://docs.rs)",
            "see <https://a.b.c:8443/x?y#z>.",
            "https://me@example.com",
            "https://93.184.216.34/",
            "two: http://localhost:3000 https://example.org",
        ] {
            assert!(has_address(text), "{text}");
        }
        for text in [
            "",
            "example.com",
            "http://",
            "https:// x.y",
            "http://localhost:3000/",
            "http://127.0.0.1:8080/a.html",
            "http://192.168.1.4",
            "http://[::1]/",
            "http://printer.local",
            "http://api.test/v1",
            "ftp://example.com",
        ] {
            assert!(!has_address(text), "{text}");
        }
    }
}
