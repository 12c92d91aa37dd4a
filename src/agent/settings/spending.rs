//! Records what requests have cost, beside the logs: for the limit of 24 hours, over all processes.
//!
//! A line for each request: the time, in seconds since 1970, and US dollars. Lines are appended in one write, so that
//! processes do not disturb each other; a file that has grown is written again without old lines. The clock may be
//! wrong at any time, so no line is dated again: one of the future counts from the time of the line after it.

use std::fmt;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use super::Paths;
use super::private_files::{LockFile, open_for_lines, open_regular, private_dir, read_capped, write_private};

/// The cost of all sessions, also those of other processes.
pub trait SpendingLog: Send + Sync {
    /// Adds the cost of a request, in US dollars. If it cannot be recorded, [`SpendingLog::last_day`] fails.
    fn add(&self, dollars: f64);

    /// The cost of all requests in the last 24 hours, in US dollars. Fails when it is not known, or when the cost of a
    /// request could not be recorded.
    fn last_day(&self) -> std::io::Result<f64>;
}

/// The most that may be spent, in US dollars. Enforced only for models whose price is known.
#[derive(Clone, Default)]
pub struct SpendingLimits {
    /// In one session, with its helpers.
    pub session: Option<f64>,
    /// In 24 hours, in all sessions that `log` knows.
    pub day: Option<f64>,
    /// Where costs are recorded, whether or not they are limited.
    pub log: Option<Arc<dyn SpendingLog>>,
    /// The budget that the agent has together with others.
    pub shared: Option<Arc<SharedBudget>>,
}

/// A budget of several agents in this process, in US dollars.
#[derive(Debug)]
pub struct SharedBudget {
    most: f64,
    spent: Mutex<f64>,
    /// The setting or flag that it comes from, with the number.
    origin: String,
}

impl SharedBudget {
    /// A budget of `most` dollars; `origin` is a part of a sentence.
    pub fn new(most: f64, origin: &str) -> Self {
        SharedBudget { most, spent: Mutex::default(), origin: origin.to_owned() }
    }

    /// Adds the cost of a request.
    pub fn add(&self, dollars: f64) {
        *self.spent.lock() += dollars;
    }

    /// Tells that the budget is used up, if it is.
    pub fn reached_limit(&self) -> Option<String> {
        let (spent, SharedBudget { most, origin, .. }) = (*self.spent.lock(), self);
        (spent >= *most).then(|| format!("all attempts together have cost ${spent:.4}; {origin}"))
    }
}

impl SpendingLimits {
    pub(crate) fn is_limited(&self) -> bool {
        self.session.is_some() || self.day.is_some() || self.shared.is_some()
    }
}

impl fmt::Debug for SpendingLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SpendingLimits { session, day, log, shared } = self;
        f.debug_struct("SpendingLimits")
            .field("session", session)
            .field("day", day)
            .field("log", &log.is_some())
            .field("shared", shared)
            .finish()
    }
}

/// The file in the state folder.
const FILE: &str = "spending.log";
/// Seconds that count.
const DAY: u64 = 24 * 60 * 60;
/// Seconds by which the clock may have been ahead when a cost was recorded.
const CLOCKS_DIFFER: u64 = 60;
/// Each time that the file has grown by so many bytes, old lines are removed, but for the last ones of this size: the
/// clock may be ahead.
const MAX_BYTES: u64 = 256 << 10;
/// The size limit of a file whose old lines are removed, in bytes.
const MAX_READ: u64 = 64 << 20;

/// The file with all costs.
pub struct SpendingFile {
    path: PathBuf,
    known: Mutex<ReadState>,
}

/// The part of the file that has been read.
#[derive(Default)]
struct ReadState {
    /// The file, by its inode: it may be replaced.
    inode: u64,
    read: u64,
    /// Its lines: times and costs.
    lines: Vec<(u64, f64)>,
    /// The cost that could not be recorded yet, in US dollars.
    unrecorded: f64,
}

impl SpendingFile {
    /// The file in the state folder.
    pub fn new(paths: &Paths) -> Self {
        SpendingFile { path: paths.state.join(FILE), known: Mutex::default() }
    }

    /// Records what is not recorded yet.
    fn record(&self, known: &mut ReadState) -> std::io::Result<()> {
        if known.unrecorded > 0.0 {
            self.append(now(), known.unrecorded)?;
            known.unrecorded = 0.0;
        }
        Ok(())
    }

