//! Pictures on the screen: the bytes for each kind of terminal, and half blocks as frames.

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::{ImageFormat, Rgb, RgbImage};
use ratatui::layout::Rect;
use tau::agent::protocol::event::TurnEvent;
use tau::agent::protocol::message::{Block, Message, UserContent, UserMessage};
use tau::app::picture::{PictureFormat, PictureSupport};
use tau::view::frame::Frame;
use tau::view::picture::{PictureOutcome, PreparedPicture, PreparedPixels};
use tau::view::view;

use crate::harness::{self, answering};
use crate::screen::{Screen, TIMEOUT};

const F1: &str = "\x1bOP";

/// A picture of 600x400 pixels, as base64.
fn png() -> String {
    let picture = RgbImage::from_fn(600, 400, |x, y| Rgb([(x / 3) as u8, (y / 2) as u8, 90]));
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).unwrap();
    BASE64_STANDARD.encode(bytes)
}

/// tau with a prompt that has a picture.
fn start(config: &str, before: &str) -> Screen {
    let script = format!(
        "mkdir -p \"$TAU_HOME\"; printf '%s' '{config}' >\"$TAU_HOME/config.toml\"; export NO_PROXY='*'\n\
         base64 -d >shot.png <<'END'\n{}\nEND\n{before}",
        png()
    );
    let arguments = format!("--base-url {} --model m @shot.png look", answering(Duration::ZERO, "I see."));
    Screen::prepared(&script, &arguments, 80, 24)
}

fn bytes(screen: &Screen) -> String {
    String::from_utf8_lossy(&screen.bytes()).into_owned()
}

/// Waits until this was sent at least this many times.
#[track_caller]
fn wait_for_bytes(screen: &Screen, what: &str, times: usize) {
    crate::time_limit::until(
        TIMEOUT,
        || bytes(screen).matches(what).count() >= times,
        || format!("not {times} times: {what:?}\n{}", screen.text()),
    );
}

#[test]
fn kitty_gets_the_picture_once_and_placeholders_where_it_is() {
    let mut screen = start("images = \"kitty\"", "");
    wait_for_bytes(&screen, "\x1b_Ga=T,U=1,f=100,i=", 1);
    screen.wait_for("\u{10EEEE}\u{305}\u{305}\u{10EEEE}\u{305}\u{30d}");
    let log = bytes(&screen);
    let (_, upload) = log.split_once("\x1b_Ga=T,U=1,f=100,i=").unwrap();
    let number = upload.split(',').next().unwrap().to_owned();
    assert!(upload.contains(",c=36,r=12,q=2,m="), "as large as half of the window: {:?}", upload.get(..60));
    // An overlay hides it, and it need not be sent again.
    screen.type_keys(F1);
    screen.wait_until("no placeholders", |cells| !cells.contents().contains('\u{10EEEE}'));
    screen.type_keys("\x1b");
    screen.wait_for("\u{10EEEE}");
    assert_eq!(bytes(&screen).matches("\x1b_Ga=T").count(), 1);
    // Another size is another picture.
    screen.resize(60, 16);
    wait_for_bytes(&screen, ",c=24,r=8,q=2", 1);
    screen.signal(rustix::process::Signal::TERM);
    screen.wait_exit();
    let log = bytes(&screen);
    let deleted = log.rfind(&format!("\x1b_Ga=d,d=I,i={number},q=2\x1b\\")).expect("deleted at the end");
    assert!(deleted < log.rfind("\x1b[?1049l").unwrap(), "before the other screen");
}

#[test]
fn a_picture_for_kitty_passes_through_tmux() {
    let screen = start("images = \"kitty\"", "export TMUX=/nowhere,1,0");
    wait_for_bytes(&screen, "\x1bPtmux;\x1b\x1b_Ga=T,U=1,f=100,i=", 1);
    assert!(!bytes(&screen).contains("\x1b\x1b_Gq=2,m=0;\x1b\\"), "the end of each is passed as well");
}

#[test]
fn iterm2_gets_a_file_for_each_row() {
    let screen = start("", "export TERM_PROGRAM=iTerm.app");
    let strip = "\x1b]1337;File=inline=1;width=36;height=1;preserveAspectRatio=0;doNotMoveCursor=1:iVBOR";
    wait_for_bytes(&screen, strip, 12);
    let before = bytes(&screen).matches(strip).count();
    // An overlay is drawn over it and hides it completely; later it is back.
    screen.type_keys(F1);
    screen.wait_for("Keys and commands");
    screen.type_keys("\x1b");
    wait_for_bytes(&screen, strip, before + 12);
}

#[test]
fn a_terminal_that_says_so_gets_sixels() {
    let screen = start("", "");
    // Its answers about its cells and itself, once asked.
    wait_for_bytes(&screen, "\x1b[16t", 1);
    screen.type_keys("\x1b[6;20;10t\x1b[?62;4;22c");
    wait_for_bytes(&screen, "\x1bP0;1;0q\"1;1;360;20", 12);
}

