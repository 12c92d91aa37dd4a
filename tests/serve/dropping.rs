//! A connection that can be cut: forwards bytes to a server until told not to.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The link between a client and a server.
pub struct Dropping {
    pub address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    sockets: Vec<TcpStream>,
}

impl Dropping {
    /// Starts forwarding.
    pub fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::<Mutex<State>>::default();
        let (shared, server) = (Arc::clone(&state), server.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let mut state = shared.lock().unwrap();
                if state.is_cut {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&server) else { continue };
                for socket in [&client, &server] {
                    socket.set_nodelay(true).unwrap();
                    state.sockets.push(socket.try_clone().unwrap());
                }
                forward(client.try_clone().unwrap(), server.try_clone().unwrap());
                forward(server, client);
            }
        });
        Dropping { address, state }
    }

    /// The address, in the form for `tau attach`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes every connection, and accepts none.
    pub fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_cut = true;
        for socket in state.sockets.drain(..) {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Accepts connections again.
    pub fn restore(&self) {
        self.state.lock().unwrap().is_cut = false;
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            if to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
