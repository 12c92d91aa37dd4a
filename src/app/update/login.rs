//! Keys and logins: the list of providers, typing a key, storing it, removing it; logging in.

use super::{models, pickers};
use crate::action::Action;
use crate::effect::Effect;
use crate::key::{Key, KeyCode};
use crate::line_edit::LineEdit;
use crate::model::Model;
use crate::outcome::KeyOutcome;
use crate::overlays::overlay::{self, Overlay, SignInView};
use crate::overlays::picker::{Picker, PickerKind, PickerRow};
use crate::printable::Printable;
use crate::request::{HiddenText, LoggedIn, LoginProvider, ScreenRequest, SignInStep, Ticket};
use tau_protocol::event::NoticeLevel;
use tau_tools::user_error::UserError;

/// The beginning of the keys of logins in the list of providers.
const LOGIN: &str = "login ";

/// Opens the list of providers, or asks for the API key of the named one. It is validated later, as a key
/// that is typed or pasted at once must not get into the composer.
pub(super) fn open(model: &mut Model, provider: &str, effects: &mut Vec<Effect>) {
    if !provider.is_empty() {
        model.ask(ScreenRequest::LoginName { provider: provider.to_owned() }, effects);
        return ask_for_key(model, provider);
    }
    let picker = Picker::new(PickerKind::Providers, "Log in, or add an API key for", "no providers");
    let ticket = model.ask(ScreenRequest::Providers {}, effects);
    pickers::open_loading(model, picker, ticket);
}

/// Opens the list of stored keys, or removes the key of the named provider.
pub(super) fn open_stored_keys(model: &mut Model, provider: &str, effects: &mut Vec<Effect>) {
    if !provider.is_empty() {
        return remove(model, provider, effects);
    }
    let picker =
        Picker::new(PickerKind::StoredKeys, "Remove the API key of", "no keys are stored in auth.json");
    let ticket = model.ask(ScreenRequest::StoredKeys {}, effects);
    pickers::open_loading(model, picker, ticket);
}

/// Removes the stored key of a provider.
pub(super) fn remove(model: &mut Model, provider: &str, effects: &mut Vec<Effect>) {
    model.ask(ScreenRequest::Logout { provider: provider.to_owned() }, effects);
}

/// Fills in the providers with stored keys.
pub(super) fn on_stored_keys(
    model: &mut Model,
    ticket: Ticket,
    stored: Result<Vec<LoginProvider>, UserError>,
) {
    let row = |provider: &LoginProvider| {
        let rest = match provider.env.as_str() {
            "" => String::new(),
            place => format!("{place} also has a key"),
        };
        PickerRow { note: Printable::line(&rest), current: false, ..provider_row(provider) }
    };
    pickers::fill(model, ticket, stored.map(|stored| stored.iter().map(row).collect()));
}

/// Asks for the API key of a provider.
pub(super) fn ask_for_key(model: &mut Model, provider: &str) {
    let (provider, line) = (provider.to_owned(), LineEdit::default());
    model.overlays.push(Overlay::Login { provider, line, how: None, ticket: None, failed: None });
}

/// Makes the box for a key one for a token; `how` says how to get it.
pub(super) fn ask_for_token(model: &mut Model, name: &str, text: &str) {
    for overlay in &mut model.overlays {
        if let Overlay::Login { provider, how, .. } = overlay
            && provider == name
        {
            *how = Some(Printable::line(text));
        }
    }
}

/// Asks for the key of a provider in the list, or begins a login.
pub(super) fn on_pick(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    match key.strip_prefix(LOGIN) {
        Some(login) => sign_in(model, login, effects),
        None => open(model, key, effects),
    }
}

/// Begins a login.
fn sign_in(model: &mut Model, login: &str, effects: &mut Vec<Effect>) {
    let ticket = Some(model.ask(ScreenRequest::SignIn { login: login.to_owned() }, effects));
    let (login, line) = (login.to_owned(), LineEdit::default());
    model.overlays.push(Overlay::SignIn(SignInView { login, page: None, line, ticket, failed: None }));
}

/// Begins a login in place of the box for a key. Nothing typed into the box is kept.
pub(super) fn sign_in_instead(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    let is_box = |overlay: &Overlay| matches!(overlay, Overlay::Login { provider, .. } if provider == name);
    let Some(place) = model.overlays.iter().position(is_box) else { return };
    model.overlays.remove(place);
    sign_in(model, name, effects);
}

/// Handles a key in the box of a login.
pub(super) fn sign_in_key(model: &mut Model, mut view: SignInView, key: Key, effects: &mut Vec<Effect>) {
    // A long address is wrapped, so it cannot be copied from the screen.
    let page = view.page.as_ref().filter(|_| view.failed.is_none() && view.line.text().is_empty());
    if let (KeyCode::Enter, Some(page)) = (key.code, page) {
        effects.push(Effect::Copy(page.page.clone()));
        model.remark("copied the address");
        return model.overlays.push(Overlay::SignIn(view));
    }
    match overlay::login_key(&mut view.line, key) {
        KeyOutcome::Done(address) => paste_address(model, view, address, effects),
        KeyOutcome::Closed => model.forget(view.ticket, effects),
        KeyOutcome::Ignored | KeyOutcome::Handled => model.overlays.push(Overlay::SignIn(view)),
    }
}

