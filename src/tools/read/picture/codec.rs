//! Decodes, measures and scales images. Decoding is bounded in memory.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits};

use super::{ImageFormat, MAX_BASE64, MAX_SIDE, ShrunkImage, base64_length};

pub(super) use image::ImageError as Error;

/// The memory limit for decoding, in bytes.
const MAX_DECODED: u64 = 512 * 1024 * 1024;

fn reader(bytes: &[u8], format: ImageFormat) -> ImageReader<Cursor<&[u8]>> {
    let format = match format {
        ImageFormat::Png => image::ImageFormat::Png,
        ImageFormat::Jpeg => image::ImageFormat::Jpeg,
        ImageFormat::Gif => image::ImageFormat::Gif,
        ImageFormat::WebP => image::ImageFormat::WebP,
    };
    ImageReader::with_format(Cursor::new(bytes), format)
}

/// The width and the height, in pixels.
pub(super) fn size(bytes: &[u8], format: ImageFormat) -> Option<(u32, u32)> {
    reader(bytes, format).into_dimensions().ok()
}

/// The image, rotated upright.
pub(super) fn decode(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, Error> {
    let mut reader = reader(bytes, format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

/// Scales the image down until it fits: as PNG while that is small (screenshots stay sharp), otherwise as
/// JPEG.
pub(super) fn shrink(picture: &DynamicImage) -> Result<ShrunkImage, Error> {
    let mut side = MAX_SIDE;
    loop {
        let longest = picture.width().max(picture.height());
        let scaled =
            if longest > side { picture.resize(side, side, FilterType::Triangle) } else { picture.clone() };
        let mut png = Vec::new();
        scaled.write_to(&mut Cursor::new(&mut png), image::ImageFormat::Png)?;
        let (data, format) = if base64_length(png.len()) <= MAX_BASE64 {
            (png, ImageFormat::Png)
        } else {
            let mut jpeg = Vec::new();
            scaled.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, 80))?;
            (jpeg, ImageFormat::Jpeg)
        };
        if base64_length(data.len()) <= MAX_BASE64 || side < 100 {
            return Ok(ShrunkImage { data, format, width: scaled.width(), height: scaled.height() });
        }
        side = side * 3 / 4;
    }
}
