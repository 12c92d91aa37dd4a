//! Reading that has an effect: devices, terminals and FIFOs.

use std::path::Path;

use super::Judge;
use crate::permissions::folders;
use crate::permissions::links;
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::path_text::PathText;
use crate::permissions::shell::{Direction, Part};
use crate::permissions::subcommands::has;
use crate::permissions::words_as_paths::{NamedPath, Naming, PathMention, Scene};

/// Devices that anyone may read, and the command's own input, output and terminal.
const FREE: &str = "null zero full random urandom tty stdin stdout stderr";
/// Programs that read only the facts of a device that they are given.
const FACTS_ONLY: &str = "lsblk dir vdir eza";
/// The kernel's records, which reading removes.
const RECORDS: [&str; 3] = ["/proc/kmsg", "/sys/kernel/debug", "/sys/kernel/tracing"];

impl Judge<'_> {
    /// The reason a part that only reads may take what is meant for others, or start something, by opening a file.
    pub(super) fn objection_to_devices(
        &self,
        part: &Part,
        mentions: &[PathMention],
        scene: &Scene<'_>,
    ) -> Option<String> {
        let is_open = !folders::reads_names_only(part) && !has(FACTS_ONLY, &folders::program(part));
        let acts = |path: &NamedPath| match path {
            NamedPath::Known(path) => has_effect(path),
            NamedPath::Partly(text) => may_have_effect(text),
        };
        let mut words = mentions.iter().filter(|it| is_open && it.how == Naming::Word).map(|it| &it.path);
        let input = part.redirects.iter().filter(|it| it.direction == Direction::Read);
        let mut input = input.flat_map(|it| scene.target(&it.target, part).0);
        let path = words.find(|path| acts(path)).cloned().or_else(|| input.find(acts))?;
        let shown = self.display_path(&Self::path_of(&path));
        Some(format!("reading {shown}, a device or a FIFO, may take what is meant for another program"))
    }
}

/// Whether opening a file to read it does more than that.
fn has_effect(path: &JudgedPath) -> bool {
    if is_free(&path.plain) {
        return false;
    }
    let is_special = |path: &Path| {
        let kind = links::target_kind(path);
        kind.is_some_and(|kind| kind.is_fifo() || kind.is_char_device() || kind.is_block_device())
    };
    let is_device = |path: &Path| path.starts_with("/dev") && !path.starts_with("/dev/shm") && !path.is_dir();
    let is_record = |path: &Path| RECORDS.iter().any(|record| path.starts_with(record)) && !path.is_dir();
    path.forms().any(|path| !is_free(path) && (is_device(path) || is_record(path)))
        || !is_free(&path.real) && is_special(&path.real)
}

/// Whether a file is harmless to read, or the command's own.
fn is_free(path: &Path) -> bool {
    let Some(path) = path.to_str() else { return false };
    let of_device = path.strip_prefix("/dev/").is_some_and(|name| has(FREE, name));
    of_device || ["/dev/fd/", "/proc/self/fd/"].iter().any(|start| path.starts_with(start))
}

/// Like [`has_effect`], for a path that is not fully known. One that may be anything is left to the confinement.
fn may_have_effect(text: &PathText) -> bool {
    let is_free = ["/dev/fd/", "/dev/shm/"].iter().any(|start| text.starts_with(start));
    let is_device = || match text.is_open() {
        true => text.starts_with("/dev/"),
        false => text.meets(&PathText::literal("/dev").below()),
    };
    !is_free && is_device()
}
