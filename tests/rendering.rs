//! Rendering of leaf parts: markdown, diffs, terminal text, themes; at any width, for any text.

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Widget;
use tau::app::ansi;
use tau::app::blocks::MarkdownBlocks;
use tau::tools::details::{FileDiff, Hunk};
use tau::view::highlight::{Highlighter, language_of};
use tau::view::row::Row;
use tau::view::theme::{ColorDepth, Theme, ThemeToken};
use tau::view::wrap::{self, Break};
use tau::view::{diff, markdown, terminal_text};

use crate::text::hostile;

fn text_of(row: &Line<'_>) -> String {
    row.spans.iter().map(|span| span.content.as_ref()).collect()
}

fn rows_of(source: &str, width: u16, theme: &Theme, highlighter: &mut Highlighter) -> Vec<Line<'static>> {
    let mut rows: Vec<Line<'static>> = Vec::new();
    for block in MarkdownBlocks::of(source).closed_blocks() {
        if !rows.is_empty() && !block.continues() {
            rows.push(Line::default());
        }
        rows.extend(lines(markdown::render(block, width, theme, highlighter)));
    }
    rows
}

fn lines(rows: Vec<Row>) -> Vec<Line<'static>> {
    rows.into_iter().map(Row::into_line).collect()
}

fn check(source: &str, width: u16, expected: &[&str]) {
    let rows = rows_of(source, width, &Theme::default(), &mut Highlighter::default());
    let found: Vec<String> = rows.iter().map(|row| text_of(row).trim_end().to_owned()).collect();
    assert_eq!(found, expected, "for {source:?} at {width}");
}

#[test]
fn paragraphs_wrap_at_words() {
    check("the quick brown fox", 10, &["the quick", "brown fox"]);
    check("averylongword that", 6, &["averyl", "ongwor", "d that"]);
    check("日本語のテキスト", 6, &["日本語", "のテキ", "スト"]);
    check("これは「本」。", 8, &["これは", "「本」。"]);
    check("one\ntwo  \nthree", 20, &["one two", "three"]);
    check("a *b\nc* `d`\n`e`", 20, &["a b c d e"]);
    check("日本\n語 x\ny 한\n국", 30, &["日本語 x y 한 국"]);
    check("[one\ntwo](http://x)\nthree", 40, &["one two (http://x) three"]);
    check("a <br> b<br/>c <i>x</i>", 20, &["a", " b", "c <i>x</i>"]);
}

#[test]
fn rows_break_as_unicode_says_and_ascii_words_stay_whole() {
    check("in src/app/mod.rs", 12, &["in", "src/app/mod.", "rs"]);
    check("use --base-url", 12, &["use", "--base-url"]);
    check("good—better", 8, &["good—", "better"]);
    check("für 5\u{a0}km/h", 8, &["für", "5\u{a0}km/h"]);
    check("第3章は「終」", 6, &["第3章", "は", "「終」"]);
    check("**für**「本」", 6, &["für", "「本」"]);
}

#[test]
fn lists_nest_and_hang() {
    check(
        "- a\n- b c d e\n  - f\n    - g h i j",
        12,
        &["• a", "• b c d e", "  ◦ f", "    – g h i", "      j"],
    );
    check("- a\n  - b\n    - c", 6, &["• a", "◦ b", "– c"]);
}

#[test]
fn lists_show_numbers_and_tasks() {
    check("9. a\n10. b", 20, &[" 9. a", "10. b"]);
    check("- [x] done\n- [ ] to do it", 10, &["☑ done", "☐ to do it"]);
    check("- a\n\n- b", 20, &["• a", "", "• b"]);
    check("- a\n  > q\n- b\n-", 20, &["• a", "  ▎ q", "• b", "•"]);
    check("1. a\n   ```\n   x\n   ```\n2. b", 20, &["1. a", "   ╭─", "   │ x", "   ╰─", "2. b"]);
}

#[test]
fn headings_quotes_and_rules() {
    check("# A\n## B\n### C *d*", 20, &["A", "", "B", "", "C d"]);
    check("> one\n>\n> two\n> > three", 20, &["▎ one", "▎", "▎ two", "▎", "▎ ▎ three"]);
    check("> [!WARNING]\n> hot", 20, &["▎ Warning", "▎ hot"]);
    check("> [!TIP]\n> x", 2, &["Ti", "p", "x"]);
    check("a\n\n---\n\nb", 5, &["a", "", "─────", "", "b"]);
}

