//! Where a file stands in its project: whether it tests, and how seldom a question is about it.
//!
//! Owns the names of folders and files that tell. Leaves the order of definitions to `rank`. Invariant: looks at the path
//! and at whether a program wrote the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::{IndexedFile, IndexedFiles};
use super::rank::WantedSymbols;

/// What places count for that a question is seldom about.
const TEST: f32 = 0.4;
const EXAMPLE: f32 = 0.5;
const VENDORED: f32 = 0.4;
const GENERATED: f32 = 0.4;
impl IndexedFiles {
    pub(super) fn standings(&self, project: &Path) -> Vec<Standing> {
        let of =
            |(path, file): &(PathBuf, Arc<IndexedFile>)| Standing::of(path.strip_prefix(project).unwrap_or(path), file);
        self.files.iter().map(of).collect()
    }
}

/// Where a file stands in its project.
pub(super) struct Standing {
    pub(super) is_test: bool,
    /// What its definitions count for.
    pub(super) of_all: f32,
}

impl Standing {
    pub(super) fn of(path: &Path, file: &IndexedFile) -> Self {
        let mut standing = Self { is_test: false, of_all: 1.0 };
        for part in path.parent().into_iter().flat_map(Path::components) {
            match part.as_os_str().to_str().unwrap_or_default() {
                "test" | "tests" | "spec" | "specs" | "__tests__" | "testdata" | "testing" | "fixtures" | "e2e"
                | "fuzz" => {
                    standing.is_test = true;
                }
                "example" | "examples" | "bench" | "benches" | "benchmark" | "benchmarks" | "demo" | "demos"
                | "samples" | "docs" => standing.of_all = standing.of_all.min(EXAMPLE),
                "vendor" | "vendored" | "third_party" | "thirdparty" | "node_modules" | "deps" | "external" => {
                    standing.of_all = standing.of_all.min(VENDORED);
                }
                part if part.ends_with("Test") || part.ends_with("Tests") || part.ends_with(".Tests") => {
                    standing.is_test = true;
                }
                _ => {}
            }
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let ends = ["_test", "_tests", "_spec", ".test", ".spec", "Test", "Tests", "Spec", "-test"];
        standing.is_test |= stem.starts_with("test_") || stem == "tests" || ends.iter().any(|end| stem.ends_with(end));
        if stem.strip_suffix(".d").is_some() {
            standing.of_all = standing.of_all.min(EXAMPLE);
        }
        if file.is_generated {
            standing.of_all = standing.of_all.min(GENERATED);
        }
        standing
    }

    /// Returns what a definition counts for; one of a test counts in full where tests are asked for.
    pub(super) fn weight(&self, wanted: WantedSymbols, is_test: bool) -> f32 {
        if is_test && !wanted.tests { self.of_all.min(TEST) } else { self.of_all }
    }
}
