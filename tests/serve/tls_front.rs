//! A TLS proxy before a server, as for clients on other machines.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::faults::tls::config;

/// Starts forwarding to the server at this address; returns the proxy's address.
pub fn tls_front(server: &str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let server = server.to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || runtime.block_on(forward(listener, server)));
    url
}

async fn forward(listener: std::net::TcpListener, server: String) {
    let listener = TcpListener::from_std(listener).unwrap();
    let acceptor = TlsAcceptor::from(config());
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (acceptor, server) = (acceptor.clone(), server.clone());
        tokio::spawn(async move {
            // Fails if the client does not trust the certificate.
            let Ok(mut client) = acceptor.accept(client).await else { return };
            let mut server = TcpStream::connect(server).await.unwrap();
            // A client may disconnect without a close message.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
    }
}
