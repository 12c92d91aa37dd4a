//! Images for models: decoded as a check, and scaled to a size that all providers accept.
//!
//! The caller decides where images come from. A broken image in a request fails it and every later request
//! that includes it, so an image is decoded before it is accepted. Decoding is bounded in memory.

#[cfg(feature = "pictures")]
mod codec;
#[cfg(not(feature = "pictures"))]
#[path = "picture/no_codec.rs"]
mod codec;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::{Content, Details, ToolError, ToolOutput};

/// The longest side that all providers accept without scaling, in pixels.
const MAX_SIDE: u32 = 2_000;
/// The maximum number of bytes of base64, below the providers' limit of 5 MB.
const MAX_BASE64: usize = 4_500_000;

/// The formats that models accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl ImageFormat {
    /// The MIME type.
    pub fn to_mime_type(self) -> &'static str {
        match self {
            ImageFormat::Png => "image/png",
            ImageFormat::Jpeg => "image/jpeg",
            ImageFormat::Gif => "image/gif",
            ImageFormat::WebP => "image/webp",
        }
    }
}

/// The format, detected from the first bytes, if models accept it.
pub fn format(start: &[u8]) -> Option<ImageFormat> {
    match start {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some(ImageFormat::Png),
        [0xFF, 0xD8, 0xFF, ..] => Some(ImageFormat::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
        _ => None,
    }
}

/// The answer for an image called `given`, for a model that does or does not accept images. `hint` says what
/// to do about a broken one. `check` reports cancellation; it is called before slow steps. Refused if the
/// image is broken or too large, or if `check` fails.
pub fn answer(
    given: &str,
    hint: &str,
    takes_images: bool,
    format: ImageFormat,
    bytes: &[u8],
    check: &dyn Fn() -> Result<(), ToolError>,
) -> Result<ToolOutput, ToolError> {
    let kind = format.to_mime_type();
    let broken = |error: codec::Error| {
        ToolError::refused(format!("{given} looks like {kind} but cannot be decoded: {error}; {hint}"))
    };
    let picture = codec::decode(bytes, format).map_err(broken)?;
    let (width, height) = (picture.width(), picture.height());
    let mime_type = format.to_mime_type().to_owned();
    let details = Details::Image { mime_type: mime_type.clone(), width, height, bytes: bytes.len() as u64 };
    let what = format!("{given} is an image ({mime_type}, {width}x{height} pixels, {} bytes)", bytes.len());
    if !takes_images {
        return Ok(ToolOutput::new(format!("{what}; this model does not support images"), details));
    }
    let (note, data, mime_type) = if is_small((width, height), bytes) {
        (what, bytes.to_vec(), mime_type)
    } else {
        check()?;
        let shrunk = codec::shrink(&picture).map_err(broken)?;
        let note = format!("{what}, shown at {}x{}", shrunk.width, shrunk.height);
        (note, shrunk.data, shrunk.format.to_mime_type().to_owned())
    };
    let image = Content::Image { data: BASE64_STANDARD.encode(data), mime_type };
    Ok(ToolOutput { content: vec![Content::text(note), image], details })
}

/// Converts an image (base64 and its MIME type) for all providers: scaled down if necessary, with the right
/// type. `None` if nothing needs to change, or if it cannot be decoded. Deterministic.
pub fn fit_image(data: &str, mime_type: &str) -> Option<(String, String)> {
    let bytes = BASE64_STANDARD.decode(data).ok()?;
    let format = format(&bytes)?;
    let size = codec::size(&bytes, format)?;
    if is_small(size, &bytes) {
        let real = format.to_mime_type();
        return (real != mime_type).then(|| (data.to_owned(), real.to_owned()));
    }
    let shrunk = codec::shrink(&codec::decode(&bytes, format).ok()?).ok()?;
    Some((BASE64_STANDARD.encode(shrunk.data), shrunk.format.to_mime_type().to_owned()))
}

fn is_small((width, height): (u32, u32), bytes: &[u8]) -> bool {
    width.max(height) <= MAX_SIDE && base64_length(bytes.len()) <= MAX_BASE64
}

fn base64_length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// An image that was scaled down.
struct ShrunkImage {
    data: Vec<u8>,
    format: ImageFormat,
    width: u32,
    height: u32,
}
