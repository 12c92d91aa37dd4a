//! Frames that differ from an earlier one only in a string: [`RepeatedFrames`].
//!
//! Most events of an answer are the same but for a piece of its text. Comparing the rest is a tenth of the work of
//! parsing it again, and leads to the same result: between the same bytes, a string without escapes is that string.

/// The number of frames in a row, each unlike the one before, after which no more are remembered: in some streams
/// every frame has a number of its own.
const MAX_CHANGES: u8 = 16;

#[derive(Debug, Default)]
pub(super) struct RepeatedFrames {
    /// The texts before and after the string.
    around: Option<(String, String)>,
    changes: u8,
}

impl RepeatedFrames {
    /// The string in a frame that is otherwise the same as the remembered one; `None` if it is another frame, or the
    /// string has escapes.
    pub(super) fn string<'t>(&mut self, frame: &'t str) -> Option<&'t str> {
        let (before, after) = self.around.as_ref()?;
        let string = frame.strip_prefix(before.as_str())?.strip_suffix(after.as_str())?;
        let is_plain = !string.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\');
        self.changes = 0;
        is_plain.then_some(string)
    }

    /// Remembers a frame, in which this string was found.
    pub(super) fn remember(&mut self, frame: &str, string: &str) {
        if self.changes < MAX_CHANGES
            && let Some(around) = around(frame, string)
            && self.around.as_ref() != Some(&around)
        {
            self.changes += 1;
            self.around = Some(around);
        }
    }
}

/// The texts before and after a string that is borrowed from `frame`; `None` if it is not.
fn around(frame: &str, string: &str) -> Option<(String, String)> {
    let start = string.as_ptr().addr().checked_sub(frame.as_ptr().addr())?;
    let (before, rest) = frame.split_at_checked(start)?;
    let (found, after) = rest.split_at_checked(string.len())?;
    let is_it = found == string && before.ends_with('"') && after.starts_with('"');
    is_it.then(|| (before.to_owned(), after.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_frame_with_a_plain_string_is_recognized() {
        let frame = r#"{"a":"a","b":{"a":1}}"#;
        let mut repeated = RepeatedFrames::default();
        assert_eq!(repeated.string(frame), None);
        repeated.remember(frame, "a");
        assert_eq!(repeated.string(frame), None, "the string is not borrowed from the frame");
        repeated.remember(frame, frame.get(6..7).unwrap());
        let cases = [
            (r#"{"a":"a","b":{"a":1}}"#, Some("a")),
            (r#"{"a":"","b":{"a":1}}"#, Some("")),
            (r#"{"a":"größer 😀 }}","b":{"a":1}}"#, Some("größer 😀 }}")),
            (r#"{"a":"x","b":{"a":2}}"#, None),
            (r#"{"b":"x","b":{"a":1}}"#, None),
            (r#"{"a":"\n","b":{"a":1}}"#, None),
            ("{\"a\":\"\n\",\"b\":{\"a\":1}}", None),
            (r#"{"a":"x","b":{"a":1},"b":{"a":1}}"#, None),
            (r#"{"a":","b":{"a":1}}"#, None),
            (r#"{"a":"#, None),
            ("", None),
        ];
        for (frame, expected) in cases {
            assert_eq!(repeated.string(frame), expected, "{frame}");
        }
    }

    #[test]
    fn frames_that_never_repeat_are_not_remembered_for_ever() {
        let mut repeated = RepeatedFrames::default();
        for number in 0..100 {
            let frame = format!(r#"{{"a":"x","number":{number}}}"#);
            assert_eq!(repeated.string(&frame), None);
            repeated.remember(&frame, frame.get(6..7).unwrap());
        }
        assert!(repeated.around.is_some_and(|(_, after)| after.ends_with(":15}")));
    }
}
