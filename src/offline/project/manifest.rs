//! The manifests of a project: their names, and which of them count.
//!
//! Owns the table of build tools. Leaves what a manifest states to `facts` and `dependencies`.

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::text::paths::{self, Area};

/// Manifests read.
const MOST: usize = 5;

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
pub(crate) fn row(path: &str) -> Option<usize> {
    let name = paths::file_name(path);
    TOOLS.iter().position(|row| row.0.strip_prefix('*').map_or(name == row.0, |end| name.ends_with(end)))
}

/// Returns the usual command that tests what a manifest is about.
pub(crate) fn test_command(path: &str) -> Option<&'static str> {
    row(path).map(|at| TOOLS[at].1)
}

/// Returns a glob for the names of manifests.
pub(crate) fn names() -> String {
    let names: Vec<&str> = TOOLS.iter().map(|row| row.0).collect();
    format!("{{{}}}", names.join(","))
}

/// Returns the call that lists manifests.
pub(crate) fn manifests() -> PlannedCall {
    PlannedCall::glob(&format!("**/{}", names()))
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
