//! The text that was deleted or copied last.

/// The kind of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpanKind {
    #[default]
    Chars,
    /// Whole lines.
    Lines,
}

/// The text that was deleted or copied last; lines without the last line break.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Register {
    pub text: String,
    pub kind: SpanKind,
}
