//! Links on the screen: only the text of a link if the terminal can open it, otherwise also its address.

use std::sync::Arc;
use std::time::Duration;

use ratatui::layout::Rect;
use tau::agent::protocol::event::TurnEvent;
use tau::agent::protocol::message::{Block, StopReason};
use tau::app::blocks::MarkdownBlocks;
use tau::app::geometry::{Addresses, TextLayout};
use tau::view::frame::Frame;
use tau::view::highlight::Highlighter;
use tau::view::link::Link;
use tau::view::markdown::{self, Room};
use tau::view::row::Row;
use tau::view::theme::Theme;
use tau::view::view;

use crate::harness::{self, answering, assistant};
use crate::screen::{MouseReport, Screen};

const LINKED: TextLayout = TextLayout {
    prose_width: 0,
    diff: tau::agent::protocol::screen_settings::DiffLayout::Auto,
    addresses: Addresses::Linked,
    pictures: tau::app::picture::PictureSupport::Off,
};

fn rows(source: &str, width: u16) -> Vec<Row> {
    let (theme, mut highlighter) = (Theme::default(), Highlighter::default());
    let blocks = MarkdownBlocks::of(source);
    let room = Room { margin: 0, width, layout: LINKED };
    let render = |block| markdown::render_within(block, room, &theme, &mut highlighter);
    blocks.closed_blocks().iter().flat_map(render).collect()
}

/// The rows as text, with links as `<text|address>`.
fn shown(source: &str, width: u16) -> Vec<String> {
    let text = |row: &Row| {
        let mut frame = Frame::blank(Rect::new(0, 0, width, 1));
        frame.put_row(frame.area(), row);
        let mut text = String::new();
        for x in 0..width {
            for placed in frame.links.row(0) {
                if placed.columns.start == x {
                    text.push('<');
                }
            }
            text.push_str(frame.buffer()[(x, 0)].symbol());
            for placed in frame.links.row(0).iter().filter(|placed| placed.columns.end == x + 1) {
                text.push_str(&format!("|{}>", placed.what.uri()));
            }
        }
        text.trim_end().to_owned()
    };
    rows(source, width).iter().map(text).collect()
}

#[test]
fn links_are_their_text() {
    let cases: [(&str, u16, &[&str]); 13] = [
        ("[a\u{202e}b](https://x) c", 60, &["<a<U+202E>b|https://x> c"]),
        ("see [the docs](https://a.b/c).", 40, &["see <the docs|https://a.b/c>."]),
        ("see https://a.b/c.", 40, &["see <https://a.b/c|https://a.b/c>."]),
        ("<https://a.b> <a@b.c>", 60, &["<https://a.b|https://a.b> <a@b.c|mailto:a@b.c>"]),
        ("[one *two*](https://a)", 60, &["<one two|https://a>"]),
        ("[a][1]\n\n[1]: https://x\n", 60, &["<a|https://x>"]),
        ("![alt](https://a.png)", 60, &["<[image: alt]|https://a.png>"]),
        // A target that the terminal must not open is printed as before.
        ("[a](src/main.rs)", 60, &["a (src/main.rs)"]),
        ("[a](javascript:x)", 60, &["a (javascript:x)"]),
        ("[a](https://x&#27;]8;;evil)", 60, &["a (https://x␛]8;;evil)"]),
        // Text that looks like a different address does not hide the target.
        ("[https://bank](https://evil)", 60, &["<https://bank|https://evil> (https://evil)"]),
        ("- a [b c](https://x) d", 80, &["• a <b c|https://x> d"]),
        ("> [漢字](https://x)!", 40, &["▎ <漢 字 |https://x>!"]),
    ];
    for (source, width, expected) in cases {
        assert_eq!(shown(source, width), expected, "{source:?}");
    }
}

#[test]
fn the_parts_of_a_wrapped_link_are_one_link() {
    let found = shown("go to [the long text of a link](https://a.b) and on", 14);
    assert_eq!(found, ["go to <the long|https://a.b>", "<text of a link|https://a.b>", "and on",]);
    let id = |address: &str| Link::new(address).unwrap().id();
    assert_eq!(id("https://a.b"), id("https://a.b"));
    assert_ne!(id("https://a.b"), id("https://a.c"));
}

#[test]
fn links_in_tables_are_where_their_text_is() {
    let table =
        "| a | name |\n| --- | ---: |\n| b | [x y](https://a) |\n| [one](https://b) two three | c |\n";
    let wide = shown(table, 40);
    assert_eq!(wide[2], "b             │ <x y|https://a>".replace("│ ", "│  "));
    assert_eq!(wide[3], "<one|https://b> two three │    c");
    let stacked = shown(table, 9).join("\n");
    assert!(stacked.contains("<x y|https://a>") && stacked.contains("<one|https://b>"), "{stacked}");
}

fn screen(addresses: Addresses) -> harness::Screen {
    let mut boot = harness::boot();
    boot.settings.text_layout.addresses = addresses;
    let mut screen = harness::Screen::boot(boot);
    let text: String =
        (0..40).map(|n| format!("{n} see [part {n} of it](https://a.b/{n}) now\n\n")).collect();
    let answer = vec![Block::Text { text, text_signature: None }];
    screen.agent(TurnEvent::MessageEnd { message: Arc::new(assistant(answer, StopReason::Stop)) });
    screen
}

