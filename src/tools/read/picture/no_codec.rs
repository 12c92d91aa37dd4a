//! The place of the codecs in a program that was built without them: images are refused, and sent as they are.

use super::{ImageFormat, ShrunkImage};

/// The reason that images cannot be decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Error;

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("this program was built without the feature `pictures` of the crate taucode-agent")
    }
}

/// A decoded image, of which there are none.
pub(super) enum Picture {}

impl Picture {
    pub(super) fn width(&self) -> u32 {
        match *self {}
    }

    pub(super) fn height(&self) -> u32 {
        match *self {}
    }
}

/// Always `None`: the size of images is unknown.
pub(super) fn size(_: &[u8], _: ImageFormat) -> Option<(u32, u32)> {
    None
}

pub(super) fn decode(_: &[u8], _: ImageFormat) -> Result<Picture, Error> {
    Err(Error)
}

pub(super) fn shrink(picture: &Picture) -> Result<ShrunkImage, Error> {
    match *picture {}
}
