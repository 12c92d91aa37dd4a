//! The notice of the first start about other agents that were used here.

use crate::compose::Setup;
use crate::compose::session_lookup::places;
use crate::import::{self, SetUp};
use tau_tools::counted::counted;

/// A sentence about the sessions and set-ups of other agents, before tau has settings or sessions of its own.
pub(super) fn welcome(setup: &Setup) -> Option<String> {
    let root = setup.settings.session_root(&setup.paths);
    if root.exists() || setup.paths.config_file().exists() {
        return None;
    }
    let sessions = places(&root).count(&setup.cwd);
    text(sessions, &import::here(&setup.cwd))
}

fn text(sessions: usize, set_ups: &[SetUp]) -> Option<String> {
    let listed = (sessions > 0)
        .then(|| format!("/resume lists {} of other agents", counted(sessions as u64, "session")));
    let agents: Vec<&str> = set_ups.iter().map(|set_up| set_up.agent).collect();
    let found = match agents.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        [most @ .., last] => Some(format!("{} and {last}", most.join(", "))),
    };
    let found =
        found.map(|agents| format!("`tau import` shows what of {agents} tau uses, and takes over the rest"));
    let parts: Vec<String> = listed.into_iter().chain(found).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_set_ups_are_named() {
        let set_up = |agent| SetUp { agent, findings: Vec::new() };
        assert_eq!(text(0, &[]), None);
        assert_eq!(text(1, &[]).unwrap(), "/resume lists 1 session of other agents");
        assert_eq!(
            text(5, &[set_up("Claude Code"), set_up("Codex"), set_up("opencode")]).unwrap(),
            "/resume lists 5 sessions of other agents; `tau import` shows what of Claude Code, Codex and opencode \
             tau uses, and takes over the rest"
        );
    }
}
