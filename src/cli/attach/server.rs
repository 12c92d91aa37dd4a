//! The server of an attached screen: its address, its requests, and the meaning of its refusals.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::own_session::OwnSession;
use super::reach::{Address, Trouble};
use super::ssh::tunnel::{Fault, Tunnel};
use super::wire::{
    self, AttachReply, AttachRequest, Commands, CommandsAccepted, HEADER, Leave, NextSession, StreamRequest,
};
use crate::live::record::FoundRecord;
use tau_agent::provider::http::Network;
use tau_agent::provider::http::tau_server::{ServerAnswer, ServerStream, TauServer};
use tau_agent::provider::{Failure, Headers};
use tau_agent::settings::Paths;
use tau_app::request::{ScreenReply, ScreenRequest};
use tau_protocol::command::SessionChange;

#[derive(Clone, Debug)]
pub(crate) struct Server {
    http: TauServer,
    place: Place,
    /// Where it is only the process of a session of this machine: the current one.
    own: Option<Arc<OwnSession>>,
}

/// The way to a server.
#[derive(Clone, Debug)]
enum Place {
    Address(Address),
    Tunnel(Arc<Tunnel>),
}

impl Server {
    /// The server at this address. Fails when the address is unusable.
    pub(crate) fn new(address: Address, token: &str, network: &Network) -> Result<Self, Failure> {
        let headers = headers(token);
        let http = match &address {
            Address::Url(url) => TauServer::at(url, None, &headers, network)?,
            Address::Socket(path) => {
                TauServer::at("http://localhost", Some(path.clone()), &headers, network)?
            }
        };
        Ok(Server { http, place: Place::Address(address), own: None })
    }

    /// The process that has a session open on this machine. Fails when its address is unusable.
    pub(crate) fn of_session(
        found: &FoundRecord,
        address: Address,
        paths: &Paths,
        network: &Network,
    ) -> Result<Self, Failure> {
        let own = OwnSession::new(found, paths, network, headers)?;
        Ok(Server { own: Some(Arc::new(own)), ..Self::new(address, &found.record.token, network)? })
    }

    /// Makes sure that requests about a session reach the process that has it open; with `open`, starts one if no
    /// process does.
    pub(crate) async fn find_process(&self, session: &str, open: bool) -> Result<(), Trouble> {
        match &self.own {
            Some(own) => own.find(session, open).await,
            None => Ok(()),
        }
    }

    /// The reason why nothing is heard of a session.
    pub(crate) fn silence(&self, session: &str) -> String {
        let far = || format!("{} does not answer", self.name());
        self.own.as_ref().map_or_else(far, |own| own.silence(session))
    }

    /// The reason why nothing can be heard of a session of this machine: its process is suspended.
    pub(crate) fn suspension(&self, session: &str) -> Option<String> {
        self.own.as_ref()?.suspension(session)
    }

