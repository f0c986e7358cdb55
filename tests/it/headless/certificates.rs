//! Certificates, both ways: the real binary before a server that shows one of its own and demands one.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::{Bench, text};
use crate::support::read_request;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Authority::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Returns a certificate for a use, and its key.
fn signed(by: &Authority, usage: ExtendedKeyUsagePurpose) -> (rcgen::Certificate, KeyPair) {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.extended_key_usages = vec![usage];
    let key = KeyPair::generate().unwrap();
    (params.signed_by(&key, by).unwrap(), key)
}

/// A server over TLS, with the number of requests that it has read.
struct Server {
    port: u16,
    requests: Arc<AtomicUsize>,
}

impl Server {
    /// Starts one that the authority vouches for. With `clients`, it demands a certificate of that authority.
    async fn start(authority: &Authority, clients: Option<&Authority>) -> Self {
        belvedere::network::install_provider();
        let (cert, key) = signed(authority, ExtendedKeyUsagePurpose::ServerAuth);
        let builder = ServerConfig::builder();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.der().clone()).unwrap();
                builder.with_client_cert_verifier(WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap())
            }
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let chain = vec![CertificateDer::from(cert.der().to_vec())];
        let acceptor = TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, requests) = (listener.local_addr().unwrap().port(), Arc::<AtomicUsize>::default());
        let read = requests.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, read) = (acceptor.clone(), read.clone());
                tokio::spawn(async move {
                    match acceptor.accept(socket).into_fallible().await {
                        Ok(stream) => answer(stream, &read).await,
                        // A close with unread bytes would take back the alert.
                        Err((_, mut socket)) => drop(socket.read_to_end(&mut Vec::new()).await),
                    }
                });
            }
        });
        Self { port, requests }
    }
}

/// Answers one request as Chat Completions do.
async fn answer(mut stream: impl AsyncRead + tokio::io::AsyncWrite + Unpin, read: &AtomicUsize) {
    if read_request(&mut stream).await.is_none() {
        return;
    }
    read.fetch_add(1, Ordering::SeqCst);
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "safe and sound"}, "finish_reason": "stop"}]});
    let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    let _ = stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Asks the binary, whose service `corp` is at the port and has these keys beside; `{home}` in them is the home.
async fn ask(bench: &Bench, port: u16, keys: &str, env: &[(&str, &str)]) -> (Output, String) {
    let home = bench.home.path().display().to_string();
    let row = format!("[providers.corp]\nwire = \"openai\"\nurl = \"https://localhost:{port}/v1\"\nmodel = \"m\"\n");
    bench.at_home(".config/belvedere/config.toml", &format!("{row}{}", keys.replace("{home}", &home)));
    let mut command = bench.command(&["-p", "go", "--model", "corp"]);
    command.envs(env.iter().map(|(name, value)| (*name, value.replace("{home}", &home))));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = text(&output.stderr);
    (output, said)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_of_the_users_own_is_believed_where_it_is_named_and_nowhere_else() {
    let authority = authority();
    let server = Server::start(&authority, None).await;
    let bench = Bench::new();
    bench.at_home("ca.pem", &authority.pem());
    bench.at_home("other.pem", &self::authority().pem());
    bench.at_home("empty.pem", "nothing\n");
    for (keys, env) in [
        ("ca_file = \"{home}/ca.pem\"\n", &[][..]),
        ("ca_file = \"~/ca.pem\"\n", &[]),
        ("", &[("NODE_EXTRA_CA_CERTS", "{home}/ca.pem")]),
        #[cfg(target_os = "linux")]
        ("", &[("SSL_CERT_FILE", "{home}/ca.pem")]),
    ] {
        let (output, said) = ask(&bench, server.port, keys, env).await;
        assert_eq!(text(&output.stdout), "safe and sound\n", "{keys} {env:?}: {said}");
    }
    for (keys, env, words) in [
        ("", &[][..], "No secure connection to corp: its certificate is not trusted. Set SSL_CERT_FILE, or `ca_file`"),
        ("ca_file = \"~/other.pem\"\n", &[], "its certificate is not trusted"),
        ("ca_file = \"~/gone.pem\"\n", &[], "gone.pem) cannot be read: No such file"),
        ("ca_file = \"~/empty.pem\"\n", &[], "empty.pem) holds no certificate. Name a file of certificates in PEM"),
        ("", &[("NODE_EXTRA_CA_CERTS", "/nowhere/ca.pem")], "NODE_EXTRA_CA_CERTS (/nowhere/ca.pem) cannot be read"),
        ("ca_file = \"~/ca.pem\"\n", &[("SSL_CERT_FILE", "{home}/empty.pem")], "empty.pem) holds no certificate"),
        ("ca_file = \"ca.pem\"\n", &[], "`ca_file` expects the path of a file in PEM; begin it with / or ~/"),
    ] {
        let seen = server.requests.load(Ordering::SeqCst);
        let (output, said) = ask(&bench, server.port, keys, env).await;
        assert!(said.contains(words) && !output.status.success(), "{keys} {env:?}: {said}");
        assert_eq!(server.requests.load(Ordering::SeqCst), seen);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_demands_a_certificate_gets_the_one_that_is_set_and_else_the_user_is_told() {
    let authority = authority();
    let server = Server::start(&authority, Some(&authority)).await;
    let bench = Bench::new();
    bench.at_home("ca.pem", &authority.pem());
    let (cert, key) = signed(&authority, ExtendedKeyUsagePurpose::ClientAuth);
    bench.at_home("me.pem", &cert.pem());
    bench.at_home("me.key", &key.serialize_pem());
    bench.at_home("both.pem", &format!("{}{}", key.serialize_pem(), cert.pem()));
    let (stranger, other_key) = signed(&self::authority(), ExtendedKeyUsagePurpose::ClientAuth);
    bench.at_home("stranger.pem", &format!("{}{}", stranger.pem(), other_key.serialize_pem()));
    bench.at_home("other.key", &other_key.serialize_pem());
    bench.at_home("locked.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n");
    for files in ["client_cert = \"~/me.pem\"\nclient_key = \"~/me.key\"\n", "client_cert = \"~/both.pem\"\n"] {
        let (output, said) = ask(&bench, server.port, &format!("ca_file = \"~/ca.pem\"\n{files}"), &[]).await;
        assert_eq!(text(&output.stdout), "safe and sound\n", "{files}: {said}");
    }
    for (files, words) in [
        ("", "the server demands a client certificate. Set `client_cert` and `client_key` of `[providers.corp]`"),
        ("client_cert = \"~/stranger.pem\"\n", "the server does not accept the client certificate ("),
        (
            "client_cert = \"~/me.pem\"\nclient_key = \"~/other.key\"\n",
            "other.key) is not the key of the certificate in",
        ),
        (
            "client_cert = \"~/me.pem\"\nclient_key = \"~/locked.key\"\n",
            "is protected by a passphrase. Write one without",
        ),
        ("client_cert = \"~/me.pem\"\n", "me.pem) holds no private key"),
        ("client_key = \"~/me.key\"\n", "`client_key` needs `client_cert`, the certificate that it is for"),
    ] {
        let (output, said) = ask(&bench, server.port, &format!("ca_file = \"~/ca.pem\"\n{files}"), &[]).await;
        assert!(said.contains(words) && !output.status.success(), "{files}: {said}");
        assert!(!said.contains("MIIB"), "{said}");
    }
    assert_eq!(server.requests.load(Ordering::SeqCst), 2);
}