#[test]
fn headings_are_told_apart_without_colours() {
    let theme = Theme::default().at_depth(ColorDepth::None);
    let rows = rows_of("# A\n## A\n### A\n#### A", 20, &theme, &mut Highlighter::default());
    let looks: Vec<Modifier> =
        rows.iter().flat_map(|row| &row.spans).map(|span| span.style.add_modifier).collect();
    let (bold, italic) = (Modifier::BOLD, Modifier::ITALIC);
    assert_eq!(looks[..3], [bold | Modifier::UNDERLINED, bold, bold | italic]);
    assert_eq!(looks.len(), 4);
}

#[test]
fn code_breaks_between_words_and_loses_nothing() {
    check("```\nlet total = alpha + beta;\n```", 16, &["╭─", "│ let total =", "┊ alpha + beta;", "╰─"]);
    check("```\n        deep = 1234567;\n```", 16, &["╭─", "│         deep =", "┊ 1234567;", "╰─"]);
    check("```\nx = abcdefghijklmnopqrstuvw\n```", 16, &["╭─", "│ x = abcdefghij", "┊ klmnopqrstuvw", "╰─"]);
}

#[test]
fn words_of_a_table_stay_whole() {
    let table = "| involved | considerable |\n|---|---|\n| a | unmistakable thing |\n";
    check(
        table,
        24,
        &[
            "involved │ considerable",
            "─────────┼──────────────",
            "a        │ unmistakable",
            "         │ thing",
        ],
    );
    check(table, 20, &["involved: a", "considerable:", "  unmistakable thing"]);
}

#[test]
fn links_and_images_show_their_target() {
    check("[docs](https://a.b/c)", 40, &["docs (https://a.b/c)"]);
    check("<https://a.b/c> [x@y.z](mailto:x@y.z)", 40, &["https://a.b/c x@y.z"]);
    check("![a cat](cat.png)", 40, &["[image: a cat](cat.png)"]);
    check("text[^1]\n\n[^1]: a note", 40, &["text[1]", "", "[1] a note"]);
    check("[x]: /target", 40, &["[x]: /target"]);
}

/// The blank of a joined line end does not belong to the link after it.
#[test]
fn the_blank_before_a_link_is_not_underlined() {
    let rows = rows_of(
        "see the\n[documents](http://x) and\n*more* of\n[it](http://y)",
        80,
        &Theme::default(),
        &mut Highlighter::default(),
    );
    let underlined = |span: &&ratatui::text::Span<'_>| span.style.add_modifier.contains(Modifier::UNDERLINED);
    let links: Vec<&str> =
        rows[0].spans.iter().filter(underlined).map(|span| span.content.as_ref()).collect();
    assert_eq!(links, ["documents", "it"]);
    assert_eq!(text_of(&rows[0]).trim_end(), "see the documents (http://x) and more of it (http://y)");
}

#[test]
fn addresses_without_markup_are_links() {
    let theme = Theme::default();
    let rows = rows_of("see (https://a.b/c_d), ok", 40, &theme, &mut Highlighter::default());
    let link: Vec<&str> = rows[0]
        .spans
        .iter()
        .filter(|span| span.style.add_modifier.contains(Modifier::UNDERLINED))
        .map(|span| span.content.as_ref())
        .collect();
    assert_eq!(link, ["https://a.b/c_d"]);
}

#[test]
fn tables_fit() {
    let table = "| name | n |\n|---|--:|\n| alpha | 1 |\n| b | 20 |\n";
    check(table, 40, &["name  │  n", "──────┼───", "alpha │  1", "b     │ 20"]);
    let wide = "| a | b |\n|---|---|\n| one two three | x |\n| y | z |\n";
    check(
        wide,
        12,
        &["a        │ b", "─────────┼──", "one two  │ x", "three    │", "─────────┼──", "y        │ z"],
    );
    check("| head | b |\n|---|---|\n| one | two |\n", 6, &["head:", "  one", "b: two"]);
}

#[test]
fn code_is_bordered_and_wrapped() {
    check("```rust\nlet a = 1;\n```", 20, &["╭─ rust", "│ let a = 1;", "╰─"]);
    check("```\n0123456789ABCDEF\n```", 12, &["╭─", "│ 0123456789", "┊ ABCDEF", "╰─"]);
    check("```\nab cd\n```", 4, &["ab", "cd"]);
}

