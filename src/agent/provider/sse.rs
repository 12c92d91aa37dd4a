//! Parses server-sent events: bytes in, frames out.
//!
//! A push parser following the WHATWG HTML standard, section "Event stream interpretation", with additions
//! that real servers need: the last event counts without its blank line, invalid UTF-8 is replaced, and text
//! that is not an event stream at all (a bare JSON error, an HTML page) is kept and returned as a frame named
//! [`STRAY`]. It does not interpret the frames.

use memchr::memchr2;

/// The name of the frame with text that is not an event stream.
pub const STRAY: &str = "stray";

/// The maximum size of an event, in bytes of its data: pictures and results of a provider's own tools are
/// sent in one event. Larger events are a failure, so that memory stays bounded.
pub(crate) const MAX_EVENT: usize = 64 * 1024 * 1024;

/// The maximum size of a line that is not data, in bytes.
const MAX_LINE: usize = MAX_EVENT;

/// The size of the buffer that is kept between events, in bytes.
const KEPT: usize = 64 * 1024;

/// The maximum amount of stray text that is kept, in bytes: it may be a complete answer.
const MAX_STRAY: usize = MAX_EVENT;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseFrame {
    /// The value of the last `event:` line; empty without one.
    pub event: String,
    /// The `data:` lines, joined by line feeds.
    pub data: String,
}

/// An event was larger than [`MAX_EVENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// The parser. Any split of the same bytes gives the same frames.
#[derive(Debug, Default)]
pub struct SseParser {
    /// A line whose end has not arrived yet.
    line: Vec<u8>,
    /// The event that is being read; its buffers are reused for all events.
    frame: SseFrame,
    has_data: bool,
    /// Whether the last byte was a CR: a following LF belongs to the same line end.
    after_cr: bool,
    started: bool,
    stray: String,
}

impl SseParser {
    /// Handles the next bytes and passes each completed event to `each`. Fails when an event is larger than
    /// [`MAX_EVENT`].
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&SseFrame)) -> Result<(), TooLarge> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, tail) = rest.split_at(end);
            if self.line.is_empty() {
                self.take_line(line, &mut each)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take_line(&whole, &mut each)?;
                // The buffer is kept for the next line that is split, unless it is a large one.
                whole.clear();
                whole.shrink_to(KEPT);
                self.line = whole;
            }
            rest = match tail {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.line.extend_from_slice(rest);
        self.check_size(&self.line)
    }

    /// Handles the end of the bytes: passes on an event without its blank line, then stray text. Fails when
    /// the last event is larger than [`MAX_EVENT`].
    pub fn finish(&mut self, mut each: impl FnMut(&SseFrame)) -> Result<(), TooLarge> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, &mut each)?;
        }
        self.dispatch(&mut each);
        if !self.stray.trim().is_empty() {
            each(&SseFrame { event: STRAY.into(), data: std::mem::take(&mut self.stray) });
        }
        Ok(())
    }

    /// Checks that there is space for a line, complete or not: the result for the beginning of a line never
    /// differs from that for all of it.
    fn check_size(&self, line: &[u8]) -> Result<(), TooLarge> {
        let (size, most) = match line.strip_prefix(b"data:") {
            Some(value) => {
                let value = value.strip_prefix(b" ").unwrap_or(value);
                (self.frame.data.len() + usize::from(self.has_data) + value.len(), MAX_EVENT)
            }
            None => (line.len(), MAX_LINE),
        };
        if size > most { Err(TooLarge) } else { Ok(()) }
    }

    fn take_line(&mut self, line: &[u8], each: &mut impl FnMut(&SseFrame)) -> Result<(), TooLarge> {
        let line = if self.started { line } else { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) };
        self.started = true;
        self.check_size(line)?;
        if let Some(value) = line.strip_prefix(b"data:") {
            self.take_data(value.strip_prefix(b" ").unwrap_or(value));
            return Ok(());
        }
        match line {
            [] => self.dispatch(each),
            b"data" => self.take_data(b""),
            [b':', ..] | b"event" | b"id" | b"retry" => {}
            _ => self.take_other(line),
        }
        Ok(())
    }

    fn take_data(&mut self, value: &[u8]) {
        if self.has_data {
            self.frame.data.push('\n');
        }
        self.has_data = true;
        append(&mut self.frame.data, value);
    }

    fn take_other(&mut self, line: &[u8]) {
        if let Some(value) = line.strip_prefix(b"event:") {
            self.frame.event.clear();
            append(&mut self.frame.event, value.strip_prefix(b" ").unwrap_or(value));
        } else if let Some(value) = line.strip_prefix(b"error:") {
            // Some servers report a failure in a field of that name, without a blank line.
            self.frame.event.clear();
            self.frame.event.push_str("error");
            self.has_data = true;
            append(&mut self.frame.data, value.strip_prefix(b" ").unwrap_or(value));
        } else if !line.starts_with(b"id:") && !line.starts_with(b"retry:") && self.stray.len() < MAX_STRAY {
            let kept = line.split_at_checked(MAX_STRAY).map_or(line, |(kept, _)| kept);
            append(&mut self.stray, kept);
            self.stray.push('\n');
        }
    }

    fn dispatch(&mut self, each: &mut impl FnMut(&SseFrame)) {
        if self.has_data {
            each(&self.frame);
        }
        self.has_data = false;
        self.frame.data.clear();
        self.frame.event.clear();
        // A large event does not keep its memory for the rest of the stream.
        self.frame.data.shrink_to(KEPT);
    }
}

