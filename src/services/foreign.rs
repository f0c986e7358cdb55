//! What other agent programs have configured: Claude Code, Codex, Gemini CLI, Kode.
//!
//! Owns where their files lie and what of them means something here. Most of Claude Code's and Kode's files are read in
//! place and need no import. Source of the formats: the documentation of these programs. Invariants: no key is taken over;
//! what cannot be read is said; what lies in the project is marked as the folder's; nothing is written here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::config::Environment;
use crate::mcp::FoundServers;
use crate::message::format::counted;
use crate::message::{Effort, reveal_line, sanitize_line};
use crate::whole_file::read_plain_text;

/// Bytes of a file of theirs: `.claude.json` also holds what its program remembers.
const MAX_FILE: u64 = 64 << 20;
/// Names of variables and headers that hold secrets contain one of these.
const SECRET_WORDS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "AUTHORIZATION", "COOKIE", "CREDENTIAL"];

/// What entries of others say of a server that ours cannot.
const UNKNOWN: [&str; 6] = ["cwd", "enabled_tools", "disabled_tools", "includeTools", "excludeTools", "trust"];

/// Those of them that say which tools of a server there are.
const LIMITS: [&str; 4] = ["enabled_tools", "disabled_tools", "includeTools", "excludeTools"];

/// One thing that can be taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignItem {
    /// The program that it is from, such as `codex`.
    pub from: &'static str,
    /// What it is, as it is chosen: `codex:mcp:docs`.
    pub id: String,
    pub kind: ForeignKind,
    pub file: PathBuf,
    /// What of it stays behind, and why.
    pub left: Option<String>,
    /// Whether what stays behind restricts it.
    pub loses_limit: bool,
    /// Whether it lies in the folder that is worked in: it is the word of whoever wrote that, not of the user.
    pub is_folders: bool,
}

/// What a thing becomes here.
#[derive(Debug, Clone, PartialEq)]
pub enum ForeignKind {
    /// A server for `config.toml`.
    Server { name: String, entry: Value },
    /// A setting for `config.toml`.
    Setting { name: &'static str, value: String },
    /// It is read where it lies.
    InUse { words: String },
}

impl ForeignKind {
    /// Says what becomes of it.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Server { name, entry } => {
                let entries = vec![(name.clone(), entry.clone())];
                let shown = FoundServers { entries, ..FoundServers::default() }.shown().next().unwrap_or_default();
                format!("MCP server {}", reveal_line(&shown))
            }
            Self::Setting { name, value } => format!("{name} = {}", sanitize_line(value)),
            Self::InUse { words } => format!("{words} (read in place)"),
        }
    }
}

/// Finds what there is: the user's, and what lies in the folders of the project, whose root is the last. The second list
/// says what cannot be read. Blocks.
#[must_use]
pub fn foreign_items(environment: &Environment, folders: &[&Path]) -> (Vec<ForeignItem>, Vec<String>) {
    let Some(home) = environment.home() else { return Default::default() };
    let mut found = Found::default();
    let codex = environment.directory("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
    found.codex(&codex.join("config.toml"));
    found.gemini(&home.join(".gemini/settings.json"));
    for folder in folders {
        let (own, theirs) = (found.items.len(), folder.join(".codex/config.toml"));
        found.codex(&theirs);
        found.gemini(&folder.join(".gemini/settings.json"));
        found.items.iter_mut().skip(own).for_each(|item| item.is_folders = true);
    }
    let project = folders.last().copied();
    let kode = environment.directory("KODE_CONFIG_DIR").unwrap_or_else(|| home.join(".kode"));
    found.kode(&home.join(".kode.json"), &kode);
    let claude = environment.directory("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude"));
    let config = environment.directory("CLAUDE_CONFIG_DIR").unwrap_or(home).join(".claude.json");
    found.claude(&claude, &config, project);
    (found.items, found.unread)
}

#[derive(Default)]
struct Found {
    items: Vec<ForeignItem>,
    unread: Vec<String>,
}

impl Found {
    fn text(&mut self, path: &Path) -> Option<String> {
        path.metadata().ok()?;
        let read = read_plain_text(path, MAX_FILE);
        read.map_err(|why| self.unread.push(format!("{}: {why}", path.display()))).ok()
    }

    fn json(&mut self, path: &Path) -> Option<Value> {
        let text = self.text(path)?;
        // Gemini's files may have comments, which are none of JSON.
        let parsed = serde_json::from_str(&without_comments(&text));
        parsed.map_err(|error| self.unread.push(format!("{}: {error}", path.display()))).ok()
    }

