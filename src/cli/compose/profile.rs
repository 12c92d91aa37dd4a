//! What differs between front ends when an agent is composed. Each front end has a constant.

use super::environment::{Connections, OnBadConfig};
use tau_agent::engine::behavior::OnAsk;
use tau_protocol::run::RetryMode;
use tau_protocol::run::{OnRepeat, SteerMode};

/// What a front end wants of settings and of its agent.
#[derive(Clone, Copy, Debug)]
pub struct FrontEndProfile {
    /// What happens when a settings file cannot be read.
    pub on_bad_config: OnBadConfig,
    /// How long a wait before a retry may be: whether somebody can end it.
    pub retry: RetryMode,
    /// What a steering message does to the tool calls of its turn.
    pub steer: SteerMode,
    /// What happens when the model repeats itself: whether somebody can be asked.
    pub on_repeat: OnRepeat,
    /// What happens to a call that needs approval while no permission mode is set.
    pub on_ask: OnAsk,
    /// Whether the model's questions reach somebody who can answer.
    pub asks_user: bool,
    /// Whether a client chooses the permission mode and changes rules, which allow no more than at the start, and not a
    /// person at the keyboard.
    pub is_client: bool,
    /// Where connections to providers live.
    pub connections: Connections,
}
