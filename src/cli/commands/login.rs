//! `tau login`: logs in to a provider with the account of a subscription.
//!
//! Tokens are not printed. A pasted one is read from standard input, without echo on a terminal.

use std::sync::Arc;
use std::time::Duration;

use super::mcp_login::lines;
use super::table;
use crate::args::CliArgs;
use crate::args::login::LoginArgs;
use crate::compose::agent::child_env;
use crate::compose::environment::{Environment, LIKENESS, OnBadConfig};
use crate::process::exit::{Exit, Refusal, fail, say, warn};
use crate::process::runtime;
use crate::process::{browser, plain, secret_prompt};
use tau_agent::catalogue::keys::KeyPlace;
use tau_agent::catalogue::login::{self, LOGINS, LoginCredential, LoginRow, begin, find_by_name};
use tau_agent::provider::http::Http;
use tau_agent::secrets::Secret;
use tau_tools::compare::close_matches;
use tau_tools::user_error::UserError;

/// Runs the command; returns the program's end.
pub fn run(args: &LoginArgs) -> Exit {
    let done =
        Environment::read(&CliArgs::without_arguments(), OnBadConfig::Refuse).and_then(|environment| {
            let Some(name) = &args.provider else { return Ok(list(&environment)) };
            let row = find_by_name(name).ok_or_else(|| unknown_login(name))?;
            match row.pasted {
                Some(how) => paste(&environment, row, how),
                None => log_in(&environment, row, args),
            }
        });
    done.unwrap_or_else(|refusal| refusal.fail())
}

/// The longest that the end of the program waits until renewed tokens are saved.
const LONGEST_END: Duration = Duration::from_secs(15);

/// Waits for renewals of logins that have begun: their old tokens are spent. No other begins.
pub(crate) fn finish_renewals() {
    let soon = Duration::from_secs(1);
    if !login::finish_renewals(soon) {
        warn("tau ends as soon as the renewed login is saved");
        if !login::finish_renewals(LONGEST_END.saturating_sub(soon)) {
            warn("the renewed login was not saved; log in again if it is refused");
        }
    }
}

fn unknown_login(name: &str) -> Refusal {
    let known: Vec<String> = LOGINS.iter().map(|row| row.alias.to_owned()).collect();
    let see = "run `tau login` to see the logins, or save an API key with `tau auth set PROVIDER`";
    let hint = match close_matches(name, &known.iter().map(String::as_str).collect::<Vec<_>>(), 3, LIKENESS)
        .as_slice()
    {
        [] => see.to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    };
    Refusal::config(format!("no login \"{name}\"; {hint}"))
}

