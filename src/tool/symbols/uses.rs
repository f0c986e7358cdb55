//! Where a name is used: whole identifiers only, outside of comments and literals.
//!
//! Owns telling uses from definitions and imports. Leaves which files there are to `index`. Invariant: a line counts once,
//! however often it has the name.

use std::path::Path;

use memchr::memmem::Finder;

use super::index::{IndexedFile, IndexedFiles, text_of};
use super::language::{Language, Languages};
use super::mask::mask;
use crate::tool::search::walk::Watch;

/// Lines kept of all files.
pub(super) const MAX_LINES: usize = 20_000;

/// What a line does with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UseKind {
    Definition,
    Import,
    Use,
}

/// A line that has the name.
pub(super) struct NameUse {
    /// The number of the file.
    pub(super) file: usize,
    pub(super) line: u32,
    pub(super) kind: UseKind,
    /// The definition around it, or the one that it is.
    pub(super) symbol: Option<usize>,
    pub(super) text: String,
}

/// Returns the lines that have `name`, by file and line.
pub(super) fn uses(indexed: &IndexedFiles, name: &str, watch: &Watch) -> Vec<NameUse> {
    let finder = Finder::new(name);
    indexed.scan(Some(watch), MAX_LINES, |_, at, path, file| {
        Languages::known().of(path).map(|language| in_file(at, path, file, language, &finder)).unwrap_or_default()
    })
}

fn in_file(number: usize, path: &Path, file: &IndexedFile, language: &Language, finder: &Finder<'_>) -> Vec<NameUse> {
    let Some((text, _)) = text_of(path) else { return Vec::new() };
    let name = std::str::from_utf8(finder.needle()).unwrap_or_default();
    if finder.find(text.as_bytes()).is_none() {
        return Vec::new();
    }
    let masked = mask(&text, language);
    if finder.find(masked.text.as_bytes()).is_none() {
        return Vec::new();
    }
    let imports = language.rules().imports.as_ref();
    let mut found = Vec::new();
    for (at, (line, shown)) in masked.text.split('\n').zip(text.split('\n')).enumerate() {
        if !has_name(line, name, language) {
            continue;
        }
        let line_number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let is_it = |symbol: &super::outline::Symbol| symbol.line == line_number && *symbol.name == *name;
        let defined = file.symbols.iter().position(is_it);
        // A line may define a name and use it too, as a constructor does; it counts as what it is first.
        let kind = match defined {
            Some(_) => UseKind::Definition,
            None if imports.is_some_and(|imports| imports.is_match(line)) => UseKind::Import,
            None => UseKind::Use,
        };
        let symbol = defined.or_else(|| enclosing(file, line_number));
        found.push(NameUse { file: number, line: line_number, kind, symbol, text: super::doc::bounded(shown, 200) });
    }
    found
}

/// Returns the innermost function or type around a line.
pub(super) fn enclosing(file: &IndexedFile, line: u32) -> Option<usize> {
    let around = file.symbols.iter().enumerate().filter(|(_, symbol)| {
        let holds = symbol.kind.is_type() || symbol.kind.is_function();
        holds && symbol.line <= line && line <= symbol.end
    });
    around.min_by_key(|(_, symbol)| symbol.end - symbol.line).map(|(at, _)| at)
}

/// Returns `true` if a line has `name` as a whole identifier. A name that ends with `!` or `?` needs no boundary there,
/// and one that does not is not meant by one that does.
fn has_name(line: &str, name: &str, language: &Language) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '$';
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let mut after = line[at + name.len()..].chars();
        let next = after.next();
        let begins = !name.starts_with(is_part) || !before.is_some_and(is_part);
        let is_word = name.ends_with(is_part);
        let goes_on = is_word && next.is_some_and(is_part);
        // `save!` is not `save`, but `a!=b` and `x ?y : z` are about `a` and `x`.
        let other = is_word
            && next.is_some_and(|sign| matches!(sign, '!' | '?') && language.name_ends.contains(sign))
            && !matches!(after.next(), Some('=' | '.'));
        begins && !goes_on && !other
    })
}
