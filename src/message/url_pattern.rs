//! Patterns of addresses in lists of settings, in which `*` stands for anything.
//!
//! Owns what such a pattern matches. Leaves the lists to others. Invariant: what stands for a host never reaches into the
//! path, which anybody can choose.

use reqwest::Url;

/// Returns `true` if a pattern that allows names an address. One that cannot be read names none.
#[must_use]
pub fn allows_url(pattern: &str, url: &Url) -> bool {
    if pattern == "*" {
        return true;
    }
    let Some((scheme, rest)) = pattern.split_once("://") else { return false };
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = (rest[..at].to_ascii_lowercase(), &rest[at..]);
    let name = url.host_str().unwrap_or_default();
    let with_port = url.port_or_known_default().map(|port| format!("{name}:{port}")).unwrap_or_default();
    let is_host = matches_wildcard(&host, &with_port) || (url.port().is_none() && matches_wildcard(&host, name));
    let whole = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let is_path = match path {
        "" if host.ends_with('*') => true,
        "" => whole == "/",
        // A last slash makes no other address.
        path => [whole.as_str(), whole.trim_end_matches('/'), &format!("{whole}/")]
            .into_iter()
            .any(|whole| matches_wildcard(path, whole)),
    };
    matches_wildcard(&scheme.to_ascii_lowercase(), url.scheme()) && is_host && is_path
}

/// Returns `true` if a text has a form in which `*` stands for anything.
pub(super) fn matches_wildcard(form: &str, text: &str) -> bool {
    let Some((first, rest)) = form.split_once('*') else { return form == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}
