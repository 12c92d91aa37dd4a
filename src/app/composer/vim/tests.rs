//! Commands as vim documents them: text with `|` at the cursor, keys in normal mode, resulting text.

use crate::composer::Composer;
use crate::key::{Key, KeyCode};

/// A composer in normal mode with the cursor at `|`.
fn normal(text: &str) -> Composer {
    let mut composer = Composer::default();
    composer.set_vim(true);
    let (before, _) = text.split_once('|').unwrap();
    composer.insert(&text.replacen('|', "", 1));
    press(&mut composer, "<esc>");
    let column = before.rsplit('\n').next().unwrap_or("").chars().count();
    composer.move_to(before.matches('\n').count(), column);
    composer.steps.clear();
    composer
}

/// The text with `|` at the cursor.
fn text_with_cursor(composer: &Composer) -> String {
    let (row, column) = composer.cursor();
    let mut lines: Vec<String> = composer.lines().to_vec();
    let at = lines[row].char_indices().nth(column).map_or(lines[row].len(), |(byte, _)| byte);
    lines[row].insert(at, '|');
    lines.join("\n")
}

/// Presses keys: characters literally, others as `<esc>`; in insert mode they are typed.
fn press(composer: &mut Composer, keys: &str) {
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|inner| inner.split_once('>'));
        let named = named.and_then(|(name, after)| Some((name.parse::<Key>().ok()?, after)));
        let typed = rest.strip_prefix(c).unwrap_or("");
        let (key, after) = named.unwrap_or((Key::plain(KeyCode::Char(c)), typed));
        rest = after;
        if composer.vim_key(key, 200) == super::VimKey::Ignored {
            match key.code {
                KeyCode::Char('\n') => composer.new_line(),
                KeyCode::Char(c) => composer.type_char(c, 0),
                KeyCode::Backspace => composer.delete_back(),
                KeyCode::Left => composer.left(),
                _ => {}
            }
        }
    }
}