/// Passes on the address that was pasted.
fn paste_address(model: &mut Model, mut view: SignInView, address: HiddenText, effects: &mut Vec<Effect>) {
    view.line = LineEdit::default();
    // A login that failed takes nothing.
    if view.ticket.is_some() {
        model.ask(ScreenRequest::PasteSignIn { address }, effects);
    }
    model.overlays.push(Overlay::SignIn(view));
}

/// Handles a step of a login.
pub(super) fn on_sign_in_step(
    model: &mut Model,
    ticket: Ticket,
    step: Result<SignInStep, UserError>,
    effects: &mut Vec<Effect>,
) {
    let holds = |overlay: &Overlay| matches!(overlay, Overlay::SignIn(view) if view.ticket == Some(ticket));
    let Some(place) = model.overlays.iter().position(holds) else {
        if let Ok(SignInStep::Done(logged_in)) = step {
            models::leave_demo(model, logged_in.model, effects);
        }
        return;
    };
    match step {
        Ok(SignInStep::Done(logged_in)) => {
            model.overlays.remove(place);
            announce(model, logged_in, effects);
        }
        Ok(SignInStep::Waits(page)) => {
            if let Some(Overlay::SignIn(view)) = model.overlays.get_mut(place) {
                view.page = Some(page);
            }
        }
        Err(error) => {
            if let Some(Overlay::SignIn(view)) = model.overlays.get_mut(place) {
                view.ticket = None;
                view.failed = Some(Printable::new(&error));
            }
        }
    }
}

/// Switches to the picked model; asks for the key if it needs one.
pub(super) fn on_model_pick(model: &mut Model, reference: &str, effects: &mut Vec<Effect>) {
    if let Some(ai) = model.models.iter().find(|ai| ai.reference() == reference).cloned() {
        return models::set(model, ai, effects);
    }
    if let Some((provider, _)) = reference.split_once('/') {
        open(model, provider, effects);
    }
}

/// Says that a provider can be used now, and with which model.
fn announce(model: &mut Model, LoggedIn { said, model: usual }: LoggedIn, effects: &mut Vec<Effect>) {
    model.models.clear();
    let key = model.keymap.hint(Action::Models).unwrap_or_else(|| "/model".to_owned());
    let name = if usual.name.is_empty() { usual.id.clone() } else { usual.name.clone() };
    let hint = match models::leave_demo(model, usual, effects) {
        true => format!("{name} answers now; press {key} to choose another of its models"),
        false => format!("press {key} to choose one of its models"),
    };
    model.transcript.notice(NoticeLevel::Info, &said, Some(&hint));
}

/// Says that there is no such provider, in place of the box for its key. What is typed there goes nowhere.
pub(super) fn refuse_provider(model: &mut Model, name: &str, error: &str) {
    for overlay in &mut model.overlays {
        if matches!(overlay, Overlay::Login { provider, .. } if provider == name) {
            let (login, failed) = (name.to_owned(), Some(Printable::new(error)));
            let line = LineEdit::default();
            *overlay = Overlay::SignIn(SignInView { login, page: None, line, ticket: None, failed });
        }
    }
}

/// Stores the typed key; the overlay stays until it is known to work.
pub(super) fn submit(
    model: &mut Model,
    provider: String,
    how: Option<Printable>,
    line: LineEdit,
    key: HiddenText,
    effects: &mut Vec<Effect>,
) {
    let request = ScreenRequest::Login { provider: provider.clone(), key };
    let ticket = Some(model.ask(request, effects));
    model.overlays.push(Overlay::Login { provider, line, how, ticket, failed: None });
}

/// Fills in the providers.
pub(super) fn on_providers(
    model: &mut Model,
    ticket: Ticket,
    providers: Result<Vec<LoginProvider>, UserError>,
) {
    pickers::fill(model, ticket, providers.map(|providers| providers.iter().map(provider_row).collect()));
}

/// Handles the result of storing a key.
pub(super) fn on_key_result(
    model: &mut Model,
    ticket: Ticket,
    stored: Result<LoggedIn, UserError>,
    effects: &mut Vec<Effect>,
) {
    let holds =
        |overlay: &Overlay| matches!(overlay, Overlay::Login { ticket: held, .. } if *held == Some(ticket));
    let Some(place) = model.overlays.iter().position(holds) else {
        if let Ok(logged_in) = stored {
            models::leave_demo(model, logged_in.model, effects);
        }
        return;
    };
    match stored {
        Ok(logged_in) => {
            model.overlays.remove(place);
            announce(model, logged_in, effects);
        }
        Err(error) => {
            if let Some(Overlay::Login { failed, ticket, .. }) = model.overlays.get_mut(place) {
                *ticket = None;
                *failed = Some(Printable::new(&error));
            }
        }
    }
}

fn provider_row(provider: &LoginProvider) -> PickerRow {
    let (key, title, held) = match &provider.login {
        Some(login) => (format!("{LOGIN}{login}"), provider.name.clone(), "logged in"),
        None => (provider.id.clone(), format!("{} ({})", provider.name, provider.id), "has a key"),
    };
    let state = if provider.has_key { held.to_owned() } else { provider.env.clone() };
    PickerRow {
        key,
        title: Printable::line(&title),
        note: Printable::line(&state),
        current: provider.has_key,
        ..PickerRow::default()
    }
}
