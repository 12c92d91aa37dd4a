//! The differences between front ends when an agent is composed. Each front end has a constant.

use super::environment::{Connections, OnBadConfig};
use tau_agent::engine::behavior::OnAsk;
use tau_protocol::run::{OnRepeat, RetryMode, SteerMode};

/// A front end's requirements for settings and its agent.
#[derive(Clone, Copy, Debug)]
pub struct FrontEndProfile {
    /// The treatment of an unreadable settings file.
    pub on_bad_config: OnBadConfig,
    /// The limit of a wait before a retry, which depends on whether a user can end it.
    pub retry: RetryMode,
    /// The effect of a steering message on the tool calls of its turn.
    pub steer: SteerMode,
    /// The treatment of a model that repeats itself, which depends on whether a user can be asked.
    pub on_repeat: OnRepeat,
    /// The treatment of a call that needs approval while no permission mode is set.
    pub on_ask: OnAsk,
    /// Whether the model's questions reach a user who can answer.
    pub asks_user: bool,
    /// Whether the permission mode and the rules are changed by a client rather than by a user at the
    /// keyboard. A client can allow no more than at the start.
    pub is_client: bool,
    /// Whether a run without a user prints the answers; lists leave its sessions out.
    pub prints: bool,
    /// The place of connections to providers.
    pub connections: Connections,
}

impl FrontEndProfile {
    /// The profile of a front end that a program drives, which passes questions on to its user.
    pub const OF_CLIENT: Self = FrontEndProfile {
        on_bad_config: OnBadConfig::Refuse,
        retry: RetryMode::Interactive,
        steer: SteerMode::AfterTurnCalls,
        on_repeat: OnRepeat::Stop,
        on_ask: OnAsk::Ask,
        asks_user: true,
        is_client: true,
        prints: false,
        connections: Connections::WithAgent,
    };
}