fn list(environment: &Environment) -> Exit {
    let row = |row: &LoginRow| {
        let state = match environment.keys.place(row.provider) {
            Some(KeyPlace::Login) => "logged in".to_owned(),
            Some(place) => format!("has a key in {place}"),
            None => "-".to_owned(),
        };
        [row.alias.to_owned(), row.name.to_owned(), row.provider.to_owned(), plain::line(&state)]
    };
    let head = ["LOGIN", "NAME", "MODELS", "STATE"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(LOGINS.iter().map(row)).collect();
    say(&table::columns(&rows))
}

/// Saves a token that another program has printed.
fn paste(environment: &Environment, row: &LoginRow, how: &str) -> Result<Exit, Refusal> {
    check_file(environment)?;
    let token = match secret_prompt::read(&format!("{}: {how} (hidden): ", row.name)) {
        Ok(Some(token)) => token,
        Ok(None) => return Ok(Exit::Aborted),
        Err(error) => return Err(Refusal::usage(format!("cannot read the token: {error}"))),
    };
    check_token(&token, how).map_err(|why| Refusal::usage(why.to_string()))?;
    environment.keys.store(row.provider, &token).map_err(unwritable)?;
    let check = format!("check it with `tau auth check {}`", row.provider);
    Ok(report_login(environment, row, &format!("saved the token for {}; {check}", row.name)))
}

/// Fails when it is not a token that is pasted for a login; `how` says how to get one.
pub(crate) fn check_token(token: &Secret, how: &str) -> Result<(), UserError> {
    let wrong = "that is not a token of Claude (sk-ant-oat…), and nothing was saved";
    if is_claude_token(token) { Ok(()) } else { Err(UserError::new(wrong).remedy(how)) }
}

/// Whether it is a token that `claude setup-token` prints.
fn is_claude_token(token: &Secret) -> bool {
    token.expose().starts_with("sk-ant-oat") && token.expose().bytes().all(|byte| byte.is_ascii_graphic())
}

fn unwritable(error: std::io::Error) -> Refusal {
    Refusal::config(format!("cannot write auth.json: {error}"))
}

/// Finds a broken or unwritable file before the user has done the work.
fn check_file(environment: &Environment) -> Result<(), Refusal> {
    environment.keys.readable().map_err(|failure| Refusal::config(failure.message))?;
    environment.keys.check_writable().map_err(unwritable)
}

fn report_login(environment: &Environment, row: &LoginRow, result: &str) -> Exit {
    let model = environment.catalogue.default_model(row.provider);
    let model =
        model.map_or_else(String::new, |model| format!("; try it: tau --model {}", model.reference()));
    let said = say(&format!("{result}{}\n", plain::line(&model)));
    if let Some(why) = environment.keys.override_reason(row.provider) {
        warn(&why);
    }
    said
}

fn log_in(environment: &Environment, row: &'static LoginRow, args: &LoginArgs) -> Result<Exit, Refusal> {
    if args.device && !row.has_device() {
        return Err(Refusal::usage(format!(
            "{} has no codes for other devices; leave out --device",
            row.name
        )));
    }
    check_file(environment)?;
    let granted = match runtime::run_until_stopped(obtain_credential(environment, row, args))? {
        Ok(granted) => granted,
        Err((exit, why)) => {
            return Ok(fail(exit, &format!("not logged in to {}: {}", row.name, plain::line(&why))));
        }
    };
    match granted {
        LoginCredential::Tokens(tokens) => environment.keys.store_login(row.provider, &tokens),
        LoginCredential::Key(key) => environment.keys.store(row.provider, &key),
    }
    .map_err(unwritable)?;
    Ok(report_login(environment, row, &format!("logged in to {}", row.name)))
}

async fn obtain_credential(
    environment: &Environment,
    row: &'static LoginRow,
    args: &LoginArgs,
) -> Result<LoginCredential, (Exit, String)> {
    let failed = |why: UserError| (Exit::Model, why.into());
    let http = Arc::new(Http::new(environment.settings.network()));
    let on_device = args.device || is_remote();
    let place = environment.keys.login_place(row);
    let login = begin(row, &place, on_device, &http).await.map_err(failed)?;
    let env = child_env(&environment.keys, &environment.settings, "login");
    let opens = !args.no_browser && !is_remote();
    let is_open = opens && browser::open(login.page().as_str(), &env);
    let name = row.name;
    let page = plain::line(login.page().as_str());
    let text = match (login.code(), is_open) {
        (Some(code), is_open) => {
            let code = plain::line(code);
            let open = if is_open {
                "Your browser opens this page; log in there"
            } else {
                "Open this page on any device and log in there"
            };
            format!(
                "{open}:\n\n{page}\n\nIf it asks for a code, type {code} (it is for you alone: never type a code that somebody \
                 sent you).\nWaiting for the login to {name}; ctrl+c stops.\n"
            )
        }
        (None, is_open) => {
            let open = if is_open {
                "Log in in your browser. If no page has come up, open this address:"
            } else {
                "Open this address in your browser and log in there:"
            };
            format!(
                "{open}\n\n{page}\n\nIf the browser is on another machine and cannot show the last page, paste the \
                 address of that page here.\nWaiting for the login to {name}; ctrl+c stops.\n"
            )
        }
    };
    let said = say(&text);
    if said != Exit::Ok {
        return Err((said, "the address could not be written".to_owned()));
    }
    login.finish(&mut lines()).await.map_err(failed)
}

/// Whether this terminal is on another machine, whose browser the user does not see.
pub(crate) fn is_remote() -> bool {
    ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"].iter().any(|name| std::env::var_os(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_claude_is_recognised() {
        assert!(is_claude_token(&Secret::new("sk-ant-oat01-abc\n")));
        for other in ["sk-ant-api03-abc", "", "sk-ant-oat01-a b", "hello"] {
            assert!(!is_claude_token(&Secret::new(other)), "{other}");
        }
    }
}
