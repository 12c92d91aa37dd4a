//! The drafts and the scroll positions of screens that were left, kept until another screen shows the session.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::record;
use tau_agent::settings::Paths;
use tau_agent::settings::private_files::{private_dir, read_capped};
use tau_app::screen_place::ScreenPlace;

/// Maximum size of a screen's place, in bytes: drafts have pictures.
const MAX_SCREEN: u64 = 64 * 1024 * 1024;
/// The end of the names of the files, which begin with the session's id, what no id has, and the time.
const ENDING: &str = ".screen";
const BEHIND_ID: &str = "+";

/// Keeps the draft and the scroll position of a screen that is left, if there is anything to keep, beside those of others.
/// Fails with errors of the file system.
pub(crate) fn keep_screen(paths: &Paths, id: &str, place: &ScreenPlace) -> io::Result<()> {
    if *place == ScreenPlace::default() || !tau_agent::session::is_session_id(id) {
        return Ok(());
    }
    let folder = record::folder(paths);
    private_dir(&folder)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let beginning = format!("{id}{BEHIND_ID}{:020}-", now.as_nanos());
    let mut new = tempfile::Builder::new().prefix(&beginning).suffix(ENDING).tempfile_in(&folder)?;
    // Whoever reads half of it leaves it to the next screen.
    new.write_all(&serde_json::to_vec(place)?)?;
    new.keep().map(drop).map_err(|failed| failed.error)
}

/// The words of the screens that were left, and the scroll position of the last one, until another screen has them.
#[derive(Debug)]
pub(crate) struct KeptScreen {
    pub place: ScreenPlace,
    files: Vec<PathBuf>,
}

impl KeptScreen {
    /// The kept screens of a session, whose id may be one that a server has sent.
    pub(crate) fn of(paths: &Paths, id: &str) -> Option<Self> {
        let is_of = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            let rest = name.and_then(|name| name.strip_prefix(id));
            rest.is_some_and(|rest| rest.starts_with(BEHIND_ID) && rest.ends_with(ENDING))
        };
        let entries =
            tau_agent::session::is_session_id(id).then(|| std::fs::read_dir(record::folder(paths)))?;
        let mut files: Vec<PathBuf> =
            entries.ok()?.flatten().map(|entry| entry.path()).filter(is_of).collect();
        files.sort();
        let read = |file: PathBuf| {
            let place = serde_json::from_slice(&read_capped(&file, MAX_SCREEN).ok()?).ok()?;
            Some((file, place))
        };
        let (files, places): (Vec<_>, Vec<ScreenPlace>) = files.into_iter().filter_map(read).unzip();
        let place = places.into_iter().reduce(|earlier, later| later.with_words_of(earlier))?;
        Some(KeptScreen { place, files })
    }

    /// Removes the files: a screen shows them now.
    pub(crate) fn remove(self) {
        for file in self.files {
            let _ = std::fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tau_app::screen_place::TopRow;

    fn place(value: serde_json::Value) -> ScreenPlace {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_was_typed_is_kept_until_a_screen_shows_it() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        let place = ScreenPlace { top: Some(TopRow::default()), ..ScreenPlace::default() };
        keep_screen(&paths, "a", &place).unwrap();
        let damaged = record::folder(&paths).join("damaged+1.screen");
        std::fs::write(&damaged, "{").unwrap();
        std::fs::write(dir.path().join("other+1.screen"), serde_json::to_vec(&place).unwrap()).unwrap();
        let up = record::folder(&paths).strip_prefix(dir.path()).unwrap().components().count();
        // The second is an id of a server.
        for id in ["damaged".to_owned(), format!("{}other", "../".repeat(up))] {
            assert!(KeptScreen::of(&paths, &id).is_none(), "{id}");
        }
        assert!(damaged.exists() && dir.path().join("other+1.screen").exists());
        for _ in 0..2 {
            assert_eq!(KeptScreen::of(&paths, "a").unwrap().place, place);
        }
        KeptScreen::of(&paths, "a").unwrap().remove();
        assert!(KeptScreen::of(&paths, "a").is_none());
    }

    #[test]
    fn nothing_that_was_written_on_one_of_several_screens_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        let draft = |text: &str| json!({ "text": text, "chips": [], "cursor": [0, 0] });
        let places = [
            place(json!({ "draft": draft("first"), "set_aside": [draft("aside")] })),
            place(json!({ "draft": draft("second") })),
            // One who has only scrolled.
            place(json!({ "top": { "prompts_after": 1, "entries": 2, "part": 0, "row": 3 } })),
        ];
        for (at, left) in places.iter().enumerate() {
            keep_screen(&paths, "a", left).unwrap();
            keep_screen(&paths, "a.b", &place(json!({ "draft": draft(&at.to_string()) }))).unwrap();
        }
        let kept = KeptScreen::of(&paths, "a").unwrap();
        let found = serde_json::to_value(&kept.place).unwrap();
        let aside = found["set_aside"].as_array().unwrap();
        let texts: Vec<&str> = aside.iter().map(|draft| draft["text"].as_str().unwrap()).collect();
        assert_eq!((&found["draft"]["text"], texts), (&json!("second"), vec!["aside", "first"]), "{found}");
        assert_eq!(kept.place.top, places[2].top);
        kept.remove();
        assert!(KeptScreen::of(&paths, "a").is_none() && KeptScreen::of(&paths, "a.b").is_some());
    }
}
