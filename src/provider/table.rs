//! Which services there are, and what the environment and the user's settings say of them.
//!
//! Owns the table of services: the built-in rows, then those of the user. Leaves choosing one to `choice`. Invariant: of
//! the environment only the variables that a row names are read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Url;

use super::choice::ChoiceError;
use super::discover::ListedModel;
use super::http::is_loopback;
use super::service::{Credential, place};
use super::transport::BrokenTransport;
use super::{Transport, model};
use crate::message::{CacheTtl, Dialect, ProviderRow, Secret, TransportSettings, WireFormat};

/// The services, in the order in which one is chosen when none is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderTable(Arc<[Arc<ProviderRow>]>);

impl Default for ProviderTable {
    fn default() -> Self {
        Self(model::builtin_rows().into())
    }
}

impl ProviderTable {
    /// Returns the table with rows of the user: one with the name of a built-in row stands in its place.
    #[must_use]
    pub fn with(own: &[ProviderRow]) -> Self {
        own.iter().fold(Self::default(), |table, row| table.replacing(row.clone()))
    }

    /// Returns the table with another row of the same name.
    #[must_use]
    pub fn replacing(&self, row: ProviderRow) -> Self {
        let (mut rows, row) = (self.0.to_vec(), Arc::new(row));
        match rows.iter_mut().find(|known| known.name == row.name) {
            Some(known) => *known = row,
            None => rows.push(row),
        }
        Self(rows.into())
    }

    /// Returns the table with services that keep what they have read for so long.
    #[must_use]
    pub fn caching(self, cache_ttl: CacheTtl) -> Self {
        self.clone().rows().fold(self, |table, row| {
            let mut row = row.as_ref().clone();
            row.set_up.cache_ttl = cache_ttl;
            table.replacing(row)
        })
    }

    pub fn rows(&self) -> impl Iterator<Item = &Arc<ProviderRow>> {
        self.0.iter()
    }

    /// Returns the row of this name, in any case.
    pub fn get(&self, name: &str) -> Option<&Arc<ProviderRow>> {
        self.rows().find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// Returns the variables that hold keys and tokens.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        self.rows().flat_map(|row| row.secret_variables())
    }

    /// Returns the variables that hold the keys of services on the internet.
    pub fn key_variables(&self) -> Vec<&str> {
        self.rows().filter(|row| !row.local).filter_map(|row| row.key_env.as_deref()).collect()
    }

    /// Returns those of them that a hint names.
    pub fn main_keys(&self) -> Vec<&str> {
        self.key_variables().into_iter().take(2).collect()
    }

    /// Returns the servers of the user's own machine that a hint names.
    pub fn server_names(&self) -> Vec<&str> {
        self.rows().filter(|row| row.local).map(|row| row.display()).take(3).collect()
    }

    /// Returns the variable that puts a service of this wire format at another address.
    pub fn address_variable(&self, wire: WireFormat) -> Option<&str> {
        self.rows().filter(|row| row.wire == wire).find_map(|row| row.url_env.as_deref())
    }
}

/// Returns words as a list: `a, b or c`.
pub fn any_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Returns `true` if the address is the row's own, and no variable put another one in its place.
pub(super) fn is_home(row: &ProviderRow, base: &Url) -> bool {
    place(&row.url) == place(base)
}

/// Returns what the server at an address wants written differently: a variable may lead from one service to another.
pub(super) fn dialect_at(row: &ProviderRow, base: &Url) -> Dialect {
    let host = base.host_str().unwrap_or_default();
    let is_of = |row: &&ProviderRow| is_home(row, base) || row.dialect_hosts.iter().any(|end| host.ends_with(end));
    let known = model::builtin_rows().iter().map(AsRef::as_ref);
    match std::iter::once(row).chain(known).find(is_of) {
        Some(row) => row.dialect,
        None if row.url_env.is_none() => row.dialect,
        None => Dialect::Compatible,
    }
}

/// Returns the API over which the server at an address is spoken to.
pub(super) fn wire_at(row: &ProviderRow, base: &Url) -> WireFormat {
    match dialect_at(row, base) {
        Dialect::OpenAi if row.wire == WireFormat::OpenAi => WireFormat::Responses,
        _ => row.wire,
    }
}

/// The services, and what the environment and the user's settings say of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderEnv {
    pub table: ProviderTable,
    /// The variables that the rows name. An address may hold a password.
    variables: BTreeMap<String, Secret>,
    /// What the settings have for services whose variables are not set, by their names.
    credentials: BTreeMap<String, Credential>,
    /// How services are reached beside their addresses, by their names; or why that is not known.
    transports: BTreeMap<String, Result<Arc<Transport>, BrokenTransport>>,
    listed: ListedWindows,
    /// The service that the user's set-up of another program chooses.
    pub(super) required: Option<RequiredService>,
}

/// A service that is chosen by a variable: it answers, or nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredService {
    pub variable: &'static str,
    pub service: &'static str,
    /// Why it cannot answer as it is set up, if that is known.
    pub unusable: Option<String>,
}

