//! Server-sent events: bytes in, frames out.
//!
//! A push parser after the WHATWG HTML standard, section "Event stream interpretation", with
//! what real servers need besides: the last event counts without its blank line, invalid UTF-8
//! is replaced, and text that is no event stream at all (a bare JSON error, a page of HTML) is
//! kept and handed over as a frame named [`STRAY`]. It knows nothing of what the frames mean.

use memchr::memchr2;

/// Name of the frame that holds text which is not in event-stream form.
pub const STRAY: &str = "stray";

/// Largest event, in bytes. What is larger is a failure, so that memory stays bounded.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;

/// Size of the buffer that is kept between events, in bytes.
const KEPT: usize = 64 * 1024;

/// Largest amount of stray text kept, in bytes.
const MAX_STRAY: usize = 64 * 1024;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseFrame {
    /// Value of the last `event:` line; empty when there was none.
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
    /// A line whose end has not come yet.
    line: Vec<u8>,
    /// The event that is being read; its buffers serve all events in turn.
    frame: SseFrame,
    has_data: bool,
    /// The last byte was a CR: a LF that follows belongs to the same line end.
    after_cr: bool,
    started: bool,
    stray: String,
}

impl SseParser {
    /// Takes the next bytes and shows each event that they complete.
    ///
    /// # Errors
    /// When an event is larger than [`MAX_EVENT`].
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
                // The buffer is kept for the next line that is split.
                whole.clear();
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
        self.bounded(self.line.len())
    }

    /// The bytes have ended: shows an event that lacks its blank line, then stray text.
    ///
    /// # Errors
    /// When the last event is larger than [`MAX_EVENT`].
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

    fn bounded(&self, more: usize) -> Result<(), TooLarge> {
        if self.frame.data.len() + more > MAX_EVENT { Err(TooLarge) } else { Ok(()) }
    }

    fn take_line(&mut self, line: &[u8], each: &mut impl FnMut(&SseFrame)) -> Result<(), TooLarge> {
        let line = if self.started { line } else { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) };
        self.started = true;
        if let Some(value) = line.strip_prefix(b"data:") {
            return self.take_data(value.strip_prefix(b" ").unwrap_or(value));
        }
        match line {
            [] => self.dispatch(each),
            b"data" => return self.take_data(b""),
            [b':', ..] | b"event" | b"id" | b"retry" => {}
            _ => self.take_other(line),
        }
        Ok(())
    }

    fn take_data(&mut self, value: &[u8]) -> Result<(), TooLarge> {
        self.bounded(value.len())?;
        if self.has_data {
            self.frame.data.push('\n');
        }
        self.has_data = true;
        append(&mut self.frame.data, value);
        Ok(())
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
        // One large event does not hold its memory for the rest of the stream.
        self.frame.data.shrink_to(KEPT);
    }
}

/// Adds bytes as text; what is not UTF-8 is replaced. Characters never span lines, so a line
/// can be looked at by itself.
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

    #[test]
    fn an_event_that_is_too_large() {
        let mut parser = SseParser::default();
        let part = [b'x'; 64 * 1024];
        parser.push(b"data: ", |_| {}).unwrap();
        let failed = (0..300).any(|_| parser.push(&part, |_| {}).is_err());
        assert!(failed);
        let mut parser = SseParser::default();
        let line = [b"data: ".as_slice(), &part, b"\n"].concat();
        assert!((0..300).any(|_| parser.push(&line, |_| {}).is_err()));
    }
}