    fn http(&self) -> Cow<'_, TauServer> {
        self.own.as_ref().map_or(Cow::Borrowed(&self.http), |own| Cow::Owned(own.http()))
    }

    /// The relay at the other end of a tunnel, which has to be started before the first request.
    pub(crate) fn behind_ssh(tunnel: Arc<Tunnel>, network: &Network) -> Result<Self, Failure> {
        let (socket, name) = (tunnel.socket().to_owned(), tunnel.address().machine());
        let http = TauServer::behind(socket, name, &headers(tunnel.token()), network)?;
        Ok(Server { http, place: Place::Tunnel(tunnel), own: None })
    }

    /// Makes ready for requests, in the current runtime. Fails when there is no place for the tunnel's socket.
    pub(crate) fn start(&self) -> std::io::Result<()> {
        match &self.place {
            Place::Tunnel(tunnel) => tunnel.start(),
            Place::Address(_) => Ok(()),
        }
    }

    /// Its name for the user.
    pub(crate) fn name(&self) -> &str {
        self.http.name()
    }

    /// Its name where the directory of a session is shown; empty where that says everything.
    pub(crate) fn display_name(&self) -> &str {
        if self.own.is_some() { "" } else { self.name() }
    }

    /// The arguments that attach to a session of it again.
    pub(crate) fn to_return(&self, session: &str) -> String {
        // Another process may have a session of this machine by then.
        if self.own.is_some() { session.to_owned() } else { format!("{} {session}", self.address()) }
    }

    /// Its address as an argument.
    pub(crate) fn address(&self) -> String {
        match &self.place {
            Place::Address(address) => address.text(),
            Place::Tunnel(tunnel) => tunnel.address().to_string(),
        }
    }

    /// The meaning of a connection that failed.
    fn connection_trouble(&self, failure: &Failure) -> Trouble {
        let known = match &self.place {
            Place::Tunnel(tunnel) => tunnel.fault(),
            Place::Address(_) => None,
        };
        match known {
            Some(Fault { text, is_final: true }) => Trouble::Refused(text),
            Some(Fault { text, .. }) => Trouble::Unreachable(text),
            None => Trouble::Unreachable(failure.to_string()),
        }
    }

    /// Whether the connection is safe from eavesdroppers.
    pub(crate) fn is_private(&self) -> bool {
        self.http.is_private()
    }

    /// Finds the session to attach to.
    pub(crate) async fn find(&self, wanted: &AttachRequest) -> Result<String, Trouble> {
        let found: AttachReply = self.post("/api/attach", wanted).await?;
        Ok(found.id)
    }

    /// Opens the stream of a session.
    pub(crate) async fn stream(
        &self,
        session: &str,
        joining: &StreamRequest,
    ) -> Result<ServerStream, Trouble> {
        let after = joining.after.as_ref().map(|id| format!("&after={id}")).unwrap_or_default();
        let path = format!("{}?client={}{after}", place(session), joining.client);
        match self.http().stream(&path).await.map_err(|failure| self.connection_trouble(&failure))? {
            Ok(stream) => Ok(stream),
            Err(answer) => Err(self.trouble(&answer)),
        }
    }

    /// Sends commands; returns the number of the next one.
    pub(crate) async fn send(&self, session: &str, commands: &Commands) -> Result<u64, Trouble> {
        let taken: CommandsAccepted = self.post(&place(session), commands).await?;
        Ok(taken.next)
    }

    /// Leaves a session for another one.
    pub(crate) async fn leave(&self, session: &str, command: SessionChange) -> Result<NextSession, Trouble> {
        let next: NextSession = self.post(&format!("{}/leave", place(session)), &Leave { command }).await?;
        if let Some(own) = &self.own {
            own.wait_for_registration(&next.id).await;
        }
        Ok(next)
    }

    /// Asks about files, models or sessions of the server.
    pub(crate) async fn ask(&self, session: &str, request: &ScreenRequest) -> Result<ScreenReply, Trouble> {
        self.post(&format!("{}/request", place(session)), request).await
    }

    /// How attempts that were begun in a session have ended; `None` if they are at work for some time yet.
    pub(crate) async fn end_of_attempts(&self, session: &str) -> Result<Option<ScreenReply>, Trouble> {
        self.get(&format!("{}/attempts", place(session))).await
    }

    /// A session as a document in the format with this ending, and a name for its file.
    pub(crate) async fn document(&self, session: &str, format: &str) -> Result<(Vec<u8>, String), Trouble> {
        let path = format!("/api/sessions/{session}/export?format={format}");
        let answer = self.http().get(&path).await.map_err(|failure| self.connection_trouble(&failure))?;
        if answer.status != 200 {
            return Err(self.trouble(&answer));
        }
        let name = answer.file.unwrap_or_else(|| format!("session.{format}"));
        Ok((answer.body, name))
    }

    /// Reads JSON.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Trouble> {
        let answer = self.http().get(path).await.map_err(|failure| self.connection_trouble(&failure))?;
        self.decode_answer(&answer)
    }

    /// Sends JSON, whose answer has no meaning here.
    pub(crate) async fn tell(&self, path: &str, body: &impl Serialize) -> Result<(), Trouble> {
        let body = serde_json::to_vec(body).unwrap_or_default();
        let answer =
            self.http().post(path, body).await.map_err(|failure| self.connection_trouble(&failure))?;
        if (200..300).contains(&answer.status) { Ok(()) } else { Err(self.trouble(&answer)) }
    }

    /// Changes something to this JSON, whose answer has no meaning here.
    pub(crate) async fn change(&self, path: &str, body: &impl Serialize) -> Result<(), Trouble> {
        let body = serde_json::to_vec(body).unwrap_or_default();
        let answer =
            self.http().patch(path, body).await.map_err(|failure| self.connection_trouble(&failure))?;
        if (200..300).contains(&answer.status) { Ok(()) } else { Err(self.trouble(&answer)) }
    }

    /// Sends JSON, and reads the answer.
    pub(crate) async fn ask_for<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Trouble> {
        self.post(path, body).await
    }

    /// Opens the stream of a session's events.
    pub(crate) async fn events(&self, path: &str) -> Result<ServerStream, Trouble> {
        let opened = self.http().stream(path).await.map_err(|failure| self.connection_trouble(&failure))?;
        opened.map_err(|answer| self.trouble(&answer))
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Trouble> {
        let body = serde_json::to_vec(body)
            .map_err(|error| Trouble::Refused(format!("this cannot be sent to the server: {error}")))?;
        let answer =
            self.http().post(path, body).await.map_err(|failure| self.connection_trouble(&failure))?;
        self.decode_answer(&answer)
    }

    fn decode_answer<T: DeserializeOwned>(&self, answer: &ServerAnswer) -> Result<T, Trouble> {
        if !(200..300).contains(&answer.status) {
            return Err(self.trouble(answer));
        }
        serde_json::from_slice(&answer.body).map_err(|_| {
            Trouble::Refused(format!(
                "{} answers in a way that this tau does not understand; use the same version of tau on both sides",
                self.name()
            ))
        })
    }

    /// The meaning of a refusal.
    fn trouble(&self, answer: &ServerAnswer) -> Trouble {
        let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let detail = problem.get("detail").and_then(|text| text.as_str());
        // A remedy for a client does not help the user at the screen.
        let detail = detail.map(|text| text.replace("GET /api/sessions lists them", "/resume lists them"));
        let kind = problem.get("type").and_then(|kind| kind.as_str()).unwrap_or_default();
        let kind = kind.rsplit(':').next().unwrap_or_default();
        let name = self.name();
        match (answer.status, kind) {
            (401, _) => Trouble::Refused(format!(
                "{name} does not take this token; `tau serve` prints its own, or takes it from TAU_SERVE_TOKEN or \
                 --token-file"
            )),
            (404, "not-found") if is_unknown_path(detail.as_deref()) => Trouble::Refused(format!(
                "{name} is a tau that cannot be attached to; use the same version of tau on both sides"
            )),
            (409, "not-open" | "not-attached" | "closed" | "out-of-order") => {
                Trouble::NotAttached(detail.unwrap_or_else(|| "the session is not open".to_owned()))
            }
            (429 | 502..=504, _) => {
                Trouble::Busy(detail.unwrap_or_else(|| format!("{name} cannot answer now")))
            }
            (status, _) => {
                Trouble::Refused(detail.unwrap_or_else(|| {
                    format!("{name} is not a tau server: it answered with status {status}")
                }))
            }
        }
    }
}

