//! Why no connection could be made, in words that say what to do: certificates, and the proxy on the way.
//!
//! Owns the reading of TLS errors, and which proxy the environment names for an address. Leaves connecting to `http`.
//! Invariants: no word holds a proxy's password; a proxy that is named and cannot be used is never passed by.

use std::error::Error;
use std::io;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;
use rustls::{AlertDescription, CertificateError, InvalidMessage};

use super::{ErrorKind, ProviderError, Service};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proxy {
    address: String,
    /// Environment variable that names it.
    variable: &'static str,
}

impl Proxy {
    /// Finds the proxy that the environment names for an address, as the HTTP client does. Returns an error if a proxy
    /// is named in a way that the client would pass over.
    pub(super) fn of(base: &Url) -> Result<Option<Self>, ProviderError> {
        let own = if base.scheme() == "https" { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
        let names = own.into_iter().chain(["ALL_PROXY", "all_proxy"]);
        let mut set = names.filter_map(|name| Some((name, std::env::var(name).ok()?)));
        let Some((variable, value)) = set.find(|(_, value)| !value.trim().is_empty()) else { return Ok(None) };
        let Ok(target) = base.as_str().parse() else { return Ok(None) };
        let excepted = ["NO_PROXY", "no_proxy"].into_iter().find_map(|name| std::env::var(name).ok());
        let excepted = excepted.unwrap_or_default();
        let through = |proxy: &str| Matcher::builder().all(proxy).no(excepted.as_str()).build().intercept(&target);
        // In a CGI script a request's header could name a proxy; the client looks for none there.
        let is_cgi = std::env::var_os("REQUEST_METHOD").is_some();
        if is_cgi || through("http://any.invalid").is_none() {
            return Ok(None);
        }
        let Some(found) = through(&value) else {
            // A name and a password may stand before the host.
            let shown = value.rsplit('@').next().unwrap_or_default();
            let detail = format!("has an invalid address ({shown}); write it like http://host:port");
            let proxy = format!("The proxy in {variable}");
            return Err(proxy_error(ErrorKind::ProxySettings, proxy, detail, variable));
        };
        let host = found.uri().host().unwrap_or_default();
        let address = found.uri().port_u16().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok(Some(Self { address, variable }))
    }

    /// Returns the error for a connection to `place` that the proxy did not make.
    pub(super) fn failed(&self, place: &str, root: &str) -> ProviderError {
        if root.contains("proxy authorization required") {
            return self.wants_password();
        }
        let refused = root.contains("tunnel error");
        let did = if refused { "refused to connect" } else { "could not connect" };
        self.error(ErrorKind::Proxy, format!("{did} to {place} ({root})"))
    }

    pub(super) fn wants_password(&self) -> ProviderError {
        let detail = "requires a user name and password (407); add them as http://name:password@host:port";
        self.error(ErrorKind::ProxySettings, detail.to_owned())
    }

    fn error(&self, kind: ErrorKind, detail: String) -> ProviderError {
        proxy_error(kind, format!("The proxy {} ({})", self.address, self.variable), detail, self.variable)
    }
}

fn proxy_error(kind: ErrorKind, proxy: String, detail: String, variable: &str) -> ProviderError {
    let advice = format!("Check {variable}, or exempt the host with NO_PROXY.");
    ProviderError { advice, ..ProviderError::new(kind, proxy, detail) }
}

/// What is wrong with a connection, and what to do.
pub(super) type Advice = (String, String);

const TRUST: &str =
    "Set SSL_CERT_FILE, or `ca_file` of its service, to the certificate of the authority that signed it.";
const LEAF: &str = "Create a server certificate (openssl req -x509 -addext basicConstraints=critical,CA:FALSE …), or \
                    sign one with this authority.";
const RENEW: &str = "Renew it, or correct the clock.";
const RENAME: &str = "Use a host name from the certificate in the base URL.";
const LEAVE_OUT_TLS: &str = "Start the base URL with http://.";
const USE_TLS: &str = "Start the base URL with https://.";
const LOOK: &str = "Check the base URL and the server's certificate.";

/// Returns what is wrong with TLS if that is why there is no answer: the connection failed, or the server has taken leave
/// because of who we are.
pub(super) fn tls_advice(error: &reqwest::Error, service: &Service) -> Option<Advice> {
    let cause = find::<rustls::Error>(error)?;
    if let rustls::Error::AlertReceived(alert) = cause
        && let Some(advice) = client_advice(*alert, service)
    {
        return Some(advice);
    }
    let (detail, advice) = match cause {
        _ if !error.is_connect() => return None,
        rustls::Error::InvalidCertificate(error) => of_certificate(error),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            ("the server does not speak TLS".to_owned(), LEAVE_OUT_TLS)
        }
        other => (other.to_string(), LOOK),
    };
    Some((detail, advice.to_owned()))
}

