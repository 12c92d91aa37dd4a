//! Which addresses may take part in a login: secrets travel over HTTPS only, and a server elsewhere sends
//! neither tau nor the browser to this machine or its network.

use std::net::IpAddr;

use url::{Host, Url};

/// Whether a server at this address can have a login.
///
/// # Errors
/// A part of a sentence that says why not.
pub(super) fn check_server(server: &Url) -> Result<(), String> {
    check(server, server)
}

/// Whether `target` may be used for a login at `server`.
///
/// # Errors
/// A part of a sentence that says why not.
pub(super) fn check(server: &Url, target: &Url) -> Result<(), String> {
    let shown = target.origin().ascii_serialization();
    let is_safe = target.scheme() == "https" || target.scheme() == "http" && is_loopback(target);
    if !is_safe {
        return Err(format!("{shown} is not reached over HTTPS"));
    }
    if !target.username().is_empty() || target.password().is_some() {
        return Err(format!("the address at {shown} holds a name or a password"));
    }
    if is_local(target) && target.host() != server.host() && !(is_loopback(target) && is_loopback(server)) {
        return Err(format!("{shown} is an address of this machine or its network"));
    }
    Ok(())
}

/// The address in a text of the authorization server.
///
/// # Errors
/// As [`check`].
pub(super) fn checked(server: &Url, text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|_| "an address that it publishes is not valid".to_owned())?;
    check(server, &url)?;
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether it names this machine or its network by number.
fn is_local(url: &Url) -> bool {
    let address: IpAddr = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.to_ipv4_mapped().map_or(address.into(), IpAddr::from),
        Some(Host::Domain(_)) | None => return is_loopback(url),
    };
    match address {
        IpAddr::V4(address) => {
            address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
                || address.is_broadcast()
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_travel_over_https_and_not_to_machines_near_by() {
        let url = |text: &str| Url::parse(text).unwrap();
        let may = |server: &str, target: &str| check(&url(server), &url(target)).is_ok();
        let far = "https://mcp.example/mcp";
        for target in ["https://mcp.example/token", "https://login.example:8443/x", "https://93.184.215.14/"]
        {
            assert!(may(far, target), "{target}");
        }
        for target in [
            "http://login.example/token",
            "https://localhost/token",
            "http://127.0.0.1:80/token",
            "https://10.0.0.1/token",
            "https://169.254.169.254/latest",
            "https://[::1]/token",
            "https://[::ffff:127.0.0.1]/token",
            "https://[fd00::1]/token",
            "https://name:word@login.example/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "ftp://login.example/",
        ] {
            assert!(!may(far, target), "{target}");
        }
        assert!(may("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/token"));
        assert!(may("http://localhost:1/mcp", "http://127.0.0.1:2/token"));
        assert!(!may("http://127.0.0.1:1/mcp", "http://login.example/token"));
        assert!(may("https://10.0.0.1/mcp", "https://10.0.0.1/token"));
        assert!(check_server(&url("http://mcp.example/mcp")).is_err());
    }
}