/// The sizes of contexts, in tokens, that services have listed for their models. Clones share them.
#[derive(Debug, Clone, Default)]
struct ListedWindows(Arc<Mutex<BTreeMap<(String, String), u64>>>);

/// What services have said since makes no other choice.
impl PartialEq for ListedWindows {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ListedWindows {}

impl ProviderEnv {
    /// Reads the variables that the rows name. Blank ones count as not set.
    #[must_use]
    pub fn new(table: ProviderTable, variable: impl Fn(&str) -> Option<String>) -> Self {
        let places = |row: &Arc<ProviderRow>| {
            [row.url_env.clone(), row.host_env.clone()]
                .into_iter()
                .flatten()
                .chain(row.url_words.values().cloned())
                .collect::<Vec<_>>()
        };
        let names = table.rows().flat_map(places).chain(table.secret_variables().map(str::to_owned));
        let variables = names.filter_map(|name| Some((name.clone(), Secret::new(&variable(&name)?)?))).collect();
        Self { table, variables, ..Self::default() }
    }

    /// Returns the same with what the settings have for services. A variable that is set counts more.
    #[must_use]
    pub fn with_credentials(self, credentials: BTreeMap<String, Credential>) -> Self {
        Self { credentials, ..self }
    }

    /// Returns the same with what the settings say of how services are reached: paths begin at `home`, and `variable` says
    /// what the variables that headers name hold.
    #[must_use]
    pub fn with_transports(
        self,
        settings: &BTreeMap<String, TransportSettings>,
        home: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let made = settings.iter().filter_map(|(name, settings)| {
            let row = self.table.get(name)?;
            Some((row.name.clone(), Transport::new(settings, home, variable).map(Arc::new)))
        });
        Self { transports: made.collect(), ..self }
    }

    /// Returns the same with a service that cannot be reached as the settings say, and why.
    #[must_use]
    pub fn refusing(mut self, service: &str, why: String) -> Self {
        self.transports.insert(service.to_owned(), Err(BrokenTransport { why, has_key: false }));
        self
    }

    /// Returns the same where a variable chooses the service.
    #[must_use]
    pub fn requiring(self, required: Option<RequiredService>) -> Self {
        Self { required, ..self }
    }

    fn get(&self, variable: Option<&String>) -> Option<&Secret> {
        self.variables.get(variable?)
    }

    /// Returns every key and token that is known, so that they can be kept out of logs.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let set = self.table.secret_variables().filter_map(|name| self.variables.get(name)).cloned();
        let keys = set.chain(self.credentials.values().filter_map(Credential::known));
        let headers = self.transports.values().flatten().flat_map(|transport| transport.secrets());
        // A server that checks no key is told its own name by its users.
        let is_name = |text: &str| self.table.get(text).is_some();
        keys.map(|key| key.expose().to_owned()).chain(headers.map(str::to_owned)).filter(move |text| !is_name(text))
    }

    /// Keeps what a service has listed, for when one of its models is named.
    pub(super) fn keep_listed(&self, row: &ProviderRow, models: &[ListedModel]) {
        let sized = models.iter().filter_map(|model| Some((model.id.clone(), model.context_window?)));
        let sized = sized.map(|(id, window)| ((row.name.clone(), id), window));
        self.listed.0.lock().unwrap_or_else(PoisonError::into_inner).extend(sized);
    }

    /// Keeps the size of a model's context, as its server says it.
    pub fn keep_window(&self, provider: &str, id: &str, window: u64) {
        let mut listed = self.listed.0.lock().unwrap_or_else(PoisonError::into_inner);
        listed.insert((provider.to_owned(), id.to_owned()), window);
    }

    /// Returns the size of a model's context, if its service has said it.
    #[must_use]
    pub fn listed_window(&self, provider: &str, id: &str) -> Option<u64> {
        let listed = self.listed.0.lock().unwrap_or_else(PoisonError::into_inner);
        listed.get(&(provider.to_owned(), id.to_owned())).copied()
    }

    /// Returns `true` if a variable that a row names is set.
    pub fn is_set(&self, variable: &str) -> bool {
        self.variables.contains_key(variable)
    }

    pub(super) fn credential(&self, row: &ProviderRow) -> Credential {
        let key = row.key_env.iter().chain(&row.other_key_envs).find_map(|name| self.get(Some(name)));
        match (self.get(row.token_env.as_ref()), key) {
            // Who has set both means the gateway that the token is for: Claude Code sends that one.
            (Some(token), _) => Credential::Token(token.clone()),
            (None, Some(key)) => Credential::Key(key.clone()),
            (None, None) => self.credentials.get(&row.name).cloned().unwrap_or(Credential::None),
        }
    }

    /// Returns how the service is reached beside its address. Returns an error if that is not known.
    pub(super) fn transport(&self, row: &ProviderRow) -> Result<Arc<Transport>, ChoiceError> {
        match self.transports.get(&row.name) {
            None => Ok(Arc::default()),
            Some(Ok(transport)) => Ok(transport.clone()),
            Some(Err(BrokenTransport { why, .. })) => {
                Err(ChoiceError::Unusable { words: format!("`providers.{}`: {why}.", row.name) })
            }
        }
    }

