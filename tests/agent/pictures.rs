//! Images of clients and tools are sent in a form that the model accepts; the session keeps the originals.

use std::io::Cursor;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::{DynamicImage, ImageFormat};
use tau::agent::protocol::command::RunCommand;
use tau::agent::protocol::event::TurnEvent;
use tau::agent::protocol::message::{Block, UserContent};
use tau::agent::protocol::model::Model;

use super::*;

fn picture(width: u32, height: u32, format: ImageFormat) -> String {
    let mut bytes = Vec::new();
    DynamicImage::new_rgb8(width, height).write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    BASE64_STANDARD.encode(bytes)
}

/// The images in user messages: MIME types and data.
fn pictures<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> Vec<(String, String)> {
    let of = |message: &Arc<Message>| match message.as_ref() {
        Message::User(user) => match &user.content {
            UserContent::Blocks(blocks) => blocks.clone(),
            UserContent::Text(_) => Vec::new(),
        },
        _ => Vec::new(),
    };
    let picture = |block: Block| match block {
        Block::Image { data, mime_type } => Some((mime_type, data)),
        _ => None,
    };
    messages.into_iter().flat_map(of).filter_map(picture).collect()
}

#[tokio::test]
async fn each_is_sent_small_enough_and_called_what_it_is() {
    for (data, kind, size) in [
        (picture(100, 2_400, ImageFormat::Jpeg), "image/png", (83, 2_000)),
        (picture(2_000, 20, ImageFormat::Png), "image/png", (2_000, 20)),
        (picture(30, 20, ImageFormat::Gif), "image/gif", (30, 20)),
        ("bm8gcGljdHVyZQ==".to_owned(), "image/png", (0, 0)),
    ] {
        let player = Player::new(vec![vec![Say("one"), STOP], vec![Say("two"), STOP]]);
        let mut bench = Bench::with(Arc::clone(&player) as _, |config| {
            let model = config.model.as_ref().unwrap().as_ref().clone();
            config.model = Some(Arc::new(Model { input: vec!["text".into(), "image".into()], ..model }));
        });
        let images = vec![Block::Image { data: data.clone(), mime_type: "image/png".into() }];
        bench.send(RunCommand::Prompt { text: "look".into(), images, streaming: Queue::Steer }).await;
        let events = bench.settled().await;
        bench.prompt("again").await;
        bench.settled().await;
        let kept = events.iter().filter_map(|event| match event {
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => Some(message),
            _ => None,
        });
        assert_eq!(pictures(kept), [("image/png".to_owned(), data.clone())]);
        let requests = player.requests.lock().unwrap();
        let sent: Vec<_> = requests.iter().map(|request| pictures(&request.messages)).collect();
        assert_eq!(sent[0], sent[1], "the same each time");
        let [(sent_kind, sent_data)] = sent[0].as_slice() else { panic!("{} pictures", sent[0].len()) };
        assert_eq!(sent_kind, kind);
        if size == (0, 0) {
            assert_eq!(*sent_data, data, "what cannot be read is left to the provider");
            continue;
        }
        let decoded = image::load_from_memory(&BASE64_STANDARD.decode(sent_data).unwrap()).unwrap();
        assert_eq!((decoded.width(), decoded.height()), size);
    }
}
