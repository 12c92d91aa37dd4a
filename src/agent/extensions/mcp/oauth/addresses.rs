//! Decides which addresses may take part in a login.
//!
//! Secrets travel over HTTPS only, and a remote server sends neither tau nor the browser to this machine or
//! its network.

use std::net::IpAddr;

use tau_tools::user_error::UserError;
use url::{Host, Url};

/// Checks that a login is possible at a server with this address.
pub(super) fn check_server(server: &Url) -> Result<(), UserError> {
    check(server, server)
}

/// Checks that `target` may be used for a login at `server`.
pub(super) fn check(server: &Url, target: &Url) -> Result<(), UserError> {
    let shown = target.origin().ascii_serialization();
    let is_safe = target.scheme() == "https" || target.scheme() == "http" && is_loopback(target);
    if !is_safe {
        return Err(format!("{shown} is not reached over HTTPS").into());
    }
    if !target.username().is_empty() || target.password().is_some() {
        return Err(format!("the address at {shown} contains a name or a password").into());
    }
    if is_local(target) && target.host() != server.host() && !(is_loopback(target) && is_loopback(server)) {
        return Err(format!("{shown} is an address of this machine or its network").into());
    }
    Ok(())
}

/// Whether a host name of a login may resolve to this address. A server in the user's own network (`at` are
/// the addresses of its name) may name others there, and one on this machine others on it; no other server
/// may.
pub(super) fn admits(server: &Url, at: &[IpAddr], host: &str, address: IpAddr) -> bool {
    let is_own_host = server.host_str().is_some_and(|own| own.eq_ignore_ascii_case(host));
    let is_here = |address: &IpAddr| address.is_loopback() || address.is_unspecified();
    let is_in_network = |address: &IpAddr| is_near(*address) && !is_here(address) && !is_link_local(*address);
    !is_near(address)
        || is_own_host
        || is_loopback(server) && address.is_loopback()
        || !at.is_empty() && at.iter().all(is_in_network) && is_in_network(&address)
}

fn is_link_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// The address in a text of the authorization server.
pub(super) fn check_url(server: &Url, text: &str) -> Result<Url, UserError> {
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

/// Whether it is an IP address of this machine or its network.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => is_near(address.into()),
        Some(Host::Ipv6(address)) => is_near(address.into()),
        Some(Host::Domain(_)) | None => is_loopback(url),
    }
}

/// Whether it is an address of this machine or its network.
fn is_near(address: IpAddr) -> bool {
    match address.to_canonical() {
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
        for target in *tau_tools::words!(
            "http://login.example/token https://localhost/token http://127.0.0.1:80/token \
             https://10.0.0.1/token https://169.254.169.254/latest https://[::1]/token \
             https://[::ffff:127.0.0.1]/token https://[fd00::1]/token https://name:word@login.example/ \
             file:///etc/passwd javascript:alert(1) ftp://login.example/"
        ) {
            assert!(!may(far, target), "{target}");
        }
        assert!(may("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/token"));
        assert!(may("http://localhost:1/mcp", "http://127.0.0.1:2/token"));
        assert!(!may("http://127.0.0.1:1/mcp", "http://login.example/token"));
        assert!(may("https://10.0.0.1/mcp", "https://10.0.0.1/token"));
        assert!(check_server(&url("http://mcp.example/mcp")).is_err());
    }

    #[test]
    fn names_lead_to_machines_near_by_only_if_the_server_is_one() {
        let (far, near) = (["93.184.215.14"], ["10.0.0.1"]);
        let leads = |server: &str, at: &[&str], host: &str, address: &str| {
            let at: Vec<IpAddr> = at.iter().map(|text| text.parse().unwrap()).collect();
            admits(&Url::parse(server).unwrap(), &at, host, address.parse().unwrap())
        };
        for address in
            ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "fd00::1", "::ffff:192.168.0.1", "0.0.0.0"]
        {
            assert!(!leads("https://mcp.example/", &far, "login.example", address), "{address}");
            assert!(leads("https://mcp.example/", &far, "mcp.example", address), "its own host: {address}");
        }
        assert!(leads("https://mcp.example/", &far, "login.example", "93.184.215.15"));
        assert!(leads("https://mcp.corp/", &near, "login.corp", "10.0.0.7"));
        assert!(!leads("https://mcp.corp/", &near, "login.corp", "127.0.0.1"));
        assert!(!leads("https://mcp.corp/", &near, "login.corp", "169.254.169.254"));
        assert!(!leads("https://mcp.example/", &["10.0.0.1", "93.184.215.14"], "login.example", "10.0.0.7"));
        assert!(leads("http://localhost:1/", &["127.0.0.1"], "localhost", "127.0.0.1"));
    }
}
