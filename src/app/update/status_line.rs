//! The user's command for the status line: run when its input has changed.

use crate::effect::Effect;
use crate::model::Model;
use crate::msg::Millis;
use crate::request::ScreenRequest;
use crate::status_facts::{
    ClaudeFacts, ContextFacts, CostFacts, LimitFacts, ModelFacts, RateLimit, RateLimits, SessionFacts,
    StatusFacts, UsageFacts, WindowFacts, WorkspaceFacts,
};
use crate::status_line::INTERVAL;
use tau_protocol::message::Usage;
use tau_protocol::plan_limits::PlanWindow;
use tau_tools::user_error::UserError;

/// Runs the command if due. Called after every message.
pub(super) fn follow(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    // The agent has not reported the open session yet.
    if model.status.mirror.session.id.is_empty() || model.status_line.command.is_none() {
        return;
    }
    let facts = facts(model);
    let Some(command) = model.status_line.command.as_mut().filter(|command| !command.running) else { return };
    let changed = command.asked.as_ref() != Some(&facts);
    command.due = changed && now < command.asked_at + INTERVAL;
    if changed && !command.due {
        command.running = true;
        command.asked_at = now;
        command.asked = Some(facts.clone());
        model.ask(ScreenRequest::StatusCommand { facts: Box::new(facts) }, effects);
    }
}

/// Stores the command's output.
pub(super) fn on_output(model: &mut Model, answer: &Result<String, UserError>) {
    if let Some(command) = &mut model.status_line.command {
        command.take(answer);
    }
}

fn limit(window: &PlanWindow, now: Millis) -> LimitFacts {
    LimitFacts {
        name: window.name.clone(),
        used_percent: window.usage_percent(now),
        resets_at: window.resets_at.map(|at| at / 1_000),
    }
}

/// The current facts, as Claude Code names them.
fn claude(model: &Model) -> ClaudeFacts {
    let status = &model.status;
    let session = &status.mirror.session;
    let cwd = session.cwd.to_string_lossy().into_owned();
    let percent = status.context_percent();
    let rate = |name: &str| {
        let window = status.mirror.plan_windows().iter().find(|window| window.name == name)?;
        let LimitFacts { used_percent: used_percentage, resets_at, .. } = limit(window, model.now);
        Some(RateLimit { used_percentage, resets_at })
    };
    let total = &status.total_with_helpers();
    ClaudeFacts {
        session_id: session.id.clone(),
        transcript_path: session.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
        version: env!("CARGO_PKG_VERSION"),
        workspace: WorkspaceFacts { current_dir: cwd.clone(), project_dir: cwd },
        context_window: WindowFacts {
            context_window_size: status
                .mirror
                .model
                .as_ref()
                .map(|ai| ai.context_window)
                .filter(|window| *window > 0),
            used_percentage: percent,
            remaining_percentage: percent.map(|percent| 100_u64.saturating_sub(percent)),
            total_input_tokens: total.input + total.cache_read + total.cache_write,
            total_output_tokens: total.output,
        },
        rate_limits: RateLimits { five_hour: rate("5h"), seven_day: rate("week") },
    }
}

/// The current facts.
fn facts(model: &Model) -> StatusFacts {
    let status = &model.status;
    let Usage { input, output, cache_read, cache_write, .. } = status.total_with_helpers();
    let session = &status.mirror.session;
    let claude = claude(model);
    StatusFacts {
        claude,
        session: SessionFacts {
            id: session.id.clone(),
            name: session.name.clone(),
            file: session.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
            cwd: session.cwd.to_string_lossy().into_owned(),
        },
        place: model.place.clone(),
        branch: status.branch.as_ref().map(|name| name.as_str().to_owned()),
        model: status.mirror.model.as_ref().map(|ai| ModelFacts {
            provider: ai.provider.clone(),
            id: ai.id.clone(),
            name: ai.name.clone(),
            display_name: if ai.name.is_empty() { ai.id.clone() } else { ai.name.clone() },
        }),
        thinking: status.mirror.thinking.name(),
        context: ContextFacts {
            tokens: status.mirror.context,
            window: status.mirror.model.as_ref().map(|ai| ai.context_window).filter(|window| *window > 0),
            percent: status.context_percent(),
        },
        usage: UsageFacts { input, output, cache_read, cache_write },
        cost: CostFacts {
            usd: status.total.cost.total,
            total_cost_usd: status.total.cost.total,
            complete: status.priced,
            estimated: status.total.estimated,
        },
        limits: status.mirror.plan_windows().iter().map(|window| limit(window, model.now)).collect(),
        running: status.run.is_some(),
        columns: model.size.width,
    }
}
