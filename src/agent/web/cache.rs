//! Caches the fetched pages of a session, so that reading on does not fetch them again.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::page::Page;
use tau_tools::file_versions::FileVersions;

/// The time for which a page is fresh.
const FRESH: Duration = Duration::from_secs(15 * 60);
/// The maximum number of pages.
const MAX_PAGES: usize = 64;
/// The maximum bytes of all pages together.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The pages of one session, the most recently used at the end.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    /// Identifies the session.
    session: Weak<FileVersions>,
    pages: Vec<CachedPage>,
}

#[derive(Debug)]
struct CachedPage {
    url: String,
    fetched: Instant,
    page: Arc<Page>,
}

impl PageCache {
    /// The page that was fetched from `url` in this session, if it is still fresh.
    pub(super) fn get(&mut self, session: &Arc<FileVersions>, url: &str) -> Option<Arc<Page>> {
        self.enter(session);
        self.pages.retain(|cached| cached.fetched.elapsed() < FRESH);
        let at = self.pages.iter().position(|cached| cached.url == url)?;
        let cached = self.pages.remove(at);
        let page = Arc::clone(&cached.page);
        self.pages.push(cached);
        Some(page)
    }

    /// Stores a page.
    pub(super) fn put(&mut self, session: &Arc<FileVersions>, url: String, page: Arc<Page>) {
        self.enter(session);
        self.pages.retain(|cached| cached.url != url);
        self.pages.push(CachedPage { url, fetched: Instant::now(), page });
        let mut bytes: usize = self.pages.iter().map(|cached| cached.page.size()).sum();
        while self.pages.len() > MAX_PAGES || bytes > MAX_BYTES {
            bytes -= self.pages.remove(0).page.size();
        }
    }

    /// Removes the pages of another session.
    fn enter(&mut self, session: &Arc<FileVersions>) {
        if !std::ptr::eq(self.session.as_ptr(), Arc::as_ptr(session)) {
            *self = PageCache { session: Arc::downgrade(session), pages: Vec::new() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::PageBody;
    use super::*;

    fn page(bytes: usize) -> Arc<Page> {
        Arc::new(Page {
            url: "https://example.com/".parse().unwrap(),
            status: 200,
            content_type: String::new(),
            title: None,
            body: PageBody::Text("x".repeat(bytes)),
            note: None,
        })
    }

    #[test]
    fn pages_are_kept_within_bounds_and_sessions() {
        let (one, two) = (Arc::default(), Arc::default());
        let mut cache = PageCache::default();
        for number in 0..100 {
            cache.put(&one, format!("https://example.com/{number}"), page(10));
        }
        assert!(cache.get(&one, "https://example.com/35").is_none(), "64 are kept");
        assert!(cache.get(&one, "https://example.com/36").is_some());
        cache.put(&one, "https://example.com/new".to_owned(), page(10));
        assert!(cache.get(&one, "https://example.com/36").is_some(), "what was used last stays");
        cache.put(&one, "https://example.com/large".to_owned(), page(MAX_BYTES));
        assert!(cache.get(&one, "https://example.com/36").is_none() && cache.pages.len() == 1);
        assert!(cache.get(&two, "https://example.com/large").is_none(), "another session has others");
    }
}
