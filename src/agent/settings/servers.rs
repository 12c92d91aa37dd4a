//! Servers: machines behind ssh, with addresses such as `ssh://[USER@]HOST[:PORT][/DIRECTORY][#SESSION]`.
//!
//! Host and user become arguments of the user's ssh, so nothing that could be an option or mean something to a
//! shell is taken. Directory and session are never arguments: they are sent to the tau there.

use std::fmt;

use super::value::{ListItem, ParsedList};
use tau_tools::user_error::UserError;

/// The beginning of such an address.
pub const SCHEME: &str = "ssh://";
/// Maximum length of an address, in bytes.
const MAX: usize = 4096;
/// Maximum length of a session's ID, in bytes.
const MAX_ID: usize = 64;
/// Maximum number of servers in the settings: each is a connection while the board is open.
const MAX_SERVERS: usize = 16;

/// A machine behind ssh, and perhaps a folder or a session there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshAddress {
    /// The user there; without one, ssh decides.
    pub user: Option<String>,
    /// The machine, as ssh knows it.
    pub host: String,
    /// The port; without one, ssh decides.
    pub port: Option<u16>,
    /// Absolute, or `~` with a path below the home folder.
    pub directory: Option<String>,
    /// The ID of a session, its beginning or its last digits.
    pub session: Option<String>,
}

impl SshAddress {
    /// Parses an address. The error describes what is wrong with it, without the address.
    pub fn read(text: &str) -> Result<Self, UserError> {
        let rest = text.strip_prefix(SCHEME).ok_or("it does not begin with ssh://")?;
        if text.len() > MAX {
            return Err("it is too long".into());
        }
        let (rest, session) = match rest.split_once('#') {
            Some((rest, session)) => (rest, Some(session)),
            None => (rest, None),
        };
        let is_id = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if session.is_some_and(|id| id.is_empty() || id.len() > MAX_ID || !is_id(id)) {
            return Err("what follows # is not the ID of a session (write %23 for # in a folder)".into());
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(percent_decode(user)?), place),
            None => (None, authority),
        };
        if user.as_ref().is_some_and(|user| user.contains(':')) {
            return Err("a password in it could be seen by others; ssh asks for it".into());
        }
        let (host, port) = host_and_port(place)?;
        for (what, name) in [("user", user.as_deref()), ("host", Some(host.as_str()))] {
            if let Some(name) = name {
                check(what, name)?;
            }
        }
        let directory = match percent_decode(path)? {
            path if path.is_empty() || path == "/" => None,
            path if path.chars().any(char::is_control) => {
                return Err("its folder has a control character".into());
            }
            path => Some(match path.strip_prefix("/~") {
                Some(below) if below.is_empty() || below.starts_with('/') => format!("~{below}"),
                _ => path,
            }),
        };
        Ok(SshAddress { user, host, port, directory, session: session.map(str::to_owned) })
    }

    /// The machine, as the user knows it.
    pub fn machine(&self) -> String {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("{user}{}", self.host)
    }

    /// The arguments of ssh that lead to the machine, up to the command.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Some(port) = self.port {
            arguments.extend(["-p".to_owned(), port.to_string()]);
        }
        if let Some(user) = &self.user {
            arguments.extend(["-l".to_owned(), user.clone()]);
        }
        arguments.extend(["--".to_owned(), self.host.clone()]);
        arguments
    }
}

/// The address without the folder and the session: with a session's id it is enough to attach again.
impl fmt::Display for SshAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self
            .user
            .as_ref()
            .map(|user| format!("{}@", user.replace('%', "%25").replace('@', "%40")))
            .unwrap_or_default();
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        write!(f, "{SCHEME}{user}{host}{port}")
    }
}

/// The servers whose sessions the board shows, as they were typed.
pub type Servers = ParsedList<SshAddress>;

impl ListItem for SshAddress {
    fn read(text: &str) -> Result<Self, UserError> {
        match SshAddress::read(text) {
            Ok(SshAddress { session: Some(_), .. }) => {
                Err(format!("`{text}` names a session; write ssh://HOST or ssh://HOST/FOLDER").into())
            }
            Ok(address) => Ok(address),
            Err(why) => Err(UserError::new(format!("`{text}` is not an ssh address"))
                .because(why)
                .remedy("write ssh://HOST or ssh://HOST/FOLDER")),
        }
    }

    fn check_count(count: usize) -> Result<(), UserError> {
        match count > MAX_SERVERS {
            true => Err(format!("at most {MAX_SERVERS} servers are allowed").into()),
            false => Ok(()),
        }
    }
}

fn host_and_port(text: &str) -> Result<(String, Option<u16>), UserError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or("its host has no closing bracket")?;
            (host, rest)
        }
        None => text.find(':').map_or((text, ""), |at| text.split_at(at)),
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some(port) => {
            Some(port.parse::<u16>().ok().filter(|port| *port > 0).ok_or("its port is not a number")?)
        }
        None => return Err("something follows its host".into()),
    };
    Ok((host.to_owned(), port))
}

