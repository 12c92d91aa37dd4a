//! Text on its way into the model: sanitized, separated from its colours, split into blocks.

use proptest::prelude::*;
use pulldown_cmark::Event;
use tau::app::ansi::{self, SgrColor, SgrStyle};
use tau::app::blocks::{CodePart, MarkdownBlock, MarkdownBlocks, PART};
use tau::app::printable::{Printable, printable, printable_line};

fn check_printable(raw: &str, expected: &str) {
    assert_eq!(Printable::new(raw).as_str(), expected, "for {raw:?}");
    assert_eq!(printable(raw), expected, "borrowed, for {raw:?}");
}

#[test]
fn printable_shows_what_it_may_not_send() {
    check_printable("plain\ntext", "plain\ntext");
    check_printable("a\x1b[31mb", "a␛[31mb");
    check_printable("a\0b\x07c\x7fd", "a␀b␇c␡d");
    check_printable("a\u{9b}31mb", "a\u{FFFD}31mb");
    check_printable("a\u{202e}b\u{2066}c\u{200f}d", "a<U+202E>b<U+2066>c<U+200F>d");
    check_printable("\u{202e}\ta\u{61c}", "<U+202E>    a<U+061C>");
    check_printable("a\u{2028}b\u{fff9}c\u{e0041}d", "a<U+2028>b\u{FFFD}c\u{FFFD}d");
    check_printable("a\u{200b}b\u{feff}c\u{ad}d", "abcd");
    check_printable("日本語 é ü", "日本語 é ü");
}

#[test]
fn printable_loses_no_text_at_a_return() {
    check_printable("a\r\nb\r\n", "a\nb\n");
    check_printable("10%\r50%\r100%\ndone", "10%\n50%\n100%\ndone");
    check_printable("kept\r", "kept");
    check_printable("one\r\r\ntwo", "one\ntwo");
    check_printable("first\nold\rnew", "first\nold\nnew");
}

#[test]
fn printable_expands_tabs_to_stops() {
    check_printable("\ta\tb", "    a   b");
    check_printable("ab\tc\n\td", "ab  c\n    d");
    check_printable("日\tb", "日  b");
    check_printable("abcd\te", "abcd    e");
}

#[test]
fn printable_keeps_emoji_and_bounds_marks() {
    let family = "👨\u{200D}👩\u{200D}👧\u{200D}👦 ❤\u{FE0F} 🇩🇪";
    check_printable(family, family);
    check_printable("a\u{200D}b", "ab");
    let (stacked, bounded) = ("\u{301}".repeat(50), "\u{301}".repeat(8));
    check_printable(&format!("e{stacked}x"), &format!("e{bounded}x"));
    check_printable("a\u{E0101}", "a\u{FFFD}");
    check_printable("葛\u{E0101}", "葛\u{E0101}");
}

#[test]
fn printable_lines_hold_no_line_end() {
    for (raw, expected) in [
        ("a\nb", "a⏎b"),
        ("a\r\nb\n", "a⏎b"),
        ("ab\r\n", "ab"),
        ("rm -r x\rls", "rm -r x⏎ls"),
        ("\tx", "    x"),
    ] {
        assert_eq!(Printable::line(raw).as_str(), expected, "for {raw:?}");
        assert_eq!(printable_line(raw), expected, "borrowed, for {raw:?}");
    }
}

fn check_ansi(raw: &str, expected: &[&[(&str, SgrStyle)]]) {
    let lines = ansi::lines(raw);
    let found: Vec<Vec<(&str, SgrStyle)>> =
        lines.iter().map(|line| line.iter().map(|run| (run.text.as_str(), run.style)).collect()).collect();
    assert_eq!(found, expected, "for {raw:?}");
}

#[test]
fn ansi_keeps_colours_and_nothing_else() {
    let plain = SgrStyle::default();
    let red = SgrStyle { foreground: SgrColor::Named(1), ..plain };
    let bold_red = SgrStyle { bold: true, ..red };
    let rgb = SgrStyle { background: SgrColor::Rgb(1, 2, 3), ..plain };
    check_ansi("a\x1b[31mb\x1b[0mc", &[&[("a", plain), ("b", red), ("c", plain)]]);
    check_ansi("\x1b[1;31ma\nb\x1b[mc", &[&[("a", bold_red)], &[("b", bold_red), ("c", plain)]]);
    check_ansi("\x1b[48;2;1;2;3ma", &[&[("a", rgb)]]);
    check_ansi("\x1b[48:2::1:2:3ma", &[&[("a", rgb)]]);
    check_ansi("\x1b[38;5;9ma", &[&[("a", SgrStyle { foreground: SgrColor::Named(9), ..plain })]]);
    check_ansi("\x1b[38;5;99ma", &[&[("a", SgrStyle { foreground: SgrColor::Indexed(99), ..plain })]]);
    check_ansi("\x1b[4:3ma", &[&[("a", SgrStyle { underline: true, ..plain })]]);
    check_ansi("a\x1b]0;title\x07b\x1b]52;c;aGk=\x1b\\c", &[&[("abc", plain)]]);
    check_ansi("a\x1b[2Jb\x1b[10;10Hc\x1b(Bd\x1bPq\x1b\\e", &[&[("abcde", plain)]]);
    check_ansi("a\x1b]0;unfinished\nb", &[&[("a", plain)], &[("b", plain)]]);
    check_ansi("a\x1b[?1049h\x1b[>4;2mb\x1b", &[&[("ab", plain)]]);
    check_ansi("old\rnew\n\x07", &[&[("new", plain)], &[("␇", plain)]]);
    check_ansi("", &[]);
    check_ansi("\n", &[]);
    check_ansi("a\n\nb\n", &[&[("a", plain)], &[], &[("b", plain)]]);
}

