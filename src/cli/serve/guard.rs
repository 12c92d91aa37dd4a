//! The checks of requests: the token, the host, the origin of the page, and the rate per address.
//!
//! A page in the user's browser can send requests to a server on the user's machine. It does not know the
//! token; a name of its own that resolves to this machine is refused by the host check, and its requests by
//! their origin.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use axum::http::{HeaderMap, Uri, header};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};

use super::problem::Problem;
use crate::process::exit::Refusal;
use tau_tools::counted::pluralize;

/// Size of a burst, in seconds' worth of requests.
const BURST: f64 = 4.0;
/// Maximum number of addresses with counters; beyond it, quiet ones are forgotten.
const ADDRESSES: usize = 10_000;

/// The rules.
pub(crate) struct Guard {
    /// The hash of the token.
    token: Vec<u8>,
    /// Host names besides `localhost` and addresses; `None` on a Unix socket, which browsers cannot reach.
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
    /// Requests per second.
    rate: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

/// The remaining requests of an address.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Guard {
    /// Rules with this token.
    pub fn new(token: &str, hosts: Option<Vec<String>>, origins: Vec<String>, rate: u32) -> Self {
        let origins =
            origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect();
        let hosts = hosts.map(|names| names.iter().map(|name| name.to_ascii_lowercase()).collect());
        Guard { token: hash(token), hosts, origins, rate: rate.into(), buckets: Mutex::default() }
    }

    /// Checks the token. Fails when it is missing or wrong.
    pub fn token(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let (scheme, token) = value.and_then(|value| value.split_once(' ')).unwrap_or_default();
        // Hashes are compared, so the time reveals nothing about the token.
        if scheme.eq_ignore_ascii_case("bearer") && hash(token.trim()) == self.token {
            return Ok(());
        }
        Err(Problem::unauthorized(
            "send the token that `tau serve` printed, as `Authorization: Bearer TOKEN`",
        ))
    }

    /// Checks the host that the request is addressed to. Fails when it is a name that is not allowed.
    pub fn host(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
        let Some(hosts) = &self.hosts else { return Ok(()) };
        let named = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let authority = named.or_else(|| uri.authority().map(|authority| authority.as_str()));
        let name = authority.map(host_name).unwrap_or_default().to_ascii_lowercase();
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        // Any owner can point a name to this machine; an address is safe.
        if is_address || name == "localhost" || hosts.contains(&name) {
            return Ok(());
        }
        Err(Problem::forbidden(format!(
            "this server does not answer for the host {name:?}; allow it with --allow-host"
        )))
    }

    /// The origin of a page, if it may send requests; `None` for other clients, and for pages of this server.
    /// Fails when the page has another origin that is not allowed.
    pub fn origin<'a>(&self, headers: &'a HeaderMap) -> Result<Option<&'a str>, Problem> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(None) };
        let origin = origin.to_str().unwrap_or("?");
        let lower = origin.to_ascii_lowercase();
        if self.origins.contains(&lower) {
            return Ok(Some(origin));
        }
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let own = ["http://", "https://"].map(|scheme| format!("{scheme}{}", host.to_ascii_lowercase()));
        if !host.is_empty() && own.contains(&lower) {
            return Ok(None);
        }
        Err(Problem::forbidden(format!(
            "pages of {origin:?} may not send requests; allow them with --allow-origin"
        )))
    }

    /// Counts a request from this address. Fails when it sends too many.
    pub fn rate(&self, address: Option<IpAddr>, now: Instant) -> Result<(), Problem> {
        let Some(address) = address else { return Ok(()) };
        let most = self.rate * BURST;
        let mut buckets = self.buckets.lock();
        if buckets.len() >= ADDRESSES && !buckets.contains_key(&address) {
            buckets.retain(|_, bucket| now.duration_since(bucket.at).as_secs_f64() < BURST);
        }
        let bucket = buckets.entry(address).or_insert(Bucket { left: most, at: now });
        let since = now.duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + since * self.rate).min(most);
        bucket.at = now;
        if bucket.left < 1.0 {
            let text = format!("more than {} a second; wait a second", pluralize(self.rate, "request"));
            return Err(Problem::too_many(text, 1));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

/// An authority without its port.
fn host_name(authority: &str) -> &str {
    match authority.rfind(':') {
        // Within brackets a colon belongs to the address.
        Some(at) if !authority.get(at..).unwrap_or_default().contains(']') => {
            authority.get(..at).unwrap_or_default()
        }
        _ => authority,
    }
}

fn hash(text: &str) -> Vec<u8> {
    digest(&SHA256, text.as_bytes()).as_ref().to_vec()
}

/// A new token: 256 random bits. Fails when the system gives none.
pub(crate) fn new_token() -> Result<String, Refusal> {
    use base64::Engine as _;
    use ring::rand::SecureRandom as _;
    let mut bytes = [0_u8; 32];
    ring::rand::SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Refusal::config("cannot make a token: the system gives no random bytes"))?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_address_that_sends_too_many_waits() {
        let (guard, start) = (Guard::new("secret", None, Vec::new(), 2), Instant::now());
        let one = Some(IpAddr::from([127, 0, 0, 1]));
        let allowed = (0..20).filter(|_| guard.rate(one, start).is_ok()).count();
        assert_eq!(allowed, 8);
        assert!(guard.rate(Some(IpAddr::from([127, 0, 0, 2])), start).is_ok());
        assert!(guard.rate(None, start).is_ok());
        let later = start + Duration::from_secs(1);
        assert_eq!((0..20).filter(|_| guard.rate(one, later).is_ok()).count(), 2);
    }
}
