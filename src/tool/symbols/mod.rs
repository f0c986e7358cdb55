//! `Symbols`: finds definitions by name or by words, the uses of a name, what a file defines, and stated values.
//!
//! Owns the input and the order of work. Leaves reading files to `index`, choosing to `rank`, and words to `listing`.
//! Invariant: it reads below the path that was judged and nowhere else, and leaves out what other searches leave out.

mod choice;
mod doc;
mod index;
mod language;
mod lines;
mod listing;
mod mask;
mod outline;
mod query_words;
mod rank;
mod standing;
mod statements;
mod terms;
mod uses;
mod values;
mod word_counts;

use std::io::ErrorKind;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use self::choice::SoughtFiles;
use self::index::IndexedFiles;
pub(in crate::tool) use self::index::SymbolIndex;
use self::language::{Languages, SymbolKind};
use self::listing::SymbolListing;
use self::rank::{QueryFit, SymbolQuery, WantedSymbols, rank};
use self::values::{ValueQuery, values};
use super::blocking::off_thread;
use super::file::missing::missing_words;
use super::file::path::{ResolvedPath, folder_or_cwd, plan_reading, relative, revealed_line, title};
use super::search::ignores::Ignores;
use super::search::walk::Watch;
use super::{Plan, Tool, ToolContext, ToolOutput};
use crate::message::INTERRUPTED;
use crate::permission::ToolKind;

/// Entries shown unless told otherwise.
const DEFAULT_LIMIT: usize = 20;
const DEFAULT_LINES: usize = 100;
const MAX_LIMIT: usize = 500;

pub(super) struct Symbols {
    pub(super) ignores: Ignores,
    pub(super) index: SymbolIndex,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SymbolsInput {
    /// A name, such as parse_config or Session::new, or words for what it does. Without it: the outline of path.
    #[serde(default)]
    query: Option<String>,
    /// Only definitions of this kind; function covers methods, type covers all types, test covers tests.
    #[serde(default)]
    kind: Option<SymbolKind>,
    /// File or folder to stay in; the working directory by default.
    #[serde(default)]
    path: Option<String>,
    /// What to show; definitions by default.
    #[serde(default)]
    mode: SymbolsMode,
    /// Show imports among the references.
    #[serde(default)]
    imports: Option<bool>,
    /// Entries to show: 20 definitions or values, or 100 lines, by default.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SymbolsMode {
    #[default]
    Definitions,
    References,
    Outline,
    Values,
}

impl SymbolsInput {
    fn query(&self) -> Option<&str> {
        self.query.as_deref().map(str::trim).filter(|query| !query.is_empty())
    }

    fn mode(&self) -> SymbolsMode {
        if self.query().is_none() { SymbolsMode::Outline } else { self.mode }
    }

    fn limit(&self) -> usize {
        let is_ranked = matches!(self.mode(), SymbolsMode::Definitions | SymbolsMode::Values);
        let usual = if is_ranked { DEFAULT_LIMIT } else { DEFAULT_LINES };
        self.limit.filter(|limit| *limit > 0).unwrap_or(usual).min(MAX_LIMIT)
    }

    fn wanted(&self) -> WantedSymbols {
        let tests = self.kind == Some(SymbolKind::Test);
        WantedSymbols { kind: self.kind.filter(|_| !tests), tests }
    }
}

impl Tool for Symbols {
    type Input = SymbolsInput;
    type Prepared = (ResolvedPath, SymbolsInput);

    const NAME: &'static str = "Symbols";
    const DESCRIPTION: &'static str = include_str!("../../../assets/tools/Symbols.md");
    const KIND: ToolKind = ToolKind::Search;

