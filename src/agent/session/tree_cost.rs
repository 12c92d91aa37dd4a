//! The cost of the sessions around one: of whoever asked for a helper, and of helpers that were opened again on their
//! own. A limit of a session is a limit of all of them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::entry::{Body, Entry};
use super::usage::{HELPER, UsageSum};
use super::{Session, header, read};
use tau_protocol::message::Message;
use tau_tools::Details;
use tau_tools::regular_files::open_regular;

/// More sessions than can be above each other: helpers have helpers, and these have none.
const DEPTH: usize = 4;

impl Session {
    /// The dollars that the sessions around this one have cost, as far as it does not count them itself.
    pub(crate) fn cost_elsewhere(&self) -> f64 {
        let Some(own) = self.info.file.as_deref() else { return 0.0 };
        let mut top = own.to_owned();
        for _ in 0..DEPTH {
            match asker(&top) {
                Some(above) if above.is_file() => top = above,
                _ => break,
            }
        }
        cost(&top, own, DEPTH).unwrap_or_default()
    }
}

/// The file of the session that asked for this helper.
fn asker(file: &Path) -> Option<PathBuf> {
    let (header, _): (header::Header, _) =
        read::header_line(&mut BufReader::new(open_regular(file).ok()?)).ok()??;
    header.helper.is_some().then_some(header.parent_session)?
}

/// The cost of a session with its helpers, without what `own` counts; `None` if it cannot be read.
fn cost(file: &Path, own: &Path, depth: usize) -> Option<f64> {
    let depth = depth.checked_sub(1)?;
    let (spent, helpers) = read_costs(file)?;
    // The report on a helper tells its cost when it ended; its file, what it has cost since, too.
    let since = helpers.iter().map(|(helper, reported)| match cost(helper, own, depth) {
        Some(cost) if helper == own => cost - reported,
        Some(cost) => (cost - reported).max(0.0),
        None => 0.0,
    });
    let since: f64 = since.sum();
    Some(if file == own { since } else { spent + since })
}

/// The cost that a file tells of, and what it says of helpers: their files, and their costs.
fn read_costs(file: &Path) -> Option<(f64, Vec<(PathBuf, f64)>)> {
    let mut lines = BufReader::new(open_regular(file).ok()?);
    let (mut sum, mut helpers, mut line) = (UsageSum::default(), Vec::new(), Vec::new());
    while lines.read_until(b'\n', &mut line).ok()? > 0 {
        sum.add_line(&line);
        if memchr::memmem::find(&line, HELPER).is_some()
            && let Some(entry) = std::str::from_utf8(&line).ok().and_then(Entry::parse)
            && let Body::Message { message } = &entry.body
            && let Message::ToolResult(result) = message.as_ref()
            && let Details::Helper(report) = &result.details
            && let Some(file) = &report.file
        {
            helpers.push((PathBuf::from(file), report.cost));
        }
        line.clear();
    }
    Some((sum.total.cost.total, helpers))
}
