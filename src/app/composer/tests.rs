//! Editing by segment, wrapping, undo, chips and history.

use super::*;

/// Types `text` and puts the cursor where `|` is in it.
fn composer(text: &str) -> Composer {
    let mut composer = Composer::default();
    let cursor = text.split('|').next().map_or(0, |before| before.chars().count());
    composer.insert(&text.replace('|', ""));
    let (mut row, mut column) = (0, 0);
    for c in text.chars().take(cursor) {
        if c == '\n' {
            (row, column) = (row + 1, 0);
        } else {
            column += 1;
        }
    }
    composer.jump(row, column);
    composer
}

/// The text with `|` at the cursor.
fn text_with_cursor(composer: &Composer) -> String {
    let (row, column) = composer.cursor();
    let mut lines: Vec<String> = composer.lines().to_vec();
    let line = &mut lines[row];
    let at = line.char_indices().nth(column).map_or(line.len(), |(byte, _)| byte);
    line.insert(at, '|');
    lines.join("\n")
}

/// The text with `|` at the cursor before, the edit, and the text after it.
type Case = (&'static str, fn(&mut Composer), &'static str);

fn check(cases: &[Case]) {
    for (before, edit, after) in cases {
        let mut composer = composer(before);
        edit(&mut composer);
        assert_eq!(text_with_cursor(&composer), *after, "from {before:?}");
    }
}

#[test]
fn moves_and_deletes_by_grapheme() {
    check(&[
        ("a👨‍👩‍👧‍👦|b", Composer::delete_back, "a|b"),
        ("a|👨‍👩‍👧‍👦b", Composer::delete_forward, "a|b"),
        ("🇩🇪|", Composer::left, "|🇩🇪"),
        ("e\u{301}x|", |c| c.line_start(), "|e\u{301}x"),
        ("|e\u{301}x", Composer::right, "e\u{301}|x"),
        ("❤\u{fe0f}|", Composer::delete_back, "|"),
        ("한국|어", Composer::delete_back, "한|어"),
        ("one\n|two", Composer::delete_back, "one|two"),
        ("one|\ntwo", Composer::delete_forward, "one|two"),
        ("one\n|two", Composer::left, "one|\ntwo"),
    ]);
}

#[test]
fn words_and_kills_follow_readline() {
    check(&[
        ("git commit -m|", Composer::kill_word_back, "git commit -|"),
        ("git commit |", Composer::kill_word_back, "git |"),
        ("foo bar| baz", Composer::word_left, "foo |bar baz"),
        ("foo| bar baz", Composer::word_right, "foo bar| baz"),
        ("foo |bar baz", Composer::kill_to_end, "foo |"),
        ("foo |bar", Composer::kill_to_start, "|bar"),
        (
            "foo bar|",
            |c| {
                c.kill_word_back();
                c.line_start();
                c.yank();
            },
            "bar|foo ",
        ),
        ("a|\nb", Composer::kill_to_end, "a|b"),
    ]);
}

#[test]
fn a_pause_and_a_word_start_part_undo_steps() {
    let mut composer = Composer::default();
    for (at, c) in "hello world".chars().enumerate() {
        composer.type_char(c, at as Millis);
    }
    composer.type_char('!', 5_000);
    let mut texts = Vec::new();
    for _ in 0..4 {
        composer.undo();
        texts.push(composer.text());
    }
    assert_eq!(texts, ["hello world", "hello ", "", ""]);
    composer.redo();
    composer.redo();
    assert_eq!(composer.text(), "hello world");
}

#[test]
fn long_pastes_are_one_unit_and_are_sent_in_full() {
    let long = (0..123).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let mut composer = composer("see |please");
    composer.paste(&long);
    assert_eq!(text_with_cursor(&composer), "see [paste #1 +123 lines]|please");
    assert_eq!(composer.expanded_content().0, format!("see {long}please"));
    composer.left();
    assert_eq!(text_with_cursor(&composer), "see |[paste #1 +123 lines]please");
    composer.delete_forward();
    assert_eq!(text_with_cursor(&composer), "see |please");
    composer.undo();
    assert_eq!(composer.expanded_content().0, format!("see {long}please"));
    composer.line_end();
    for _ in 0.."please".len() {
        composer.left();
    }
    assert!(composer.expand_chip());
    assert_eq!(composer.text(), format!("see {long}please"));
}