#[test]
fn entities_cannot_smuggle_controls() {
    check("a&#27;[31m&#x202e;b", 40, &["a␛[31m<U+202E>b"]);
}

#[test]
fn colours_of_code_come_from_the_theme() {
    let theme = Theme::default();
    let rows = rows_of("```rust\nfn main() { \"x\"; } // c\n```", 60, &theme, &mut Highlighter::default());
    let style = |text: &str| rows[1].spans.iter().find(|span| span.content == text).map(|span| span.style);
    assert_eq!(style("fn"), Some(theme.style(ThemeToken::Keyword)));
    assert_eq!(style("main"), Some(theme.style(ThemeToken::Function)));
    assert_eq!(style("\"x\""), Some(theme.style(ThemeToken::String)));
    assert_eq!(style("// c"), Some(theme.style(ThemeToken::Comment)));
}

#[test]
fn languages_go_by_many_names() {
    let mut highlighter = Highlighter::default();
    for lang in *tau::tools::words!(
        "rs rust Rust ts typescript tsx js jsx py python sh bash console json jsonc toml yaml yml c cpp \
         c++ h go md html css diff Dockerfile Makefile java kotlin swift sql rb lua zig"
    ) {
        let code = "# x\nif (a) { return \"b\" + 1 } // c\n-- d\n- e: [1]\n+ f\n/* g */ <b c=\"d\">\nFROM a\nall: b\n";
        let found = highlighter.highlight(lang, code).iter().any(|line| !line.is_empty());
        assert!(found, "{lang} is not coloured");
    }
    assert!(highlighter.highlight("no-such-language", "if x").iter().all(Vec::is_empty));
    for (path, lang) in
        [("src/a.rs", "rs"), ("Makefile", "Makefile"), (".bashrc", ".bashrc"), ("x/y.tar.gz", "gz")]
    {
        assert_eq!(language_of(path), lang);
    }
}

fn sample_diff() -> FileDiff {
    let lines = [" fn empty() {", "-    Vec::new()", "+    vec![Token::Eof]", " }"];
    let words = ["-let total = count + 1;", "+let total = amount + 1;"];
    let hunk = |start, lines: &[&str]| Hunk {
        old_start: start,
        new_start: start,
        lines: lines.iter().map(|line| line.to_string()).collect(),
    };
    FileDiff {
        path: "src/parser.rs".into(),
        added: 2,
        removed: 2,
        hunks: vec![hunk(41, &lines), hunk(98, &words)],
        ..FileDiff::default()
    }
}

#[test]
fn diffs_have_numbers_signs_and_marks() {
    let theme = Theme::default();
    let rows = lines(diff::render(&sample_diff(), 50, &theme, &mut Highlighter::default()));
    let found: Vec<String> = rows.iter().map(|row| text_of(row).trim_end().to_owned()).collect();
    assert_eq!(
        found,
        [
            " 41  41 │   fn empty() {", " 42     │ -     Vec::new()", "     42 │ +     vec![Token::Eof]",
            " 43  43 │   }", "⋯", " 98     │ - let total = count + 1;",
            "     98 │ + let total = amount + 1;",
        ]
    );
    let marked = |row: &Line<'_>, token| -> String {
        let bg = theme.style(token).bg;
        row.spans.iter().filter(|span| span.style.bg == bg).map(|span| span.content.as_ref()).collect()
    };
    assert_eq!(marked(&rows[5], ThemeToken::DiffRemovedWord), "count");
    assert_eq!(marked(&rows[6], ThemeToken::DiffAddedWord), "amount");
    assert_eq!(wrap::spans_cells(&rows[6].spans), 50, "the background reaches the edge");
}

#[test]
fn commands_keep_their_colours() {
    let theme = Theme::builtin("system").unwrap();
    let rows = lines(terminal_text::render(&ansi::lines("a\x1b[1;31mbcd\x1b[0;38;2;1;2;3me"), 3, &theme));
    let found: Vec<String> = rows.iter().map(text_of).collect();
    assert_eq!(found, ["abc", "de"]);
    assert_eq!(rows[0].spans[1].style, Style::new().fg(Color::Red).add_modifier(Modifier::BOLD));
    assert_eq!(rows[1].spans[1].style, Style::new().fg(Color::Rgb(1, 2, 3)));
    let rows = terminal_text::render(&ansi::lines("\x1b[31ma"), 3, &theme.at_depth(ColorDepth::None));
    assert_eq!(rows[0].spans[0].style.fg, None);
}