    fn append(&self, now: u64, dollars: f64) -> std::io::Result<()> {
        use std::os::unix::fs::MetadataExt;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.is_dir()) {
            private_dir(folder)?;
        }
        let mut file = open_for_lines(&self.path)?;
        let line = format!("{now} {dollars:.6}\n");
        file.write_all(line.as_bytes())?;
        // Not at each line: on a busy day most lines stay.
        let size = file.metadata()?.size();
        if size > MAX_BYTES && size % MAX_BYTES < line.len() as u64 {
            self.shorten(now)?;
        }
        Ok(())
    }

    /// Removes old lines. What another process appends meanwhile is lost if it still has the old file: at most one
    /// request's cost.
    fn shorten(&self, now: u64) -> std::io::Result<()> {
        let Some(_lock) = LockFile::try_take(&self.path.with_extension("log.lock"))? else { return Ok(()) };
        let text = String::from_utf8_lossy(&read_capped(&self.path, MAX_READ)?).into_owned();
        let mut rest = text.len() as u64;
        let is_kept = |line: &&str| {
            rest = rest.saturating_sub(line.len() as u64);
            rest < MAX_BYTES || cost_in(line.trim_end()).is_some_and(|(time, _)| is_recent(time, now))
        };
        let kept: String = text.split_inclusive('\n').filter(is_kept).collect();
        write_private(&self.path, kept.as_bytes())
    }

    fn read(&self, known: &mut ReadState) -> std::io::Result<()> {
        use std::os::unix::fs::MetadataExt;
        let mut file = open_regular(&self.path)?;
        let facts = file.metadata()?;
        if facts.ino() != known.inode || facts.size() < known.read {
            *known = ReadState { inode: facts.ino(), unrecorded: known.unrecorded, ..ReadState::default() };
        }
        file.seek(SeekFrom::Start(known.read))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // A line that is being written is read the next time.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default());
        known.lines.extend(text.lines().filter_map(cost_in));
        known.read += end as u64;
        Ok(())
    }
}

/// The cost of the lines of a file in the 24 hours before `now`; and whether the last ones are of the future.
///
/// A line of the future was written before the next line that is not, and after all before it.
fn sum_of_day(lines: &[(u64, f64)], now: u64) -> (f64, bool) {
    let (mut sum, mut of_future, mut latest) = (0.0, 0.0, 0);
    let mut is_future_last = false;
    for (time, dollars) in lines {
        is_future_last = *time > now.saturating_add(CLOCKS_DIFFER);
        if is_future_last {
            of_future += dollars;
            continue;
        }
        latest = latest.max(*time);
        let of_future = std::mem::take(&mut of_future);
        sum += if is_recent(latest, now) { of_future } else { 0.0 };
        sum += if is_recent(*time, now) { *dollars } else { 0.0 };
    }
    (sum + of_future, is_future_last)
}

/// The time and the cost in a line; no cost if the line only tells the time.
fn cost_in(line: &str) -> Option<(u64, f64)> {
    let (time, dollars) = line.split_once(' ')?;
    let dollars: f64 = dollars.parse().ok()?;
    Some((time.parse().ok()?, dollars)).filter(|_| dollars.is_finite() && dollars >= 0.0)
}

