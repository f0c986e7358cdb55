//! `LS`: a folder and what is below it, as an indented list.
//!
//! Invariant: the list is filled level by level, so a deep or huge folder never hides its neighbours.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::overrides::Override;
use schemars::JsonSchema;
use serde::Deserialize;

use super::blocking::off_thread;
use super::file::missing::missing_words;
use super::file::path::{ResolvedPath, folder_or_cwd, plan_reading, printable, relative, title};
use super::search::ignores::{Ignores, Sieve};
use super::search::walk::{LATE, Watch, walk};
use super::{Plan, Tool, ToolContext, ToolOutput};
use crate::permission::ToolKind;

const MAX_ENTRIES: usize = 1_000;
/// Entries of one folder that are read; of a larger one some are missing.
const MAX_READ: usize = 50_000;

pub(super) struct Ls(pub(super) Ignores);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LsInput {
    /// Folder to list; the working directory by default.
    #[serde(default)]
    path: Option<String>,
    /// Patterns of entries to leave out.
    #[serde(default)]
    ignore: Option<Vec<String>>,
}

impl Tool for Ls {
    type Input = LsInput;
    /// The folder, and what is left out.
    type Prepared = (ResolvedPath, GlobSet);

    const NAME: &'static str = "LS";
    const DESCRIPTION: &'static str = include_str!("../../assets/tools/LS.md");
    const KIND: ToolKind = ToolKind::Read;

    fn title(&self, input: &LsInput, context: &ToolContext) -> String {
        title(&folder_or_cwd(input.path.clone()), context)
    }

    async fn prepare(&self, input: LsInput, context: &ToolContext) -> Result<(Plan, Self::Prepared), ToolOutput> {
        let unwanted = unwanted(input.ignore.as_deref().unwrap_or_default())?;
        let (plan, folder) = plan_reading(folder_or_cwd(input.path), context).await?;
        Ok((plan, (folder, unwanted)))
    }

    async fn run(&self, (folder, unwanted): Self::Prepared, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let ignores = self.0.clone();
        off_thread(context, move |context| list(folder.confirmed(context)?, &unwanted, &ignores, context)).await
    }
}

fn list(root: &Path, unwanted: &GlobSet, ignores: &Ignores, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    let shown_root = relative(root, &context.cwd);
    match std::fs::metadata(root) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(ToolOutput::error(format!("{shown_root} is not a folder. Open it with Read."))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(ToolOutput::error(missing_words(root, &context.cwd, "Find the right folder with Glob.")));
        }
        Err(error) => {
            return Err(ToolOutput::error(format!("{shown_root}: {error}. Find the right folder with Glob.")));
        }
    }
    let is_empty = match std::fs::read_dir(root) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => return Err(ToolOutput::error(format!("{shown_root}: {error}."))),
    };
    let watch = Watch::new(&context.cancel);
    let sieve = Arc::new(Sieve::new(root, ignores, Override::empty()));
    let tree = Tree::grow(root, &sieve, unwanted, &watch);
    context.check_cancelled()?;
    let mut text = format!("- {}/\n", printable(root).trim_end_matches('/'));
    tree.write(root, 1, &mut text);
    if tree.entries == 0 {
        text.push_str(if is_empty { "  (empty)\n" } else { "  (all entries are ignored or left out)\n" });
    }
    if tree.full {
        let _ = writeln!(text, "[Only {MAX_ENTRIES} entries are shown, top levels first. List a subfolder for more.]");
    }
    if watch.is_late() {
        text.push_str(LATE);
    }
    let summary = match tree.entries {
        1 => "1 entry".to_owned(),
        count => format!("{count}{} entries", if tree.full { "+" } else { "" }),
    };
    Ok(ToolOutput::text(text, summary))
}

fn unwanted(patterns: &[String]) -> Result<GlobSet, ToolOutput> {
    let mut set = GlobSetBuilder::new();
    let bad = |error: globset::Error| ToolOutput::error(format!("Invalid ignore pattern: {error}."));
    for pattern in patterns {
        let pattern = pattern.trim_end_matches('/');
        set.add(GlobBuilder::new(pattern).literal_separator(true).build().map_err(bad)?);
        if !pattern.contains('/') {
            set.add(GlobBuilder::new(&format!("**/{pattern}")).literal_separator(true).build().map_err(bad)?);
        }
    }
    set.build().map_err(bad)
}

/// The folders looked into so far, each with its entries in order.
struct Tree {
    folders: BTreeMap<PathBuf, Vec<Entry>>,
    entries: usize,
    full: bool,
}

struct Entry {
    path: PathBuf,
    label: String,
}

impl Tree {
    fn grow(root: &Path, sieve: &Arc<Sieve>, unwanted: &GlobSet, watch: &Watch) -> Self {
        let mut tree = Self { folders: BTreeMap::new(), entries: 0, full: false };
        let mut pending = VecDeque::from([root.to_path_buf()]);
        while let Some(folder) = pending.pop_front() {
            let mut inside = Vec::new();
            let mut entries = Vec::new();
            for entry in walk(&folder, sieve).max_depth(Some(1)).build().flatten() {
                if watch.is_over() {
                    return tree;
                }
                if entries.len() == MAX_READ {
                    tree.full = true;
                    break;
                }
                entries.push(entry);
            }
            entries.sort_unstable_by(|a, b| a.file_name().cmp(b.file_name()));
            for entry in entries {
                if entry.depth() == 0 || entry.path().strip_prefix(root).is_ok_and(|inside| unwanted.is_match(inside)) {
                    continue;
                }
                if tree.entries == MAX_ENTRIES {
                    tree.full = true;
                    break;
                }
                tree.entries += 1;
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                let name = printable(Path::new(entry.file_name()));
                let label = if is_folder {
                    format!("{name}/")
                } else if let (true, Ok(target)) = (entry.path_is_symlink(), std::fs::read_link(entry.path())) {
                    format!("{name} -> {}", printable(&target))
                } else {
                    name
                };
                if is_folder {
                    pending.push_back(entry.path().to_path_buf());
                }
                inside.push(Entry { path: entry.into_path(), label });
            }
            tree.folders.insert(folder, inside);
            if tree.full {
                break;
            }
        }
        tree
    }

    fn write(&self, folder: &Path, depth: usize, text: &mut String) {
        for entry in self.folders.get(folder).into_iter().flatten() {
            text.push_str(&"  ".repeat(depth));
            text.push_str("- ");
            text.push_str(&entry.label);
            text.push('\n');
            self.write(&entry.path, depth + 1, text);
        }
    }
}
