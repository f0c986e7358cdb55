//! What the table of a service says of how it is reached: headers, and files of certificates.
//!
//! Owns taking it out of the table. Leaves which headers may be set to `message`. Invariant: no error holds a value of a
//! header.

use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::in_order;
use crate::message::TransportSettings;

/// What is wrong, and where.
type Misread = (Range<usize>, String);

/// Takes out of the table of a service how it is reached, if it says anything of that.
pub(super) fn taken(table: &mut DeTable<'_>) -> Result<Option<TransportSettings>, Misread> {
    let mut found = TransportSettings::default();
    let mut is_there = false;
    let mut file = |key: &str| {
        let value = table.remove(key)?;
        is_there = true;
        Some(path(key, &value).map(|path| (value.span(), path)))
    };
    let [ca_file, client_cert, client_key] = ["ca_file", "client_cert", "client_key"].map(&mut file);
    found.ca_file = ca_file.transpose()?.map(|(_, path)| path);
    found.client_cert = client_cert.transpose()?.map(|(_, path)| path);
    if let Some((span, path)) = client_key.transpose()? {
        if found.client_cert.is_none() {
            return Err((span, "`client_key` needs `client_cert`, the certificate that it is for".to_owned()));
        }
        found.client_key = Some(path);
    }
    if let Some(headers) = table.remove("headers") {
        is_there = true;
        let wrong = |span, words: &str| (span, words.to_owned());
        let entries = headers.get_ref().as_table();
        let entries =
            entries.ok_or_else(|| wrong(headers.span(), "`headers` expects a table, { \"X-Name\" = \"value\" }"))?;
        for (name, value) in in_order(entries) {
            let text = value.get_ref().as_str();
            let text = text.ok_or_else(|| wrong(value.span(), "a header's value is a string"))?;
            found.add_header(name.get_ref(), text).map_err(|error| (name.span(), error))?;
        }
    }
    Ok(is_there.then_some(found))
}

fn path(key: &str, value: &Spanned<DeValue<'_>>) -> Result<PathBuf, Misread> {
    let text = value.get_ref().as_str().unwrap_or_default();
    if text.starts_with('/') || text.starts_with("~/") {
        Ok(PathBuf::from(text))
    } else {
        Err((value.span(), format!("`{key}` expects the path of a file in PEM; begin it with / or ~/")))
    }
}
