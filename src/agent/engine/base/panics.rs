//! Turns panics into failures with a message, so that they do not end the agent.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt, Stream, StreamExt};
use tau_tools::user_error::UserError;

/// The message of a panic.
pub(crate) fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".into())
}

/// The output of `work`, or the message of its panic. Its state must not be used after a panic.
pub(crate) async fn catch_panic<F: Future>(work: F) -> Result<F::Output, UserError> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| text(&*panic).into())
}

/// The items of `stream`; a panic in it is its last item.
pub(crate) fn catch_stream_panic<S: Stream>(stream: S) -> impl Stream<Item = Result<S::Item, UserError>> {
    AssertUnwindSafe(stream).catch_unwind().map(|item| item.map_err(|panic| text(&*panic).into()))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_its_message() {
        assert_eq!(catch_panic(async { 1 }).await, Ok(1));
        assert_eq!(catch_panic(async { panic!("fell over") }).await, Err::<(), _>("fell over".into()));
        assert_eq!(catch_panic(async { panic!("at {}", 7) }).await, Err::<(), _>("at 7".into()));
        let items = stream::iter([1, 2, 3]).map(|n| if n < 3 { n } else { panic!("third") });
        let seen: Vec<_> = catch_stream_panic(items).collect().await;
        assert_eq!(seen, [Ok(1), Ok(2), Err("third".into())]);
    }
}
