//! Rules about files: the uses that each is about.

use super::protected::Use;
use super::rule::Rule;

/// Whether a rule about files applies to such a use; `tool` is the tool that is called.
pub(super) fn governs(rule: &Rule, is_used: Use, tool: Option<&str>) -> bool {
    let own = tool.is_some_and(|tool| rule.names_tool(tool));
    match is_used {
        Use::Read => own || rule.tool() == "read",
        Use::Write => own || rule.tool() == "edit" || rule.tool() == "write" && tool.is_none(),
    }
}
