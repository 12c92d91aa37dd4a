//! The network settings: time limits, certificates, a proxy.

use std::num::NonZeroU64;
use std::time::Duration;

use super::Settings;
use crate::provider::direct::IdleLimits;
use crate::provider::http::{Network, ProxyChoice};

impl Settings {
    /// The settings of connections.
    pub fn network(&self) -> Network {
        let usual = Network::default();
        Network {
            connect: seconds(self.timeouts.connect).unwrap_or(usual.connect),
            ca_file: self.ca_file.clone(),
            proxy: self.proxy.as_deref().map(ProxyChoice::parse).unwrap_or_default(),
        }
    }

    /// The limits of silence in an answer.
    pub fn limits(&self) -> IdleLimits {
        let usual = IdleLimits::default();
        IdleLimits {
            first: seconds(self.timeouts.first_token).unwrap_or(usual.first),
            idle: seconds(self.timeouts.idle).unwrap_or(usual.idle),
            report: usual.report,
        }
    }
}

/// Clocks overflow with time spans much longer than this, which is about a century.
const MAX_SECONDS: u64 = u32::MAX as u64;

fn seconds(setting: Option<NonZeroU64>) -> Option<Duration> {
    setting.map(|seconds| Duration::from_secs(seconds.get().min(MAX_SECONDS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_come_from_the_file_and_the_environment() {
        let text = "ca_file = '/c.pem'\nproxy = 'none'\n[timeouts]\nconnect = 3\nidle = 20\n";
        let settings: Settings = toml::from_str(text).unwrap();
        let env = |name: &str| match name {
            "TAU_IDLE_TIMEOUT" => Some("30".to_owned()),
            "TAU_PROXY" => Some("http://p:1".to_owned()),
            _ => None,
        };
        let settings = settings.with_env(&env).unwrap();
        let usual = IdleLimits::default();
        let expected = IdleLimits { idle: Duration::from_secs(30), ..usual };
        assert_eq!(settings.limits(), expected);
        let proxy = ProxyChoice::At("http://p:1".to_owned());
        let connect = Duration::from_secs(3);
        assert_eq!(settings.network(), Network { connect, ca_file: Some("/c.pem".into()), proxy });
        assert_eq!(usual.idle, Duration::from_secs(60), "silence is noticed within a minute");
    }

    #[test]
    fn a_limit_is_a_number_of_seconds() {
        assert!(toml::from_str::<Settings>("timeouts.idle = 0").is_err());
        let env = |name: &str| (name == "TAU_CONNECT_TIMEOUT").then(|| "soon".to_owned());
        let error = Settings::default().with_env(&env).unwrap_err().to_string();
        assert_eq!(error, "TAU_CONNECT_TIMEOUT: `soon` is not a number of seconds above 0");
    }
}