    fn title(&self, input: &SymbolsInput, context: &ToolContext) -> String {
        let query = revealed_line(input.query().unwrap_or_default(), 120);
        let place = match input.path.as_deref().unwrap_or_default() {
            "" | "." => String::new(),
            path => title(path, context),
        };
        match (input.mode(), place.as_str()) {
            (SymbolsMode::Outline, "") => "outline".to_owned(),
            (SymbolsMode::Outline, place) => format!("outline of {place}"),
            (SymbolsMode::References, "") => format!("uses of \"{query}\""),
            (SymbolsMode::References, place) => format!("uses of \"{query}\" in {place}"),
            (SymbolsMode::Values, "") => format!("values of \"{query}\""),
            (SymbolsMode::Values, place) => format!("values of \"{query}\" in {place}"),
            (SymbolsMode::Definitions, "") => format!("\"{query}\""),
            (SymbolsMode::Definitions, place) => format!("\"{query}\" in {place}"),
        }
    }

    async fn prepare(&self, input: SymbolsInput, context: &ToolContext) -> Result<(Plan, Self::Prepared), ToolOutput> {
        if input.query().is_none() && input.path.as_deref().is_none_or(|path| path.trim().is_empty()) {
            return Err(ToolOutput::error("Symbols: give a query, or the path of a file for its outline."));
        }
        let (plan, root) = plan_reading(folder_or_cwd(input.path.clone()), context).await?;
        Ok((plan, (root, input)))
    }

    async fn run(&self, (root, input): Self::Prepared, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let (index, ignores) = (self.index.clone(), self.ignores.clone());
        off_thread(context, move |context| look(root.confirmed(context)?, &input, &index, &ignores, context)).await
    }
}

fn look(
    root: &Path,
    input: &SymbolsInput,
    index: &SymbolIndex,
    ignores: &Ignores,
    context: &ToolContext,
) -> Result<ToolOutput, ToolOutput> {
    let shown = relative(root, &context.cwd);
    let is_file = match std::fs::metadata(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(ToolOutput::error(missing_words(root, &context.cwd, "Find the right path with LS or Glob.")));
        }
        Err(error) => return Err(ToolOutput::error(format!("{shown}: {error}. Find the right path with LS or Glob."))),
        Ok(metadata) => !metadata.is_dir(),
    };
    if is_file {
        super::file::look_at(root, &shown)?;
        if Languages::known().of(root).is_none() {
            let known = Languages::known().names();
            let advice = format!("{shown}: Symbols does not know this language; it reads {known}. Use Read or Grep.");
            return Err(ToolOutput::error(advice));
        }
    }
    let watch = Watch::new(&context.cancel);
    let (text, wanted) = (input.query().unwrap_or_default(), input.wanted());
    let (query, value) = (SymbolQuery::new(text), ValueQuery::new(text));
    let by_name = SoughtFiles { names: vec![query.name()], words: None };
    let read = |sought: Option<&SoughtFiles<'_>>| index.read(root, ignores, sought, &watch);
    let ranked = |indexed: &IndexedFiles| rank(indexed, &query, wanted, &context.project);
    let indexed = match input.mode() {
        SymbolsMode::Outline => read(None)?,
        SymbolsMode::References => read(Some(&by_name))?,
        // Words are of use only where nothing has the name.
        SymbolsMode::Definitions if query.is_one_name() => match read(Some(&by_name))? {
            indexed if ranked(&indexed).fit == QueryFit::Named => indexed,
            _ => read(Some(&query.sought()))?,
        },
        // The same files serve both for one question.
        SymbolsMode::Definitions | SymbolsMode::Values => read(Some(&query.sought()))?,
    };
    if context.cancel.is_cancelled() {
        return Err(ToolOutput::error(INTERRUPTED));
    }
    let listing = SymbolListing { indexed: &indexed, cwd: &context.cwd, limit: input.limit(), watch: &watch };
    let output = match input.mode() {
        SymbolsMode::Outline => listing.outline(wanted, is_file),
        SymbolsMode::References => listing.references(&query, input.imports.unwrap_or(false)),
        SymbolsMode::Values => listing.values(&values(&indexed, &value, &context.project, &watch)),
        SymbolsMode::Definitions => listing.definitions(&query, &ranked(&indexed)),
    };
    if context.cancel.is_cancelled() {
        return Err(ToolOutput::error(INTERRUPTED));
    }
    Ok(output)
}
