//! The agent's own memory of the open conversation, which no other conversation may see.

use std::sync::Arc;

use super::fitted_pictures::UnseenPictures;
use super::reached_paths::ReachedPaths;
use tau_tools::file_versions::FileVersions;

/// Kept about the open conversation. It is replaced as a whole when another one is opened, or when it continues from
/// another entry.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) file_versions: Arc<FileVersions>,
    /// The paths that tools have reached.
    pub(crate) reached: ReachedPaths,
    pub(crate) unseen_pictures: UnseenPictures,
    /// The model and the size of the context for which compaction last failed.
    pub(crate) uncompactable: Option<(String, u64)>,
}
