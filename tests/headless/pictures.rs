//! Images are sent in a form that models accept, whatever their source, and the same each time.

use std::io::Cursor;

use super::*;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::{DynamicImage, ImageFormat};

const SEES: &str = "input = [\"text\", \"image\"]";

/// An image of this size in this format, as base64.
fn picture(width: u32, height: u32, format: ImageFormat) -> String {
    let mut bytes = Vec::new();
    DynamicImage::new_rgb8(width, height).write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    BASE64_STANDARD.encode(bytes)
}

/// The images of each request: their MIME types and data.
fn sent(server: &Server) -> Vec<Vec<(String, String)>> {
    let of = |request: String| {
        let body = request.split_once("\r\n\r\n").unwrap().1.to_owned();
        let parts = body.split("data:image/").skip(1);
        let picture = |part: &str| {
            let (kind, rest) = part.split_once(";base64,").unwrap();
            (kind.to_owned(), rest.split('"').next().unwrap().to_owned())
        };
        parts.map(picture).collect()
    };
    server.requests().into_iter().map(of).collect()
}

#[track_caller]
fn check(pictures: &[(String, String)], kind: &str, size: (u32, u32)) {
    let [(sent_kind, data)] = pictures else { panic!("{} pictures", pictures.len()) };
    let decoded = image::load_from_memory(&BASE64_STANDARD.decode(data).unwrap()).unwrap();
    assert_eq!((sent_kind.as_str(), (decoded.width(), decoded.height())), (kind, size));
}

#[tokio::test]
async fn a_file_is_made_smaller_and_stays_the_same_in_later_requests() {
    let place = Place::new(vec![says("one"), says("two")]).await;
    let large = picture(3_000, 1_500, ImageFormat::Png);
    std::fs::write(place.dir.path().join("p.png"), BASE64_STANDARD.decode(&large).unwrap()).unwrap();
    let mut tau = place.own(SEES);
    let ended = run(tau.args(["-p", "@p.png", "what is it?"]), None).await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
    // Another process opens the session, which has the original image.
    let mut tau = place.own(SEES);
    let ended = run(tau.args(["-c", "-p", "and now?"]), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let sent = sent(&place.server);
    check(&sent[0], "png", (2_000, 1_000));
    assert_eq!(sent[0], sent[1], "the cache of the provider holds");
}

#[tokio::test]
async fn a_model_that_is_not_known_to_take_pictures_gets_none_and_the_user_is_told() {
    let place = Place::new(vec![says("one")]).await;
    let png = picture(3, 2, ImageFormat::Png);
    std::fs::write(place.dir.path().join("p.png"), BASE64_STANDARD.decode(&png).unwrap()).unwrap();
    let ended = run(&mut place.tau(&["-p", "@p.png", "what is it?"]), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.err.matches("1 picture not sent: m may not accept images").count(), 1, "{ended:?}");
    assert!(sent(&place.server)[0].is_empty());
    // What it advises to write makes the difference.
    let (_, advised) = ended.err.split_once("add to models.toml: ").expect("advice");
    let line = advised.split_once(")\n").expect("its end").0;
    let home = place.dir.path().join("advised");
    crate::support::write(&home.join("models.toml"), &line);
    let mut tau = place.tau(&["-p", "@p.png", "what is it?"]);
    let ended = run(tau.env("TAU_HOME", &home), None).await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
    assert_eq!(sent(&place.server)[1].len(), 1);
}
