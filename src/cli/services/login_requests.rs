//! Requests about logins and keys.

use std::sync::Arc;

use super::Services;
use super::call::Call;
use crate::commands::auth;
use crate::commands::login::{check_token, is_remote};
use crate::compose::keycheck::{KeyCheck, check_key};
use crate::process::browser;
use tau_agent::catalogue::keys::KeyPlace;
use tau_agent::catalogue::login::{self, LOGINS, LoginCredential, LoginRow, PastedAddress};
use tau_agent::catalogue::providers::{KnownProvider, PROVIDERS};
use tau_agent::provider::http::Http;
use tau_agent::secrets::Secret;
use tau_app::request::{HiddenText, LoggedIn, LoginProvider, LoginWay, ScreenReply, SignInPage, SignInStep};
use tau_tools::user_error::UserError;
use tokio::sync::mpsc;

impl Services {
    /// The logins and the providers with keys.
    pub(super) fn login_rows(&self) -> Result<Vec<LoginProvider>, UserError> {
        let held = self.keys.providers_with_keys(PROVIDERS.iter().map(|provider| provider.id));
        let login = |row: &'static LoginRow| LoginProvider {
            // A token that is pasted is typed as a key is, under the name of its login.
            login: row.pasted.is_none().then(|| row.alias.to_owned()),
            id: row.pasted.map_or(row.provider, |_| row.alias).to_owned(),
            name: match row.pasted {
                Some(how) => format!("{}: {how}", row.name),
                None => format!("log in to {}", row.name),
            },
            env: String::new(),
            has_key: self.keys.place(row.provider) == Some(KeyPlace::Login),
        };
        let row = |provider: &KnownProvider| LoginProvider {
            id: provider.id.to_owned(),
            name: provider.name.to_owned(),
            env: provider.env.to_owned(),
            has_key: held.contains(&provider.id),
            login: None,
        };
        let with_key = PROVIDERS.iter().filter(|provider| !provider.env.is_empty());
        let catalogue = self.keys.catalogue();
        let adhoc = catalogue.adhoc_provider();
        let of_user = |id: &String| {
            catalogue.default_model(id).is_some()
                && adhoc.as_ref() != Some(id)
                && PROVIDERS.iter().all(|known| known.id != id)
        };
        let own = catalogue.providers().into_iter().filter(of_user).map(|id| LoginProvider {
            name: id.clone(),
            env: catalogue.key_variable(&id).unwrap_or_default(),
            has_key: self.keys.place(&id).is_some(),
            login: None,
            id,
        });
        Ok(LOGINS.iter().map(login).chain(own).chain(with_key.map(row)).collect())
    }

    /// Whether a name means a login or a key.
    pub(super) fn login_way(&self, provider: &str) -> Result<LoginWay, UserError> {
        let catalogue = self.keys.catalogue();
        // A name that is also that of a provider with a key means the key.
        let takes_key = catalogue.key_variable(provider).is_some();
        if login::find_by_name(provider).is_some_and(|row| row.pasted.is_none()) && !takes_key {
            return Ok(LoginWay::Login);
        }
        if catalogue.default_model(provider).is_some() {
            return Ok(LoginWay::Key);
        }
        if let Some(how) = login::find_by_name(provider).and_then(|row| row.pasted) {
            return Ok(LoginWay::Token(how.to_owned()));
        }
        let see = "/login without a name lists them, or add one in models.toml";
        Err(auth::unknown_provider(provider, &catalogue.providers(), see).into())
    }

    /// Checks the key with a small real request, and stores it unless it was refused.
    pub(super) async fn add_key(&self, provider: &str, key: HiddenText) -> Result<LoggedIn, UserError> {
        let key = Secret::new(key.0);
        let row =
            login::find_by_name(provider).filter(|_| self.keys.catalogue().default_model(provider).is_none());
        let provider = match row.and_then(|row| Some((row.provider, row.pasted?))) {
            Some((provider, how)) => {
                check_token(&key, how)?;
                provider
            }
            None => provider,
        };
        let Some(model) = self.keys.catalogue().default_model(provider) else {
            return Err(format!("no provider \"{provider}\"; /login without a name lists them").into());
        };
        let checked = match check_key(&self.direct, Arc::clone(&model), Some(key.clone())).await {
            KeyCheck::Rejected(message) => {
                return Err(format!("{provider} refused the key: {message}").into());
            }
            KeyCheck::Accepted => format!("{provider} accepted it"),
            KeyCheck::Unknown(why) => format!("it could not be checked: {why}"),
        };
        let failed = |error| UserError::new("could not store the key").because(error);
        self.keys.store(provider, &key).map_err(failed)?;
        Ok(LoggedIn {
            said: self.unless_overridden(provider, format!("stored the key for {provider}; {checked}")),
            model,
        })
    }

    /// Logs in through a page, which is reported as soon as it is known.
    pub(super) async fn log_in(&self, call: &Call, login: &str) -> Result<SignInStep, UserError> {
        let row = login::find_by_name(login).ok_or_else(|| format!("no login \"{login}\""))?;
        let place = self.keys.login_place(row);
        let (http, env) = {
            let setup = self.setup.lock();
            (Arc::new(Http::new(setup.settings.network())), setup.child_env("login"))
        };
        // Before the user has done the work.
        self.keys
            .check_writable()
            .map_err(|error| UserError::new("could not write auth.json").because(error))?;
        let begun = login::begin(row, &place, is_remote(), &http).await?;
        let (address, code) = (begun.page().to_string(), begun.code().map(str::to_owned));
        let is_open = !is_remote() && browser::open(&address, &env);
        let page = SignInPage { name: row.name.to_owned(), page: address, code, is_open };
        call.send_early(ScreenReply::SignIn(SignInStep::Waits(page))).await;
        let (sender, mut pasted) = mpsc::channel(1);
        *self.pasted.lock() = Some(sender);
        let granted = begun.finish(&mut pasted).await?;
        let saved = match granted {
            LoginCredential::Tokens(tokens) => self.keys.store_login(row.provider, &tokens),
            LoginCredential::Key(key) => self.keys.store(row.provider, &key),
        };
        saved.map_err(|error| format!("could not store the login: {error}"))?;
        let model = self.keys.catalogue().default_model(row.provider);
        let model = model.ok_or_else(|| format!("logged in, but there is no model of {}", row.provider))?;
        let said = self.unless_overridden(row.provider, format!("logged in to {}", row.name));
        Ok(SignInStep::Done(LoggedIn { said, model }))
    }

    /// Adds to `said` why the saved key or login is not used, if so.
    fn unless_overridden(&self, provider: &str, said: String) -> String {
        match self.keys.override_reason(provider) {
            Some(why) => format!("{said}; but {why}"),
            None => said,
        }
    }

    /// Passes on an address that was pasted for the login that waits. Fails when it is wrong.
    pub(super) async fn take_address(&self, address: HiddenText) -> Result<String, UserError> {
        let sender = self.pasted.lock().clone();
        let over = || "no login is waiting for an address".to_owned();
        let (pasted, wrong) = PastedAddress::new(address.0);
        sender.ok_or_else(over)?.try_send(pasted).map_err(|_| over())?;
        wrong.await.map_or(Ok(String::new()), Err)
    }

    /// The providers whose keys are stored.
    pub(super) fn stored_key_rows(&self) -> Result<Vec<LoginProvider>, UserError> {
        let row = |id: String| {
            let known = PROVIDERS.iter().find(|provider| provider.id == id);
            let name = known.map_or_else(|| id.clone(), |provider| provider.name.to_owned());
            let env =
                self.keys.place_besides_auth_file(&id).map_or_else(String::new, |place| place.to_string());
            LoginProvider { id, name, env, has_key: true, login: None }
        };
        Ok(self.keys.stored_providers().into_iter().map(row).collect())
    }

    /// Removes a stored key.
    pub(super) fn remove_key(&self, provider: &str) -> Result<String, UserError> {
        match self.keys.remove(provider) {
            Ok(true) => {}
            Ok(false) => {
                return Err(
                    format!("no key for {provider} in auth.json; /logout without a name lists them").into()
                );
            }
            Err(error) => return Err(format!("could not remove the key: auth.json: {error}").into()),
        }
        let rest = match self.keys.place(provider) {
            Some(place) => format!("{place} still has one, which is used from now on"),
            None => "no other key for it is set".to_owned(),
        };
        Ok(format!("removed the key for {provider} from auth.json; {rest}"))
    }
}
