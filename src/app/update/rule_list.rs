//! The list of permission rules: opening, filling, looking up and changing a rule.

use crate::approval::Coverage;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::rule_list::{RuleChoice, RuleStage, RulesView};
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::command::{SettingsCommand, TaskCommand};
use tau_protocol::query::{Query, QueryAnswer};
use tau_protocol::rules::RuleChange;
use tau_tools::user_error::UserError;

pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let ticket = model.query(Query::PermissionRules, effects);
    model.overlays.push(Overlay::Rules(Box::new(RulesView::waiting(ticket))));
}

/// Refreshes an open list after a change of the rules elsewhere, unless an answer is pending.
pub(super) fn on_change(model: &mut Model, effects: &mut Vec<Effect>) {
    let ticket = model.next_ticket();
    if let Some(view) = model.open::<RulesView>().filter(|view| view.ticket.is_none()) {
        list_again(view, ticket, effects);
    }
}

fn list_again(view: &mut RulesView, ticket: Ticket, effects: &mut Vec<Effect>) {
    view.ticket = Some(ticket);
    let query = Query::PermissionRules;
    effects.push(TaskCommand::Query { ticket: ticket.0, query }.into());
}

/// Carries out the outcome of a key; the list stays open.
pub(super) fn apply_choice(
    model: &mut Model,
    mut view: Box<RulesView>,
    choice: RuleChoice,
    effects: &mut Vec<Effect>,
) {
    match choice {
        RuleChoice::Look => look_up(model, &mut view, effects),
        RuleChoice::Change(change) => {
            let ticket = model.next_ticket();
            view.ticket = Some(ticket);
            view.said = None;
            effects.push(SettingsCommand::ChangeRules { ticket: ticket.0, change: change.clone() }.into());
            view.change = Some(change);
        }
    }
    model.overlays.push(Overlay::Rules(view));
}

/// Handles a paste.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    if let Some(Overlay::Rules(mut view)) = model.overlays.pop() {
        view.paste(text);
        look_up(model, &mut view, effects);
        model.overlays.push(Overlay::Rules(view));
    }
}

/// Asks which earlier calls the rule would have decided, if that is unknown.
fn look_up(model: &mut Model, view: &mut RulesView, effects: &mut Vec<Effect>) {
    let Some((rule, list)) = view.rule_to_look_up() else { return };
    if rule.is_empty() {
        return view.set_coverage(Coverage::Known(Vec::new()));
    }
    view.set_coverage(Coverage::Asked(model.query(Query::RuleCoverage { rule, list }, effects)));
}

/// Handles the agent's answer. True when the list waited for it.
pub(super) fn on_answer(
    model: &mut Model,
    ticket: Ticket,
    answer: &Result<QueryAnswer, UserError>,
    effects: &mut Vec<Effect>,
) -> bool {
    let waits = |overlay: &Overlay| matches!(overlay, Overlay::Rules(view) if view.ticket == Some(ticket) || view.looks_up(ticket));
    let Some(at) = model.overlays.iter().position(waits) else { return false };
    // Taken out while it is used to change the model.
    let Overlay::Rules(mut view) = model.overlays.remove(at) else { return false };
    if view.looks_up(ticket) {
        view.set_coverage(Coverage::of(answer));
    } else {
        let is_refused = view.change.is_some() && answer.is_err();
        fill_rules(&mut view, answer);
        if is_refused {
            // The rule may have been changed elsewhere.
            list_again(&mut view, model.next_ticket(), effects);
        }
        look_up(model, &mut view, effects);
    }
    model.overlays.insert(at, Overlay::Rules(view));
    true
}

/// All current rules, after a change or without one.
fn fill_rules(view: &mut RulesView, answer: &Result<QueryAnswer, UserError>) {
    view.ticket = None;
    let change = view.change.take();
    match answer {
        Ok(QueryAnswer::PermissionRules(rules)) => {
            view.fill(rules.clone());
            if let Some(change) = change {
                view.stage = RuleStage::Choosing;
                view.said = Some(Ok(Printable::line(&describe_change(&change))));
                view.select(&change);
            }
        }
        Ok(_) => {}
        Err(error) => view.said = Some(Err(Printable::line(error))),
    }
}

/// The change, in words.
fn describe_change(change: &RuleChange) -> String {
    match (&change.remove, &change.add) {
        (_, Some(new)) => format!("saved: {} {}", new.list.name(), new.rule),
        (Some(old), None) => format!("removed: {} {}", old.list.name(), old.rule),
        (None, None) => String::new(),
    }
}