/// Appends bytes as text, replacing invalid UTF-8. Characters never span lines, so each line can be converted
/// by itself.
fn append(text: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(valid) => text.push_str(valid),
        Err(_) => text.push_str(&String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8], size: usize) -> Vec<(String, String)> {
        let mut parser = SseParser::default();
        let mut frames = Vec::new();
        for part in bytes.chunks(size.max(1)) {
            parser.push(part, |frame| frames.push((frame.event.clone(), frame.data.clone()))).unwrap();
        }
        parser.finish(|frame| frames.push((frame.event.clone(), frame.data.clone()))).unwrap();
        frames
    }

    fn check(bytes: &[u8], expected: &[(&str, &str)]) {
        for size in [1, 2, 3, 5, 7, bytes.len().max(1)] {
            let frames = parse(bytes, size);
            let found: Vec<(&str, &str)> = frames.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            assert_eq!(found, expected, "{:?} by {size}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn frames() {
        check(b"", &[]);
        check(b"data: a\n\n", &[("", "a")]);
        check(b"data:a\n\ndata:  b\n\n", &[("", "a"), ("", " b")]);
        check(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]);
        check(b"\xef\xbb\xbfdata: a\n\n", &[("", "a")]);
        check(b"\n\n: hi\n\n:\n\ndata: a\n\n", &[("", "a")]);
        check(
            b"event: x\nid: 1\nretry: 5\ndata: a\ndata\ndata: b\n\ndata: c\n\n",
            &[("x", "a\n\nb"), ("", "c")],
        );
        check(b"event: lost\n\ndata: a\n\n", &[("", "a")]);
        check(b"data: last", &[("", "last")]);
        check(b"event: e\ndata: last\n", &[("e", "last")]);
        check("data: größe 😀\n\n".as_bytes(), &[("", "größe 😀")]);
        check(b"data: a\xffb\n\n", &[("", "a\u{fffd}b")]);
        check(b"data:\n\n", &[("", "")]);
    }

    #[test]
    fn text_that_is_no_event_stream() {
        check(
            b"{\n  \"error\": {\n    \"code\": 429\n  }\n}\n",
            &[(STRAY, "{\n  \"error\": {\n    \"code\": 429\n  }\n}\n")],
        );
        check(b"data: a\n\nerror: {\"message\":\"m\"}", &[("", "a"), ("error", "{\"message\":\"m\"}")]);
        check(b" data: no\n\ndata: a\n\n", &[("", "a"), (STRAY, " data: no\n")]);
        check(b"<html>\n<body>", &[(STRAY, "<html>\n<body>\n")]);
    }

    /// The size of the only event in `bytes`, pushed in parts of `size`.
    fn parse_large(bytes: &[u8], size: usize) -> Result<usize, TooLarge> {
        let (mut parser, mut found) = (SseParser::default(), 0);
        for part in bytes.chunks(size) {
            parser.push(part, |frame| found = frame.data.len())?;
            assert!(parser.line.len() + parser.frame.data.len() <= 2 * MAX_EVENT + part.len());
        }
        parser.finish(|frame| found = frame.data.len())?;
        assert!(parser.frame.data.capacity() <= 2 * KEPT, "large buffers are given back");
        Ok(found)
    }

    #[test]
    fn events_up_to_the_limit_are_read_and_larger_ones_are_not() {
        let one_line = |size: usize| [b"data: ".as_slice(), &vec![b'x'; size], b"\n\n"].concat();
        // Two lines, joined by a line feed that counts towards the size.
        let two_lines = |size: usize| {
            let half = vec![b'x'; size / 2];
            [b"data:", half.as_slice(), b"\ndata: ", &half[..size - size / 2 - 1], b"\n\n"].concat()
        };
        for make in [&one_line as &dyn Fn(usize) -> Vec<u8>, &two_lines] {
            let (fits, too_large) = (make(MAX_EVENT), make(MAX_EVENT + 2));
            for size in [1 << 20, (16 << 20) - 3, usize::MAX] {
                assert_eq!(parse_large(&fits, size), Ok(MAX_EVENT), "in parts of {size}");
                assert_eq!(parse_large(&too_large, size), Err(TooLarge), "in parts of {size}");
            }
        }
        let comment = vec![b':'; MAX_LINE + 1];
        assert_eq!(parse_large(&comment, 1 << 20), Err(TooLarge), "a line without an end");
    }
}
