//! A stored conversation that is continued later: `cargo run --example restore_session [provider/model]`;
//! without a model the scripted demo answers.

#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

use std::path::{Path, PathBuf};

use tau::agent::api::CodingAgent;
use tau::agent::protocol::message::Message;
use tau::agent::session::Session;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = std::env::args().nth(1).unwrap_or_else(|| "demo".to_owned());
    let folder = tempfile::tempdir()?;
    let file = first(&model, folder.path()).await?;
    println!("stored in {}", file.display());
    restored(&model, &file, |line| println!("{line}")).await
}

/// Continues the conversation in a file. Another process would start here: the file is all it needs.
pub(crate) async fn restored(
    model: &str,
    file: &Path,
    mut say: impl FnMut(String),
) -> Result<(), Box<dyn std::error::Error>> {
    // The agent works in the directory that the session names, with its model and thinking level.
    let session = Session::open(file)?;
    let agent = CodingAgent::builder(session.info().cwd.clone())
        .with(|agent| agent.model_by_name(model))?
        .agent(|agent| agent.session(session))
        .start();
    // The end of a long conversation is available at once; this loads the rest of it.
    for message in agent.load_history().await? {
        match message.as_ref() {
            Message::User(user) => say(format!("you: {}", user.content.text())),
            Message::Assistant(answer) => say(format!("model: {}", start(&answer.text()))),
            _ => {}
        }
    }
    say(format!("and now: {}", start(&agent.run("help").await?.text())));
    say(format!("{} messages", agent.state().messages.len()));
    agent.shutdown().await;
    Ok(())
}

/// A first conversation; returns the file that stores it.
pub(crate) async fn first(model: &str, folder: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let agent = CodingAgent::builder(folder)
        .with(|agent| agent.model_by_name(model))?
        .agent(|agent| agent.session_dir(folder.join("sessions")))
        .start();
    agent.run("help").await?;
    let file = agent.state().session.file.ok_or("it was not stored")?;
    // Everything is in the file when this returns.
    agent.shutdown().await;
    Ok(file)
}

fn start(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