#[test]
fn a_typed_label_is_only_text() {
    let composer = composer("[paste #1 +123 lines]|");
    assert_eq!(composer.expanded_content().0, "[paste #1 +123 lines]");
}

#[test]
fn short_pastes_lose_control_characters_and_keep_lines() {
    let mut composer = Composer::default();
    composer.paste("a\u{1b}[31m\tb\nc\u{7}");
    assert_eq!(composer.text(), "a[31m\tb\nc");
}

#[test]
fn wraps_at_words_and_finds_the_cursor() {
    let rows = |text: &str, width: u16| -> (Vec<String>, (usize, u16)) {
        let composer = composer(text);
        let layout = composer.layout(width);
        let text_of = |row: &layout::VisualRow| {
            row.segments.iter().map(|segment| composer.slice(row.line, segment)).collect::<String>()
        };
        (layout.rows.iter().map(text_of).collect(), (layout.cursor.row, layout.cursor.column))
    };
    assert_eq!(rows("hello wide world|", 8), (vec!["hello ".into(), "wide ".into(), "world".into()], (2, 5)));
    assert_eq!(rows("abcdefgh|", 4), (vec!["abcd".into(), "efgh".into(), String::new()], (2, 0)));
    assert_eq!(rows("한국어|", 4), (vec!["한국".into(), "어".into()], (1, 2)));
    assert_eq!(rows("|", 4), (vec![String::new()], (0, 0)));
    assert_eq!(rows("👨‍👩‍👧‍👦|x", 1).1, (1, 0), "a segment wider than the row gets a row");
}

#[test]
fn up_and_down_keep_the_column_and_stop_at_the_edges() {
    let mut composer = composer("long line\nab\nanother lin|e");
    assert!(composer.up(40));
    assert_eq!(text_with_cursor(&composer), "long line\nab|\nanother line");
    assert!(composer.up(40));
    assert_eq!(text_with_cursor(&composer), "long line|\nab\nanother line");
    assert!(!composer.up(40));
    assert!(composer.down(40) && composer.down(40));
    assert_eq!(text_with_cursor(&composer), "long line\nab\nanother lin|e");
    assert!(!composer.down(40));
}

#[test]
fn history_keeps_the_draft() {
    let mut composer = Composer::default();
    composer.set_history(vec!["two".into(), "one".into()]);
    composer.insert("draft");
    let mut seen = Vec::new();
    for _ in 0..3 {
        composer.recall_earlier();
        seen.push(composer.text());
    }
    composer.recall_later();
    seen.push(composer.text());
    composer.recall_later();
    seen.push(composer.text());
    assert_eq!(seen, ["two", "one", "one", "two", "draft"]);
    assert!(!composer.recall_later());
}

#[test]
fn what_is_recalled_has_its_pastes_as_they_were() {
    let mut composer = Composer::default();
    let long: String = (0..40).map(|n| format!("line {n}\n")).collect();
    composer.paste("look: ");
    composer.paste(&long);
    composer.paste(" and say why");
    let (shown, full) = (composer.text(), composer.expanded_content().0);
    assert!(shown.contains("[paste #1 +40 lines] and say why"), "{shown}");
    composer.reset(Some(full.clone()));
    composer.paste("draft ");
    composer.paste(&long);
    let draft = composer.text();
    assert!(composer.recall_earlier());
    assert_eq!((composer.text(), composer.expanded_content().0), (shown, full));
    assert!(composer.recall_later());
    assert_eq!(composer.text(), draft);
    assert!(composer.expanded_content().0.starts_with("draft line 0\n"));
}

