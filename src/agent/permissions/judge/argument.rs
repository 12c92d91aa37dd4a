//! Judges the texts of a call whose tool cannot say what it touches, such as one of an MCP server.

use std::path::Path;
use std::rc::Rc;

use super::{Finding, Judge};
use crate::permissions::CallFacts;
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::protected::Use;
use crate::permissions::words_as_paths::{NamedPath, Naming};
use tau_tools::paths;

/// Texts with more bytes name no file.
const MAX_NAME: usize = 4096;

impl Judge<'_> {
    /// Judges a text as the name of a file, as if it were a word of a command: what a rule says of the file holds, and a
    /// protected one is asked about. A plain word is more likely something else, so it is never denied.
    pub(super) fn argument(&self, text: &str, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        let text = text.trim();
        let name = text.strip_prefix("file://").unwrap_or(text);
        if name.is_empty() || name.len() > MAX_NAME || name.contains(['\n', '\0']) || name.contains("://") {
            return;
        }
        let path = paths::resolve(call.cwd, name);
        // A sentence ends with the name of a file, but names no folder.
        if name.contains(char::is_whitespace) && !path.parent().is_some_and(Path::is_dir) {
            return;
        }
        let before = findings.len();
        let path = JudgedPath::of(path);
        let named = NamedPath::Known(Rc::new(path.clone()));
        let how = if name.contains(['/', '.']) { Naming::Word } else { Naming::Through };
        let uses: &[Use] = if call.read_only { &[Use::Read] } else { &[Use::Read, Use::Write] };
        for is_used in uses {
            self.check_path_rules(&named, *is_used, Some(call.tool), how, findings);
            self.check_protected_path(&path, *is_used, findings);
        }
        for finding in findings.iter_mut().skip(before) {
            name.clone_into(&mut finding.part);
        }
    }
}