    fn add(&mut self, from: &'static str, (what, name): (&str, &str), kind: ForeignKind, file: &Path) {
        self.put(from, (what, name), kind, (file, None, false));
    }

    fn put(
        &mut self,
        from: &'static str,
        (what, name): (&str, &str),
        kind: ForeignKind,
        (file, left, loses_limit): (&Path, Option<String>, bool),
    ) {
        let id = format!("{from}:{what}:{}", sanitize_line(name));
        let file = file.to_path_buf();
        self.items.push(ForeignItem { from, id, kind, file, left, loses_limit, is_folders: false });
    }

    fn servers(&mut self, from: &'static str, servers: Option<&Value>, file: &Path) {
        for (name, full) in servers.and_then(Value::as_object).into_iter().flatten() {
            let Some((entry, left)) = server(full) else { continue };
            let loses_limit = LIMITS.iter().any(|key| !full[*key].is_null());
            self.put(from, ("mcp", name), ForeignKind::Server { name: name.clone(), entry }, (file, left, loses_limit));
        }
    }

    fn codex(&mut self, path: &Path) {
        let Some(text) = self.text(path) else { return };
        let config: Value = match toml::from_str(&text) {
            Ok(config) => config,
            Err(error) => return self.unread.push(format!("{}: {}", path.display(), error.message())),
        };
        if let Some(model) = config["model"].as_str() {
            // Only the service that Codex itself stands for is known here by its name.
            let provider = config["model_provider"].as_str().unwrap_or("openai");
            if provider == "openai" {
                let value = format!("openai/{model}");
                self.add("codex", ("setting", "model"), ForeignKind::Setting { name: "model", value }, path);
            }
        }
        let effort = config["model_reasoning_effort"].as_str().filter(|level| level.parse::<Effort>().is_ok());
        if let Some(level) = effort {
            let kind = ForeignKind::Setting { name: "effort", value: level.to_owned() };
            self.add("codex", ("setting", "effort"), kind, path);
        }
        let mode = match (config["approval_policy"].as_str(), config["sandbox_mode"].as_str()) {
            (_, Some("read-only")) => Some("plan"),
            (Some("on-failure" | "on-request"), Some("workspace-write")) => Some("acceptEdits"),
            // What asks nobody at all is not taken over unseen.
            _ => None,
        };
        if let Some(mode) = mode {
            let kind = ForeignKind::Setting { name: "permission_mode", value: mode.to_owned() };
            self.add("codex", ("setting", "permission_mode"), kind, path);
        }
        self.servers("codex", config.get("mcp_servers"), path);
    }

    fn gemini(&mut self, path: &Path) {
        let Some(settings) = self.json(path) else { return };
        let model = settings["model"].as_str().or_else(|| settings["model"]["name"].as_str());
        if let Some(model) = model {
            let kind = ForeignKind::Setting { name: "model", value: format!("gemini/{model}") };
            self.add("gemini", ("setting", "model"), kind, path);
        }
        self.servers("gemini", settings.get("mcpServers"), path);
    }

    fn kode(&mut self, path: &Path, folder: &Path) {
        self.in_use("kode", &folder.join("agents"), "agent");
        self.in_use("kode", &folder.join("commands"), "command");
        let Some(config) = self.json(path) else { return };
        self.servers("kode", config.get("mcpServers"), path);
    }

    fn claude(&mut self, folder: &Path, config: &Path, project: Option<&Path>) {
        for (name, words) in [("agents", "agent"), ("commands", "command"), ("skills", "skill")] {
            self.in_use("claude", &folder.join(name), words);
        }
        let settings = folder.join("settings.json");
        if settings.is_file() {
            let words = "permissions, hooks, environment, model and status line".to_owned();
            self.add("claude", ("settings", "user"), ForeignKind::InUse { words }, &settings);
        }
        let user = self.json(config).unwrap_or_default();
        self.servers_in_use("user", &user["mcpServers"], config);
        let Some(project) = project else { return };
        let local = user["projects"].get(project.to_string_lossy().as_ref());
        self.servers_in_use("local", &local.unwrap_or_default()["mcpServers"], config);
        let shared = project.join(".mcp.json");
        let servers = self.json(&shared).unwrap_or_default();
        self.servers_in_use("project", &servers["mcpServers"], &shared);
    }

    /// Notes servers that are read where they lie.
    fn servers_in_use(&mut self, scope: &str, servers: &Value, file: &Path) {
        let count = servers.as_object().map_or(0, Map::len);
        if count > 0 {
            let words = counted(count, "MCP server");
            self.add("claude", ("mcp", scope), ForeignKind::InUse { words }, file);
        }
    }