#[test]
fn what_was_recalled_and_edited_is_there_again_until_something_is_sent() {
    let long = "line\n".repeat(40);
    let mut composer = Composer::default();
    composer.paste(&long);
    composer.reset(Some(composer.expanded_content().0));
    composer.set_history(vec!["one".into()]);
    let mut seen = Vec::new();
    for (step, typed) in [
        (Composer::recall_earlier as fn(&mut Composer) -> bool, " and more"),
        (Composer::recall_earlier, " edited"),
        (Composer::recall_later, ""),
        (Composer::recall_later, ""),
        (Composer::recall_earlier, ""),
        (Composer::recall_earlier, ""),
    ] {
        assert!(step(&mut composer));
        seen.push(composer.text());
        composer.line_end();
        composer.insert(typed);
    }
    let (paste, more) = ("[paste #1 +40 lines]", "[paste #1 +40 lines] and more");
    assert_eq!(seen, [paste, "one", more, "", more, "one edited"]);
    composer.recall_later();
    assert_eq!(composer.expanded_content().0, format!("{long} and more"));
    composer.reset(Some("sent".into()));
    let mut seen = Vec::new();
    while composer.recall_earlier() {
        seen.push(composer.text());
    }
    assert_eq!(seen, ["sent", paste, "one"]);
}

fn picture(data: &str) -> Block {
    Block::Image { data: data.into(), mime_type: "image/png".into() }
}

/// A composer with a picture and a text behind it.
fn with_picture(data: &str, text: &str) -> Composer {
    let mut composer = Composer::default();
    composer.insert_picture(data.into(), "image/png".into(), Some((8, 8)));
    composer.insert(text);
    composer
}

#[test]
fn pictures_outlive_every_way_of_replacing_the_text() {
    let mut long = with_picture("a", " look");
    long.set_text(&format!("[image #1 8x8] look{}", "\nmore".repeat(20)));
    assert_eq!(long.expanded_content().1, [picture("a")], "an editor's long text");

    let mut recalled = with_picture("a", " look ");
    recalled.reset(Some("[image #1 8x8] look ".into()));
    assert!(recalled.recall_earlier());
    assert_eq!(recalled.expanded_content().1, [picture("a")], "a text with a blank at its end");
    recalled.reset(None);
    recalled.recall("[image #1 8x8] look ");
    assert_eq!(recalled.expanded_content().1, [picture("a")], "a prompt that was searched for");

    let mut returned = with_picture("draft", " b");
    let pictures = [picture("first"), picture("second")];
    let mut left = pictures.iter();
    let text = returned.adopt("[image #1 8x8] a [image #2] [image #x]", &mut left);
    assert_eq!(left.next(), None);
    returned.set_text(&format!("{text}\n\n{}", returned.text()));
    assert_eq!(returned.expanded_content().1, [picture("first"), picture("second"), picture("draft")]);
}

#[test]
fn a_text_that_comes_back_is_a_chip_only_if_nobody_could_have_typed_it() {
    let mut composer = Composer::default();
    let typed = ["a line"; 12].join("\n");
    composer.insert(&typed);
    composer.reset(Some(typed.clone()));
    composer.recall_earlier();
    assert_eq!(composer.text(), typed);
    composer.set_text(&"a line\n".repeat(500));
    assert_eq!(composer.text(), "[paste #1 +500 lines]");
}

#[test]
fn deleted_pastes_are_inserted_in_full_once_their_chips_are_gone() {
    let paste = "line\n".repeat(12);
    let mut composer = Composer::default();
    composer.paste(&paste);
    composer.kill_to_start();
    composer.reset(None);
    composer.paste(&"other\n".repeat(12));
    composer.yank();
    assert_eq!(composer.expanded_content().0, format!("{}{paste}", "other\n".repeat(12)));
}

#[test]
fn edits_are_where_the_cursor_is_however_long_a_line() {
    let mut composer = Composer::default();
    composer.insert(&"x".repeat(65_540));
    composer.delete_back();
    composer.insert("y");
    assert!(composer.text().ends_with("xxy"));
    let mut composer = Composer::default();
    composer.insert(&"\n".repeat(65_540));
    composer.insert("ab");
    composer.left();
    composer.delete_back();
    assert!(composer.text().ends_with("\nb"));
}
