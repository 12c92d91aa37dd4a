//! The models that a `tau proxy` serves: asked for with `GET /api/models`, kept in the cache folder.
//!
//! What is known of a model here counts more; this adds the models that only the server knows, and says
//! which ones can be used at all.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::provider::http::Http;
use crate::provider::{Failure, FailureKind, Headers};
use crate::secrets::Secret;
use crate::settings::private_files::{read_capped, write_private};
use tau_protocol::model::Model;

/// Largest answer that is read, and largest file, in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The list as the server writes it, and as it is kept.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct List {
    /// The address of the server; the server itself leaves it out.
    base: String,
    models: Vec<Model>,
}

/// Asks the server at `base` which models the token is for.
///
/// # Errors
/// As any request; `Protocol` when the answer is no such list.
pub async fn ask(http: &Http, base: &str, token: &Secret) -> Result<Vec<Model>, Failure> {
    let url = format!("{}/api/models", base.trim_end_matches('/'));
    let headers = Headers(vec![
        ("accept".to_owned(), "application/json".to_owned()),
        ("authorization".to_owned(), format!("Bearer {}", token.expose())),
    ]);
    let answer = http.get(&url, &headers, MAX_BYTES, &CancellationToken::new()).await;
    let answer = answer.map_err(|mut failure| {
        failure.message = token.redact(&failure.message);
        failure
    })?;
    let list: List = serde_json::from_str(&answer)
        .map_err(|_| Failure::new(FailureKind::Protocol, format!("{url} did not return a list of models")))?;
    // A server gives neither; one that is not to be trusted must not either.
    let bare = |model: Model| Model { base_url: String::new(), headers: Default::default(), ..model };
    Ok(list.models.into_iter().map(bare).collect())
}

/// What the server at `base` said when it was asked last.
pub fn kept(cache: &Path, base: &str) -> Option<Vec<Model>> {
    let bytes = read_capped(&file(cache), MAX_BYTES as u64).ok()?;
    let list: List = serde_json::from_slice(&bytes).ok()?;
    (list.base == base).then_some(list.models)
}

/// Keeps what the server at `base` said.
pub fn keep(cache: &Path, base: &str, models: &[Model]) -> std::io::Result<()> {
    let list = List { base: base.to_owned(), models: models.to_vec() };
    write_private(&file(cache), &serde_json::to_vec(&list)?)
}

fn file(cache: &Path) -> PathBuf {
    cache.join("proxy-models.json")
}
