//! Reading manifests line by line: names, versions, dependencies, binaries, scripts.
//!
//! Owns the formats, and which manifests of a project count. Invariant: every fact carries the line it stands on.

use std::collections::BTreeMap;

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::text::paths::{self, Area};

/// Manifests read.
const MOST: usize = 5;

/// What a line of a manifest says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Name,
    Version,
    About,
    License,
    Toolchain,
    Binary,
    Script,
    Dependency,
    DevDependency,
    Target,
}

/// One thing a manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) kind: Kind,
    pub(crate) value: String,
    pub(crate) line: usize,
}

/// Manifests by their file names, the first of a folder first, with the usual command that tests.
const TOOLS: [(&str, &str); 19] = [
    ("Cargo.toml", "cargo test"),
    ("package.json", "npm test"),
    ("pyproject.toml", "python -m pytest"),
    ("setup.py", "python -m pytest"),
    ("go.mod", "go test ./..."),
    ("pom.xml", "mvn test"),
    ("build.gradle", "gradle test"),
    ("build.gradle.kts", "gradle test"),
    ("CMakeLists.txt", "ctest --test-dir build"),
    ("Makefile", "make test"),
    ("Gemfile", "bundle exec rspec"),
    ("meson.build", "meson test -C build"),
    ("mix.exs", "mix test"),
    ("build.zig", "zig build test"),
    ("setup.cfg", "python -m pytest"),
    ("configure.ac", "make check"),
    ("*.gemspec", "bundle exec rake"),
    ("gradle.properties", "gradle test"),
    ("composer.json", "vendor/bin/phpunit"),
];

/// Returns the place of a manifest's row.
fn row(path: &str) -> Option<usize> {
    let name = path.rsplit('/').next().unwrap_or(path);
    TOOLS.iter().position(|row| row.0.strip_prefix('*').map_or(name == row.0, |end| name.ends_with(end)))
}

/// Returns the usual command that tests what a manifest is about.
pub(crate) fn test_command(path: &str) -> Option<&'static str> {
    row(path).map(|at| TOOLS[at].1)
}

/// Returns the call that lists manifests.
pub(crate) fn manifests() -> PlannedCall {
    let names: Vec<&str> = TOOLS.iter().map(|row| row.0).collect();
    PlannedCall::glob(&format!("**/{{{}}}", names.join(",")))
}

/// Returns the manifests, the outermost first.
pub(crate) fn found(evidence: &Evidence) -> Vec<String> {
    let mut all = evidence.paths(&manifests());
    all.retain(|path| !matches!(paths::area(path), Area::Foreign | Area::Test | Area::Example));
    all.retain(|path| !path.starts_with("docs/") && !path.starts_with("doc/"));
    all.sort_by_key(|path| (path.matches('/').count(), row(path), path.clone()));
    all.truncate(MOST);
    all
}

/// Returns what the manifests state, each fact with the path of its manifest.
pub(crate) fn stated(evidence: &Evidence) -> Vec<(String, Fact)> {
    let of = |path: String| {
        let facts = facts(&path, &evidence.lines_of(&path));
        facts.into_iter().map(move |fact| (path.clone(), fact))
    };
    found(evidence).into_iter().flat_map(of).collect()
}

fn facts(path: &str, lines: &BTreeMap<usize, String>) -> Vec<Fact> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "package.json" | "composer.json" => json(lines),
        "go.mod" => go(lines),
        "Makefile" => make(lines),
        "Cargo.toml" | "pyproject.toml" => toml(lines),
        "setup.cfg" => settings(lines),
        "pom.xml" => pom(lines),
        "configure.ac" | "CMakeLists.txt" | "meson.build" => called(lines),
        "gradle.properties" | "setup.py" => programmed(lines),
        _ if name.ends_with(".gemspec") || name.starts_with("build.gradle") => programmed(lines),
        _ => Vec::new(),
    }
}

fn fact(kind: Kind, value: &str, line: usize) -> Fact {
    Fact { kind, value: value.trim().trim_matches(['"', '\'', ',']).to_owned(), line }
}

