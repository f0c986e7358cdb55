//! The definitions of one file.
//!
//! Owns what a definition is and which scope encloses which. Leaves lines to `lines` and statements to `statements`, and
//! what a definition looks like to `language`. Invariant: a file gives at most [`MAX_SYMBOLS`] definitions in a time that
//! grows with its length only, however deep it nests.

use super::language::{BodyLayout, Language, SymbolKind, SymbolRule, SymbolScope};
use super::mask::{Masked, mask};
use super::{lines, statements};

/// Definitions kept of one file.
pub(super) const MAX_SYMBOLS: usize = 20_000;
/// Characters of a name.
const MAX_NAME: usize = 200;
/// No enclosing definition.
const NONE: u32 = u32::MAX;

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) name: Box<str>,
    pub(super) kind: SymbolKind,
    /// First and last line, counted from 1.
    pub(super) line: u32,
    pub(super) end: u32,
    /// The number of the definition that it stands in.
    parent: u32,
    /// What it belongs to though it does not stand in it, such as the type of an `impl`.
    pub(super) owner: Option<Box<str>>,
}

impl Symbol {
    pub(super) fn parent(&self) -> Option<usize> {
        (self.parent != NONE).then_some(self.parent as usize)
    }

    pub(super) fn owner_bytes(&self) -> usize {
        self.owner.as_ref().map_or(0, |owner| owner.len() + 16)
    }
}

/// A scope that is open.
pub(super) struct OpenScope {
    pub(super) scope: SymbolScope,
    /// The definition whose body it is.
    pub(super) symbol: Option<usize>,
    /// Whose definitions those in it are, if it defines nothing itself.
    pub(super) owner: Option<Box<str>>,
}

impl OpenScope {
    pub(super) fn plain(scope: SymbolScope) -> Self {
        Self { scope, symbol: None, owner: None }
    }
}

/// What is known of a file while it is read.
pub(super) struct Outline<'t> {
    pub(super) language: &'t Language,
    pub(super) masked: &'t Masked,
    pub(super) symbols: Vec<Symbol>,
}

/// Returns the definitions of a file, in the order of their lines.
pub(super) fn outline(text: &str, language: &Language) -> (Masked, Vec<Symbol>) {
    let masked = mask(text, language);
    let outline = Outline { language, masked: &masked, symbols: Vec::new() };
    let mut symbols = match language.layout {
        BodyLayout::Braces => lines::braces(outline),
        BodyLayout::Indent => lines::indent(outline),
        BodyLayout::Statements => statements::statements(outline),
    };
    for symbol in &mut symbols {
        symbol.end = symbol.end.max(symbol.line);
    }
    (masked, symbols)
}

/// What a rule has found.
pub(super) struct FoundSymbol<'t> {
    /// What its body is, where there is one.
    pub(super) scope: OpenScope,
    /// The sign that opens the body.
    pub(super) opener: u8,
    /// Where the name ends in the text that was looked at.
    pub(super) name_end: usize,
    pub(super) name_start: usize,
    pub(super) name: &'t str,
    pub(super) kind: Option<SymbolKind>,
    /// The type that a method is written for.
    pub(super) owner: Option<&'t str>,
}

impl FoundSymbol<'_> {
    /// Returns `true` if it can be nothing else: a function or a type.
    pub(super) fn is_sure(&self) -> bool {
        self.kind.is_some_and(|kind| kind == SymbolKind::Function || kind.is_type())
    }
}

impl Outline<'_> {
    /// Returns what the first rule that fits says of `text`, which stands in `scope`.
    pub(super) fn find<'s>(
        &self,
        text: &'s str,
        scope: SymbolScope,
        directive: bool,
        stack: &[OpenScope],
    ) -> Option<FoundSymbol<'s>> {
        let rules = self.language.rules();
        // Most lines define nothing, and this is the cheapest way to know.
        if rules.scopes & scope.bit() == 0 || !rules.set.is_match(text) {
            return None;
        }
        for at in rules.set.matches(text) {
            let Some(rule) = rules.rules.get(at) else { continue };
            if rule.inside & scope.bit() != 0
                && rule.directive == directive
                && let Some(found) = apply(rule, text, scope)
                && (!rule.named_after_type || self.is_named_after_type(found.name, stack))
                && !self.language.is_keyword(found.name)
            {
                return Some(found);
            }
        }
        None
    }

    fn is_named_after_type(&self, name: &str, stack: &[OpenScope]) -> bool {
        let symbol = stack.last().and_then(|scope| self.symbols.get(scope.symbol?));
        symbol.is_some_and(|symbol| *symbol.name == *name)
    }

    /// Adds what was found at a line and returns the scope of its body. `stack` has the scopes around it.
    pub(super) fn add(&mut self, found: FoundSymbol<'_>, line: usize, stack: &[OpenScope]) -> OpenScope {
        let mut scope = found.scope;
        let parent = stack.iter().rev().find_map(|around| around.symbol);
        let Some(kind) = found.kind else {
            scope.owner = Some(found.name.trim()).filter(|owner| !owner.is_empty()).map(Into::into);
            scope.symbol = None;
            return scope;
        };
        let name = found.name.trim_matches(|c: char| c.is_whitespace() || c == '`');
        if name.is_empty() || name.len() > MAX_NAME || self.symbols.len() >= MAX_SYMBOLS {
            return scope;
        }
        let owner = found.owner.map(Into::into).or_else(|| {
            let nearest = stack.iter().rev().find(|around| around.owner.is_some() || around.symbol.is_some())?;
            nearest.owner.clone()
        });
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let parent = parent.and_then(|parent| u32::try_from(parent).ok()).unwrap_or(NONE);
        self.symbols.push(Symbol { name: name.into(), kind, line, end: line, parent, owner });
        scope.symbol = Some(self.symbols.len() - 1);
        scope
    }

    /// Notes the last line of a scope's definition.
    pub(super) fn close(&mut self, scope: &OpenScope, line: usize) {
        if let Some(symbol) = scope.symbol.and_then(|at| self.symbols.get_mut(at)) {
            symbol.end = u32::try_from(line).unwrap_or(u32::MAX);
        }
    }
}

pub(super) fn is_in_function(stack: &[OpenScope]) -> bool {
    stack.last().is_some_and(|scope| scope.scope == SymbolScope::Function)
}

/// Returns what a rule says of `text`, if it fits.
fn apply<'s>(rule: &SymbolRule, text: &'s str, scope: SymbolScope) -> Option<FoundSymbol<'s>> {
    let captures = rule.pattern.captures(text)?;
    let name = captures.name("name");
    let in_type = matches!(scope, SymbolScope::Type | SymbolScope::Object);
    let kind = if in_type { rule.in_type } else { rule.kind };
    let kind = match captures.name("owner") {
        Some(_) if kind == Some(SymbolKind::Function) => Some(SymbolKind::Method),
        _ => kind,
    };
    let (start, end) = name.map_or((text.len(), text.len()), |name| (name.start(), name.end()));
    Some(FoundSymbol {
        scope: OpenScope::plain(rule.opens),
        opener: rule.opener,
        name_start: start,
        name_end: name.map_or(0, |_| end),
        name: name.map_or("", |name| name.as_str()),
        kind,
        owner: captures.name("owner").map(|owner| owner.as_str()),
    })
}