    /// Returns `true` if the settings have a header for it that authenticates the requests, and that cannot be sent.
    pub(super) fn lacks_key_header(&self, row: &ProviderRow) -> bool {
        matches!(self.transports.get(&row.name), Some(Err(broken)) if broken.has_key)
    }

    /// Returns `true` if a variable says that the service is elsewhere.
    pub(super) fn is_moved(&self, row: &ProviderRow) -> bool {
        self.get(row.url_env.as_ref()).is_some()
    }

    /// Returns `true` if the service can be asked: its key is set, or it needs none. A gateway adds its own key.
    pub(super) fn has_access(&self, row: &ProviderRow) -> bool {
        let needs_key = row.key_env.is_some() || row.token_env.is_some();
        let has_header = || self.transport(row).is_ok_and(|transport| transport.has_key());
        row.local || !needs_key || self.is_moved(row) || self.credential(row) != Credential::None || has_header()
    }

    /// Returns `true` if it is known where the service is, and how it is reached.
    pub(super) fn has_place(&self, row: &ProviderRow) -> bool {
        self.base(row).is_ok() && self.transport(row).is_ok()
    }

    /// Returns the address of the service, and `true` if the user put it in the place of the row's own. Returns an
    /// error if a variable holds no address.
    pub(super) fn base(&self, row: &ProviderRow) -> Result<(Url, bool), ChoiceError> {
        if let (Some(variable), Some(text)) = (&row.url_env, self.get(row.url_env.as_ref())) {
            return Ok((address(text.expose(), variable)?, true));
        }
        let host = self.get(row.host_env.as_ref()).and_then(|host| address_of_host(host.expose(), &row.url));
        match host {
            Some(url) => Ok((url, true)),
            None => Ok((self.filled(row)?, false)),
        }
    }

    /// Returns the row's own address with the values of variables in it. None of them leads to a host of another domain.
    fn filled(&self, row: &ProviderRow) -> Result<Url, ChoiceError> {
        let mut text = row.url.to_string();
        for (word, variable) in &row.url_words {
            let missing = || ChoiceError::MissingPlace { provider: row.name.clone(), variable: variable.clone() };
            let value = self.get(Some(variable)).ok_or_else(missing)?.expose().trim();
            if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
                return Err(ChoiceError::BadAddress { variable: variable.clone(), value: value.to_owned() });
            }
            text = text.replace(word, value);
        }
        // Where Google asks for no region, the host has none.
        let text = text.replace("//global-aiplatform.", "//aiplatform.");
        text.parse().map_err(|_| ChoiceError::BadAddress { variable: row.name.clone(), value: text })
    }

    /// Returns `true` if a service is asked at another address on this machine, where its prices say nothing.
    pub fn is_behind_gateway(&self, provider: &str) -> bool {
        let row = self.table.get(provider).filter(|row| !row.local);
        row.and_then(|row| self.base(row).ok()).is_some_and(|(base, _)| is_loopback(&base))
    }

    /// Returns `true` if the service has the models that its owner has set up, and no others.
    pub fn has_models_of_its_owner(&self, provider: &str) -> bool {
        let Some(row) = self.table.get(provider) else { return true };
        let is_elsewhere = || self.base(row).is_ok_and(|(base, _)| !is_home(row, &base));
        row.sizes.is_none() || (row.wire.is_openai() && is_elsewhere())
    }
}

fn address(text: &str, variable: &str) -> Result<Url, ChoiceError> {
    // A name and a password may stand before the host.
    let value = text.rsplit('@').next().unwrap_or_default();
    let bad = || ChoiceError::BadAddress { variable: variable.to_owned(), value: value.to_owned() };
    let url: Url = text.parse().map_err(|_| bad())?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty());
    if is_web { Ok(url) } else { Err(bad()) }
}

/// Reads where a server is as Ollama does: `host`, `host:port`, `:port` or an address with a scheme, whose default port
/// then is that of the scheme. What is not said is as in `usual`. A server that listens everywhere is asked on this machine.
fn address_of_host(host: &str, usual: &Url) -> Option<Url> {
    let host = host.trim().trim_matches(['"', '\'']);
    let (scheme, rest) = host.split_once("://").map_or((None, host), |(scheme, rest)| (Some(scheme), rest));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let authority = match authority {
        bare if bare.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{bare}]"),
        port if port.is_empty() || port.starts_with(':') => format!("127.0.0.1{port}"),
        other => other.to_owned(),
    };
    let has_port = authority.rsplit(']').next().is_some_and(|end| end.contains(':'));
    let mut url: Url = format!("{}://{authority}", scheme.unwrap_or("http")).parse().ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    if scheme.is_none() && !has_port {
        url.set_port(usual.port()).ok()?;
    }
    match url.host_str() {
        Some("0.0.0.0") => url.set_host(Some("127.0.0.1")).ok()?,
        Some("[::]") => url.set_host(Some("[::1]")).ok()?,
        _ => {}
    }
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(usual.path().trim_matches('/')).unwrap_or(path).trim_end_matches('/');
    url.set_path(&format!("{path}{}", usual.path()));
    Some(url)
}
