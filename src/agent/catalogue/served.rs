//! Lists the models that a `tau proxy` serves with `GET /api/models`, and caches the list.
//!
//! Local knowledge of a model takes precedence; this adds the models that only the server knows, and
//! determines which ones can be used at all.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::provider::http::Http;
use crate::provider::{Failure, FailureKind, Headers};
use crate::secrets::Secret;
use crate::settings::private_files::{read_capped, write_private};
use tau_protocol::model::Model;

/// The size limit of answers and files, in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The list as the server sends it and as it is cached.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct List {
    /// The address of the server, which the server itself leaves out.
    base: String,
    models: Vec<Model>,
}

/// Asks the server at `base` for the models that the token grants. Fails with `Protocol` when the answer is
/// not such a list.
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
    // A server sends neither; an untrusted one must not.
    let bare = |model: Model| Model { base_url: String::new(), headers: Default::default(), ..model };
    Ok(list.models.into_iter().map(bare).collect())
}

/// The last list from the server at `base`.
pub fn load_models(cache: &Path, base: &str) -> Option<Vec<Model>> {
    let bytes = read_capped(&file(cache), MAX_BYTES as u64).ok()?;
    let list: List = serde_json::from_slice(&bytes).ok()?;
    (list.base == base).then_some(list.models)
}

/// Caches the list of the server at `base`.
pub fn keep(cache: &Path, base: &str, models: &[Model]) -> std::io::Result<()> {
    let list = List { base: base.to_owned(), models: models.to_vec() };
    write_private(&file(cache), &serde_json::to_vec(&list)?)
}

fn file(cache: &Path) -> PathBuf {
    cache.join("proxy-models.json")
}
