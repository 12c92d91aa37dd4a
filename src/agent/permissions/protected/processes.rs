//! The files through which the kernel shows the memory, the environment and the open files of a process.
//!
//! They may contain keys. A call may look at its own process, but not at others.

use std::path::Path;

use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::path_text::{self, PathText};

/// Their names in the folder of a process, or of one of its threads.
const SHOWN: [&str; 5] = *tau_tools::words!("auxv environ fd map_files mem");
/// The end that the kernel puts behind the name of an open file without a place.
const WITHOUT_PLACE: &str = " (deleted)";

/// Whether a path is such a file of another process, also by a link to it.
pub(super) fn shows_process(path: &JudgedPath) -> bool {
    let shows = |form: &Path| {
        let process = form.strip_prefix("/proc").ok().and_then(Path::to_str)?;
        let mut names = process.split('/');
        let number = names.next()?.parse::<u32>().ok()?;
        // `self` leads to tau while tau looks, to the program itself when that does.
        let is_own = form != path.plain && number == std::process::id();
        let name = match names.next() {
            Some("task") => names.nth(1),
            name => name,
        };
        (!is_own && SHOWN.contains(&name?)).then_some(())
    };
    let leads_to_nothing = || {
        let is_unnamed = path.real.as_os_str().as_encoded_bytes().ends_with(WITHOUT_PLACE.as_bytes());
        is_unnamed && path.real != path.plain && !path.plain.starts_with("/proc") && !path.real.exists()
    };
    path.forms().any(|form| shows(form).is_some()) || leads_to_nothing()
}

/// Whether a path that is not fully known may be one.
pub(super) fn may_show_process(path: &PathText) -> bool {
    let Some(rest) = path.strip_prefix("/proc/") else { return false };
    let text = |name: Option<&[_]>| name.and_then(path_text::text_of);
    let mut names = rest.names();
    let process = text(names.next());
    if process.is_some_and(|name| name.parse::<u32>().is_err()) {
        return false;
    }
    if rest.is_open() {
        return text(names.last()).is_some_and(|name| SHOWN.contains(&name.as_str()));
    }
    let forms = |name: &&str| ["", "task/*/"].map(|thread| format!("*/{thread}{name}"));
    let places = SHOWN.iter().flat_map(forms).flat_map(|glob| path_text::of_glob(&glob));
    places.into_iter().any(|place| rest.meets(&place) || rest.meets(&place.below()))
}
