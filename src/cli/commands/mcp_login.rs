//! `tau mcp login` and `tau mcp logout`: tokens for servers at a URL, through the browser.

use std::io::BufRead;

use tokio::sync::mpsc;

use crate::compose::agent::child_env;
use crate::compose::environment::Environment;
use crate::process::exit::{Exit, Refusal, fail, say, warn};
use crate::process::runtime;
use crate::process::{browser, plain};
use tau_agent::catalogue::login::PastedAddress;
use tau_agent::extensions::mcp::oauth::{LoginStore, begin, login_command, mcp_command};
use tau_agent::settings::mcp_servers::McpServer;
use tau_tools::user_error::UserError;

/// Logs in to a server; returns the program's end. Fails when the machine does not allow it.
pub(crate) fn login(
    server: &McpServer,
    logins: &LoginStore,
    environment: &Environment,
    opens_browser: bool,
) -> Result<Exit, Refusal> {
    let name = &server.name;
    Ok(match runtime::run_until_stopped(run(server, logins, environment, opens_browser))? {
        Ok(()) => say(&format!("logged in to {name}; `{}` lists its tools\n", mcp_command("test", name))),
        Err((exit, why)) => fail(exit, &format!("not logged in to {name}: {}", plain::line(&why))),
    })
}

async fn run(
    server: &McpServer,
    logins: &LoginStore,
    environment: &Environment,
    opens_browser: bool,
) -> Result<(), (Exit, String)> {
    let failed = |why: UserError| (Exit::Model, why.into());
    let login = begin(server, logins, environment.settings.network()).await.map_err(failed)?;
    let env = child_env(&environment.keys, &environment.settings, "login");
    let is_open = opens_browser && browser::open(login.page(), &env);
    let what = match is_open {
        true => "Log in to it in your browser. If no page has come up, open this address:",
        false => "Open this address in your browser and log in there:",
    };
    let name = &server.name;
    let said = say(&format!(
        "{what}\n\n{}\n\nIf the browser is on another machine and cannot show the last page, paste the address of \
         that page here.\nWaiting for the login to {name}; ctrl+c stops.\n",
        plain::line(login.page())
    ));
    if said != Exit::Ok {
        return Err((said, "the address could not be written".to_owned()));
    }
    login.finish(&mut lines()).await.map_err(failed)
}

/// Standard input, line by line; says which lines are wrong. The reading thread ends with the program.
pub(crate) fn lines() -> mpsc::Receiver<PastedAddress> {
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        let all = std::io::stdin().lock().lines().map_while(Result::ok);
        for line in all.filter(|line| !line.trim().is_empty()) {
            let (pasted, wrong) = PastedAddress::new(line);
            if sender.blocking_send(pasted).is_err() {
                return;
            }
            if let Ok(why) = wrong.blocking_recv() {
                warn(&why);
            }
        }
    });
    lines
}

/// Forgets the login at a server; returns the program's end.
pub(crate) fn logout(server: &McpServer, logins: &LoginStore) -> Exit {
    let name = &server.name;
    match logins.forget(server) {
        Ok(true) => say(&format!("logged out of {name}\n")),
        Ok(false) => {
            fail(Exit::Usage, &format!("not logged in to {name}; to log in, run `{}`", login_command(name)))
        }
        Err(why) => fail(Exit::Config, &format!("not logged out of {name}: {}", plain::line(&why))),
    }
}