/// Whether a cost of this time still counts.
fn is_recent(time: u64, now: u64) -> bool {
    time.saturating_add(DAY) > now
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl SpendingLog for SpendingFile {
    fn add(&self, dollars: f64) {
        let mut known = self.known.lock();
        known.unrecorded += dollars;
        if let Err(error) = self.record(&mut known) {
            tracing::warn!(%error, "what a request has cost could not be recorded");
        }
    }

    fn last_day(&self) -> std::io::Result<f64> {
        let mut known = self.known.lock();
        let read = self.record(&mut known).and_then(|()| match self.read(&mut known) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            read => read,
        });
        read.map_err(|error| {
            let why = tau_tools::paths::reason(&error);
            std::io::Error::new(error.kind(), format!("{}: {why}", self.path.display()))
        })?;
        let now = now();
        let (sum, is_future_last) = sum_of_day(&known.lines, now);
        // Else they would count until that day, if their cost lets no request follow them.
        if is_future_last && let Err(error) = self.append(now, 0.0) {
            tracing::warn!(%error, "the time could not be recorded after costs that are dated in the future");
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_the_last_day_are_added_up_over_processes() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        std::fs::create_dir_all(&paths.state).unwrap();
        let (one, other) = (SpendingFile::new(&paths), SpendingFile::new(&paths));
        assert_eq!(one.last_day().unwrap(), 0.0);
        one.add(0.25);
        other.add(0.5);
        one.append(now() - DAY - 1, 7.0).unwrap();
        one.append(now() - DAY + 60, 1.0).unwrap();
        let file = paths.state.join(FILE);
        let text = std::fs::read_to_string(&file).unwrap() + "nonsense\n5 NaN\n99999999999 -3\n17 ";
        std::fs::write(&file, text).unwrap();
        for log in [&one, &other] {
            let sum = log.last_day().unwrap();
            assert!((sum - 1.75).abs() < 1e-9, "{sum}");
        }
    }

    #[test]
    fn a_file_that_has_grown_loses_old_lines_but_not_the_last_ones() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let log = SpendingFile::new(&paths);
        log.append(now() - 2 * DAY, 7.0).unwrap();
        log.append(now() - DAY + 60, 0.5).unwrap();
        let file = paths.state.join(FILE);
        let many = format!("{} 0.000100\n", now()).repeat(20_000);
        std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + &many).unwrap();
        log.shorten(now()).unwrap();
        let sum = log.last_day().unwrap();
        assert!((sum - 2.5).abs() < 1e-6, "{sum}");
        assert!(!std::fs::read_to_string(&file).unwrap().contains("7.000000"));
        // A clock that is ahead removes nothing that one of the next requests may need.
        log.shorten(now() + 400 * DAY).unwrap();
        let kept = std::fs::read_to_string(&file).unwrap().len() as u64;
        assert!((MAX_BYTES - 100..=MAX_BYTES + 100).contains(&kept), "{kept}");
    }

    #[test]
    fn a_cost_of_the_future_counts_for_a_day() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let log = SpendingFile::new(&paths);
        log.append(now() + 400 * DAY, 3.0).unwrap();
        log.append(u64::MAX, 1.0).unwrap();
        // Whoever reads it first tells the time, as no request may follow.
        assert_eq!(log.last_day().unwrap(), 4.0);
        log.append(now(), 0.5).unwrap();
        assert_eq!(log.last_day().unwrap(), 4.5);
        assert_eq!(sum_of_day(&log.known.lock().lines, now() + DAY + 60), (0.0, false));
    }

    #[test]
    fn a_clock_that_runs_behind_counts_costs_and_hides_none() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let log = SpendingFile::new(&paths);
        (0..3).for_each(|_| log.add(0.25));
        assert_eq!(log.last_day().unwrap(), 0.75);
        // That of another process, which records both the time and a cost.
        let behind = now() - 3 * DAY;
        assert_eq!(sum_of_day(&log.known.lock().lines, behind), (0.75, true));
        log.append(behind, 0.0).unwrap();
        log.append(behind, 0.125).unwrap();
        for log in [&log, &SpendingFile::new(&paths)] {
            assert_eq!(log.last_day().unwrap(), 0.75);
            assert_eq!(sum_of_day(&log.known.lock().lines, behind), (0.875, false));
        }
    }

    #[test]
    fn a_line_that_was_cut_off_does_not_hide_the_next_cost() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let log = SpendingFile::new(&paths);
        log.add(0.25);
        let file = paths.state.join(FILE);
        let torn = std::fs::read_to_string(&file).unwrap() + "1234567";
        std::fs::write(&file, torn).unwrap();
        log.add(0.5);
        assert_eq!(log.last_day().unwrap(), 0.75);
    }

    #[test]
    fn a_cost_that_cannot_be_recorded_is_not_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let log = SpendingFile::new(&paths);
        let file = paths.state.join(FILE);
        std::fs::create_dir_all(&file).unwrap();
        assert!(log.last_day().is_err());
        log.add(0.25);
        log.add(0.5);
        assert!(log.last_day().is_err());
        std::fs::remove_dir(&file).unwrap();
        assert_eq!(log.last_day().unwrap(), 0.75);
        assert_eq!(SpendingFile::new(&paths).last_day().unwrap(), 0.75);
    }
}
