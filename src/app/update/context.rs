//! The usage of the context window, as text for the user.

use crate::effect::Effect;
use crate::model::Model;
use crate::request::NO_TICKET;
use tau_protocol::command::TaskCommand;
use tau_protocol::event::NoticeLevel;
use tau_protocol::query::{ContextPart, ContextUsage, Query};
use tau_tools::counted::{pluralize, thousands};

/// Asks the agent for the usage of the context window.
pub(super) fn ask(effects: &mut Vec<Effect>) {
    effects.push(TaskCommand::Query { ticket: NO_TICKET, query: Query::ContextUsage }.into());
}

/// Shows the usage of the context window.
pub(super) fn show(model: &mut Model, usage: &ContextUsage) {
    let mut text = text(usage);
    let running = model.status.mirror.running_jobs();
    if running > 0 {
        text.push_str(&format!(
            "\n{} running; /jobs lists them",
            pluralize(running as u64, "background job")
        ));
    }
    model.transcript.notice(NoticeLevel::Info, &text, None);
}

/// The parts, largest first, each with its share of the window.
fn text(usage: &ContextUsage) -> String {
    let share = |tokens: u64| match usage.window {
        0 => String::new(),
        window => format!("{:>4}%", tokens.saturating_mul(100) / window),
    };
    let mut text = format!("context: about {}", thousands(usage.total));
    if usage.window > 0 {
        text.push_str(&format!(" of {}", thousands(usage.window)));
    }
    text.push_str(" tokens");
    if usage.limit > 0 {
        text.push_str(&format!("; auto-compacts at {}", thousands(usage.limit)));
    }
    for ContextPart { name, count, tokens } in &usage.parts {
        let count = if *count > 0 { format!(" ({count})") } else { String::new() };
        text.push_str(&format!("\n{:>9}{}  {name}{count}", thousands(*tokens), share(*tokens)));
    }
    if !usage.instructions.is_empty() {
        text.push_str(&format!("\ninstructions: {}", usage.instructions.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_part_comes_first() {
        let part = |name: &str, count, tokens| ContextPart { name: name.into(), count, tokens };
        let parts = vec![part("results of bash", 12, 41_000), part("system prompt", 0, 900)];
        let shown = text(&ContextUsage {
            parts,
            total: 41_900,
            window: 100_000,
            limit: 80_000,
            ..ContextUsage::default()
        });
        let expected = "context: about 41,900 of 100,000 tokens; auto-compacts at 80,000\n   \
                        41,000  41%  results of bash (12)\n      900   0%  system prompt";
        assert_eq!(shown, expected);
        assert_eq!(text(&ContextUsage::default()), "context: about 0 tokens");
    }
}