#[test]
fn cutting_leaves_a_mark() {
    for (text, width, expected) in [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("ab", 1, "…"),
        ("ab", 0, ""),
    ] {
        assert_eq!(wrap::truncate(text, width), expected, "{text} at {width}");
        let line = Line::from(vec![
            text.chars().take(1).collect::<String>().into(),
            text.chars().skip(1).collect::<String>().into(),
        ]);
        assert_eq!(text_of(&wrap::truncate_line(line, width)), expected, "spans of {text} at {width}");
    }
}

#[test]
fn built_in_themes_name_everything() {
    for name in Theme::names() {
        let theme = Theme::builtin(name).unwrap_or_else(|| panic!("{name} does not parse"));
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(root.join(format!("themes/{name}.toml"))).unwrap();
        let page = std::fs::read_to_string(root.join("docs/themes.md")).unwrap();
        assert!(page.contains(&format!("`{name}`")), "docs/themes.md does not name {name}");
        for token in ThemeToken::ALL {
            assert!(source.contains(&format!("\n{} = ", token.name())), "{name} lacks {}", token.name());
        }
        for depth in [ColorDepth::Ansi256, ColorDepth::Ansi16, ColorDepth::None] {
            let reduced = theme.at_depth(depth);
            for token in ThemeToken::ALL {
                let style = reduced.style(*token);
                let fits = |color: Option<Color>| match (depth, color) {
                    (_, None) => true,
                    (ColorDepth::None, Some(_)) => false,
                    (ColorDepth::Ansi16, Some(color)) => !matches!(color, Color::Rgb(..) | Color::Indexed(_)),
                    (_, Some(color)) => !matches!(color, Color::Rgb(..)),
                };
                assert!(fits(style.fg) && fits(style.bg), "{name} {} {depth:?}: {style:?}", token.name());
            }
        }
    }
}

#[test]
fn theme_files_are_read_with_errors_that_name_the_key() {
    let theme = Theme::parse(
        "inherits = \"dark\"\n[palette]\nx = \"#010203\"\n[colors]\ntext = \"bold x on 7\"\nlink = 99\n",
    );
    let theme = theme.unwrap();
    let expected = Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Indexed(7)).add_modifier(Modifier::BOLD);
    assert_eq!(theme.style(ThemeToken::Text), expected);
    assert_eq!(theme.style(ThemeToken::Link).fg, Some(Color::Indexed(99)));
    assert_eq!(theme.style(ThemeToken::Error), Theme::default().style(ThemeToken::Error));
    assert_ne!(theme.id(), Theme::default().id());
    assert_eq!(Theme::default().id(), Theme::builtin("dark").unwrap().id());
    for (source, line, word) in [
        ("[colors]\nnothing = \"red\"", 2, "colors.nothing"),
        ("[colors]\nlink = 9\ntext = \"purplish\"", 3, "colors.text"),
        ("[palette]\na = \"#12\"", 2, "palette.a"),
        ("inherits = \"moon\"", 1, "inherits"),
        ("\n\ncolours = 1", 3, "colours"),
        ("\n[colors", 2, "unclosed table"),
    ] {
        let error = Theme::parse(source).unwrap_err();
        assert!(error.line == line && error.to_string().contains(word), "{source}: {error}");
    }
}