#[track_caller]
fn check(cases: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (before, keys, after) in cases {
        let mut composer = normal(before);
        press(&mut composer, keys);
        press(&mut composer, "<esc>");
        let found = text_with_cursor(&composer);
        if found != *after {
            wrong.push(format!("{before:?} {keys} -> {found:?} in place of {after:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn motions() {
    check(&[
        ("one |two", "h", "one| two"),
        ("|one", "h", "|one"),
        ("on|e", "l", "on|e"),
        ("|one two", "3l", "one| two"),
        ("|one two", "3 ", "one| two"),
        ("one t|wo", "<backspace>", "one |two"),
        ("one\nt|wo", "k", "o|ne\ntwo"),
        ("o|ne\ntwo\nsix", "2j", "one\ntwo\ns|ix"),
        ("on|e\na\nsix", "jj", "one\na\nsi|x"),
        ("|one\nlonger\nsix", "$j", "one\nlonge|r\nsix"),
        ("|foo.bar baz", "w", "foo|.bar baz"),
        ("|foo.bar baz", "ww", "foo.|bar baz"),
        ("|foo.bar baz", "W", "foo.bar |baz"),
        ("|foo\n  bar", "w", "foo\n  |bar"),
        ("|foo\n\nbar", "w", "foo\n|\nbar"),
        ("|one two six", "2w", "one two |six"),
        ("one |two", "w", "one tw|o"),
        ("one two|", "b", "one |two"),
        ("one |two", "b", "|one two"),
        ("foo.bar| baz", "B", "|foo.bar baz"),
        ("foo\n\n|bar", "b", "foo\n|\nbar"),
        ("one two s|ix", "2b", "one |two six"),
        ("|foo.bar", "e", "fo|o.bar"),
        ("fo|o bar", "e", "foo ba|r"),
        ("|foo.bar baz", "E", "foo.ba|r baz"),
        ("fo|o\n\nbar", "e", "foo\n\nba|r"),
        ("one two|", "ge", "on|e two"),
        ("a.b c|", "gE", "a.|b c"),
        ("  one t|wo", "0", "|  one two"),
        ("  one t|wo", "^", "  |one two"),
        ("  |one two", "$", "  one tw|o"),
        ("|one\ntwo", "2$", "one\ntw|o"),
        ("one\n  two\nsi|x", "gg", "|one\n  two\nsix"),
        ("o|ne\ntwo\n  six", "G", "one\ntwo\n  |six"),
        ("o|ne\n  two\nsix", "2G", "one\n  |two\nsix"),
        ("one\ntwo\ns|ix", "2gg", "one\n|two\nsix"),
        ("|one two one", "ft", "one |two one"),
        ("|one two one", "2fo", "one two |one"),
        ("|one two", "fx", "|one two"),
        ("one two on|e", "Ft", "one |two one"),
        ("|one two", "tw", "one |two"),
        ("one tw|o", "Tn", "on|e two"),
        ("|a.b.c.d", "f.;", "a.b|.c.d"),
        ("|a.b.c.d", "f.2;", "a.b.c|.d"),
        ("|a.b.c.d", "t.;", "a.|b.c.d"),
        ("a.b.c.|d", "F.;,", "a.b.c|.d"),
        ("|if (a(b) c) d", "%", "if (a(b) c|) d"),
        ("if (a(b) c|) d", "%", "if |(a(b) c) d"),
        ("|{\n  [x]\n}", "%", "{\n  [x]\n|}"),
        ("|one\ntwo\n\nsix", "}", "one\ntwo\n|\nsix"),
        ("one\n\ntwo\nsi|x", "{", "one\n|\ntwo\nsix"),
        ("|one\n\ntwo\n\nsix", "2}", "one\n\ntwo\n|\nsix"),
        ("|one\ntwo", "}", "one\ntw|o"),
        ("one\nt|wo", "{", "|one\ntwo"),
    ]);
}

#[test]
fn operators_with_motions() {
    check(&[
        ("|one two", "dw", "|two"),
        ("one |two six", "dw", "one |six"),
        ("one |two\nsix", "dw", "one| \nsix"),
        ("|one two six", "2dw", "|six"),
        ("|one two six ten", "d3w", "|ten"),
        ("one |two", "db", "|two"),
        ("|one two", "de", "| two"),
        ("one tw|o", "dge", "o|n"),
        ("one |two", "d$", "one| "),
        ("one |two", "D", "one| "),
        ("one |two\nsix\nten", "2D", "one| \nten"),
        ("one |two", "d0", "|two"),
        ("  one |two", "d^", "  |two"),
        ("one |two", "dh", "one|two"),
        ("|one", "dl", "|ne"),
        ("|one two", "dfw", "|o"),
        ("|one two", "dtw", "|wo"),
        ("one tw|o", "dFe", "on|o"),
        ("one tw|o", "dTe", "one|o"),
        ("|a(b, c) d", "d%", "| d"),
        ("o|ne\ntwo\nsix", "dj", "|six"),
        ("one\nt|wo\nsix", "dk", "|six"),
        ("one\nt|wo", "dj", "one\nt|wo"),
        ("one\nt|wo\nsix", "dG", "|one"),
        ("one\nt|wo\nsix", "dgg", "|six"),
        ("|one\ntwo\n\nsix", "d}", "|\nsix"),
        ("one\n\ntwo\nsi|x", "d{", "one\n|x"),
        ("o|ne\n  two\nsix", "dd", "  |two\nsix"),
        ("one\n|two", "dd", "|one"),
        ("|one", "dd", "|"),
        ("o|ne\ntwo\nsix", "2dd", "|six"),
        ("o|ne\ntwo\nsix", "d2d", "|six"),
        ("|one two", "cwx<esc>", "|x two"),
        ("|one two six", "c2wx<esc>", "|x six"),
        ("one| two", "cwx<esc>", "one|xtwo"),
        ("on|e two", "cwx<esc>", "on|x two"),
        ("one |two", "Cx<esc>", "one |x"),
        ("one |two\nsix", "ccx<esc>", "|x\nsix"),
        ("one |two\nsix", "Sx<esc>", "|x\nsix"),
        ("|one", "sxy<esc>", "x|yne"),
        ("|one two", "ctwx<esc>", "|xwo"),
        ("|one", "x", "|ne"),
        ("|one", "2x", "|e"),
        ("on|e", "x", "o|n"),
        ("on|e", "X", "o|e"),
        ("one |two", "yw$p", "one twotw|o"),
        ("one |two", "ywP", "one tw|otwo"),
        ("one tw|o", "yb", "one |two"),
        ("o|ne\ntwo", "yyp", "one\n|one\ntwo"),
        ("o|ne\ntwo", "YP", "|one\none\ntwo"),
        ("o|ne\ntwo", "yjP", "|one\ntwo\none\ntwo"),
        ("o|ne\ntwo", ">>", "    |one\ntwo"),
        ("o|ne\ntwo", ">j", "    |one\n    two"),
        ("      o|ne", "<<", "  |one"),
        ("  o|ne\n\n  two", "3<<", "|one\n\ntwo"),
        ("o|ne\n\ntwo", "3>>", "    |one\n\n    two"),
        ("|one two", "gUw", "|ONE two"),
        ("|ONE two", "guu", "|one two"),
        ("|One Two", "g~~", "|oNE tWO"),
    ]);
}

#[test]
fn text_objects() {
    check(&[
        ("one t|wo six", "diw", "one | six"),
        ("one t|wo six", "daw", "one |six"),
        ("one t|wo", "daw", "on|e"),
        ("  on|e", "daw", " | "),
        ("one |  two", "diw", "one|two"),
        ("one |  two six", "daw", "one| six"),
        ("a fo|o.bar b", "diW", "a | b"),
        ("a fo|o.bar b", "daW", "a |b"),
        ("one t|wo six", "ciwx<esc>", "one |x six"),
        ("say \"he|llo\" now", "di\"", "say \"|\" now"),
        ("say \"he|llo\" now", "da\"", "say |now"),
        ("sa|y \"hello\" now", "ci\"x<esc>", "say \"|x\" now"),
        ("say 'he|llo' now", "di'", "say '|' now"),
        ("say `he|llo`", "da`", "sa|y"),
        ("x = \"a\\\"|b\";", "di\"", "x = \"|\";"),
        ("f(a, |b) c", "di(", "f(|) c"),
        ("f(a, |b) c", "da)", "f| c"),
        ("f(a, g(|b)) c", "2di(", "f(|) c"),
        ("f(a, |b) c", "dib", "f(|) c"),
        ("f|(a, b) c", "di(", "f(|) c"),
        ("a[|1] + 2", "di]", "a[|] + 2"),
        ("a {b |c} d", "da{", "a | d"),
        ("a {b |c} d", "diB", "a {|} d"),
        ("a <b |c> d", "di<", "a <|> d"),
        ("a {\n  |b\n  c\n}", "di{", "a {\n|}"),
        ("a {\n  |b\n}", "ci{x<esc>", "a {\n|x\n}"),
        ("one\nt|wo\n\nsix", "dip", "|\nsix"),
        ("one\nt|wo\n\nsix", "dap", "|six"),
        ("one\n\ns|ix", "dap", "|one"),
        ("one t|wo", "yiwP", "one tw|otwo"),
    ]);
}

#[test]
fn inserting_putting_and_the_rest() {
    check(&[
        ("o|ne", "ix<esc>", "o|xne"),
        ("o|ne", "ax<esc>", "on|xe"),
        ("on|e", "ax<esc>", "one|x"),
        ("|", "ax<esc>", "|x"),
        ("  o|ne", "Ix<esc>", "  |xone"),
        ("o|ne", "Ax<esc>", "one|x"),
        ("o|ne\ntwo", "ox<esc>", "one\n|x\ntwo"),
        ("one\nt|wo", "Ox<esc>", "one\n|x\ntwo"),
        ("|one", "3ix<esc>", "xx|xone"),
        ("|one", "2ox<esc>", "one\nx\n|x"),
        ("|one", "2ix<esc>.", "xx|xxone"),
        ("|one", "rx", "|xne"),
        ("|one", "3rx", "xx|x"),
        ("|one", "4rx", "|one"),
        ("|one", "~", "O|ne"),
        ("|one", "9~", "ON|E"),
        ("o|ne\n  two", "J", "one| two"),
        ("o|ne\ntwo\nsix\nten", "3J", "one two| six\nten"),
        ("o|ne\n)", "J", "one|)"),
        ("one\nt|wo", "J", "one\nt|wo"),
        ("|one", "xp", "n|oe"),
        ("|one", "x3p", "noo|oe"),
        ("|one", "ddp", "\n|one"),
        ("on|e\ntwo", "ddp", "two\n|one"),
        ("|one\ntwo", "yy2p", "one\n|one\none\ntwo"),
        ("|one two", "\"aywP", "one| one two"),
        ("|one two", "xxu", "|ne two"),
        ("|one two", "xx2u", "|one two"),
        ("|one two", "dwu<ctrl+r>", "|two"),
        ("one| two", "<ctrl+r>", "one| two"),
        ("one| two", "u", "one| two"),
        ("|one two", "cwxyz<esc>u", "|one two"),
        ("|one", "3ixy<esc>u", "|one"),
        ("|one two six", "dw.", "|six"),
        ("|one two six ten", "dw2.", "|ten"),
        ("|one two", "cwx<esc>w.", "x |x"),
        ("|one", "Ax<esc>..", "onexx|x"),
        ("|one two", "x.", "|e two"),
        ("one\n|two\nsix", "dd.", "|one"),
        ("|one two six", "fw;x", "one t|o six"),
        ("one|", "m", "on|e"),
        ("o|ne", "qax", "o|e"),
        ("o|ne", "3<esc>x", "o|e"),
        ("o|ne", "2d<esc>x", "o|e"),
        ("o|ne", "di<esc>x", "o|e"),
    ]);
}

#[test]
fn visual_mode() {
    check(&[
        ("o|ne two", "vld", "o| two"),
        ("one t|wo", "vbd", "one |o"),
        ("o|ne two", "vecx<esc>", "o|x two"),
        ("one |two", "vey0P", "tw|oone two"),
        ("o|ne\ntwo\nsix", "Vjd", "|six"),
        ("o|ne\ntwo", "Vcx<esc>", "|x\ntwo"),
        ("o|ne\ntwo", "vD", "|two"),
        ("o|ne\ntwo", "vjd", "o|o"),
        ("one t|wo six", "viwd", "one | six"),
        ("f(a, |b)", "vi(d", "f(|)"),
        ("|one two", "vwo~", "|ONE Two"),
        ("|one two", "vlohd", "|e two"),
        ("o|ne two", "v$d", "|o"),
        ("|one two", "veU", "|ONE two"),
        ("|ONE two", "veu", "|one two"),
        ("|one two", "verx", "|xxx two"),
        ("o|ne\ntwo\nsix", "VjJ", "one| two\nsix"),
        ("o|ne\ntwo", "Vj>", "    |one\n    two"),
        ("|one two", "yiwwviwp", "one on|e"),
        ("|one two", "yiwwviwpp", "one onetw|o"),
        ("|one\ntwo", "yyjVp", "one\n|one"),
        ("|one two", "vl<esc>x", "o|e two"),
        ("|one two", "vlvx", "o|e two"),
        ("|one two six", "ved.", "|o six"),
        ("one\n|two\nsix", "Vd.", "|one"),
    ]);
}

#[test]
fn chips_and_clusters_are_one_character() {
    let mut composer = normal("|");
    press(&mut composer, "i");
    composer.paste(&"line\n".repeat(50));
    press(&mut composer, "<esc>x");
    assert_eq!(composer.text(), "");
    press(&mut composer, "p");
    assert_eq!(composer.expanded_content().0, "line\n".repeat(50));
    press(&mut composer, "~u");
    check(&[("|👨‍👩‍👧‍👦e\u{301}x", "x", "|e\u{301}x"), ("|e\u{301}x", "rb", "|bx"), ("|한국어", "lx", "한|어")]);
}

#[test]
fn escape_and_up_are_left_to_others_where_vim_has_no_use_for_them() {
    let key = |name: &str| name.parse::<Key>().unwrap();
    let mut composer = normal("|one");
    assert_eq!(composer.vim_key(key("esc"), 80), super::VimKey::Ignored);
    assert_eq!(composer.vim_key(key("k"), 80), super::VimKey::AboveFirst);
    assert_eq!(composer.vim_key(key("j"), 80), super::VimKey::BelowLast);
    assert_eq!(composer.vim_key(key("enter"), 80), super::VimKey::Ignored);
    assert_eq!(composer.vim_key(key("i"), 80), super::VimKey::Taken);
    assert_eq!(composer.vim_key(key("k"), 80), super::VimKey::Ignored, "it is typed");
}

#[test]
fn any_other_key_ends_an_incomplete_command_and_does_nothing_else() {
    for keys in ["r", "f", "d", "2", "di", "vi", "vr"] {
        for other in ["enter", "tab", "pageup", "ctrl+e", "ctrl+r", "backspace"] {
            let mut composer = normal("one |two");
            press(&mut composer, keys);
            assert_eq!(composer.vim_key(other.parse().unwrap(), 80), super::VimKey::Taken, "{keys} {other}");
            assert_eq!(composer.vim_mode().map(|(_, keys)| keys), Some(""), "{keys} {other}");
            // A count goes with it.
            let left = if (keys, other) == ("2", "backspace") { "on|e two" } else { "one |two" };
            assert_eq!(text_with_cursor(&composer), left, "{keys} {other}");
        }
    }
}

#[test]
fn what_is_put_in_place_of_the_text_is_not_repeated() {
    let mut composer = normal("|");
    press(&mut composer, "i");
    composer.insert("see: ");
    composer.paste(&"line\n".repeat(30));
    composer.reset(Some(composer.expanded_content().0));
    composer.recall_earlier();
    press(&mut composer, "<esc>.");
    assert_eq!(composer.text(), "see: [paste #1 +30 lines]");
    let draft = composer.take_draft();
    composer.put_draft(draft);
    press(&mut composer, "<esc>.");
    assert_eq!(composer.text(), "see: [paste #1 +30 lines]");
}

/// Random keys from a seed: nothing panics, the cursor stays in the text, undo and redo restore it.
#[test]
fn random_keys_are_taken_and_undone() {
    const KEYS: &str = "hjklwbeWBE0^$gGfFtT;,%{}dcy><xXsSrDCYJpPu.oOaAiIvV~ab(\"'123 ";
    let keys: Vec<char> = KEYS.chars().collect();
    let texts = ["|", "one |two (a [b] \"c\")\n\n  {\n x\n}\n", "|한국어 e\u{301}👨‍👩‍👧‍👦\n\n\n", "a|b"];
    let mut state: u64 = 7;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for run in 0..600 {
        let mut composer = normal(texts[run % texts.len()]);
        let first = composer.text();
        let mut pressed = String::new();
        for _ in 0..60 {
            let key = match below(12) {
                0 => "<esc>".to_owned(),
                1 => "<ctrl+r>".to_owned(),
                _ => keys[below(keys.len())].to_string(),
            };
            pressed.push_str(&key);
            press(&mut composer, &key);
            let (row, column) = composer.cursor();
            assert!(column <= composer.lines()[row].chars().count(), "{pressed}");
            composer.selected_range();
        }
        press(&mut composer, "<esc><esc>");
        let last = composer.text();
        let steps = composer.steps.len();
        press(&mut composer, &"u".repeat(steps));
        assert_eq!(composer.text(), first, "{pressed}");
        press(&mut composer, &"<ctrl+r>".repeat(steps));
        assert_eq!(composer.text(), last, "{pressed}");
    }
}

#[test]
fn many_rows_at_once_are_as_many_steps() {
    let text = "one\n\nfull row\nfull row and more of it than fits\n漢字漢字\n".repeat(30);
    type Next = fn(usize) -> Option<usize>;
    let directions: [(&str, Next); 2] = [("gg", |row| row.checked_add(1)), ("G", |row| row.checked_sub(1))];
    for (width, keys) in [(8, ""), (8, "$"), (8, "ll"), (3, "$"), (1, ""), (200, "$")] {
        for (start, next) in directions {
            for steps in [1, 2, 3, 7, 50, 9_999] {
                let place = |at_once: bool| {
                    let mut composer = normal(&format!("|{text}"));
                    press(&mut composer, &format!("{start}{keys}"));
                    let gone = match at_once {
                        true => composer.go_rows(steps, width, next),
                        false => (0..steps).take_while(|_| composer.go_rows(1, width, next) > 0).count(),
                    };
                    (gone, composer.cursor())
                };
                assert_eq!(place(true), place(false), "{start}{keys} {steps} at {width}");
            }
        }
    }
}
