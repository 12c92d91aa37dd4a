//! Every command, its answer and every event of the specification has a golden.

use std::collections::BTreeSet;

use super::*;

const COMMANDS: [&str; 34] = *tau::tools::words!(
    "abort abort_bash abort_retry bash clear_queue clone compact cycle_model cycle_thinking_level \
     export_html follow_up fork get_available_models get_available_thinking_levels get_commands \
     get_entries get_fork_messages get_last_assistant_text get_messages get_session_stats get_state \
     get_tree new_session parse prompt set_auto_compaction set_auto_retry set_follow_up_mode set_model \
     set_session_name set_steering_mode set_thinking_level steer switch_session"
);

/// The events that tau causes; the others are for extensions, of which there are none.
const EVENTS: [&str; 23] = *tau::tools::words!(
    "agent_end agent_settled agent_start auto_retry_end auto_retry_start bash_end bash_execution_update \
     compaction compaction_end compaction_start error extension_ui_request message_end message_start \
     message_update queue_update session_info_changed thinking_level_changed tool_execution_end \
     tool_execution_start tool_execution_update turn_end turn_start"
);

const PIECES: [&str; 9] = *tau::tools::words!(
    "text_delta text_end text_start thinking_delta thinking_end thinking_start toolcall_delta \
     toolcall_end toolcall_start"
);

#[test]
fn everything_has_a_golden() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rpc");
    let (mut commands, mut events, mut pieces) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        for line in std::fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let kind = record["type"].as_str().unwrap().to_owned();
            if kind == "response" {
                commands.insert(record["command"].as_str().unwrap().to_owned());
            } else {
                events.insert(kind);
            }
            pieces.extend(record["assistantMessageEvent"]["type"].as_str().map(str::to_owned));
        }
    }
    for (what, wanted, found) in
        [("command", &COMMANDS[..], commands), ("event", &EVENTS, events), ("piece", &PIECES, pieces)]
    {
        let missing: Vec<&&str> = wanted.iter().filter(|name| !found.contains(**name)).collect();
        assert!(missing.is_empty(), "no golden has the {what} {missing:?}");
    }
}
