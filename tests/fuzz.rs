//! Fuzz targets: every parser of foreign bytes or text, each with properties that must hold for any input.
//! They run for about a second each here, and for hours as described in `docs/fuzzing.md`.

mod documents;
mod driver;
mod extensions;
mod mutate;
mod streams;
mod terminal;
mod text;

use driver::{Target, run};

use crate::providers::recordings::recordings;

/// The bodies of our recordings of a format, or of all formats if it is empty.
fn bodies(format: &str) -> Vec<Vec<u8>> {
    let all = recordings().into_iter().filter(|recording| format.is_empty() || recording.format == format);
    all.map(|recording| recording.body).collect()
}

/// Text for targets that accept any: the text of recorded answers, and ours.
fn texts() -> Vec<Vec<u8>> {
    let said = recordings().into_iter().filter_map(|recording| {
        let text = recording.expected["text"].as_str()?.to_owned();
        (text.len() > 20).then_some(text.into_bytes())
    });
    let golden = include_str!("golden/answer.md").as_bytes().to_vec();
    let showcase = include_str!("showcase.md").as_bytes().to_vec();
    said.chain([golden, showcase]).collect()
}

/// The input as text, and the positions at which characters begin.
fn as_text(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}

/// The text in random pieces of up to `most` characters.
fn pieces(text: &str, dice: &mut crate::support::dice::Dice, most: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut rest = characters.as_slice();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at((1 + dice.below(most)).min(rest.len()));
        pieces.push(piece.iter().collect());
        rest = tail;
    }
    pieces
}
