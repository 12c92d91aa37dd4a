//! Pictures in requests, reduced to sizes that models accept, whatever their source.
//!
//! Sessions keep the originals; pictures are reduced when a request is built. The same picture becomes the
//! same bytes each time, also after a restart, so provider caches hit.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use tau_protocol::message::{Block, Message, UserContent};
use tau_tools::Content;
use tau_tools::read::picture;

/// The maximum bytes of cached pictures; beyond this the cache is emptied and pictures are reduced again on
/// demand.
const MAX_KEPT: usize = 64 << 20;

/// The pictures of earlier requests, by the size and the hash of the original.
#[derive(Debug, Default)]
pub(crate) struct FittedPictures(Mutex<HashMap<(usize, u64), Option<FittedPicture>>>);

/// A picture: its base64, and its MIME type.
type FittedPicture = (Arc<str>, String);

/// The pictures that the user knows to be left out of requests.
#[derive(Debug, Default)]
pub(crate) struct UnseenPictures {
    /// The model that does not take them.
    pub(crate) model: String,
    pub(crate) count: usize,
}

/// Whether any of these has a picture.
pub(crate) fn has_pictures(messages: &[Arc<Message>]) -> bool {
    messages.iter().any(|message| !pictures(message).is_empty())
}

/// The number of pictures.
pub(crate) fn count_pictures(messages: &[Arc<Message>]) -> usize {
    messages.iter().map(|message| pictures(message).len()).sum()
}

fn pictures(message: &Message) -> Vec<(&String, &String)> {
    match message {
        Message::User(user) => match &user.content {
            UserContent::Blocks(blocks) => blocks.iter().filter_map(of_block).collect(),
            UserContent::Text(_) => Vec::new(),
        },
        Message::ToolResult(result) => result.content.iter().filter_map(of_content).collect(),
        _ => Vec::new(),
    }
}

fn of_block(block: &Block) -> Option<(&String, &String)> {
    match block {
        Block::Image { data, mime_type } => Some((data, mime_type)),
        _ => None,
    }
}

fn of_content(content: &Content) -> Option<(&String, &String)> {
    match content {
        Content::Image { data, mime_type } => Some((data, mime_type)),
        Content::Text { .. } => None,
    }
}

impl FittedPictures {
    /// The messages with pictures that the model accepts. Blocks while pictures are reduced.
    pub(crate) fn fit(&self, messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
        messages.into_iter().map(|message| self.fit_message(&message).map_or(message, Arc::new)).collect()
    }

    /// `None` if the message needs no change.
    fn fit_message(&self, message: &Message) -> Option<Message> {
        let fitted: Vec<Option<FittedPicture>> = pictures(message)
            .into_iter()
            .map(|(data, mime_type)| self.fit_picture(data, mime_type))
            .collect();
        if fitted.iter().all(Option::is_none) {
            return None;
        }
        let mut message = message.clone();
        let places: Vec<(&mut String, &mut String)> = match &mut message {
            Message::User(user) => match &mut user.content {
                UserContent::Blocks(blocks) => blocks
                    .iter_mut()
                    .filter_map(|block| match block {
                        Block::Image { data, mime_type } => Some((data, mime_type)),
                        _ => None,
                    })
                    .collect(),
                UserContent::Text(_) => Vec::new(),
            },
            Message::ToolResult(result) => result
                .content
                .iter_mut()
                .filter_map(|content| match content {
                    Content::Image { data, mime_type } => Some((data, mime_type)),
                    Content::Text { .. } => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        for ((data, mime_type), fitted) in places.into_iter().zip(fitted) {
            if let Some((small, kind)) = fitted {
                (*data, *mime_type) = (small.to_string(), kind);
            }
        }
        Some(message)
    }

    fn fit_picture(&self, data: &str, mime_type: &str) -> Option<FittedPicture> {
        let mut hasher = DefaultHasher::new();
        (data, mime_type).hash(&mut hasher);
        let key = (data.len(), hasher.finish());
        let lock = || self.0.lock();
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let fitted = picture::fit_image(data, mime_type).map(|(data, kind)| (Arc::from(data), kind));
        let mut kept = lock();
        let size = |fitted: &Option<FittedPicture>| fitted.as_ref().map_or(64, |(data, _)| data.len());
        if kept.values().map(size).sum::<usize>() + size(&fitted) > MAX_KEPT {
            kept.clear();
        }
        kept.insert(key, fitted.clone());
        fitted
    }
}