fn toml(lines: &BTreeMap<usize, String>) -> Vec<Fact> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut in_list = false;
    for (number, raw) in lines {
        let line = raw.trim();
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        if line.starts_with('[') && !in_list {
            line.trim_matches(['[', ']']).clone_into(&mut section);
            if let Some((kind, name)) = section_dependency(&section) {
                found.push(fact(kind, name, *number));
            }
            continue;
        }
        if in_list {
            for item in line.split(',').filter(|item| item.contains(['"', '\''])) {
                found.push(fact(Kind::Dependency, requirement(item), *number));
            }
            in_list = !line.contains(']') || line.contains('[');
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim().trim_matches('"'), value.trim());
        let kind = toml_key(&section, key);
        if matches!(kind, Some(Kind::Dependency)) && value.starts_with('[') {
            let inner = value.trim_matches(['[', ']']);
            for item in inner.split("\",").filter(|item| item.contains(['"', '\''])) {
                found.push(fact(Kind::Dependency, requirement(item), *number));
            }
            in_list = !value.contains(']');
        } else if let Some(kind) = kind {
            let value = match kind {
                Kind::Dependency | Kind::DevDependency | Kind::Script => key.to_owned(),
                Kind::Toolchain => format!("{key} {}", value.trim_matches('"')),
                _ => value.to_owned(),
            };
            found.push(fact(kind, &value, *number));
        }
    }
    found
}

/// Reads `[dependencies.name]`, the long form.
fn section_dependency(section: &str) -> Option<(Kind, &str)> {
    let at = section.find("dependencies.")?;
    let name = &section[at + "dependencies.".len()..];
    let is_dev = section[..at].ends_with("dev-") || section[..at].ends_with("build-");
    Some((if is_dev { Kind::DevDependency } else { Kind::Dependency }, name))
}

fn toml_key(section: &str, key: &str) -> Option<Kind> {
    let is_package = matches!(section, "package" | "project" | "tool.poetry" | "workspace.package");
    Some(match (section, key) {
        ("bin", "name") => Kind::Binary,
        ("project" | "tool.poetry", "dependencies") => Kind::Dependency,
        (_, "name") if is_package => Kind::Name,
        (_, "version") if is_package => Kind::Version,
        (_, "description") if is_package => Kind::About,
        (_, "license") if is_package => Kind::License,
        (_, "edition" | "rust-version" | "requires-python") if is_package => Kind::Toolchain,
        ("project.scripts" | "tool.poetry.scripts", _) => Kind::Script,
        _ if section.ends_with("dev-dependencies") || section.contains("group.dev") => Kind::DevDependency,
        _ if section.ends_with("dependencies") && !section.starts_with("build-") => Kind::Dependency,
        _ => return None,
    })
}

/// Returns the name in a requirement such as `"click>=8; python_version < '3.8'"`.
fn requirement(item: &str) -> &str {
    let item = item.trim().trim_matches(['[', ']']).trim_matches(['"', '\'']);
    item.split(['>', '<', '=', ';', ' ', '~', '!', '[']).next().unwrap_or(item)
}

fn json(lines: &BTreeMap<usize, String>) -> Vec<Fact> {
    let mut found = Vec::new();
    let (mut depth, mut section) = (0_usize, String::new());
    for (number, raw) in lines {
        let line = raw.trim();
        let pair = line.split_once("\":").map(|(key, value)| (key.trim_start_matches('"'), value.trim()));
        if let Some((key, value)) = pair {
            let kind = match (depth, section.as_str(), key) {
                (1, _, "name") => Some(Kind::Name),
                (1, _, "version") => Some(Kind::Version),
                (1, _, "description") => Some(Kind::About),
                (1, _, "license") => Some(Kind::License),
                (1, _, "main" | "module" | "bin") if !value.starts_with('{') => Some(Kind::Binary),
                (2, "engines", _) | (2, "require", "php") => Some(Kind::Toolchain),
                (2, "bin", _) => Some(Kind::Binary),
                (2, "scripts", _) => Some(Kind::Script),
                (2, "dependencies" | "require" | "peerDependencies", _) => Some(Kind::Dependency),
                (2, "devDependencies" | "require-dev", _) => Some(Kind::DevDependency),
                _ => None,
            };
            if let Some(kind) = kind {
                let value = match kind {
                    Kind::Dependency | Kind::DevDependency => key.to_owned(),
                    Kind::Script | Kind::Toolchain => {
                        format!("{key}: {}", value.trim_end_matches(',').trim_matches('"'))
                    }
                    _ => value.to_owned(),
                };
                found.push(fact(kind, &value, *number));
            }
            if depth == 1 {
                key.clone_into(&mut section);
            }
        }
        let quoted = without_strings(line);
        depth += quoted.matches(['{', '[']).count();
        depth = depth.saturating_sub(quoted.matches(['}', ']']).count());
    }
    found
}

