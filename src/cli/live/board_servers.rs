//! The servers of the board: machines behind ssh, whose live sessions are shown beside those of this one.
//!
//! A connection begins when the board is looked at, and ends a while after the last look. Nobody waits for one:
//! the board shows what is known. Over it the server says what has changed; what it says is foreign text.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::attach::reach::Trouble;
use crate::attach::server::Server;
use crate::attach::ssh::tunnel::Tunnel;
use crate::attach::wire::{BOARD, BoardAnswer, BoardAsk, Hello};
use tau_agent::provider::http::Network;
use tau_agent::session::is_session_id;
use tau_agent::settings::Paths;
use tau_agent::settings::servers::{SCHEME, Servers, SshAddress};
use tau_protocol::live_session::{BoardList, LiveRow, MissingServer};
use tau_tools::user_error::UserError;

/// The time after the last look at which connections end, and how often it is checked.
const KEPT: Duration = Duration::from_secs(5);
const CHECKED: Duration = Duration::from_secs(1);
/// The wait before a lost connection is tried again, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The shortest time between two answers about the sessions.
const AT_MOST: Duration = Duration::from_millis(500);
/// Maximum number of sessions of a server, and of characters of a text.
const MAX_ROWS: usize = 1_000;
const MAX_TEXT: usize = 500;

/// The connections of a screen.
#[derive(Debug, Default)]
pub struct BoardServers {
    links: Mutex<Vec<Arc<ServerLink>>>,
}

/// A server, connected or not.
#[derive(Debug)]
pub(crate) struct ServerLink {
    address: SshAddress,
    paths: Paths,
    network: Network,
    state: Mutex<LinkState>,
}

#[derive(Debug, Default)]
struct LinkState {
    /// The time of the last look at the board.
    looked: Option<Instant>,
    /// Whether a task watches the server.
    is_watched: bool,
    /// The way to it, once it was needed.
    tunnel: Option<Arc<Tunnel>>,
    /// The connection.
    server: Option<Server>,
    /// Its sessions; `None` where they are not known.
    rows: Option<Vec<LiveRow>>,
    /// Why not.
    why: Option<String>,
}

/// A session of the board on a server: the server, and the id there.
pub(crate) type OnServer = (Arc<ServerLink>, String);

impl BoardServers {
    /// Adds what is known of the sessions of these servers. Connects to those that are not connected, in the current
    /// runtime.
    pub fn add_to(&self, list: &mut BoardList, servers: &Servers, paths: &Paths, network: &Network) {
        let mut links = self.links.lock();
        links.retain(|link| servers.items().any(|address| *address == link.address));
        for address in servers.items() {
            if !links.iter().any(|link| link.address == *address) {
                links.push(Arc::new(ServerLink {
                    address: address.clone(),
                    paths: paths.clone(),
                    network: network.clone(),
                    state: Mutex::default(),
                }));
            }
        }
        for link in links.iter() {
            link.look();
            let state = link.state.lock();
            match &state.rows {
                Some(rows) => {
                    let is_new = |row: &&LiveRow| list.sessions.iter().all(|known| known.id != row.id);
                    let new: Vec<LiveRow> = rows.iter().filter(is_new).cloned().collect();
                    list.sessions.extend(new);
                }
                None => {
                    list.servers.push(MissingServer { name: link.address.machine(), why: state.why.clone() });
                }
            }
        }
    }

    /// The server of a session of the board, if it is on one. Fails when the server is not on the board any
    /// more.
    pub(crate) fn of(&self, id: &str) -> Result<Option<OnServer>, UserError> {
        if !id.starts_with(SCHEME) {
            return Ok(None);
        }
        let found = id.rsplit_once('#').and_then(|(machine, id)| {
            let links = self.links.lock();
            let link = links.iter().find(|link| link.address.to_string() == machine)?;
            Some((Arc::clone(link), id.to_owned()))
        });
        found.map(Some).ok_or_else(|| "this server is no longer in the settings".into())
    }
}

impl ServerLink {
    /// Notes that somebody looks, and begins to watch the server.
    fn look(self: &Arc<Self>) {
        let mut state = self.state.lock();
        state.looked = Some(Instant::now());
        if !std::mem::replace(&mut state.is_watched, true) {
            tokio::spawn(Arc::clone(self).watch());
        }
    }

