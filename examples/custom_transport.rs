//! A custom transport: `cargo run --example custom_transport`.
//!
//! A transport turns a request into a stream of events. This one wraps another, counts the traffic, and
//! answers one kind of question itself.

#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]
#![allow(clippy::disallowed_types, reason = "a transport serves several agents at once")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use tau::agent::api::Agent;
use tau::agent::catalogue;
use tau::agent::demo::{DemoTransport, Pace};
use tau::agent::protocol::message::Message;
use tau::agent::provider::scripted::says;
use tau::agent::provider::{EventStream, ModelRequest, StreamEvent, Transport};
use tokio_util::sync::CancellationToken;

struct Counting<T> {
    inner: T,
    events: Arc<AtomicUsize>,
}

impl<T: Transport> Transport for Counting<T> {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> EventStream {
        let asked = match request.messages.last().map(Arc::as_ref) {
            Some(Message::User(user)) => user.content.text(),
            _ => String::new(),
        };
        let answer: EventStream = if asked == "ping" {
            // Dropping a stream ends it, so there is no need to check the token here.
            Box::pin(stream::iter(says("pong")))
        } else {
            self.inner.stream(request, cancel)
        };
        let events = Arc::clone(&self.events);
        let count = move |_: &StreamEvent| {
            events.fetch_add(1, Ordering::Relaxed);
        };
        Box::pin(answer.inspect(count))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let events = Arc::new(AtomicUsize::new(0));
    let transport = Counting { inner: DemoTransport { pace: Pace::NONE }, events: Arc::clone(&events) };
    let agent = Agent::builder().model(catalogue::demo()).transport(transport).start();
    println!("{}", agent.run("ping").await?.text());
    println!("{}", agent.run("help").await?.text());
    println!("{} events went through the transport", events.load(Ordering::Relaxed));
    Ok(())
}
