//! What the client sends as a message of the user.
//!
//! Owns how files, texts and images beside the words become part of a message. Invariants: only what the user has written
//! or linked names something; the text of a resource is marked as such and passes for nobody's words.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::schema::{ContentBlock, EmbeddedResourceResource, Error};
use super::wire::invalid;
use crate::message::{
    UserText, escape_tags, mentions, picture_mark, sanitize, sanitize_line, speaks, tag_name, without_picture_marks,
};
use crate::session::PictureStore;

/// Images of one message.
const MAX_PICTURES: usize = 10;
/// The tag around the text of a resource.
const RESOURCE: &str = "resource";

/// Makes a message of what a client has sent. Blocks: images are decoded and kept.
///
/// # Errors
/// Returns what cannot be part of a message.
pub(super) fn message(blocks: Vec<ContentBlock>, cwd: &Path, pictures: &PictureStore) -> Result<UserText, Error> {
    let (mut text, mut resources) = (String::new(), Vec::new());
    let mut own: BTreeSet<String> = BTreeSet::new();
    let mut kept = 0;
    let calls = matches!(blocks.first(), Some(ContentBlock::Text(first)) if first.text.starts_with('/'));
    let mut picture = |data: &str| {
        kept += 1;
        if kept > MAX_PICTURES {
            return Err(invalid(format!("a message has at most {MAX_PICTURES} images")));
        }
        let bytes = STANDARD.decode(data).map_err(|_| invalid("an image is not base64"))?;
        let attached = pictures.attach(bytes);
        let (number, _) = attached.map_err(|why| invalid(format!("an image cannot be sent: {why}")))?;
        Ok(format!(" {} ", picture_mark(number)))
    };
    for block in blocks {
        match block {
            ContentBlock::Text(words) => {
                own.extend(mentions(&words.text).map(|mention| mention.name.to_owned()));
                text.push_str(&words.text);
            }
            ContentBlock::ResourceLink(link) => text.push_str(&linked(&link.uri, cwd, &mut own)),
            ContentBlock::Resource(embedded) => match embedded.resource {
                EmbeddedResourceResource::TextResourceContents(resource) => {
                    text.push_str(&linked(&resource.uri, cwd, &mut own));
                    resources.push(quoted(&resource.uri, &resource.text));
                }
                EmbeddedResourceResource::BlobResourceContents(resource) => {
                    let is_picture = resource.mime_type.as_deref().is_some_and(|kind| kind.starts_with("image/"));
                    let words =
                        if is_picture { picture(&resource.blob)? } else { linked(&resource.uri, cwd, &mut own) };
                    text.push_str(&words);
                }
                _ => return Err(invalid("a resource is text or a blob")),
            },
            ContentBlock::Image(image) => text.push_str(&picture(&image.data)?),
            _ => return Err(invalid("audio cannot be sent")),
        }
    }
    let parts = std::iter::once(text.trim().to_owned()).chain(resources);
    let text = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    if text.is_empty() {
        return Err(invalid("the prompt is empty"));
    }
    Ok(UserText::naming(text, own, calls))
}

/// Returns the words for a link: a mention of a file, or the address.
fn linked(uri: &str, cwd: &Path, own: &mut BTreeSet<String>) -> String {
    let Some(path) = file_of(uri) else { return sanitize_line(uri).into_owned() };
    let shown = path.strip_prefix(cwd).unwrap_or(&path).to_string_lossy().into_owned();
    if shown.is_empty() || shown.contains(['"', '\n', '\r']) {
        return sanitize_line(uri).into_owned();
    }
    let written = if shown.contains(char::is_whitespace) { format!("@\"{shown}\"") } else { format!("@{shown}") };
    // A name with other signs at its end is no mention.
    own.extend(mentions(&written).map(|mention| mention.name.to_owned()));
    written
}

/// Returns the file that an address of the scheme `file` names.
fn file_of(uri: &str) -> Option<PathBuf> {
    let uri = reqwest::Url::parse(uri).ok().filter(|uri| uri.scheme() == "file")?;
    uri.to_file_path().ok()
}

/// Returns the text of a resource, in a tag that it cannot end.
fn quoted(uri: &str, text: &str) -> String {
    let name = sanitize_line(uri).replace('"', "%22");
    let counts = |piece: &str| speaks(piece) || tag_name(piece).eq_ignore_ascii_case(RESOURCE);
    let text = escape_tags(&without_picture_marks(&sanitize(text)), counts);
    format!("<{RESOURCE} uri=\"{name}\">\n{}\n</{RESOURCE}>", text.trim_end_matches('\n'))
}