#[test]
fn a_frame_that_the_terminal_took_in_part_is_sent_to_its_end() {
    let screen = start("", "");
    wait_for_bytes(&screen, "\x1b[16t", 1);
    screen.wait_for("I see.");
    // The frame with the picture is longer than what a terminal takes unread, and nothing happens after it.
    screen.type_keys_unread("\x1b[6;20;10t\x1b[?62;4;22c");
    assert!(bytes(&screen).matches("\x1bP0;1;0q").count() < 12);
    wait_for_bytes(&screen, "\x1bP0;1;0q\"1;1;360;20", 12);
}

#[test]
fn other_terminals_get_half_blocks_unless_there_are_to_be_none() {
    let screen = start("", "export COLORTERM=truecolor");
    screen.wait_for("▀▀");
    let sent = bytes(&screen);
    assert!(!sent.contains("\x1b_Ga=T") && !sent.contains("\x1b]1337") && !sent.contains("\x1bP0;1;0q"));
    let screen = start("images = \"off\"", "");
    screen.wait_for("look");
    assert!(!screen.text().contains('▀'));
}

#[test]
fn the_picture_of_a_result_is_shown_when_a_session_is_restored() {
    let entry = |id: &str, parent: Option<&str>, message: serde_json::Value| {
        let timestamp = "2026-01-01T00:00:00.000Z";
        serde_json::json!({
            "type": "message", "id": id, "parentId": parent, "timestamp": timestamp, "message": message
        })
    };
    let call = serde_json::json!({
        "role": "assistant", "api": "openai-completions", "provider": "local", "model": "m", "stopReason": "toolUse",
        "content": [{"type": "toolCall", "id": "call", "name": "read", "arguments": {"path": "shot.png"}}]
    });
    let result = serde_json::json!({
        "role": "toolResult", "toolCallId": "call", "toolName": "read", "isError": false,
        "content": [{"type": "image", "data": png(), "mimeType": "image/png"}],
        "details": {"kind": "image", "mimeType": "image/png", "width": 600, "height": 400, "bytes": 2048}
    });
    let lines = [
        entry("00000001", None, serde_json::json!({"role": "user", "content": "look"})),
        entry("00000002", Some("00000001"), call),
        entry("00000003", Some("00000002"), result),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let script = format!(
        "export COLORTERM=truecolor\n\
         printf '{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\
         \"cwd\":\"%s\"}}\\n' \"$PWD\" >s.jsonl\ncat >>s.jsonl <<'END'\n{lines}END"
    );
    let screen = Screen::prepared(&script, "--model demo --session s.jsonl", 80, 24);
    screen.wait_for("image/png, 600x400, 2 KB");
    screen.wait_for("▀▀▀▀");
}

/// A screen with a picture of this many cells that belongs to a message.
fn screen_with_picture(format: PictureFormat) -> harness::Screen {
    let mut boot = harness::boot();
    boot.settings.text_layout.pictures = PictureSupport::Known(format);
    let mut screen = harness::Screen::boot(boot);
    let image = Block::Image { data: "AAAA".into(), mime_type: "image/png".into() };
    let content = UserContent::Blocks(vec![Block::text("what is this?"), image]);
    let message =
        Arc::new(Message::User(UserMessage { timestamp: harness::START, ..UserMessage::new(content) }));
    screen.agent(TurnEvent::MessageStart { message });
    screen
}

#[test]
fn half_blocks_are_cells() {
    let mut screen = screen_with_picture(PictureFormat::Blocks);
    screen.draw();
    let jobs = screen.memo.missing_pictures();
    assert_eq!(jobs.len(), 1);
    screen.draw();
    assert!(screen.memo.missing_pictures().is_empty(), "asked for once");
    let (columns, rows) = (16_u16, 6_u16);
    let color = |x: u16, y: u16| {
        let inside = (x as f64 - 7.5).hypot(f64::from(y) - 5.5) < 5.5;
        inside.then_some([(x * 16) as u8, 120, (y * 20) as u8])
    };
    let cells = (0..rows).flat_map(|y| (0..columns).map(move |x| [color(x, 2 * y), color(x, 2 * y + 1)]));
    let prepared = PreparedPicture { columns, rows, pixels: PreparedPixels::Blocks(cells.collect()) };
    screen.memo.add_picture(jobs[0].key, PictureOutcome::Prepared(prepared));
    harness::frame_as_it_is(&mut screen, "picture-80x24");
}

#[test]
fn beside_an_overlay_there_is_no_picture() {
    let mut screen = screen_with_picture(PictureFormat::Iterm2);
    screen.draw();
    let jobs = screen.memo.missing_pictures();
    let pixels = PreparedPixels::Strips(vec!["one".into(), "two".into()]);
    let prepared = PreparedPicture { columns: 8, rows: 2, pixels };
    screen.memo.add_picture(jobs[0].key, PictureOutcome::Prepared(prepared));
    let strips = |screen: &mut harness::Screen| {
        let model = screen.model.clone().unwrap();
        let mut frame = Frame::blank(Rect::new(0, 0, model.size.width, model.size.height));
        view(&model, &mut screen.memo, &mut frame);
        frame.pictures.iter().filter_map(|placed| placed.what.strip()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(strips(&mut screen), ["one", "two"]);
    screen.keys("<f1>");
    assert!(strips(&mut screen).is_empty());
}