    /// Notes a folder that is read where it lies.
    fn in_use(&mut self, from: &'static str, folder: &Path, what: &str) {
        let count = std::fs::read_dir(folder).map_or(0, Iterator::count);
        if count > 0 {
            let words = counted(count, what);
            self.add(from, (&format!("{what}s"), "user"), ForeignKind::InUse { words }, folder);
        }
    }
}

/// Returns an entry of another program as ours, and what is left out of it; `None` if it names neither a program nor an
/// address.
fn server(entry: &Value) -> Option<(Value, Option<String>)> {
    let mut ours = Map::new();
    let mut left = Vec::new();
    let url = entry["httpUrl"].as_str().or_else(|| entry["url"].as_str());
    if let Some(command) = entry["command"].as_str() {
        ours.insert("command".to_owned(), json!(command));
        if let Some(args) = entry["args"].as_array() {
            ours.insert("args".to_owned(), json!(args.iter().filter_map(Value::as_str).collect::<Vec<_>>()));
        }
        let mut env = harmless(&entry["env"], &mut left);
        // Those that the server gets of the user's own.
        for variable in entry["env_vars"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            env.insert(variable.to_owned(), json!(format!("${{{variable}:-}}")));
        }
        if !env.is_empty() {
            ours.insert("env".to_owned(), env.into());
        }
    } else {
        let is_stream =
            entry["type"] == "sse" || entry["httpUrl"].is_null() && entry["type"].is_null() && url?.ends_with("/sse");
        ours.insert("type".to_owned(), json!(if is_stream { "sse" } else { "http" }));
        ours.insert("url".to_owned(), json!(url?));
        let mut headers = harmless(&entry["headers"], &mut left);
        headers.extend(harmless(&entry["http_headers"], &mut left));
        for (name, variable) in entry["env_http_headers"].as_object().into_iter().flatten() {
            if let Some(variable) = variable.as_str() {
                headers.insert(name.clone(), json!(format!("${{{variable}}}")));
            }
        }
        if let Some(variable) = entry["bearer_token_env_var"].as_str() {
            headers.insert("Authorization".to_owned(), json!(format!("Bearer ${{{variable}}}")));
        }
        if !headers.is_empty() {
            ours.insert("headers".to_owned(), headers.into());
        }
    }
    if entry["enabled"] == false || entry["disabled"] == true {
        ours.insert("disabled".to_owned(), json!(true));
    }
    let millis = || entry["timeout"].as_f64().map(|millis| millis / 1_000.0);
    let time = entry["tool_timeout_sec"].as_f64().or_else(millis).filter(|seconds| (0.001..1e6).contains(seconds));
    if let Some(time) = time.map(Duration::from_secs_f64) {
        ours.insert("timeout".to_owned(), json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
    }
    left.sort();
    let secret =
        (!left.is_empty()).then(|| format!("without {}, which may be secret: add it as ${{NAME}}", left.join(", ")));
    let unknown: Vec<&str> = UNKNOWN.into_iter().filter(|key| !entry[*key].is_null()).collect();
    let unknown = (!unknown.is_empty()).then(|| format!("without {}, which servers have not here", unknown.join(", ")));
    let left: Vec<String> = secret.into_iter().chain(unknown).collect();
    Some((ours.into(), (!left.is_empty()).then(|| left.join("; "))))
}

/// Returns the pairs that hold no secret. A value that only names a variable holds none.
fn harmless(pairs: &Value, left: &mut Vec<String>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in pairs.as_object().into_iter().flatten() {
        let Some(text) = value.as_str() else { continue };
        let (upper, names_variable) = (name.to_uppercase(), text.contains("${"));
        if SECRET_WORDS.iter().any(|word| upper.contains(word)) && !names_variable {
            left.push(sanitize_line(name).into_owned());
        } else {
            kept.insert(name.clone(), json!(text));
        }
    }
    kept
}

/// Returns JSON without its comments.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut chars, mut in_text) = (text.chars().peekable(), false);
    while let Some(char) = chars.next() {
        match char {
            '\\' if in_text => {
                out.push(char);
                out.extend(chars.next());
                continue;
            }
            '"' => in_text = !in_text,
            '/' if !in_text && chars.peek() == Some(&'/') => {
                while chars.next_if(|char| *char != '\n').is_some() {}
                continue;
            }
            '/' if !in_text && chars.peek() == Some(&'*') => {
                chars.next();
                let mut before = ' ';
                for char in chars.by_ref() {
                    if before == '*' && char == '/' {
                        break;
                    }
                    before = char;
                }
                continue;
            }
            _ => {}
        }
        out.push(char);
    }
    out
}
