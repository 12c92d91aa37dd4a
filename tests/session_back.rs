//! Large sessions that are read backwards in pieces equal those read whole.

use std::fs;
use std::path::Path;

use serde_json::json;
use tau::agent::session::{Access, Session};

use crate::support::dice::Dice;
use crate::support::session_files::{Folder, HEADER, assistant, entry, line, texts, user};

/// Everything a session reports about itself.
fn all(session: &Session) -> (Vec<String>, Vec<String>, Vec<Option<String>>, String) {
    let tree = session.tree();
    let lines = tree.entries().iter().map(|entry| String::from_utf8(entry.line()).unwrap()).collect();
    let labels = tree.entries().iter().map(|entry| tree.label(&entry.id).map(str::to_owned)).collect();
    let context = session.context();
    let rest = format!(
        "{:?} {:?} {:?} {:?} {:?} {}",
        tree.leaf().map(|leaf| leaf.id.clone()),
        tree.name(),
        context.model,
        context.thinking,
        session.info(),
        session.skipped_lines()
    );
    (lines, texts(session), labels, rest)
}

/// A file with branches, labels, names, damage in any place, short lines and long ones.
fn odd(dice: &mut Dice, header: &str) -> String {
    let mut lines = vec![header.to_owned()];
    let mut ids = vec!["a0".to_owned()];
    lines.push(line("a0", None, "the first"));
    for at in 1..120 {
        let id = if dice.below(25) == 0 { dice.pick(&ids).clone() } else { format!("a{at}") };
        // Usually the path continues; sometimes a branch begins, or the parent is lost.
        let parent = match dice.below(12) {
            0 => dice.pick(&ids).clone(),
            1 => "lost".to_owned(),
            _ => ids.last().unwrap().clone(),
        };
        let parent = Some(parent.as_str()).filter(|parent| *parent != id);
        lines.push(match dice.below(14) {
            0 => entry("label", &id, parent, json!({"targetId": dice.pick(&ids), "label": format!("l{at}")})),
            1 => entry("label", &id, parent, json!({"targetId": dice.pick(&ids), "label": null})),
            2 => entry("session_info", &id, parent, json!({"name": format!("name {at}")})),
            3 => entry("model_change", &id, parent, json!({"provider": "p", "modelId": format!("m{at}")})),
            4 => entry("thinking_level_change", &id, parent, json!({"thinkingLevel": "high"})),
            5 => line(&id, parent, &"long ".repeat(dice.below(600))),
            6 => format!("{{\"type\":\"message\",\"id\":\"torn{}", line(&id, parent, "glued to a torn one")),
            7 => ["", "\r", "\0\0\0\0", "{\"type\":", "no json at all", "\u{feff}"][dice.below(6)].to_owned(),
            8 => {
                let edit = json!({"targetId": dice.pick(&ids), "replacement": {"content": "edited"}});
                entry("context_edit", &id, parent, edit)
            }
            _ => line(&id, parent, &format!("Größe {at}")),
        });
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    // The end is intact, so that there is a conversation to continue from.
    lines.push(line("end", ids.last().map(String::as_str), "the last"));
    lines.join("\n") + "\n"
}

#[track_caller]
fn check(path: &Path, tail: u64, piece: u64) -> usize {
    let whole = Session::open_as(path, Access::Read).unwrap();
    let mut session = Session::open_tail(path, Access::Read, tail).unwrap();
    let mut pieces = 0;
    while let Some(step) = session.page_before(piece) {
        let leaf = session.tree().leaf().map(|leaf| leaf.id.clone());
        let piece = step.read().unwrap();
        assert!(session.add_page(piece));
        assert_eq!(session.tree().leaf().map(|leaf| leaf.id.clone()), leaf);
        pieces += 1;
    }
    assert_eq!(all(&session), all(&whole), "a tail of {tail}, pieces of {piece}");
    pieces
}

#[test]
fn pieces_of_any_size_give_what_a_whole_read_gives() {
    let with_model =
        HEADER.replace("\"cwd\"", "\"provider\":\"h\",\"modelId\":\"hm\",\"thinkingLevel\":\"low\",\"cwd\"");
    let headers = [HEADER.to_owned(), format!("torn {{\n{HEADER}"), format!("\u{feff}{with_model}\r")];
    let folder = Folder::new();
    let mut most = 0;
    for seed in 0..24 {
        let mut dice = Dice::new(seed);
        let path = folder.file(odd(&mut dice, &headers[seed as usize % headers.len()]));
        for piece in [1, 150, 1_000, 4_096, u64::MAX] {
            most = most.max(check(&path, 300 + dice.below(4_000) as u64, piece));
        }
    }
    assert!(most > 100, "pieces smaller than a line are a line each: {most}");
}

#[test]
fn the_first_piece_of_an_upgraded_file_is_found() {
    let folder = Folder::new();
    let path = folder.file(odd(&mut Dice::new(7), HEADER).replace("\"version\":3", "\"version\":2"));
    // Opening it for writing rewrites it; from then on it is read from its end.
    drop(Session::open(&path).unwrap());
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"version\":3"), "{text}");
    assert!(check(&path, 700, 900) > 3);
}

