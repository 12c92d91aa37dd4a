//! Restrictions for a command that runs without approval: it can change nothing.
//!
//! Beyond the restrictions of every sandboxed command, it cannot change modes, owners, times and attributes,
//! create sockets of any kind, or read keys. The other policy does not use Landlock's right to read; here a
//! rule allows reading everything except hidden paths. Landlock can only allow, so the rules name every
//! entry beside hidden ones in every directory that leads there. They are created once and used until one of
//! those directories changes.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use landlock::RulesetCreated;
use parking_lot::Mutex;
use seccompiler::BpfProgram;

use super::SandboxPolicy;
use super::file_rules;
use super::support::Support;
use super::system_calls::{self, Allowed};

/// The maximum number of cached rulesets: one for each folder of temporary files.
const MAX_KEPT: usize = 2;

/// A ruleset, and its inputs.
#[derive(Debug)]
struct Kept {
    hidden: Vec<PathBuf>,
    private: PathBuf,
    stamps: Vec<Stamp>,
    ruleset: RulesetCreated,
}

/// The state of a directory when its entries were read: its device, inode and change time.
type Stamp = (u64, u64, i64, i64);

/// The rules for a command that may change only the contents of `private`. Never blocks. Fails if the kernel
/// rejects a rule, or a directory cannot be read.
pub(super) fn ruleset(policy: &SandboxPolicy, private: &Path) -> io::Result<RulesetCreated> {
    static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

    let private = private.canonicalize()?;
    let mut hidden: Vec<PathBuf> = policy.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    hidden.sort();
    hidden.dedup();
    let stamps = stamps(&hidden)?;
    let mut kept = KEPT.lock();
    let is_same = |known: &Kept| known.private == private && known.hidden == hidden;
    if let Some(known) = kept.iter().find(|known| is_same(known) && known.stamps == stamps) {
        return known.ruleset.try_clone();
    }
    let ruleset = file_rules::unasked(&private, &hidden)?;
    let clone = ruleset.try_clone()?;
    kept.retain(|known| !is_same(known));
    if kept.len() == MAX_KEPT {
        kept.remove(0);
    }
    kept.push(Kept { hidden, private, stamps, ruleset });
    Ok(clone)
}

/// The current state of the directories above hidden paths.
fn stamps(hidden: &[PathBuf]) -> io::Result<Vec<Stamp>> {
    let mut folders: Vec<&Path> = hidden.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    folders.sort();
    folders.dedup();
    let stamp = |folder: &Path| {
        let about = folder.symlink_metadata()?;
        Ok((about.dev(), about.ino(), about.ctime(), about.ctime_nsec()))
    };
    folders.into_iter().map(stamp).collect()
}

/// The system call filters, built once. Fails if there is no filter for this kind of processor.
pub(super) fn filters() -> io::Result<Vec<BpfProgram>> {
    static FILTERS: OnceLock<Vec<BpfProgram>> = OnceLock::new();

    if let Some(filters) = FILTERS.get() {
        return Ok(filters.clone());
    }
    let signals = Support::here().scopes();
    let allowed = Allowed { network: false, pairs: false, shared_names: false, signals, metadata: false };
    let filters = system_calls::filters(allowed)?;
    Ok(FILTERS.get_or_init(|| filters).clone())
}
