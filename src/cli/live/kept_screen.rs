//! The draft and the scroll position of a screen that was left, kept until another screen shows the session.

use std::io::{self, Write as _};
use std::path::PathBuf;

use super::record;
use tau_agent::settings::Paths;
use tau_agent::settings::private_files::{private_dir, read_capped};
use tau_app::screen_place::ScreenPlace;

/// Maximum size of a screen's place, in bytes: drafts have pictures.
const MAX_SCREEN: u64 = 64 * 1024 * 1024;

fn screen_file(paths: &Paths, id: &str) -> PathBuf {
    record::folder(paths).join(format!("{id}.screen"))
}

/// Keeps the draft and the scroll position of a screen that is left, if there is anything to keep. Fails with errors of
/// the file system.
pub(crate) fn keep_screen(paths: &Paths, id: &str, place: &ScreenPlace) -> io::Result<()> {
    if *place == ScreenPlace::default() || !tau_agent::session::is_session_id(id) {
        return Ok(());
    }
    private_dir(&record::folder(paths))?;
    let mut new = tempfile::Builder::new().prefix(".tau-").tempfile_in(record::folder(paths))?;
    new.write_all(&serde_json::to_vec(place)?)?;
    new.persist(screen_file(paths, id)).map(drop).map_err(|failed| failed.error)
}

/// The draft and the scroll position of a screen that was left, until another screen has them.
#[derive(Debug)]
pub(crate) struct KeptScreen {
    pub place: ScreenPlace,
    file: PathBuf,
}

impl KeptScreen {
    /// The kept screen of a session, whose id may be one that a server has sent.
    pub(crate) fn of(paths: &Paths, id: &str) -> Option<Self> {
        let file = tau_agent::session::is_session_id(id).then(|| screen_file(paths, id))?;
        let place = serde_json::from_slice(&read_capped(&file, MAX_SCREEN).ok()?).ok()?;
        Some(KeptScreen { place, file })
    }

    /// Removes the file: a screen shows it now.
    pub(crate) fn remove(self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_app::screen_place::TopRow;

    #[test]
    fn what_was_typed_is_kept_until_a_screen_shows_it() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        let place = ScreenPlace { top: Some(TopRow::default()), ..ScreenPlace::default() };
        keep_screen(&paths, "a", &place).unwrap();
        std::fs::write(screen_file(&paths, "damaged"), "{").unwrap();
        std::fs::write(dir.path().join("other.screen"), serde_json::to_vec(&place).unwrap()).unwrap();
        let up = record::folder(&paths).strip_prefix(dir.path()).unwrap().components().count();
        // The second is an id of a server.
        for id in ["damaged".to_owned(), format!("{}other", "../".repeat(up))] {
            assert!(KeptScreen::of(&paths, &id).is_none(), "{id}");
            assert!(screen_file(&paths, &id).exists(), "{id}");
        }
        for _ in 0..2 {
            assert_eq!(KeptScreen::of(&paths, "a").unwrap().place, place);
        }
        KeptScreen::of(&paths, "a").unwrap().remove();
        assert!(KeptScreen::of(&paths, "a").is_none());
    }
}