fn markdown(source: &str) -> MarkdownBlock {
    MarkdownBlock::Markdown(source.into())
}

fn code(lang: &str, text: &str, part: CodePart, start_line: usize) -> MarkdownBlock {
    MarkdownBlock::Code { lang: lang.into(), text: text.into(), part, start_line }
}

fn check_blocks(source: &str, expected: &[MarkdownBlock]) {
    assert_eq!(MarkdownBlocks::of(source).closed_blocks(), expected, "for {source:?}");
}

#[test]
fn blocks_are_the_top_level() {
    check_blocks("", &[]);
    check_blocks("\n\n", &[]);
    check_blocks("one\ntwo\n\nthree", &[markdown("one\ntwo"), markdown("three")]);
    check_blocks(
        "# a\ntext\n- x\n- y\n\n  more\n***\n",
        &[markdown("# a"), markdown("text"), markdown("- x\n- y\n\n  more"), markdown("***")],
    );
    check_blocks("a | b\n--|--\n1 | 2\n\nend", &[markdown("a | b\n--|--\n1 | 2"), markdown("end")]);
    check_blocks("- a\n\n  ```rs\n  x\n  ```\n- b", &[markdown("- a\n\n  ```rs\n  x\n  ```\n- b")]);
    check_blocks("> q\nlazy\n\n    code\n", &[markdown("> q\nlazy"), markdown("    code")]);
    check_blocks("- a\n**b**\n\nc", &[markdown("- a\n**b**"), markdown("c")]);
}

#[test]
fn fences_are_code() {
    check_blocks(
        "```rust\nfn a() {}\n```\nend",
        &[code("rust", "fn a() {}\n", CodePart::Whole, 0), markdown("end")],
    );
    check_blocks("a\n```\nopen", &[markdown("a"), code("", "open", CodePart::Whole, 0)]);
    check_blocks("~~~~ py x\n~~~\n```\n~~~~", &[code("py", "~~~\n```\n", CodePart::Whole, 0)]);
    check_blocks("  ```\n   a\n b\n  ```", &[code("", " a\nb\n", CodePart::Whole, 0)]);
    check_blocks("```rust", &[code("rust", "", CodePart::Whole, 0)]);
    check_blocks("```a`b\n", &[markdown("```a`b")]);
}

#[test]
fn long_fences_are_closed_in_parts() {
    let body = "x\n".repeat(5 * PART);
    let blocks = MarkdownBlocks::of(&format!("```c\n{body}```\n"));
    let parts: Vec<(CodePart, usize)> = blocks
        .closed_blocks()
        .iter()
        .map(|block| match block {
            MarkdownBlock::Code { part, start_line, .. } => (*part, *start_line),
            MarkdownBlock::Markdown(source) => panic!("{source}"),
        })
        .collect();
    let expected = [(CodePart::First, 0), (CodePart::Middle, 2 * PART), (CodePart::Last, 4 * PART)];
    assert_eq!(parts, expected);
    assert!(!blocks.closed_blocks()[0].continues() && blocks.closed_blocks()[1].continues());
    let at_empty_line =
        MarkdownBlocks::of(&format!("```c\n{}\n{}```\n", "x\n".repeat(PART), "y\n".repeat(3)));
    assert_eq!(at_empty_line.closed_blocks().len(), 2);
}

#[test]
fn the_open_block_is_shown_without_guessing() {
    let open = |text: &str| {
        let mut blocks = MarkdownBlocks::default();
        blocks.push(text);
        blocks.open()
    };
    assert_eq!(open(""), None);
    assert_eq!(open("par"), Some(markdown("par")));
    assert_eq!(open("par\n--"), Some(markdown("par")));
    assert_eq!(open("```rs\nlet"), Some(code("rs", "let", CodePart::Whole, 0)));
    assert_eq!(open("```rs\nlet\n``"), Some(code("rs", "let\n", CodePart::Whole, 0)));
}