/// Refuses a name that could be an option of ssh, or mean something to a shell that its configuration starts.
fn check(what: &str, name: &str) -> Result<(), UserError> {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "._-+:%@".contains(c);
    if name.is_empty() {
        return Err(format!("it has no {what}").into());
    }
    if name.starts_with('-') {
        return Err(format!("its {what} begins with -").into());
    }
    match name.chars().find(|c| !is_usual(*c)) {
        Some(other) => Err(format!("its {what} has the character {other:?}").into()),
        None => Ok(()),
    }
}

/// The text with `%20` and the like replaced.
fn percent_decode(text: &str) -> Result<String, UserError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let pair = digit().zip(digit()).map(|(high, low)| high * 16 + low);
        let byte = pair.and_then(|pair| u8::try_from(pair).ok());
        bytes.push(byte.ok_or("a % in it is not followed by two digits")?);
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::value::SettingValue;

    fn parts(text: &str) -> (Option<String>, String, Option<u16>, Option<String>) {
        let SshAddress { user, host, port, directory, session } = SshAddress::read(text).unwrap();
        assert_eq!(session.is_some(), text.contains('#'), "{text}");
        (user, host, port, directory)
    }

    #[test]
    fn addresses_are_read() {
        let some = |text: &str| Some(text.to_owned());
        let cases = [
            ("ssh://box", (None, "box", None, None)),
            ("ssh://box/", (None, "box", None, None)),
            ("ssh://box/srv/a%20b", (None, "box", None, some("/srv/a b"))),
            ("ssh://ada@box:2222/srv", (some("ada"), "box", Some(2222), some("/srv"))),
            ("ssh://box/~", (None, "box", None, some("~"))),
            ("ssh://box/~/code", (None, "box", None, some("~/code"))),
            ("ssh://box/~ada", (None, "box", None, some("/~ada"))),
            ("ssh://box/-oProxyCommand=x; rm 'y'", (None, "box", None, some("/-oProxyCommand=x; rm 'y'"))),
            ("ssh://[::1]:22/srv", (None, "::1", Some(22), some("/srv"))),
            ("ssh://ada%40corp@box", (some("ada@corp"), "box", None, None)),
            ("ssh://box#4f2a", (None, "box", None, None)),
            ("ssh://ada@box:2222/a%23b#4f2a", (some("ada"), "box", Some(2222), some("/a#b"))),
        ];
        for (text, (user, host, port, directory)) in cases {
            assert_eq!(parts(text), (user, host.to_owned(), port, directory), "{text}");
        }
        for text in ["ssh://ada@box:2222", "ssh://[::1]:22", "ssh://ada%40corp@box"] {
            assert_eq!(SshAddress::read(text).unwrap().to_string(), text);
        }
        let with_session = SshAddress::read("ssh://ada@box:2222/srv#0199-4f2a").unwrap();
        assert_eq!(with_session.session.as_deref(), Some("0199-4f2a"));
        assert_eq!(with_session.to_string(), "ssh://ada@box:2222");
        let arguments = with_session.arguments();
        assert_eq!(arguments, ["-p", "2222", "-l", "ada", "--", "box"]);
    }

    #[test]
    fn nothing_becomes_an_option_or_a_word_of_a_shell() {
        for text in [
            "ssh://", "ssh:///srv", "ssh://-oProxyCommand=touch%20x/srv", "ssh://-oProxyCommand=x",
            "ssh://-l@box", "ssh://%2doProxyCommand=x", "ssh://a@-box", "ssh://box;id", "ssh://box id",
            "ssh://`id`", "ssh://$(id)", "ssh://'box'", "ssh://box\n", "ssh://box\x1b[31m", "ssh://b\u{f6}x",
            "ssh://ada:secret@box", "ssh://box:0", "ssh://box:x", "ssh://box:70000", "ssh://[::1",
            "ssh://[::1]x", "ssh://box/a%0ab", "ssh://box/a\u{1b}b", "ssh://box/%zz", "ssh://box/%ff",
            "ssh://box#", "ssh://box#a b", "ssh://box#../x", "ssh://box/srv#a#b", "box",
        ] {
            assert!(SshAddress::read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn servers_are_addresses_without_a_session() {
        let servers: Servers = "ssh://box, ssh://ada@other/srv".parse().unwrap();
        assert_eq!(servers.show(), "ssh://box,ssh://ada@other/srv");
        assert_eq!(servers.items().count(), 2);
        for (text, why) in [
            ("box", "`box` is not an ssh address: it does not begin with ssh://"),
            ("https://box", "it does not begin with ssh://"),
            ("ssh://box#4f2a", "names a session"),
        ] {
            let error = text.parse::<Servers>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(vec!["ssh://box"; MAX_SERVERS + 1].join(",").parse::<Servers>().is_err());
    }
}