    /// Watches the server until nobody looks any more.
    async fn watch(self: Arc<Self>) {
        tokio::select! {
            () = self.learn() => {}
            () = self.until_nobody_looks() => {}
        }
        let mut state = self.state.lock();
        (state.is_watched, state.server, state.rows, state.why) = (false, None, None, None);
    }

    async fn until_nobody_looks(&self) {
        while self.state.lock().looked.is_some_and(|looked| looked.elapsed() < KEPT) {
            tokio::time::sleep(CHECKED).await;
        }
    }

    /// Learns what changes on the server.
    async fn learn(&self) {
        let (mut known, mut wait) = (None, FIRST_WAIT);
        loop {
            match self.ask(&BoardAsk::List { known }).await {
                Ok(BoardAnswer::Listed { known: number, sessions }) => {
                    (known, wait) = (Some(number), FIRST_WAIT);
                    self.has_said(sessions);
                    tokio::time::sleep(AT_MOST).await;
                }
                Ok(_) => return self.is_missing("it gave an unexpected answer"),
                Err(Trouble::Refused(why)) => {
                    self.is_missing(&why);
                    // Another attempt would end in the same way.
                    return std::future::pending().await;
                }
                Err(trouble) => {
                    self.is_missing(trouble.text());
                    known = None;
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(MAX_WAIT);
                }
            }
        }
    }

    fn has_said(&self, sessions: Option<Vec<LiveRow>>) {
        let mut state = self.state.lock();
        if let Some(sessions) = sessions {
            state.rows = Some(self.board_rows(sessions));
        }
        state.why = None;
    }

    fn is_missing(&self, why: &str) {
        let mut state = self.state.lock();
        (state.rows, state.why) = (None, Some(clip(why.to_owned())));
    }

    /// The sessions as the board shows them.
    fn board_rows(&self, rows: Vec<LiveRow>) -> Vec<LiveRow> {
        let named = |id: &str| format!("{}#{id}", self.address);
        let rows = rows.into_iter().filter(|row| is_session_id(&row.id)).take(MAX_ROWS);
        rows.map(|row| LiveRow {
            id: named(&row.id),
            parent: row.parent.as_deref().filter(|id| is_session_id(id)).map(named),
            title: clip(row.title),
            last_line: clip(row.last_line),
            model: row.model.map(clip),
            server: Some(self.address.machine()),
            ..row
        })
        .collect()
    }

    /// The connection, which is made by the first request.
    fn server(&self) -> Result<Server, Trouble> {
        let cannot =
            |why: String| Trouble::Refused(format!("cannot connect to {}: {why}", self.address.machine()));
        let mut state = self.state.lock();
        if let Some(server) = &state.server {
            return Ok(server.clone());
        }
        let tunnel = match &state.tunnel {
            Some(tunnel) => Arc::clone(tunnel),
            None => {
                let hello = Hello {
                    token: crate::serve::guard::new_token().map_err(|refusal| cannot(refusal.text))?,
                    directory: self.address.directory.clone(),
                    board: true,
                    ..Hello::default()
                };
                let tunnel = Tunnel::without_connection(self.address.clone(), hello, &self.paths);
                let tunnel = Arc::new(tunnel.map_err(|error| cannot(error.to_string()))?);
                tunnel.start().map_err(|error| cannot(error.to_string()))?;
                state.tunnel = Some(Arc::clone(&tunnel));
                tunnel
            }
        };
        let server = Server::behind_ssh(tunnel, &self.network);
        let server = server.map_err(|failure| cannot(failure.to_string()))?;
        state.server = Some(server.clone());
        Ok(server)
    }

    async fn ask(&self, ask: &BoardAsk) -> Result<BoardAnswer, Trouble> {
        self.server()?.ask_for(BOARD, ask).await
    }

    /// Asks the server for something that the user wants. Fails when it cannot be done, or there is no
    /// connection.
    pub(crate) async fn carry_out(&self, ask: &BoardAsk) -> Result<BoardAnswer, UserError> {
        self.ask(ask).await.map_err(|trouble| {
            let why = clip(trouble.text().to_owned());
            match trouble {
                Trouble::Unreachable(_) => {
                    UserError::new(format!("{} cannot be reached", self.address.machine())).because(why)
                }
                Trouble::Busy(_) | Trouble::NotAttached(_) | Trouble::Refused(_) | Trouble::Ended(_) => {
                    why.into()
                }
            }
        })
    }
}

/// The beginning of a foreign text.
fn clip(text: String) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned(),
        None => text,
    }
}
