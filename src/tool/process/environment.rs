//! The environment of commands: a list of what they need, not ours less some names.
//!
//! Owns which of our variables are handed on. Leaves asking the user for more names to `config`. Invariants: a variable
//! that no list names stays with us, and so does a value with a password or a token in it, unless the user names the
//! variable; nothing is handed on that makes a shell, the loader or git run something by itself.

use std::ffi::OsString;

/// Variables with exactly this name.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    // The user, the place, the language, the desktop.
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "LANG", "LANGUAGE", "TZ", "TZDIR", "TMPDIR", "TMP", "TEMP",
    "COLUMNS", "LINES", "CI", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "MANPATH", "INFOPATH",
    // The way to the network.
    "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    // Compilers and what they find.
    "CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "RANLIB", "STRIP", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LIBS",
    "MAKEFLAGS", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH", "ACLOCAL_PATH", "SDKROOT", "DEVELOPER_DIR", "MACOSX_DEPLOYMENT_TARGET", "SCCACHE_DIR",
    // Toolchains.
    "GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB",
    "GONOSUMDB", "GOTOOLCHAIN", "GOOS", "GOARCH", "GO111MODULE", "GOWORK",
    "JAVA_HOME", "JDK_HOME", "M2_HOME", "MAVEN_HOME", "MAVEN_OPTS", "GRADLE_HOME", "GRADLE_USER_HOME", "GRADLE_OPTS",
    "ANT_HOME", "KOTLIN_HOME", "SCALA_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "FLUTTER_ROOT",
    "NODE_PATH", "NODE_ENV", "NODE_OPTIONS", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "DENO_INSTALL", "VOLTA_HOME",
    "PIPX_HOME", "PIPX_BIN_DIR", "POETRY_HOME", "GEM_HOME", "GEM_PATH", "RUBYLIB", "RUBYOPT", "BUNDLE_PATH",
    "BUNDLE_GEMFILE", "COMPOSER_HOME", "NUGET_PACKAGES", "PERL5LIB", "LUA_PATH", "LUA_CPATH", "STACK_ROOT", "CABAL_DIR",
    "OCAMLPATH", "CAML_LD_LIBRARY_PATH", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "IN_NIX_SHELL",
];

/// Variables that begin so, unless a word of [`SECRET`] is in the name.
#[rustfmt::skip]
const PREFIXES: &[&str] = &[
    "LC_", "XDG_", "CARGO_", "RUST", "CGO_", "SDKMAN_", "NVM_", "FNM_", "COREPACK_", "npm_config_", "PYENV_", "PYTHON",
    "VIRTUAL_ENV", "CONDA_", "MAMBA_", "PIP_", "UV_", "RBENV_", "DOTNET_", "CMAKE_", "PKG_CONFIG", "CCACHE_", "NIX_",
    "GUIX_", "ASDF_", "MISE_", "GHCUP_", "OPAM", "JULIA_", "R_LIBS", "ZIG_", "MIX_",
];

const SECRET: [&str; 8] = ["KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE"];

/// Words that stand for a secret in a name within a value, and those that make one of a `key` that follows.
#[rustfmt::skip]
const SECRET_WORDS: [&str; 20] = [
    "password", "passwd", "passphrase", "pass", "token", "tokens", "secret", "secrets", "credential", "credentials", "auth",
    "authtoken", "apikey", "accesskey", "secretkey", "privatekey", "cookie", "cookies", "pwd", "authorization",
];
const KEYS: [&str; 8] = ["api", "access", "secret", "private", "signing", "license", "encryption", "account"];

/// How the tokens of services begin.
#[rustfmt::skip]
const TOKEN_STARTS: [&str; 22] = [
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "sk_live_", "rk_live_", "xoxb-", "xoxp-", "xapp-",
    "npm_", "pypi-", "hf_", "AKIA", "ASIA", "AIza", "ya29", "dop_v1_", "eyJ",
];

/// What is never handed on, even if the user names it: it makes a shell, the loader or git run something by itself, or is ours.
#[rustfmt::skip]
const NEVER: [&str; 13] = [
    "BASH_ENV", "ENV", "BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "LD_PRELOAD", "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "GIT_*", "BELVEDERE_*",
];

/// What settings do not set: from where programs and their parts are loaded.
const LOADING: [&str; 6] =
    ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH", "CLAUDE_PROJECT_DIR", "HOME"];

/// Makers of models, whose keys are handed on only by their whole name.
#[rustfmt::skip]
const MAKERS: [&str; 21] = [
    "ANTHROPIC", "CLAUDE", "OPENAI", "OPENROUTER", "DEEPSEEK", "GEMINI", "GOOGLE", "GROQ", "MISTRAL", "XAI",
    "TOGETHER", "FIREWORKS", "COHERE", "PERPLEXITY", "CEREBRAS", "MOONSHOT", "DASHSCOPE", "AZURE_OPENAI",
    "AWS_BEARER", "HF_", "HUGGING",
];

/// Nobody sits at a terminal: nothing may page, ask, open an editor, or draw.
const FIXED: [(&str, &str); 6] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
];

/// Which of our variables commands get.
#[derive(Debug, Clone, Default)]
pub(in crate::tool) struct HandedOn {
    /// What the user adds; a name that ends in `*` stands for all that begin so.
    names: Vec<String>,
    /// The variables that hold the keys of services, whatever they are called.
    keys: Vec<String>,
}

