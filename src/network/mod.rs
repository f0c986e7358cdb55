//! What all HTTP clients share: whose certificates are believed, why a request failed, and streams of events.
//!
//! Owns making clients that know the certificates. Leaves requests to those who make them. Invariant: where the system has
//! certificates, only those count.

pub mod sse;
mod tls;

use std::error::Error;

use reqwest::{Client, ClientBuilder};

pub use tls::{TlsFiles, TlsSetupError};

/// Builds a client that believes the system's certificates, those of `files` and of the environment. A slim container has
/// none of its own; then Mozilla's, as compiled in, are used. Reading them takes tens of milliseconds of disk and
/// processor.
///
/// # Errors
/// Returns what is wrong with the certificates or the settings.
pub fn with_certificates(files: &TlsFiles, settings: impl Fn() -> ClientBuilder) -> Result<Client, TlsSetupError> {
    install_provider();
    let (roots, identity) = (tls::extra_roots(files)?, tls::identity(files)?);
    let settings = || {
        let settings = settings().tls_certs_merge(roots.clone());
        if let Some(identity) = identity.clone() { settings.identity(identity) } else { settings }
    };
    let built = settings().build().or_else(|_| {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS;
        let roots = roots.iter().filter_map(|root| reqwest::Certificate::from_der(root).ok());
        settings().tls_certs_only(roots).build()
    });
    Ok(built?)
}

/// Builds a client for addresses without TLS, for which no certificate is read.
///
/// # Errors
/// Returns what is wrong with the settings.
pub fn without_certificates(settings: ClientBuilder) -> Result<Client, TlsSetupError> {
    install_provider();
    Ok(settings.tls_certs_only([]).build()?)
}

/// Makes TLS of this process that of the crate `ring`. A second installation fails, which is as good.
pub fn install_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns the error at the bottom of all that wrap it.
#[must_use]
pub fn root_cause<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root
}
