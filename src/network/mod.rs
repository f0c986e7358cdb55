//! What all HTTP clients share: whose certificates are believed, why a request failed, and streams of events.
//!
//! Owns making clients that know the certificates. Leaves requests to those who make them. Invariant: where the system has
//! certificates, only those count.

pub mod sse;

use std::error::Error;

use reqwest::{Client, ClientBuilder};

/// Builds a client that believes the system's certificates. A slim container has none of its own; then Mozilla's, as
/// compiled in, are used. Reading them takes tens of milliseconds of disk and processor.
///
/// # Errors
/// Returns what is wrong with the certificates or the settings.
pub fn with_certificates(settings: impl Fn() -> ClientBuilder) -> reqwest::Result<Client> {
    install_provider();
    settings().build().or_else(|_| {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS;
        let roots = roots.iter().filter_map(|root| reqwest::Certificate::from_der(root).ok());
        settings().tls_certs_only(roots).build()
    })
}

/// Builds a client for addresses without TLS, for which no certificate is read.
///
/// # Errors
/// Returns what is wrong with the settings.
pub fn without_certificates(settings: ClientBuilder) -> reqwest::Result<Client> {
    install_provider();
    settings.tls_certs_only([]).build()
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