fn frame(screen: &mut harness::Screen) -> Frame {
    let size = screen.model().size;
    let mut frame = Frame::blank(Rect::new(0, 0, size.width, size.height));
    let model = screen.model.clone().unwrap();
    view(&model, &mut screen.memo, &mut frame);
    frame
}

#[test]
fn what_is_drawn_over_a_link_is_none() {
    let mut screen = screen(Addresses::Linked);
    let linked = |frame: &Frame| (0..24).filter(|y| !frame.links.row(*y).is_empty()).count();
    assert!(linked(&frame(&mut screen)) > 5);
    screen.keys("<ctrl+home>");
    let scrolled = frame(&mut screen);
    assert!(linked(&scrolled) > 5);
    // The bar at the right and the mark at the bottom are not links.
    for y in 0..24 {
        for placed in scrolled.links.row(y) {
            let text: String =
                placed.columns.clone().map(|x| scrolled.row(y)[usize::from(x)].symbol().to_owned()).collect();
            assert!(text.starts_with("part ") && text.ends_with(" of it"), "{text:?}");
        }
    }
    screen.keys("<f1>");
    assert_eq!(linked(&frame(&mut screen)), 0, "beside an overlay nothing is a link");
}

/// tau with this answer of its model.
fn start(config: &str, before: &str, answer: &str) -> Screen {
    let script = format!(
        "mkdir -p \"$TAU_HOME\"; printf '%s' '{config}' >\"$TAU_HOME/config.toml\"; export NO_PROXY='*'\n{before}"
    );
    let arguments = format!("--base-url {} --model m", answering(Duration::ZERO, answer));
    Screen::prepared(&script, &arguments, 80, 24)
}

fn bytes(screen: &Screen) -> String {
    String::from_utf8_lossy(&screen.bytes()).into_owned()
}

#[test]
fn the_terminal_gets_links_it_opens_and_addresses_otherwise() {
    let answer = "see [the docs](https://docs.example/a;b) now";
    let id = format!("{:x}", Link::new("https://docs.example/a;b").unwrap().id());
    let sent = format!("\x1b]8;id={id};https://docs.example/a;b\x1b\\");
    for (config, before, linked) in [
        ("hyperlinks = \"on\"", "", true),
        ("", "export TERM=xterm-kitty", true),
        ("", "export VTE_VERSION=7600", true),
        ("", "export VTE_VERSION=7600 TMUX=/nowhere,1,0", false),
        ("", "", false),
        ("hyperlinks = \"off\"", "export TERM=xterm-kitty", false),
    ] {
        let screen = start(config, before, answer);
        screen.type_keys("go\r");
        screen.wait_for(if linked {
            "see the docs now"
        } else {
            "see the docs (https://docs.example/a;b) now"
        });
        assert_eq!(bytes(&screen).contains(&sent), linked, "{config} {before}");
        assert_eq!(bytes(&screen).contains("\x1b]8;"), linked, "{config} {before}");
    }
}

#[test]
fn hostile_links_do_not_reach_the_terminal() {
    let answer = "a [b&#27;&#92;c](https://x&#27;&#92;&#27;]0;evil&#7;) [d](https://y&#x9c;z) \
                  [e](javascript:alert) [f](https://ok.example/&quot;&lt;) end";
    let screen = start("hyperlinks = \"on\"", "", answer);
    screen.type_keys("go\r");
    screen.wait_for("end");
    let log = bytes(&screen);
    assert!(!log.contains("]0;evil\x07") && !log.contains("\x1b]0;") && !log.contains('\u{9c}'), "{log:?}");
    let sent: Vec<&str> =
        log.split("\x1b]8;").skip(1).filter_map(|rest| rest.split("\x1b\\").next()).collect();
    assert!(!sent.is_empty());
    for link in sent {
        let (_, target) = link.split_once(';').unwrap();
        assert!(target.is_empty() || target == "https://ok.example/%22%3C", "{link:?}");
    }
}

#[test]
fn what_is_copied_of_a_link_is_its_text_and_of_a_whole_part_its_source() {
    let screen = start("hyperlinks = \"on\"", "", "first\n\nsee [the docs](https://a.b) now\n\nlast");
    screen.type_keys("go\r");
    screen.wait_for("last");
    let (column, row) = screen.find("see the docs now");
    let mut seen = 0;
    let mut drag = |from: (u16, u16), to: (u16, u16)| {
        screen.mouse(MouseReport::Press, from);
        screen.mouse(MouseReport::Drag, to);
        screen.mouse(MouseReport::Release, to);
        let begun = std::time::Instant::now();
        while screen.copied().len() == seen {
            assert!(begun.elapsed() < crate::screen::TIMEOUT);
            std::thread::sleep(Duration::from_millis(10));
        }
        seen = screen.copied().len();
        screen.copied().last().unwrap().clone()
    };
    assert_eq!(drag((column, row), (column + 15, row)), "see the docs now");
    assert_eq!(
        drag((column, row - 2), (column + 3, row + 2)),
        "first\n\nsee [the docs](https://a.b) now\n\nlast"
    );
}
