//! Events in the forms for the clients of a server, without the access to models, which stays there.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::protocol;
use tau_protocol::event::{AgentEvent, SessionEvent, SettingsEvent, TaskEvent, TurnEvent};
use tau_protocol::model::Model;

/// A model without its address, and without the access to it.
pub(crate) fn redact_model(model: &Model) -> Model {
    Model {
        base_url: String::new(),
        headers: Default::default(),
        quirks: Default::default(),
        ..model.clone()
    }
}

/// An event for an attached screen.
pub(super) fn for_screens(event: AgentEvent) -> AgentEvent {
    match event {
        AgentEvent::Settings(SettingsEvent::ModelChanged { model }) => {
            SettingsEvent::ModelChanged { model: Arc::new(redact_model(&model)) }.into()
        }
        AgentEvent::Turn(TurnEvent::HelperEvent { tool_call_id, helper, event }) => {
            TurnEvent::HelperEvent { tool_call_id, helper, event: Box::new(for_screens(*event)) }.into()
        }
        AgentEvent::Task(TaskEvent::Earlier { ms, event }) => {
            TaskEvent::Earlier { ms, event: Box::new(for_screens(*event)) }.into()
        }
        event => event,
    }
}

/// The record of an event: that of `rpc`, if there is one.
pub(super) fn record(event: &AgentEvent) -> Value {
    match event {
        // Its messages are in the history.
        AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) => {
            json!({ "type": "session_opened", "session": session })
        }
        AgentEvent::Settings(SettingsEvent::ModelChanged { model }) => {
            json!({ "type": "model_changed", "model": protocol::model(&redact_model(model)) })
        }
        AgentEvent::Turn(TurnEvent::HelperEvent { tool_call_id, helper, event }) => json!({
            "type": "helper_event", "toolCallId": tool_call_id, "helper": helper, "event": record(event)
        }),
        AgentEvent::Task(TaskEvent::Earlier { ms, event }) => {
            json!({ "type": "earlier", "ms": ms, "event": record(event) })
        }
        AgentEvent::Task(TaskEvent::Stopped) => json!({ "type": "session_closed" }),
        event => protocol::event(event).unwrap_or_else(|| protocol::plain(event)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_record_has_the_access_to_a_model() {
        let mut model = Model::openai_compatible("http://user:pass@host/v1", "m");
        model.headers.insert("x-key".to_owned(), "secret".to_owned());
        let changed = AgentEvent::from(SettingsEvent::ModelChanged { model: Arc::new(model) });
        let of_helper = TurnEvent::HelperEvent {
            tool_call_id: "c".to_owned(),
            helper: "1".to_owned(),
            event: Box::new(changed.clone()),
        };
        let earlier = TaskEvent::Earlier { ms: 1, event: Box::new(changed.clone()) };
        for event in [changed, of_helper.into(), earlier.into()] {
            let screens = serde_json::to_string(&for_screens(event.clone())).unwrap();
            for text in [record(&event).to_string(), screens] {
                assert!(text.contains("\"id\":\"m\""), "{text}");
                assert!(!text.contains("secret") && !text.contains("pass"), "{text}");
            }
        }
    }
}
