//! Offers of undecided features when first useful: hooks of another agent, tools for the web.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::list_keys::choice_key;
use super::quiet::Quiet;
use super::reading::Reading;
use crate::key::Key;
use crate::msg::Millis;
use crate::outcome::KeyOutcome;

/// The features that could be offered.
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
    /// Their files, as displayed to the user.
    pub files: Vec<String>,
    /// The event and the command of each.
    pub hooks: Vec<(String, String)>,
    /// A hook before calls that tau cannot run: with the hooks, it asks before every call.
    pub fault: Option<String>,
    /// Whether some belong to a project, which must be trusted again with them.
    pub of_project: bool,
}

/// The tools for the web.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WebOffer {
    /// The service with a known key: its name in settings, and its display name.
    pub search: Option<(String, String)>,
    /// Whether fetching of pages is already decided.
    pub only_search: bool,
}

impl WebOffer {
    /// Whether the offer is useful for this message.
    pub(crate) fn is_needed(&self, text: &str) -> bool {
        (!self.only_search && has_address(text)) || (self.search.is_some() && asks_for_search(text))
    }
}

/// A feature that is offered.
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
    /// For hooks: not now. For the web: in this session only.
    Once,
    /// Never, without asking again.
    Never,
}

/// The question on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferView {
    pub offer: Offer,
    /// The marked answer.
    pub selected: usize,
    /// The commands of hooks.
    pub reading: Reading,
    pub(crate) quiet: Quiet,
}

impl OfferView {
    /// A question that appears now. For hooks, the cautious answer is marked.
    pub fn new(offer: Offer, now: Millis) -> Self {
        let selected = usize::from(matches!(offer, Offer::Hooks(_)));
        OfferView { offer, selected, reading: Reading::default(), quiet: Quiet::new(now) }
    }

    /// The answers, in display order.
    pub fn answers(&self) -> [(OfferAnswer, &'static str); 3] {
        let [yes, once, never] = match self.offer {
            Offer::Hooks(_) => ["run them", "not now; ask again next time", "never run them"],
            Offer::Web(_) => ["yes, from now on", "only in this session", "no, and do not ask again"],
        };
        [(OfferAnswer::Yes, yes), (OfferAnswer::Once, once), (OfferAnswer::Never, never)]
    }

    /// Handles a key; `page` is the number of rows by which the commands scroll. Hooks run once all were seen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<OfferAnswer> {
        let insisted = std::mem::take(&mut self.reading.insists);
        if self.reading.scroll_by_key(key, page) {
            return KeyOutcome::Handled;
        }
        let answers = self.answers().map(|(answer, _)| answer);
        let outcome = choice_key(key, &mut self.selected, &answers);
        let runs = matches!((&outcome, &self.offer), (KeyOutcome::Done(OfferAnswer::Yes), Offer::Hooks(_)));
        if runs && !self.reading.accepts(insisted) {
            self.selected = 0;
            return KeyOutcome::Handled;
        }
        outcome
    }
}

/// Whether a text literally asks for a web search, as a sentence or part of one. Merely mentioning such a
/// search is not enough, nor is a question that a search could answer.
fn asks_for_search(text: &str) -> bool {
    const BEFORE: [&str; 8] = ["please", "and", "then", "you", "now", "first", "also", "or"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    words.windows(3).enumerate().any(|(at, asked)| {
        let asked: Vec<String> = asked.iter().map(|word| plain(word)).collect();
        let is_search = matches!(asked.as_slice(), [search, the, place]
            if search == "search" && the == "the" && ["web", "internet"].contains(&place.as_str()));
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let begins = before.is_none_or(|before| {
            before.ends_with(['.', '!', '?', ':', ';', ',']) || BEFORE.contains(&plain(before).as_str())
        });
        // Literally: no quotes or other signs precede the first word.
        is_search && begins && words.get(at).is_some_and(|word| word.eq_ignore_ascii_case("search"))
    })
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
    fn a_message_that_asks_for_a_search_of_the_web_is_known() {
        for text in [
            "search the web for the newest release of serde",
            "Search the internet: who maintains it?",
            "Fix the test. Search the web, if it helps.",
            "could you search the web for it",
            "read the log and search the web for the error",
        ] {
            assert!(asks_for_search(text), "{text}");
        }
        for text in [
            "",
            "search the code for it",
            "the button that lets users search the web is broken",
            "rename `search the web` in the menu",
            "add a function to search the web",
            "what is new in Rust?",
            "research the web team's wishes",
            "web search is slow",
        ] {
            assert!(!asks_for_search(text), "{text}");
        }
    }

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
            "", "example.com", "http://", "https:// x.y", "http://localhost:3000/",
            "http://127.0.0.1:8080/a.html", "http://192.168.1.4", "http://[::1]/", "http://printer.local",
            "http://api.test/v1", "ftp://example.com",
        ] {
            assert!(!has_address(text), "{text}");
        }
    }
}