fn without_strings(line: &str) -> String {
    line.split('"').step_by(2).collect()
}

fn go(lines: &BTreeMap<usize, String>) -> Vec<Fact> {
    let mut found = Vec::new();
    let mut in_require = false;
    for (number, raw) in lines {
        let line = raw.trim();
        if let Some(name) = line.strip_prefix("module ") {
            found.push(fact(Kind::Name, name, *number));
        } else if let Some(version) = line.strip_prefix("go ") {
            found.push(fact(Kind::Toolchain, &format!("go {version}"), *number));
        } else if line.starts_with("require (") {
            in_require = true;
        } else if line == ")" {
            in_require = false;
        } else if in_require || line.starts_with("require ") {
            let name = line.trim_start_matches("require ").split(' ').next().unwrap_or_default();
            if !line.ends_with("// indirect") && !name.is_empty() {
                found.push(fact(Kind::Dependency, name, *number));
            }
        }
    }
    found
}

fn make(lines: &BTreeMap<usize, String>) -> Vec<Fact> {
    let targets = lines.iter().filter_map(|(number, line)| {
        let (target, rest) = line.split_once(':')?;
        let plain = !target.is_empty() && target.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        (plain && !rest.starts_with('=')).then(|| fact(Kind::Target, target, *number))
    });
    targets.collect()
}

/// Reads `[metadata]` and `[options]` of a `setup.cfg`, where lists stand on indented lines.
fn settings(lines: &BTreeMap<usize, String>) -> Vec<Fact> {
    let mut found = Vec::new();
    let mut list = None;
    for (number, line) in lines {
        let is_indented = line.starts_with([' ', '\t']) && !line.trim().is_empty();
        match list.filter(|_| is_indented) {
            Some(Kind::Dependency) => found.push(fact(Kind::Dependency, requirement(line), *number)),
            Some(kind) => found.push(fact(kind, line, *number)),
            None => {
                list = match line.split('=').next().unwrap_or_default().trim() {
                    "console_scripts" | "gui_scripts" => Some(Kind::Binary),
                    "install_requires" => Some(Kind::Dependency),
                    _ => None,
                };
                found.extend(assigned(line, *number).filter(|fact| !fact.value.starts_with("attr:")));
            }
        }
    }
    found
}

/// Reads `name = value`, of which the last part of the name tells.
fn assigned(line: &str, number: usize) -> Option<Fact> {
    let (key, value) = line.split_once('=')?;
    let value = value.trim();
    let kind = match key.trim().rsplit('.').next()? {
        "name" => Kind::Name,
        "version" | "VERSION_NAME" => Kind::Version,
        "license" | "licenses" => Kind::License,
        "description" | "summary" => Kind::About,
        "python_requires" | "required_ruby_version" => Kind::Toolchain,
        _ => return None,
    };
    let value = value.split(['"', '\'']).nth(1).unwrap_or(value);
    let language = if key.trim() == "python_requires" { "Python " } else { "" };
    Some(fact(kind, &format!("{language}{value}"), number))
}

/// Reads what a `pom.xml` says of the project itself, which is outside of its parent, plugins and dependencies.
fn pom(lines: &BTreeMap<usize, String>) -> Vec<Fact> {
    let mut found: Vec<Fact> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    for (number, raw) in lines {
        let line = raw.trim();
        let Some(tag) = line.strip_prefix('<').and_then(|rest| rest.split(['>', ' ', '/']).next()) else { continue };
        if line.starts_with("</") {
            open.pop();
            continue;
        }
        let value = line.split_once('>').and_then(|(_, rest)| rest.split_once("</")).map(|(value, _)| value);
        let inside: Vec<&str> = open.iter().skip(1).map(String::as_str).collect();
        let kind = match (inside.as_slice(), tag) {
            ([], "artifactId") => Some(Kind::Name),
            ([], "version") => Some(Kind::Version),
            ([], "description") => Some(Kind::About),
            (["licenses", "license"], "name") => Some(Kind::License),
            (["dependencies", "dependency"], "artifactId") => Some(Kind::Dependency),
            _ => None,
        };
        if let (Some(kind), Some(value)) = (kind, value) {
            found.push(fact(kind, value, *number));
        }
        let is_open = !tag.is_empty() && !tag.starts_with(['?', '!']) && value.is_none() && !line.ends_with("/>");
        if is_open {
            open.push(tag.to_owned());
        }
    }
    found
}

