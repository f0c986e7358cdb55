//! Servers on this machine: whose they are, and which the user has named before.

use belvedere::provider::choice::{ModelChoice, ModelPreferences, choose};
use belvedere::provider::table::{ProviderEnv, ProviderTable};
use belvedere::services::servers::{KnownServers, ServerIdentity, listener_uid};

const FOUR: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65534        0 27107 1 x 100 0 0 10 0
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 27108 1 x 100 0 0 10 0
   2: 0100007F:1F91 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000     5        0 27109 1 x 100 0 0 10 0
   3: 00000000:1F92 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 27110 1 x 100 0 0 10 0
   4: 0200A8C0:1F93 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 27111 1 x 100 0 0 10 0
";
const SIX: &str = "  sl  local_address                         remote_address                        st tx rx tr when uid
   0: 00000000000000000000000000000000:1F92 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1 x
   1: 00000000000000000000000000000000:1F94 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1 x
   2: 0000000000000000FFFF00000100007F:1F95 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     9        0 1 1 x
";

#[cfg(target_endian = "little")]
#[test]
fn the_tables_of_sockets_say_whose_a_listener_is() {
    let uid = |port| listener_uid(FOUR, SIX, port);
    assert_eq!(uid(8080), Some(65_534), "the address itself comes before all addresses");
    assert_eq!(uid(8081), None, "that is a connection");
    assert_eq!(uid(8082), None, "two users listen");
    assert_eq!(uid(8083), None, "another address");
    assert_eq!(uid(8084), Some(7));
    assert_eq!(uid(8085), Some(9), "an address of the other kind");
    assert_eq!(listener_uid("", "", 8080), None);
    assert_eq!(listener_uid("junk\n 0: x:y z 0A\n", "0: 00:1F90", 8080), None);
}

#[test]
fn a_server_is_known_once_it_was_named_and_only_that_one() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap()).parse().unwrap();
    let server = ServerIdentity::of("llamacpp", &base);
    let state = tempfile::tempdir().unwrap();
    let known = KnownServers::new(Some(&state.path().join("new/belvedere")));
    assert!(!known.hold(&server));
    let question = server.question("a\u{1b}[2Jmodel");
    assert!(
        question.contains("(llamacpp, model amodel; runs as ") && question.contains("/model llamacpp"),
        "{question}"
    );
    known.remember(&server);
    if cfg!(target_os = "linux") {
        assert!(question.contains("runs as you"), "{question}");
        assert!(known.hold(&server));
    }
    assert!(!known.hold(&ServerIdentity::of("ollama", &base)));
    drop(listener);
    assert!(!known.hold(&ServerIdentity::of("llamacpp", &base)), "nobody listens there, so nothing is known");
    // What is not known to be someone's is never kept.
    let nobody = ServerIdentity::of("llamacpp", &base);
    known.remember(&nobody);
    assert!(!known.hold(&nobody));
    assert!(!KnownServers::new(None).hold(&server));
}

#[test]
fn a_key_that_goes_out_in_clear_is_noticed() {
    let exposed = |base: &str, key: Option<&str>| {
        let env = ProviderEnv::new(ProviderTable::default(), |name| match name {
            "OPENAI_BASE_URL" => Some(base.to_owned()),
            "OPENAI_API_KEY" => key.map(str::to_owned),
            _ => None,
        });
        let wishes = ModelPreferences { flag: Some("openai/m".to_owned()), config: None, settings: None, env };
        let Ok(ModelChoice::Connect(chosen)) = choose(&wishes) else { panic!("{base}") };
        chosen.endpoint.exposed_host().map(str::to_owned)
    };
    for open in ["http://example.org/v1", "http://203.0.113.7/v1", "http://[2001:db8::1]/v1", "http://gateway/v1"] {
        assert!(exposed(open, Some("sk-key")).is_some(), "{open}");
        assert_eq!(exposed(open, None), None, "there is nothing to read");
    }
    assert!(exposed("http://me:password@example.org/v1", None).is_some());
    for closed in [
        "https://example.org/v1",
        "http://127.0.0.1:8080/v1",
        "http://localhost/v1",
        "http://192.168.1.7/v1",
        "http://10.0.0.1/v1",
        "http://[fd00::1]/v1",
    ] {
        assert_eq!(exposed(closed, Some("sk-key")), None, "{closed}");
    }
}
