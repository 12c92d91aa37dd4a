//! The notice of the first start about other agents that were used here.

use crate::compose::Setup;
use crate::compose::session_lookup::places;
use crate::import::{self, SetUp};
use tau_agent::session::all;
use tau_tools::counted::pluralize;
use tokio::sync::mpsc;

/// Before tau has settings or sessions of its own, sends a sentence about the sessions and set-ups of other agents,
/// once they are counted. Must be called in a runtime.
pub(super) fn look_around(setup: &Setup, news: mpsc::Sender<String>) {
    let root = setup.settings.session_root(&setup.paths);
    if root.exists() || setup.paths.config_file().exists() {
        return;
    }
    let (cwd, paths) = (setup.cwd.clone(), setup.paths.clone());
    tokio::task::spawn_blocking(move || {
        // The index is written, so the first /resume does not read them again.
        let sessions = all::rows(&root, &places(&root), Some(&cwd), &paths.session_index()).len();
        news.blocking_send(text(sessions, &import::here(&paths, &cwd))?).ok()
    });
}

fn text(sessions: usize, set_ups: &[SetUp]) -> Option<String> {
    let listed = (sessions > 0)
        .then(|| format!("/resume lists {} of other agents", pluralize(sessions as u64, "session")));
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
