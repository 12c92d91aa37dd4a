//! Patterns of hosts, as in `web_fetch(*.example.com)`.

use tau_tools::user_error::UserError;
use url::Host;

/// A host pattern: one host, or all names below a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPattern {
    host: Host<String>,
    /// Whether it matches names below it, and not itself.
    below: bool,
}

/// The canonical host, independent of its spelling: other numerals, a trailing dot, upper-case or
/// percent-encoded letters, other digits, an IPv4 address within an IPv6 address.
fn parse_host(text: &str) -> Option<Host<String>> {
    // An IPv6 address may be with or without brackets.
    let bracketed = format!("[{text}]");
    let whole = if text.matches(':').count() > 1 && !text.starts_with('[') { &bracketed } else { text };
    Some(match Host::parse(whole).ok()? {
        Host::Domain(name) => match name.strip_suffix('.') {
            // Without the dot it may be an address.
            Some(name) => Host::parse(name).ok()?,
            None => Host::Domain(name),
        },
        Host::Ipv6(address) => address.to_ipv4_mapped().map_or(Host::Ipv6(address), Host::Ipv4),
        address @ Host::Ipv4(_) => address,
    })
}

/// The IPv4 address to which an IPv6 address may be translated: NAT64, 6to4, and the former compatible form.
fn embedded_ipv4(host: &Host<String>) -> Option<Host<String>> {
    let Host::Ipv6(address) = host else { return None };
    let (high, low) = match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => (high, low),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => (high, low),
        _ => return None,
    };
    Some(Host::Ipv4(((u32::from(high) << 16) | u32::from(low)).into()))
}

/// Whether a host is this machine, by its name or address.
fn is_here(host: &Host<String>) -> bool {
    match host {
        Host::Domain(name) => {
            let names = ["localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"];
            names.contains(&name.as_str()) || name.ends_with(".localhost")
        }
        Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
        Host::Ipv6(address) => address.is_loopback() || address.is_unspecified(),
    }
}

impl HostPattern {
    /// Parses a pattern. `domain:` before it, as other agents write it, has no effect.
    pub(super) fn new(text: &str) -> Result<Self, UserError> {
        let text = text.strip_prefix("domain:").unwrap_or(text).trim();
        let (name, below) = text.strip_prefix("*.").map_or((text, false), |rest| (rest, true));
        let wrong =
            || "write a host, as in web_fetch(example.com), or all below one: web_fetch(*.example.com)";
        let has_empty_label = name.starts_with('.') || name.contains("..");
        if name.is_empty() || has_empty_label || name.contains(['*', '/', '@', '?', '#']) {
            return Err(wrong().to_owned().into());
        }
        let host = parse_host(name).ok_or_else(|| wrong().to_owned())?;
        if below && !matches!(host, Host::Domain(_)) {
            return Err(wrong().to_owned().into());
        }
        Ok(HostPattern { host, below })
    }

    pub(super) fn matches(&self, host: &str) -> bool {
        parse_host(host).is_some_and(|host| self.is_about(&host))
    }

    /// Whether it may be about a host, for rules that ask or deny: all names and addresses of this machine
    /// count as the same, and an invalid host may be any.
    pub(super) fn concerns(&self, host: &str) -> bool {
        // The unspecified address leads to the loopback address.
        let is_usual = |host: &Host<String>| match host {
            Host::Ipv4(address) => address.is_unspecified() || address.octets() == [127, 0, 0, 1],
            Host::Ipv6(_) | Host::Domain(_) => is_here(host),
        };
        let same_machine = |host: &Host<String>| {
            let is_name = |host: &Host<String>| matches!(host, Host::Domain(_));
            is_here(&self.host)
                && !self.below
                && is_here(host)
                && (is_name(&self.host) || is_name(host) || is_usual(&self.host) && is_usual(host))
        };
        let may_be = |host: &Host<String>| self.is_about(host) || same_machine(host);
        parse_host(host)
            .is_none_or(|host| may_be(&host) || embedded_ipv4(&host).is_some_and(|host| may_be(&host)))
    }

    fn is_about(&self, host: &Host<String>) -> bool {
        match (&self.host, host) {
            (Host::Domain(own), Host::Domain(name)) if self.below => {
                name.strip_suffix(own.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
            (own, host) => own == host && !self.below,
        }
    }

    /// Whether it names one host, or the hosts below a name of at least two labels.
    pub(super) fn is_narrow(&self) -> bool {
        !self.below || matches!(&self.host, Host::Domain(name) if name.contains('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::HostPattern;

    #[test]
    fn a_pattern_matches_whole_labels() {
        let matches = |pattern: &str, host: &str| HostPattern::new(pattern).unwrap().matches(host);
        for (pattern, host) in [
            ("example.com", "example.com"),
            ("Example.COM.", "example.com"),
            ("domain:example.com", "example.com"),
            ("*.example.com", "a.example.com"),
            ("*.example.com", "a.b.example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("127.0.0.1", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("[::1]", "::1"),
            ("::1", "::1"),
            ("localhost", "localhost"),
        ] {
            assert!(matches(pattern, host), "{pattern} and {host}");
        }
        for (pattern, host) in [
            ("example.com", "a.example.com"),
            ("example.com", "badexample.com"),
            ("*.example.com", "example.com"),
            ("*.example.com", "badexample.com"),
            ("example.com", "example.com.evil.example"),
            ("*.com", "com"),
        ] {
            assert!(!matches(pattern, host), "{pattern} and {host}");
        }
        let concerns = |pattern: &str, host: &str| HostPattern::new(pattern).unwrap().concerns(host);
        for host in [
            "127.0.0.1", "127.0.0.1.", "0x7f.1", "0x7F.0.0.1", "2130706433", "0x7f000001", "017700000001",
            "127.1", "127.0.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "::ffff:127.0.0.1", "[::ffff:7f00:1]",
            "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "%31%32%37.0.0.1", "１２７.0.0.1",
            "127。0。0。1", "①27.0.0.1", "0.0.0.0", "0", "[::]", "[::1]", "localhost", "LOCALHOST",
            "localhost.", "loca%6chost", "a.localhost", "no host",
        ] {
            assert!(concerns("127.0.0.1", host), "{host}");
            assert!(concerns("localhost", host), "{host}");
        }
        for host in
            ["128.0.0.1", "127.0.0.2", "example.com", "localhost.example.com", "[::2]", "[64:ff9b::1.1.1.1]"]
        {
            assert!(!concerns("127.0.0.1", host), "{host}");
        }
        assert!(concerns("localhost", "127.0.0.2") && concerns("evil.example", "EVIL.example."));
        assert!(!matches("127.0.0.1", "localhost") && !matches("localhost", "127.0.0.1"));
        for pattern in ["https://example.com", "a.*.com", "*example.com", "a b", "*.10.0.0.1", ""] {
            assert!(HostPattern::new(pattern).is_err(), "{pattern}");
        }
    }
}
