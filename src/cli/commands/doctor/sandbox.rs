//! The sandbox that this machine can enforce, and its settings.

use std::path::Path;

use super::report::{Advice, Fact, Section};
use crate::compose::sandbox::{policy, readonly_workspace_reason};
use tau_agent::settings::{Paths, Settings};
use tau_tools::sandbox::confinement::{Guard, covers_files};
use tau_tools::sandbox::support::Support;

pub(super) fn sandbox(settings: &Settings, paths: &Paths) -> Section {
    let mut section = Section::new("sandbox");
    let support = Support::here();
    let policy = policy(settings, paths, &std::env::current_dir().unwrap_or_else(|_| Path::new("/").into()));
    section.add(Fact::text("in force", support.enforcement(&policy)));
    let landlock = match support.landlock {
        0 => "not in this kernel".to_owned(),
        version => format!("version {version} of its interface"),
    };
    section.add(Fact::value("Landlock", landlock, support.landlock));
    let filters = if support.filters { "yes" } else { "not on this kind of machine" };
    section.add(Fact::value("seccomp", filters, support.filters));
    if support.landlock > 0 {
        let (text, value) = match Guard::here() {
            Guard::Entries => ("not allowed here: next to .git/hooks nothing can be created", "none"),
            Guard::Mounts | Guard::NotNeeded => ("yes", "mounts"),
        };
        section.add(Fact::value("namespaces", text, value));
        if value == "none" {
            let text = "without user namespaces, sandboxed commands cannot create files directly in the \
                        top directory of a repository; see docs/sandbox.md";
            section.advise(Advice::Hint(text.to_owned()));
        }
    }
    let denied = match covers_files() {
        true => "kept from commands by the kernel",
        false => "recognised in commands, not enforced",
    };
    section.add(Fact::value("files that rules deny", denied, covers_files()));
    let unasked = match support.confines_unasked_commands() {
        true => "confined",
        false => "only the short list runs, unconfined",
    };
    section.add(Fact::value("without a question", unasked, support.confines_unasked_commands()));
    if !support.confines_unasked_commands() {
        let text = "this machine cannot confine commands that run without a question, so tau asks about all but a \
                    few; see docs/permissions.md#what-runs-without-a-question";
        section.advise(Advice::Hint(text.to_owned()));
    }
    for text in support.shortfall(&policy).into_iter().chain(readonly_workspace_reason(&policy)) {
        section.advise(Advice::Hint(format!("sandbox: {text}")));
    }
    section
}
