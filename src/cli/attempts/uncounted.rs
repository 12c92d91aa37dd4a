//! The cost of attempts of a screen that their session has not counted, because tau was killed while they were at
//! work: the next start of the session counts it.
//!
//! The record of the attempts says what they have cost; a file beside it, of the screen, how much of that the session
//! has. When the copies are removed before all of it was counted, that file stays with the rest.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::recover::recover;
use super::{Attempts, folder, read_record};
use tau_agent::session::Session;
use tau_agent::settings::Paths;
use tau_agent::settings::private_files::{read_capped, write_private};
use tau_protocol::message::{Cost, Usage};

/// The ending of the files.
const ENDING: &str = "counted";
/// Maximum size of a file, in bytes.
const MAX: u64 = 4 * 1024;
/// Less than that, in US dollars, is an error of rounding.
const LEAST: f64 = 1e-6;

/// The part that was counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct CountedCost {
    /// US dollars that the session has counted.
    dollars: f64,
    /// The session and the whole cost, once the record is gone.
    left: Option<(String, f64)>,
    /// Whether any of that cost is estimated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    estimated: bool,
}

fn file(paths: &Paths, id: &str) -> PathBuf {
    folder(paths).join(format!("{id}.{ENDING}"))
}

fn read(file: &Path) -> CountedCost {
    let bytes = read_capped(file, MAX).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn write(file: &Path, counted: &CountedCost) {
    let written = serde_json::to_vec(counted).map_err(std::io::Error::from);
    if let Err(error) = written.and_then(|bytes| write_private(file, &bytes)) {
        tracing::warn!(%error, "what attempts cost may be counted twice");
    }
}

/// Notes that the session counts all of these dollars of the attempts with this id.
pub(super) fn note(paths: &Paths, id: &str, dollars: f64) {
    if dollars > 0.0 && !id.is_empty() {
        write(&file(paths, id), &CountedCost { dollars, ..CountedCost::default() });
    }
}

/// Keeps what is not counted yet of attempts whose record is removed.
pub(super) fn keep(paths: &Paths, attempts: &Attempts) {
    let (file, spent) = (file(paths, &attempts.id), attempts.known_cost());
    let counted = read(&file);
    match &attempts.session {
        Some(session) if spent - counted.dollars > LEAST => {
            let (left, estimated) = (Some((session.clone(), spent)), attempts.has_estimate());
            write(&file, &CountedCost { left, estimated, ..counted });
        }
        _ => drop(std::fs::remove_file(&file)),
    }
}

/// Counts in a session that is opened again what its attempts have cost, but those that are at work.
pub(crate) fn count(paths: &Paths, session: &mut Session) {
    let (id, mut dollars, mut estimated) = (session.info().id.clone(), 0.0, false);
    let files = std::fs::read_dir(folder(paths)).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in files {
        match path.extension().and_then(|end| end.to_str()) {
            Some("json") => {
                let Some(mut attempts) = read_record(&path) else { continue };
                if attempts.session.as_ref() != Some(&id) || attempts.is_running(paths) {
                    continue;
                }
                recover(paths, &mut attempts);
                let (file, spent) = (file(paths, &attempts.id), attempts.known_cost());
                let new = spent - read(&file).dollars;
                if new > LEAST {
                    dollars += new;
                    estimated |= attempts.has_estimate();
                    note(paths, &attempts.id, spent);
                }
            }
            Some(ENDING) => {
                let counted = read(&path);
                if let Some((_, spent)) = counted.left.filter(|(session, _)| *session == id) {
                    dollars += (spent - counted.dollars).max(0.0);
                    estimated |= counted.estimated;
                    let _ = std::fs::remove_file(&path);
                }
            }
            _ => {}
        }
    }
    if dollars > LEAST {
        let cost = Cost { total: dollars, ..Cost::default() };
        let usage = Usage { cost, estimated, ..Usage::default() };
        if let Err(error) = session.append_usage(json!(usage)) {
            tracing::warn!(%error, "what attempts cost could not be counted in their session");
        }
    }
}
