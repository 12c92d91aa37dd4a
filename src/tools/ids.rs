//! Unique ids, ordered by time, whatever the machine's clock says.
//!
//! Independent of what the ids name.

use std::time::{SystemTime, UNIX_EPOCH};

use uuid::{NoContext, Timestamp, Uuid};

/// A new id: a UUID of version 7.
pub fn id() -> Uuid {
    at(SystemTime::now())
}

/// Version 7 ids count from 1970. A clock set earlier, as on a machine without a battery, yields ids of
/// 1970, which differ only in their random bits.
fn at(now: SystemTime) -> Uuid {
    match now.duration_since(UNIX_EPOCH) {
        Ok(_) => Uuid::now_v7(),
        Err(_) => Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_before_1970_gives_ids_too() {
        let early = UNIX_EPOCH - Duration::from_secs(14 * 365 * 86_400);
        let (one, two) = (at(early), at(early));
        assert_ne!(one, two);
        assert!(one.get_version_num() == 7 && one.to_string().starts_with("00000000-0000"), "{one}");
        let (one, two) = (id(), id());
        assert!(one < two && one > at(early), "ordered by time");
    }
}