/// Reads manifests that are programs, as far as a line states a thing in quotes.
fn programmed(lines: &BTreeMap<usize, String>) -> Vec<Fact> {
    let mut found = Vec::new();
    for (number, raw) in lines {
        let line = raw.trim();
        if line.contains("add_runtime_dependency") || line.contains("add_dependency") {
            let name = line.split(['"', '\'', '<', '>']).nth(1);
            found.extend(name.map(|name| fact(Kind::Dependency, name, *number)));
            continue;
        }
        if let Some((kind, name)) = gradle(line) {
            found.push(fact(kind, name, *number));
            continue;
        }
        // What is worked out is not stated.
        let is_plain = |fact: &Fact| match fact.kind {
            Kind::Version => fact.value.starts_with(|c: char| c.is_ascii_digit()),
            _ => line.contains(['"', '\'']),
        };
        found.extend(assigned(line, *number).filter(is_plain));
    }
    found
}

/// Reads `implementation("group:name:1.0")` of Gradle.
fn gradle(line: &str) -> Option<(Kind, &str)> {
    let words = ["implementation", "api", "compileOnly", "runtimeOnly", "testImplementation", "testRuntimeOnly"];
    let word =
        words.into_iter().find(|word| line.strip_prefix(word).is_some_and(|rest| rest.starts_with(['(', ' '])))?;
    let notation = line.split(['"', '\'']).nth(1).filter(|text| text.contains(':'))?;
    let kind = if word.starts_with("test") { Kind::DevDependency } else { Kind::Dependency };
    Some((kind, notation.rsplit_once(':').filter(|(name, _)| name.contains(':')).map_or(notation, |(name, _)| name)))
}

/// Reads manifests made of calls, whose arguments may stand on lines of their own: of autoconf, CMake and Meson.
fn called(lines: &BTreeMap<usize, String>) -> Vec<Fact> {
    let mut found = Vec::new();
    let mut open: Option<(String, Vec<(String, usize)>)> = None;
    for (number, raw) in lines {
        let line = raw.split(['#']).next().unwrap_or_default().trim();
        let mut rest = line;
        if open.is_none() {
            let Some((call, after)) = line.split_once('(') else { continue };
            let call = call.rsplit([' ', '=']).next().unwrap_or_default().to_lowercase();
            open = Some((call, Vec::new()));
            rest = after;
        }
        let Some((call, arguments)) = open.as_mut() else { continue };
        let is_closed = rest.contains(')');
        let inner = rest.split(')').next().unwrap_or_default();
        let clean = |text: &str| text.trim().trim_matches(['[', ']', '\'', '"']).trim().to_owned();
        let is_split = |sign: char| {
            sign == ',' || sign == ' ' && call.contains("project") || sign == ' ' && call == "find_package"
        };
        arguments.extend(inner.split(is_split).map(clean).filter(|text| !text.is_empty()).map(|text| (text, *number)));
        if is_closed || arguments.len() > 8 {
            found.extend(told(call, arguments));
            open = None;
        }
    }
    found
}

/// Returns what one call of a manifest states.
fn told(call: &str, arguments: &[(String, usize)]) -> Vec<Fact> {
    let one = |kind: Kind, at: usize| {
        let (text, line) = arguments.get(at)?;
        Some(fact(kind, requirement(text), *line))
    };
    let after = |word: &str| {
        let at = arguments.iter().position(|(text, _)| text.to_lowercase().starts_with(word))?;
        let (text, line) = &arguments[at];
        match text.split_once(':') {
            Some((_, value)) => Some(fact(Kind::Version, value.trim().trim_matches('\''), *line)),
            None => one(Kind::Version, at + 1),
        }
    };
    let facts = match call {
        "ac_init" => vec![one(Kind::Name, 0), one(Kind::Version, 1)],
        "project" => vec![one(Kind::Name, 0), after("version")],
        "pkg_check_modules" => vec![one(Kind::Dependency, 1)],
        "find_package" | "dependency" => vec![one(Kind::Dependency, 0)],
        _ => Vec::new(),
    };
    facts.into_iter().flatten().collect()
}