/// Draws the rows and checks that each keeps to the width, and contains no control.
fn keep_to(width: u16, rows: &[Line<'_>]) -> Result<(), TestCaseError> {
    for row in rows {
        let cells = wrap::spans_cells(&row.spans);
        prop_assert!(cells <= usize::from(width), "{} cells at {}: {:?}", cells, width, text_of(row));
        prop_assert!(
            row.width() <= usize::from(width),
            "ratatui: {} at {}: {:?}",
            row.width(),
            width,
            text_of(row)
        );
        let text = text_of(row);
        prop_assert!(
            !text.chars().any(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}')),
            "{:?}",
            text
        );
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        row.render(buffer.area, &mut buffer);
    }
    Ok(())
}

fn hostile_diff(text: &str) -> FileDiff {
    let lines: Vec<String> = text
        .split('\n')
        .zip("-+ -- ++".chars().cycle())
        .map(|(line, sign)| format!("{sign}{line}"))
        .collect();
    FileDiff {
        path: "a".into(),
        hunks: vec![Hunk { old_start: 7, new_start: 99, lines }],
        ..FileDiff::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn no_row_is_wider_than_asked_for(text in hostile(), width in 1..41u16) {
        let theme = Theme::default();
        let mut warm = Highlighter::default();
        let rows = rows_of(&text, width, &theme, &mut warm);
        keep_to(width, &rows)?;
        prop_assert_eq!(&rows_of(&text, width, &theme, &mut warm), &rows, "warm differs from cold");
        let change = hostile_diff(&text);
        keep_to(width, &lines(diff::render(&change, width, &theme, &mut warm)))?;
        keep_to(width, &lines(terminal_text::render(&ansi::lines(&text), width, &theme)))?;
        let line = Line::from(ansi::plain(&text).replace('\n', " "));
        keep_to(width, &wrap::wrap(&line, width, 3))?;
        keep_to(width, &wrap::wrap_at(&line.spans, width, 3, Break::Verbatim))?;
        keep_to(width, &[wrap::truncate_line(line, width)])?;
    }

    #[test]
    fn wrapping_verbatim_loses_nothing_but_blanks(text in hostile(), width in 3..41u16) {
        let line = Line::from(ansi::plain(&text).replace('\n', " "));
        let rows = wrap::wrap_at(&line.spans, width, 0, Break::Verbatim);
        let inked = |text: String| text.replace([' ', '\u{3000}'], "");
        prop_assert_eq!(inked(rows.iter().map(text_of).collect()), inked(text_of(&line)));
    }
}

/// Everything there is, for inspection: `cargo test --test all -- --ignored --nocapture showcase`.
/// `TAU_SHOW` is `width theme depth`, such as `40 light 16`.
#[test]
#[ignore = "prints what a person should look at"]
fn showcase() {
    let wish = option_env!("TAU_SHOW").unwrap_or("80 dark true");
    let words: Vec<&str> = wish.split(' ').collect();
    let depth = match words[2] {
        "true" => ColorDepth::True,
        "256" => ColorDepth::Ansi256,
        "16" => ColorDepth::Ansi16,
        _ => ColorDepth::None,
    };
    let theme = Theme::builtin(words[1]).unwrap().at_depth(depth);
    let width = words[0].parse().unwrap();
    let mut highlighter = Highlighter::default();
    let mut rows = rows_of(include_str!("showcase.md"), width, &theme, &mut highlighter);
    rows.push(Line::default());
    rows.extend(lines(diff::render(&sample_diff(), width, &theme, &mut highlighter)));
    rows.push(Line::default());
    let output =
        "running 2 tests\n\x1b[32mok\x1b[0m and \x1b[1;31mFAILED\x1b[0m \x1b[38;2;255;128;0morange\x1b[0m\n";
    rows.extend(lines(terminal_text::render(&ansi::lines(output), width, &theme)));
    rows.iter().for_each(|row| println!("{}", ansi_of(row)));
}

fn ansi_of(row: &Line<'_>) -> String {
    let colour = |color: Option<Color>, base: u8| match color {
        None | Some(Color::Reset) => String::new(),
        Some(Color::Rgb(r, g, b)) => format!(";{};2;{r};{g};{b}", base + 8),
        Some(Color::Indexed(index)) => format!(";{};5;{index}", base + 8),
        Some(named) => {
            let index = (0..16).find(|index| tau::view::color::ansi_color(*index) == named).unwrap_or(7);
            format!(";{};5;{index}", base + 8)
        }
    };
    let modifiers = [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::ITALIC, ";3"),
        (Modifier::UNDERLINED, ";4"),
        (Modifier::REVERSED, ";7"),
        (Modifier::CROSSED_OUT, ";9"),
    ];
    let span = |span: &ratatui::text::Span<'_>| {
        let style = span.style;
        let weight: String = modifiers
            .iter()
            .filter(|(modifier, _)| style.add_modifier.contains(*modifier))
            .map(|(_, code)| *code)
            .collect();
        format!("\x1b[0{weight}{}{}m{}\x1b[0m", colour(style.fg, 30), colour(style.bg, 40), span.content)
    };
    row.spans.iter().map(span).collect()
}
