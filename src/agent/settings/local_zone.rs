//! The time zone of this machine, without a look at all others.

use std::path::Path;

use jiff::Zoned;
use jiff::tz::TimeZone;
use tau_tools::regular_files::read_capped;

/// The file with the zone of the machine.
const FILE: &str = "/etc/localtime";
/// The maximum size of that file, in bytes; the largest zones take 4 kB.
const MAX_FILE: u64 = 256 * 1024;

/// The time zone of the user. To find its name, the library reads the folders of all zones, which takes longer
/// than the start of the program; its rules are in one file.
pub fn local_zone() -> TimeZone {
    match std::env::var_os("TZ") {
        Some(_) => TimeZone::system(),
        None => zone_of(Path::new(FILE)).unwrap_or_else(TimeZone::system),
    }
}

/// The date and time of the user.
pub fn local_now() -> Zoned {
    jiff::Timestamp::now().to_zoned(local_zone())
}

fn zone_of(file: &Path) -> Option<TimeZone> {
    // The file is usually a link.
    let rules = read_capped(&file.canonicalize().ok()?, MAX_FILE).ok()?;
    TimeZone::tzif("local", &rules).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_gives_the_same_times_as_the_library() {
        let (Some(ours), theirs) = (zone_of(Path::new(FILE)), TimeZone::system()) else { return };
        if std::env::var_os("TZ").is_some() {
            return;
        }
        for second in (0..60_i64).map(|month| month * 2_629_800) {
            let time = jiff::Timestamp::from_second(second + 1_700_000_000).unwrap();
            assert_eq!(ours.to_offset(time), theirs.to_offset(time), "{time}");
        }
    }

    #[test]
    fn a_file_that_is_no_zone_is_not_used() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "Europe/Berlin").unwrap();
        assert!(zone_of(file.path()).is_none() && zone_of(Path::new("/nope")).is_none());
    }
}