impl HandedOn {
    /// Returns the usual variables and those of these names.
    pub(super) fn with(names: &[String], keys: &[String]) -> Self {
        Self { names: names.to_vec(), keys: keys.to_vec() }
    }

    pub(in crate::tool) fn environment(&self) -> Vec<(OsString, OsString)> {
        let ours = std::env::vars_os().filter(|(name, value)| {
            // What is not UTF-8 is on no list.
            name.to_str().is_some_and(|name| self.allows(name, &value.to_string_lossy()))
        });
        ours.chain(FIXED.iter().map(|(name, value)| (name.into(), value.into()))).collect()
    }

    /// Returns `true` if settings may give a variable of this name to commands. Where programs are looked for stays as it is.
    pub(super) fn may_be_set(&self, name: &str) -> bool {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_ours = self.keys.iter().any(|key| key == name) || is_model_key(name);
        !name.is_empty()
            && name.chars().all(is_name)
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !is_ours
            && !LOADING.contains(&name)
            && !NEVER.iter().any(|never| covers(never, name))
    }

    /// Returns the names of our variables that commands do not get in any form, but those that are ours and the keys of
    /// services.
    pub(super) fn withheld(&self) -> Vec<String> {
        let is_theirs = |name: &str| {
            !NEVER.iter().any(|never| covers(never, name))
                && !FIXED.iter().any(|(fixed, _)| *fixed == name)
                && !is_model_key(name)
                && !self.keys.iter().any(|key| key == name)
        };
        let ours = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let withheld = ours.filter(|(name, value)| is_theirs(name) && !self.allows(name, &value.to_string_lossy()));
        withheld.map(|(name, _)| name).collect()
    }

    /// Returns what a command of the user's own gets: all of our variables but the keys of services, and what is ours.
    pub(in crate::tool) fn of_user(&self) -> Vec<(OsString, OsString)> {
        let is_key = |name: &str| is_model_key(name) || self.keys.iter().any(|key| key == name);
        let ours = std::env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            !is_key(&name) && !covers("BELVEDERE_*", &name) && !FIXED.iter().any(|(fixed, _)| *fixed == name)
        });
        ours.chain(FIXED.iter().map(|(name, value)| (name.into(), value.into()))).collect()
    }

    fn allows(&self, name: &str, value: &str) -> bool {
        if NEVER.iter().any(|never| covers(never, name)) {
            return false;
        }
        let is_key = is_model_key(name) || self.keys.iter().any(|key| key == name);
        self.names.iter().any(|wanted| covers(wanted, name) && (wanted == name || !is_key))
            || (!is_key
                && (NAMES.contains(&name)
                    || PREFIXES.iter().any(|prefix| name.starts_with(prefix) && !is_secret(name)))
                && !has_credentials(value))
    }
}

/// Returns `true` if a pattern, a name or the beginning of one with `*`, covers a name.
fn covers(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET.iter().any(|word| name.contains(word))
}

fn is_model_key(name: &str) -> bool {
    is_secret(name) && MAKERS.iter().any(|maker| name.to_ascii_uppercase().starts_with(maker))
}

/// Returns `true` if a value holds a password or a token, by the name that stands before it or by how it begins.
fn has_credentials(value: &str) -> bool {
    has_login(value) || has_named_secret(value) || value.split(is_delimiter).any(is_token)
}

/// Returns `true` if an address in the value holds a user's name, which a password or a token usually follows.
fn has_login(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ',', ' ']).next().unwrap_or_default();
        authority.contains('@')
    })
}

/// Returns `true` if something in the value is given to a name that stands for a secret: `-Drepo.password=x`, `--token x`.
fn has_named_secret(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let is_given = |(at, sign): (usize, &str)| {
        let (before, after) = (value[..at].trim_end(), value[at + sign.len()..].trim_start());
        let name = before.rsplit(|c| !is_part(c)).next().unwrap_or_default();
        let is_option = sign == "=" || name.starts_with('-');
        let is_said = after.chars().next().is_some_and(|c| !c.is_whitespace() && c != '-');
        // As `-D` of Java and `-P` of Gradle begin.
        let set = name.strip_prefix("-D").or(name.strip_prefix("-P")).unwrap_or(name);
        is_option && is_said && (names_secret(name) || names_secret(set))
    };
    let headers = ["bearer ", "basic "];
    value.match_indices('=').any(is_given)
        || value.match_indices(' ').any(is_given)
        || headers.iter().any(|header| value.to_ascii_lowercase().contains(header))
}

/// Returns `true` if one of the words that a name is made of, such as `authToken` or `signing.password`, stands for a secret.
fn names_secret(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    let is_key = words.windows(2).any(|pair| KEYS.contains(&pair[0].as_str()) && pair[1].starts_with("key"));
    is_key || words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
}

/// What may stand around a token.
fn is_delimiter(c: char) -> bool {
    !c.is_ascii_alphanumeric() && c != '_' && c != '-'
}

/// Returns `true` for a word that begins as the tokens of a service do, and is as long.
fn is_token(word: &str) -> bool {
    word.len() >= 20 && TOKEN_STARTS.iter().any(|start| word.starts_with(start))
}
