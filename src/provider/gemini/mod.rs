//! The Gemini API: `generateContent` as Google's Generative Language API and Vertex AI speak it.
//!
//! Owns the address, the headers and the two directions of the wire: `wire` writes requests, `schema` what tools take,
//! `decode` reads answers. Leaves transport to `http`. Invariant: a signature goes back on the part that it came with, and
//! to no other service.

use reqwest::Url;

use super::learned::{Habits, has_documents, has_pictures};
use super::service::Service;
use super::wire_api::{WireApi, path_segment};
use super::{ErrorKind, Feature, Feed, ProviderError, Request};

mod decode;
mod schema;
mod wire;

pub(super) const API: WireApi = WireApi { base, path, headers: &[], body: request_body, feed };

/// Folders of models; one without a folder is Google's own.
const FOLDERS: [&str; 2] = ["models/", "tunedModels/"];

/// What a signature belongs to, as the transcript keeps it before the signature itself.
mod bearer {
    /// The call that follows.
    pub(super) const CALL: &str = "call:";
    /// The text before it.
    pub(super) const TEXT: &str = "text:";
    /// A part that held nothing else.
    pub(super) const EMPTY: &str = "empty:";
    /// The thought that it stands behind.
    pub(super) const THOUGHT: &str = "thought:";
}

/// Returns the address below which `/models` lies. Without a path, `/v1beta` is meant.
fn base(base: &Url) -> Url {
    let mut base = base.clone();
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/models").unwrap_or(path);
    let path = if path.is_empty() { "/v1beta".to_owned() } else { path.to_owned() };
    base.set_path(&path);
    base
}

fn path(model: &str) -> String {
    let folder = FOLDERS.into_iter().find(|folder| model.starts_with(folder)).unwrap_or(FOLDERS[0]);
    let name = model.strip_prefix(folder).unwrap_or(model);
    format!("/{folder}{}:streamGenerateContent?alt=sse", path_segment(name))
}

/// Returns the body of a request. Returns a bad-request error if it cannot be written as JSON.
pub fn request_body(request: &Request, habits: &Habits) -> Result<(Vec<u8>, Vec<Feature>), ProviderError> {
    let body = wire::GenerateBody::new(request, habits.takes(Feature::Thinking));
    let documents = has_documents(request).then_some(Feature::Documents);
    let pictures = has_pictures(request).then_some(Feature::Pictures);
    let thinking = body.sets_thinking().then_some(Feature::Thinking);
    let json = serde_json::to_vec(&body)
        .map_err(|error| ProviderError::new(ErrorKind::BadRequest, "gemini", error.to_string()))?;
    Ok((json, [documents, pictures, thinking].into_iter().flatten().collect()))
}

pub fn feed(service: Service) -> Feed {
    Feed::new(service.clone(), Box::new(decode::GenerateDecoder::new(service)))
}
