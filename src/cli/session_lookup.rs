//! Finds the session that an argument names, before anything is composed from it.

use std::path::{Path, PathBuf};

use super::args::CliArgs;
use super::environment::{Environment, OnBadConfig};
use super::exit::Refusal;
use crate::agent::session::list;

/// The directory of the session that the arguments name, if it exists. A session that cannot be
/// found is refused later.
pub fn directory(args: &CliArgs, on_bad_config: OnBadConfig) -> Option<PathBuf> {
    if args.session.is_none() && args.session_id.is_none() {
        return None;
    }
    let environment = Environment::read(args, on_bad_config).ok()?;
    let root = environment.settings.session_root(&environment.paths);
    let path = match (&args.session, &args.session_id) {
        (Some(wanted), _) => file_of(&root, wanted).ok()?,
        (None, Some(id)) if !args.no_session => list::of_id(&root, id)?,
        (None, _) => return None,
    };
    list::directory(&path).filter(|dir| dir.is_dir())
}

/// The file of the session that `wanted` names: a path, an id, or the beginning of one.
///
/// # Errors
/// When there is no such session, or more than one.
pub(crate) fn file_of(root: &Path, wanted: &str) -> Result<PathBuf, Refusal> {
    let path = Path::new(wanted);
    if wanted.contains('/') || wanted.ends_with(".jsonl") {
        return Ok(path.to_owned());
    }
    match list::with_id(root, wanted).as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Refusal::config(format!("no session \"{wanted}\"; see `tau --resume`"))),
        several => Err(Refusal::config(format!(
            "{} sessions begin with \"{wanted}\"; give more of the id",
            several.len()
        ))),
    }
}