#[test]
fn blocks_cost_what_the_delta_costs() {
    // A list is one block: parsed again for each of its lines it would be read 20,000 times.
    let list = "- an item of a very long list, with **bold** text\n".repeat(20_000);
    let mut blocks = MarkdownBlocks::default();
    list.as_bytes().chunks(7).for_each(|chunk| blocks.push(std::str::from_utf8(chunk).unwrap()));
    blocks.finish();
    assert_eq!(blocks.closed_blocks().len(), 1);
}

/// Markdown that is hard to split, and text that is hard to display.
pub const HOSTILE: &[&str] = &[
    "\n", "\n\n", "\r", "\r\n", "# ", "- ", "* ", "1. ", "> ", "```", "```rust\n", "~~~\n", "    ", "---\n",
    "===\n", "| a | b |\n|---|--:|\n", "| x | y |\n", "|", "**", "_", "`", "[a](http://b.c)", "![i](u)",
    "[^1]", "[^1]: note\n", "[x]: /u\n", "<b>", "<!--", "-->", "<br>", "- [x] ", "> [!NOTE]\n", "&#27;",
    "&#x202e;", "&lt;", "\\", "~~", "word ", "a longer piece of text ",
    "averyveryverylongwordwithoutanybreak", "日本語テキスト", "「括弧」。", "👨\u{200D}👩\u{200D}👧",
    "❤\u{FE0F}", "e\u{301}", "\u{301}", "\u{200D}", "\u{FE0F}", "🇩🇪", "\t", "\x1b[31m", "\u{9b}", "\u{202e}",
    "\u{200b}", "ｶﾞ", "لا", "\u{1100}\u{1161}", "क्षि", "https://example.com/a_(b)?c=d.",
    "fn main() { \"x\" }\n", "\u{2028}", "\0", "\u{e0041}",
];

/// Hostile pieces, mixed with random characters.
pub fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(HOSTILE);
    let random = any::<char>().prop_map(|c| c.to_string());
    let piece = prop_oneof![8 => pieces.prop_map(str::to_owned), 1 => random];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// `text` cut at these places (in per mille of its characters).
fn cut(text: &str, places: &[usize]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut at: Vec<usize> = places.iter().map(|place| place * characters.len() / 1000).collect();
    at.extend([0, characters.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| characters[pair[0]..pair[1]].iter().collect()).collect()
}

/// The kinds of blocks at the top level.
fn top_level(source: &str) -> Vec<String> {
    let mut depth = 0;
    let mut tops = Vec::new();
    for event in pulldown_cmark::Parser::new_ext(source, tau::app::blocks::options()) {
        let kind = match &event {
            Event::Start(tag) => format!("{:?}", tag.to_end()),
            other => format!("{other:?}"),
        };
        depth -= i32::from(matches!(event, Event::End(_)));
        if depth == 0 && !matches!(event, Event::End(_)) {
            tops.push(kind);
        }
        depth += i32::from(matches!(event, Event::Start(_)));
    }
    tops
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_chunking_is_printed_alike(text in hostile(), places in prop::collection::vec(0..1000usize, 0..12)) {
        let mut streamed = Printable::default();
        cut(&text, &places).iter().for_each(|piece| streamed.append(piece));
        prop_assert_eq!(&streamed, &Printable::new(&text));
        prop_assert!(streamed.chars().all(|c| c == '\n' || !c.is_control()));
        prop_assert_eq!(printable(&streamed), streamed.as_str(), "what is safe stays as it is");
    }

    #[test]
    fn any_chunking_gives_the_same_blocks(text in hostile(), places in prop::collection::vec(0..1000usize, 0..12)) {
        let mut streamed = MarkdownBlocks::default();
        cut(&text, &places).iter().for_each(|piece| streamed.push(piece));
        let mut whole = MarkdownBlocks::default();
        whole.push(&text);
        prop_assert_eq!(&streamed, &whole);
        let before = streamed.closed_blocks().to_vec();
        streamed.finish();
        prop_assert!(streamed.closed_blocks().starts_with(&before), "a closed block never changes");
        let at_once = MarkdownBlocks::of(&text);
        prop_assert_eq!(streamed.closed_blocks(), at_once.closed_blocks());
    }

    #[test]
    fn blocks_are_those_of_a_full_parse(text in hostile()) {
        // References are resolved only within a block, and fences come without their marks.
        let text = printable(&text.replace(['[', '`', '~'], "")).into_owned();
        let blocks = MarkdownBlocks::of(&text);
        let sources: Vec<&str> = blocks.closed_blocks().iter().map(|block| match block {
            MarkdownBlock::Markdown(source) => &**source,
            MarkdownBlock::Code { text, .. } => text,
        }).collect();
        let visible = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(visible(&sources.concat()), visible(&text), "nothing is lost");
        prop_assert_eq!(sources.iter().flat_map(|source| top_level(source)).collect::<Vec<_>>(), top_level(&text));
    }

    #[test]
    fn ansi_lines_hold_no_control(text in hostile()) {
        for run in ansi::lines(&text).iter().flatten() {
            prop_assert!(!run.text.chars().any(char::is_control), "{:?}", run);
        }
    }
}
