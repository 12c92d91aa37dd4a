//! Writing directly to a disk, bypassing its file system.

use std::borrow::Cow;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use super::{CommandLoss, DESTROYING};
use crate::permissions::shell::{Direction, Part, Word, is_taken_apart};
use crate::permissions::subcommands::has;
use crate::permissions::words_as_paths::Scene;
use crate::permissions::{folders, operands, path_pattern, read_only};

/// Programs that may be given a disk without changing what is on it, or that are judged by their own words.
const SPARING: &str = "mount umount eject udevadm smartctl blkid losetup swapon swapoff udisksctl pv fuser lsof hdparm \
                       nvme cryptsetup btrfs zfs badblocks diskutil dd cp tee truncate ddrescue";
/// How the names of disks begin, in `/dev`.
const DISKS: [&str; 20] = *tau_tools::words!(
    "sd hd vd xvd nvme mmcblk md dm- loop nbd sr da ada disk rdisk mapper zram pmem mtd fd0"
);
/// Writing to this file can stop or restart the machine at once.
const SWITCH: &str = "/proc/sysrq-trigger";
/// The folder with devices.
const FOLDER: &str = "/dev/";

/// The device that is among the operands of a program that writes them.
pub(super) fn of_operands(name: &str, arguments: &[Word]) -> Option<CommandLoss> {
    let literals = arguments.iter().filter_map(Word::literal);
    let mut written: Vec<String> = match name {
        "dd" => literals.filter_map(|text| text.strip_prefix("of=").map(str::to_owned)).collect(),
        _ => literals.filter(|text| !text.starts_with('-')).map(Cow::into_owned).collect(),
    };
    if ["cp", "ddrescue"].contains(&name) && written.len() > 1 {
        written.drain(..written.len() - 1);
    }
    let device = written.into_iter().find(|path| is_device(path))?;
    let named = if name == "dd" { format!("of={device}") } else { device.clone() };
    Some((loss(&device), Some(vec![name.to_owned(), named])))
}

/// The loss if such a device is written.
fn loss(device: &str) -> String {
    match device {
        SWITCH => "it may stop this machine at once, and what is not saved is lost".to_owned(),
        _ => format!("it overwrites {device}, and everything on it is lost"),
    }
}

/// Whether a path is a device that stores data, or [`SWITCH`].
fn is_device(path: &str) -> bool {
    const HARMLESS: &str = "null zero full random urandom stdin stdout stderr tty ptmx console";
    let plain = path_pattern::normalise(Path::new(path));
    if plain == Path::new(SWITCH) {
        return true;
    }
    let Some(rest) = plain.strip_prefix("/dev").ok().and_then(|rest| rest.to_str()) else { return false };
    let first = rest.split('/').next().unwrap_or_default();
    !rest.is_empty()
        && !has(HARMLESS, rest)
        && !has("fd shm pts mqueue tcp udp", first)
        && !rest.starts_with("tty")
}

/// The device that a redirection writes.
pub(super) fn of_redirects(part: &Part) -> Option<CommandLoss> {
    let written = part.redirects.iter().filter(|redirect| redirect.direction == Direction::Write);
    let device = written.filter_map(|redirect| redirect.target.literal()).find(|path| is_device(path))?;
    Some((loss(&device), None))
}

/// The disk that a part names although it does more than read.
pub(super) fn of_words(part: &Part, command: &str, scene: &Scene<'_>) -> Option<CommandLoss> {
    let values = |word: &Word| scene.texts(word).iter().find_map(|text| disk_in(&text.text()?));
    let of_word = |(index, word): (usize, &Word)| {
        let disk = match word.literal() {
            Some(text) => disk_in(&text),
            None if command.contains(FOLDER) => values(word),
            None => None,
        };
        disk.filter(|_| !operands::is_text(part, index))
    };
    let of_words = part.words.iter().enumerate().skip(1).find_map(of_word);
    let disk = of_words.or_else(|| part.texts.iter().find_map(|text| disk_in(text)))?;
    let name = folders::program(part);
    let is_spared = has(SPARING, &name) || has(DESTROYING, &name) || name.starts_with("mkfs");
    // What a wrapper such as sudo runs is a part of its own.
    if is_spared || is_taken_apart(&part.words) || read_only::only_reads(part) {
        return None;
    }
    let text = format!("it may overwrite {disk}, and everything on it would be lost");
    Some((text, Some(vec![name.into_owned(), disk])))
}

/// A disk that a text names.
fn disk_in(text: &str) -> Option<String> {
    let is_name = |c: char| c.is_alphanumeric() || "/._-:".contains(c);
    // The device may be the value of an option: `-o/dev/sda`.
    let is_option = |before: &str| {
        before.strip_prefix('-').is_some_and(|letters| letters.chars().all(|c| c.is_ascii_alphabetic()))
    };
    let of_match = |(at, _): (usize, &str)| {
        let before = text.get(..at).unwrap_or_default();
        let is_start = !before.ends_with(is_name) || is_option(before) || before.ends_with(':');
        let rest = text.get(at + FOLDER.len()..).filter(|_| is_start)?;
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let path = format!("{FOLDER}{}", rest.get(..end)?);
        let is_block = || Path::new(&path).metadata().is_ok_and(|found| found.file_type().is_block_device());
        (is_device(&path) && (DISKS.iter().any(|disk| rest.starts_with(disk)) || is_block())).then_some(path)
    };
    text.match_indices(FOLDER).find_map(of_match)
}
