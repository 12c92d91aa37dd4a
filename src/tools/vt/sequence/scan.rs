//! Fast paths for most of a stream: runs of text, data of strings, and complete control sequences.

use super::{Csi, MAX_SEQUENCE, text};

/// The control sequence after an ESC and the rest of the input, if the sequence is complete and in the usual
/// form. A shortcut with the same result as the state machine.
pub(super) fn whole_csi(bytes: &[u8]) -> Option<(Csi<'_>, &[u8])> {
    let body = bytes.strip_prefix(b"[")?;
    let mark = usize::from(matches!(body.first(), Some(b'<'..=b'?')));
    let digits = body.get(mark..)?.iter().take(MAX_SEQUENCE - 1);
    let end = mark + digits.take_while(|byte| matches!(byte, 0x30..=0x3b)).count();
    let last = *body.get(end).filter(|last| matches!(last, 0x40..=0x7e))?;
    let (parameters, others) = body.split_at_checked(end)?;
    let csi = Csi { parameters: text(parameters), intermediates: "", last: char::from(last) };
    Some((csi, others.get(1..)?))
}

/// The length of the text at the start. Most output is scanned only here.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let mut from = 0;
    loop {
        let rest = bytes.get(from..).unwrap_or_default();
        let at = from + position(rest, |byte| byte < 0x20 || byte == 0x7f || byte == 0xc2);
        match bytes.get(at..) {
            // C2 begins a character unless a C1 control follows; at the end of the input that is unknown.
            Some([0xc2, 0xa0..=0xff | 0..=0x7f, ..]) => from = at + 1,
            _ => return at,
        }
    }
}

/// The length of a control string's data at the start.
pub(super) fn data_length(bytes: &[u8]) -> usize {
    position(bytes, |byte| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b | b'\n' | 0xc2))
}

/// The position of the first special byte, or the end. Short runs are common; long ones are scanned in
/// blocks that compilers vectorize.
#[inline]
fn position(bytes: &[u8], special: impl Fn(u8) -> bool) -> usize {
    const BLOCK: usize = 16;
    let first = bytes.iter().take(BLOCK).position(|byte| special(*byte));
    if let Some(at) = first {
        return at;
    }
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let plain = |block: &&[u8; BLOCK]| !block.iter().fold(false, |any, byte| any | special(*byte));
    let skipped = blocks.iter().take_while(plain).count() * BLOCK;
    let rest = bytes.get(skipped..).unwrap_or_default();
    skipped + rest.iter().position(|byte| special(*byte)).unwrap_or(rest.len())
}