/// Returns what to do if a server says in its answer that it wants a certificate of ours, as nginx does.
pub(super) fn answered_advice(words: &str, service: &Service) -> Option<Advice> {
    let wants_one = words.contains("No required SSL certificate was sent");
    let alert = if wants_one { AlertDescription::CertificateRequired } else { AlertDescription::BadCertificate };
    let refuses = wants_one || words.contains("The SSL certificate error");
    refuses.then(|| client_advice(alert, service)).flatten()
}

/// Returns what to do if a server wants another certificate of ours, or one at all.
fn client_advice(alert: AlertDescription, service: &Service) -> Option<Advice> {
    use AlertDescription as A;
    let table = format!("`[providers.{}]`", service.row.name);
    match (&service.transport.files.client_cert, alert) {
        (None, A::CertificateRequired | A::BadCertificate | A::HandshakeFailure) => Some((
            "the server demands a client certificate".to_owned(),
            format!("Set `client_cert` and `client_key` of {table} to files in PEM."),
        )),
        (
            Some(_),
            A::BadCertificate
            | A::UnsupportedCertificate
            | A::CertificateRevoked
            | A::CertificateExpired
            | A::CertificateUnknown
            | A::CertificateRequired
            | A::UnknownCA
            | A::DecryptError
            | A::AccessDenied,
        ) => Some((
            format!("the server does not accept the client certificate ({alert:?})"),
            format!("Check `client_cert` of {table}."),
        )),
        _ => None,
    }
}

fn of_certificate(error: &CertificateError) -> (String, &'static str) {
    use CertificateError as E;
    match error {
        E::UnknownIssuer | E::BadSignature => ("its certificate is not trusted".to_owned(), TRUST),
        E::Expired | E::ExpiredContext { .. } => ("its certificate has expired".to_owned(), RENEW),
        E::NotValidYet | E::NotValidYetContext { .. } => ("its certificate is not valid yet".to_owned(), RENEW),
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            ("its certificate is for another host name".to_owned(), RENAME)
        }
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            ("its certificate is for a certificate authority (CA:TRUE), not a server".to_owned(), LEAF)
        }
        other => (format!("its certificate is not valid: {other}"), LOOK),
    }
}

/// Returns what to do if a server that was asked without TLS wants it: `words` are its answer, or the client's about it.
pub(super) fn plain_advice(base: &Url, words: &str) -> Option<Advice> {
    let signs = ["invalid HTTP version", "HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port"];
    let wants_tls = base.scheme() == "http" && signs.iter().any(|sign| words.contains(sign));
    wants_tls.then(|| ("the server speaks only TLS".to_owned(), USE_TLS.to_owned()))
}

/// Finds an error among those that wrap each other. An I/O error hides the one that it was made of from `source`.
fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error
        .downcast_ref::<E>()
        .or_else(|| inner.and_then(|inner| find(inner)))
        .or_else(|| error.source().and_then(|source| find(source)))
}
