//! Patterns of hosts, as in `web_fetch(*.example.com)`.

use url::Host;

/// A pattern of hosts: one host, or all below a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPattern {
    host: String,
    /// Names below it, and not itself.
    below: bool,
}

impl HostPattern {
    /// Reads a pattern. `domain:` before it, as other agents write it, means nothing more.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix("domain:").unwrap_or(text).trim();
        let (name, below) = text.strip_prefix("*.").map_or((text, false), |rest| (rest, true));
        let wrong =
            || "write a host, as in web_fetch(example.com), or all below one: web_fetch(*.example.com)";
        let has_empty_label = name.starts_with('.') || name.contains("..");
        if name.is_empty() || has_empty_label || name.contains(['*', '/', '@', '?', '#']) {
            return Err(wrong().to_owned());
        }
        // An IPv6 address may have its brackets or not.
        let bracketed = format!("[{name}]");
        let whole = if name.matches(':').count() > 1 && !name.starts_with('[') { &bracketed } else { name };
        let host = match Host::parse(whole.trim_end_matches('.')).map_err(|_| wrong().to_owned())? {
            Host::Domain(name) => name,
            _ if below => return Err(wrong().to_owned()),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        Ok(HostPattern { host, below })
    }

    /// Whether it is about a host, which is in lower case and has neither brackets nor a dot at the end.
    pub(super) fn matches(&self, host: &str) -> bool {
        match self.below {
            true => host.strip_suffix(self.host.as_str()).is_some_and(|rest| rest.ends_with('.')),
            false => host == self.host,
        }
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
        for pattern in ["https://example.com", "a.*.com", "*example.com", "a b", "*.10.0.0.1", ""] {
            assert!(HostPattern::new(pattern).is_err(), "{pattern}");
        }
    }
}