/// The headers of every request.
fn headers(token: &str) -> Headers {
    let authorization = ("authorization".to_owned(), format!("Bearer {token}"));
    Headers(vec![authorization, (HEADER.to_owned(), wire::protocol_version())])
}

fn is_unknown_path(detail: Option<&str>) -> bool {
    detail.is_some_and(|detail| detail.contains("nothing at this path"))
}

fn place(session: &str) -> String {
    format!("/api/sessions/{session}/attach")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn addresses_are_told_from_sessions() {
        let url = |text: &str| Some(Address::Url(text.to_owned()));
        let socket = |text: &str| Some(Address::Socket(PathBuf::from(text)));
        let cases = [
            ("http://127.0.0.1:4180/", url("http://127.0.0.1:4180")),
            ("https://box.example", url("https://box.example")),
            ("http://127.0.0.1:4180/#token=secret", url("http://127.0.0.1:4180")),
            ("localhost:4180", url("http://localhost:4180")),
            ("[::1]:80", url("http://[::1]:80")),
            ("unix:/run/tau.sock", socket("/run/tau.sock")),
            ("/run/tau.sock", socket("/run/tau.sock")),
            ("./tau.sock", socket("./tau.sock")),
            ("0199aa", None),
            ("fix: the tests", None),
            ("a name", None),
            ("docs/server", None),
            (":80", None),
            ("host:", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Address::read(text), expected, "{text}");
        }
    }
}
