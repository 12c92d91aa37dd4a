//! Decides which addresses may be fetched: the public internet, and hosts the user allows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::settings::web::PrivateHosts;
use tau_tools::user_error::UserError;

/// The maximum length of a URL, in bytes.
const MAX_LEN: usize = 8_000;
/// Suffixes of names that are used only within a network. A proxy would resolve them, where there is no
/// guard.
const PRIVATE_NAMES: [&str; 9] =
    ["localhost", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa"];
/// Ranges of IPv4 that are not the public internet, according to the registry of special-purpose addresses
/// (RFC 6890): address and prefix length.
const SPECIAL_V4: [([u8; 4], u8); 15] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Parses a URL and checks that it can be fetched, as far as the URL shows. The fragment is removed.
pub(super) fn parse(text: &str) -> Result<Url, UserError> {
    let text = text.trim();
    if text.len() > MAX_LEN {
        return Err(format!("it has more than {MAX_LEN} bytes").into());
    }
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        return Err("write it in full, beginning with https:// or http://".into());
    }
    let url = Url::parse(text).map_err(UserError::of)?;
    check_url(url)
}

/// Checks a parsed URL, such as the target of a redirect.
pub(super) fn check_url(mut url: Url) -> Result<Url, UserError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{}: is not fetched, only http: and https:", url.scheme()).into());
    }
    if url.as_str().len() > MAX_LEN {
        return Err(format!("it has more than {MAX_LEN} bytes").into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a user name or a password in it, which is not sent; leave it out".into());
    }
    url.set_fragment(None);
    Ok(url)
}

/// The host of a URL in the form of rules and settings: in lower case, without brackets and trailing dot.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_owned()
}

/// Checks that the URL itself does not name a forbidden host. Names are checked again when they are resolved.
/// The error is a sentence that says so, and names the setting.
pub(super) fn check_host(url: &Url, allowed: &PrivateHosts) -> Result<(), UserError> {
    let host = host(url);
    let is_admitted = match url.host() {
        Some(Host::Ipv4(address)) => admits(allowed, &host, IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => admits(allowed, &host, IpAddr::V6(address)),
        Some(Host::Domain(_)) => is_public_name(&host) || allowed.may_allow(&host),
        None => false,
    };
    if is_admitted { Ok(()) } else { Err(refusal(&host, None).into()) }
}

/// The sentence that refuses a host, with the address of its name.
pub(super) fn refusal(host: &str, address: Option<IpAddr>) -> String {
    let at = address.map(|address| format!(" ({address})")).unwrap_or_default();
    format!(
        "{host}{at} is a private or local address, which is not fetched; the user can allow it: \
         web_allow_private = [\"{host}\"] in config.toml"
    )
}

/// Whether a connection to a host at this address is allowed.
pub(super) fn admits(allowed: &PrivateHosts, host: &str, address: IpAddr) -> bool {
    is_public(address) || allowed.allows(host.trim_end_matches('.'), plain(address))
}

/// Whether a name may belong to the public internet.
fn is_public_name(host: &str) -> bool {
    let ends_in = |end: &&str| host.strip_suffix(*end).is_some_and(|rest: &str| rest.ends_with('.'));
    host.contains('.') && !PRIVATE_NAMES.iter().any(ends_in)
}

/// Whether an address belongs to the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => {
            !SPECIAL_V4.iter().any(|(start, length)| is_within(address, Ipv4Addr::from(*start), *length))
        }
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Whether an IPv6 address is global unicast (2000::/3) in use, excluding ranges that lead elsewhere or
/// nowhere: protocols such as Teredo (2001::/23), documentation, 6to4 and its embedded addresses.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_special = first == 0x2001 && (second < 0x200 || second == 0xdb8)
        || first == 0x2002
        || first == 0x3fff && second < 0x1000;
    first & 0xe000 == 0x2000 && !is_special
}

