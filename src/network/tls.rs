//! Files in PEM that say whose certificates are believed beside the system's, and who this client is.
//!
//! Owns reading them, and the words for what is wrong with one. Leaves which files there are to those who make clients.
//! Invariants: a file that is named and cannot be used is an error and never passed over; no error holds a part of one.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use reqwest::{Certificate, Identity};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::root_cause;

/// Bytes of one file. The list of all authorities of a system has a quarter of it.
const MAX_FILE: u64 = 1 << 20;
/// Variable that names a file of certificates which replace the system's.
const ONLY_FILE: &str = "SSL_CERT_FILE";
/// Variable of Node.js that names a file of certificates which are believed beside the system's.
const EXTRA_FILE: &str = "NODE_EXTRA_CA_CERTS";

/// The files of one client. Their names in errors are those of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of authorities that are believed beside the system's.
    pub ca_file: Option<PathBuf>,
    /// The client's own certificate, with those that lead to its authority.
    pub client_cert: Option<PathBuf>,
    /// The key of the client's certificate; `None` if it stands in the same file.
    pub client_key: Option<PathBuf>,
}

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    /// A file that settings or a variable name; `advice` says what to do.
    #[error("{setting} ({}) {why}", path.display())]
    File { setting: &'static str, path: PathBuf, why: String, advice: String },
    #[error("TLS could not be set up: {}", root_cause(.0))]
    Client(#[from] reqwest::Error),
}

/// Reads the authorities that are believed beside the system's: those of the client, and of the environment.
pub(super) fn extra_roots(files: &TlsFiles) -> Result<Vec<Certificate>, TlsSetupError> {
    let of_variable = |name: &'static str| {
        let path = std::env::var_os(name).filter(|path| !path.is_empty());
        path.map(|path| certificates(name, Path::new(&path))).transpose()
    };
    // It is read here for its errors alone: the system's verifier passes over a file that it cannot read.
    of_variable(ONLY_FILE)?;
    let mut all = of_variable(EXTRA_FILE)?.unwrap_or_default();
    if let Some(path) = &files.ca_file {
        all.extend(certificates("ca_file", path)?);
    }
    Ok(all.iter().filter_map(|der| Certificate::from_der(der).ok()).collect())
}

/// Reads who the client is, if it is somebody.
pub(super) fn identity(files: &TlsFiles) -> Result<Option<Identity>, TlsSetupError> {
    let Some(cert_path) = &files.client_cert else { return Ok(None) };
    let key_path = files.client_key.as_ref().unwrap_or(cert_path);
    let chain = certificates("client_cert", cert_path)?;
    let mut pem = read("client_cert", cert_path)?;
    let key_pem = read("client_key", key_path)?;
    let wrong = |why: &str, advice: String| file_error("client_key", key_path, why.to_owned(), advice);
    let key = PrivateKeyDer::from_pem_slice(&key_pem).map_err(|_| {
        let shown = key_path.display();
        if String::from_utf8_lossy(&key_pem).contains("ENCRYPTED") {
            let advice = format!("Write one without a passphrase: openssl pkey -in {shown} -out KEY.pem.");
            wrong("is protected by a passphrase", advice)
        } else {
            wrong("holds no private key", "Name a file in PEM (BEGIN PRIVATE KEY).".to_owned())
        }
    })?;
    let provider = CryptoProvider::get_default();
    let pair = provider.map(|provider| CertifiedKey::from_der(chain, key, provider));
    if let Some(Err(error)) = pair {
        let (why, advice) = match error {
            rustls::Error::InconsistentKeys(_) => (
                format!("is not the key of the certificate in {}", cert_path.display()),
                "Name the key that the certificate was made for.",
            ),
            other => (format!("cannot be used: {other}"), "Name a key of RSA, ECDSA or Ed25519."),
        };
        return Err(wrong(&why, advice.to_owned()));
    }
    if key_path != cert_path {
        pem.push(b'\n');
        pem.extend(key_pem);
    }
    Ok(Some(Identity::from_pem(&pem)?))
}

/// Reads the certificates of a file. One that holds none is an error.
fn certificates(setting: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let pem = read(setting, path)?;
    let wrong = |why: &str| {
        let advice = "Name a file of certificates in PEM (BEGIN CERTIFICATE).".to_owned();
        file_error(setting, path, why.to_owned(), advice)
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let found = found.map_err(|_| wrong("holds a certificate that cannot be read"))?;
    let is_sound = |der: &CertificateDer<'_>| rustls::server::ParsedCertificate::try_from(der).is_ok();
    match found.as_slice() {
        [] => Err(wrong("holds no certificate")),
        all if all.iter().all(is_sound) => Ok(found),
        _ => Err(wrong("holds a certificate that cannot be read")),
    }
}

fn read(setting: &'static str, path: &Path) -> Result<Vec<u8>, TlsSetupError> {
    let failed = |why: String| {
        let advice = format!("Correct {setting}, or leave it out.");
        file_error(setting, path, why, advice)
    };
    let unread = |error: io::Error| failed(format!("cannot be read: {error}"));
    // A pipe or a device might never end.
    if !path.metadata().map_err(unread)?.is_file() {
        return Err(failed("is no file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(unread)?.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > MAX_FILE { Err(failed("is larger than 1 MiB".to_owned())) } else { Ok(bytes) }
}

fn file_error(setting: &'static str, path: &Path, why: String, advice: String) -> TlsSetupError {
    TlsSetupError::File { setting, path: path.to_owned(), why, advice }
}
