//! The address of `--listen`.

use std::net::{Ipv4Addr, SocketAddr};
use tau_tools::user_error::UserError;

/// Reads an address with a port. `localhost` is this machine, regardless of the resolver. The error is the
/// expected form of an address.
pub(super) fn parse(value: &str) -> Result<SocketAddr, UserError> {
    if let Ok(address) = value.parse() {
        return Ok(address);
    }
    let (host, port) = value.rsplit_once(':').unwrap_or_default();
    match port.parse() {
        Ok(port) if host.eq_ignore_ascii_case("localhost") => Ok((Ipv4Addr::LOCALHOST, port).into()),
        _ => Err("give an address and a port, such as 127.0.0.1:4180 or localhost:4180".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn localhost_is_this_machine_and_other_names_are_refused() {
        for (given, expected) in [
            ("localhost:4199", Some("127.0.0.1:4199")),
            ("LocalHost:0", Some("127.0.0.1:0")),
            ("127.0.0.1:1", Some("127.0.0.1:1")),
            ("[::1]:80", Some("[::1]:80")),
            ("example.com:80", None),
            ("localhost", None),
            ("localhost:99999", None),
            ("localhost.evil.example:1", None),
            (":1", None),
        ] {
            assert_eq!(parse(given).ok(), expected.map(|address| address.parse().unwrap()), "{given}");
        }
    }
}