/// The IPv4 address embedded in an IPv6 one (`::ffff:10.0.0.1`), or reached through NAT64 from a network with
/// only IPv6 (`64:ff9b::10.0.0.1`); other addresses unchanged.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [.., high, low] = v6.segments();
    let is_nat64 = v6.segments().starts_with(&[0x64, 0xff9b, 0, 0, 0, 0]);
    if is_nat64 {
        return IpAddr::V4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    }
    v6.to_ipv4_mapped().map_or(address, IpAddr::V4)
}

fn is_within(address: Ipv4Addr, start: Ipv4Addr, length: u8) -> bool {
    let shift = 32 - u32::from(length);
    address.to_bits() >> shift == start.to_bits() >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, allowed: &[&str]) -> Result<(), UserError> {
        let allowed = allowed.join(",").parse().unwrap();
        check_host(&parse(url).unwrap(), &allowed)
    }

    #[test]
    fn private_addresses_are_known_in_every_spelling() {
        for host in *tau_tools::words!(
            "127.0.0.1 127.1 0x7f.1 0x7f000001 2130706433 0177.0.0.1 0 0.0.0.0 10.1.2.3 100.64.0.1 \
             169.254.169.254 172.31.255.255 192.168.0.1 192.0.0.1 198.19.0.1 224.0.0.1 255.255.255.255 \
             [::1] [::] [::ffff:127.0.0.1] [::ffff:a9fe:a9fe] [::127.0.0.1] [64:ff9b::10.0.0.1] \
             [64:ff9b:1::1] [fe80::1] [fc00::1] [fd00:ec2::254] [ff02::1] [2001:0:1::1] [2001:db8::1] \
             [2002:7f00:1::1] localhost LOCALHOST localhost. a.localhost printer.local \
             metadata.google.internal intranet １２７.0.0.1"
        ) {
            let refused = check(&format!("http://{host}/x"), &[]).unwrap_err();
            assert!(refused.contains("web_allow_private"), "{host}: {refused}");
        }
        for host in
            ["example.com", "1.1.1.1", "172.32.0.1", "100.128.0.1", "[2606:4700::1111]", "[64:ff9b::1.1.1.1]"]
        {
            assert_eq!(check(&format!("https://{host}/"), &[]), Ok(()), "{host}");
        }
    }

    #[test]
    fn the_user_can_allow_hosts_and_ranges() {
        for (url, allowed) in [
            ("http://127.1/", "127.0.0.1"),
            ("http://localhost:3000/", "localhost"),
            ("http://[::1]/", "::1"),
            ("http://[::ffff:10.0.0.1]/", "10.0.0.0/8"),
            ("http://a.b.corp/", "*.corp"),
            ("http://10.9.9.9/", "*"),
            // Its target is checked later.
            ("http://localhost/", "127.0.0.0/8"),
        ] {
            assert_eq!(check(url, &[allowed]), Ok(()), "{url} with {allowed}");
        }
        for (url, allowed) in
            [("http://10.0.0.1/", "192.168.0.0/16"), ("http://xcorp.corp/", "*.xcorp"), ("http://x/", "y")]
        {
            assert!(check(url, &[allowed]).is_err(), "{url} with {allowed}");
        }
        let named: PrivateHosts = "wiki.example".parse().unwrap();
        let private = "10.0.0.1".parse().unwrap();
        assert!(admits(&named, "wiki.example.", private) && !admits(&named, "other.example", private));
    }

    #[test]
    fn what_is_no_url_of_the_web_is_refused() {
        for (text, why) in [
            ("example.com", "write it in full"),
            ("file:///etc/passwd", "write it in full"),
            ("http://", "empty host"),
            ("https://user:pass@example.com/", "user name or a password"),
            ("https://token@example.com/", "user name or a password"),
            ("http://exa mple.com/", "invalid"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(parse(&format!("https://example.com/{}", "x".repeat(9_000))).is_err());
        let url = parse(" HTTPS://Example.COM./a#b ").unwrap();
        assert_eq!((url.as_str(), host(&url).as_str()), ("https://example.com./a", "example.com"));
    }
}