#[test]
fn what_is_said_meanwhile_stays_at_the_end() {
    let folder = Folder::new();
    let path = folder.file(odd(&mut Dice::new(3), HEADER));
    let mut session = Session::open_tail(&path, Access::Write, 900).unwrap();
    let step = session.page_before(500).unwrap();
    let late = session.page_before(500).unwrap();
    session.append(user("meanwhile")).unwrap();
    assert!(session.add_page(step.read().unwrap()));
    assert!(!session.add_page(late.read().unwrap()), "the same piece is not taken twice");
    session.append(assistant("and after")).unwrap();
    let gone = session.page_before(500).unwrap();
    session.whole().unwrap();
    assert!(!session.add_page(gone.read().unwrap()) && session.unread().is_none());
    session.flush().unwrap();
    let whole = Session::open_as(&path, Access::Read).unwrap();
    assert_eq!(all(&session), all(&whole));
    let said = texts(&session);
    assert_eq!(said[said.len() - 2..], ["user:meanwhile", "assistant:and after"]);
}

#[test]
fn another_file_in_its_place_is_noticed_and_nothing_is_lost() {
    let folder = Folder::new();
    let text = odd(&mut Dice::new(5), HEADER);
    let path = folder.file(&text);
    let mut session = Session::open_tail(&path, Access::Read, 900).unwrap();
    let known = all(&session);
    for other in [None, Some(text.replace("\"s1\"", "\"s2\"")), Some(HEADER.to_owned() + "\n")] {
        match &other {
            Some(other) => fs::write(&path, other).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let error = session.page_before(500).unwrap().read().unwrap_err().to_string();
        assert_eq!(error.contains("has changed since it was opened"), other.is_some(), "{error}");
        assert!(session.whole().is_err());
        assert_eq!(all(&session), known);
    }
    fs::write(&path, &text).unwrap();
    session.whole().unwrap();
    assert_eq!(all(&session), all(&Session::open_as(&path, Access::Read).unwrap()));
}

#[test]
fn a_name_that_has_not_been_read_can_be_taken_away() {
    let folder = Folder::new();
    let named = entry("session_info", "b", Some("a"), json!({"name": "mine"}));
    let said = line("c", Some("b"), &"late ".repeat(400));
    let path = folder.file([HEADER, &line("a", None, "early"), &named, &said].join("\n") + "\n");
    let mut session = Session::open_tail(&path, Access::Write, 2_200).unwrap();
    assert!(session.unread().is_some() && session.info().name.is_none());
    session.set_name("").unwrap();
    assert_eq!(session.info().name, None);
    drop(session);
    assert_eq!(crate::support::session_files::opened_soon(&path).info().name, None);
}
