//! How each language writes definitions: the table in `assets/symbols.toml`, compiled.
//!
//! Owns what a row means. Leaves blanking comments to `mask` and reading a file to `outline`. Invariant: a language is
//! compiled when its first file is met, and a pattern that does not compile is left out instead of failing a search.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

const TABLE: &str = include_str!("../../../assets/symbols.toml");
/// Memory for the patterns of one language.
const MAX_COMPILED: usize = 32 << 20;

// What a definition defines. No docstring: the schema that models see would have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SymbolKind {
    Function,
    Method,
    Class,
    Struct,
    Enum,
    Interface,
    Trait,
    Object,
    Type,
    Module,
    Constant,
    Variable,
    Property,
    Macro,
    // Asked for only: whatever tests, of any kind.
    Test,
}

impl SymbolKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Interface => "interface",
            Self::Trait => "trait",
            Self::Object => "object",
            Self::Type => "type",
            Self::Module => "module",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::Property => "property",
            Self::Macro => "macro",
            Self::Test => "test",
        }
    }

    pub(super) fn is_function(self) -> bool {
        matches!(self, Self::Function | Self::Method)
    }

    pub(super) fn is_type(self) -> bool {
        matches!(
            self,
            Self::Class | Self::Struct | Self::Enum | Self::Interface | Self::Trait | Self::Object | Self::Type
        )
    }

    /// Returns the scope that the body of such a definition is.
    fn opens(self) -> SymbolScope {
        match self {
            kind if kind.is_function() => SymbolScope::Function,
            kind if kind.is_type() => SymbolScope::Type,
            Self::Module => SymbolScope::File,
            _ => SymbolScope::Block,
        }
    }
}

/// Where a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SymbolScope {
    /// Outside of everything, or in a namespace.
    File,
    Type,
    /// The body of a function.
    Function,
    /// Other braces.
    Block,
    /// The parentheses behind a keyword.
    Constants,
    Variables,
    Types,
    /// The braces of a value.
    Object,
    /// What a type takes to be made, before its body.
    Params,
}

impl SymbolScope {
    pub(super) fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// What a sign may begin.
pub(super) const COMMENT: u8 = 1;
pub(super) const LITERAL: u8 = 2;
pub(super) const QUIRK: u8 = 4;

/// How a language says where a definition ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BodyLayout {
    /// Definitions begin with a line; braces hold their bodies.
    #[default]
    Braces,
    /// Definitions begin with a line; what is indented deeper belongs to them.
    Indent,
    /// Definitions are what stands before `{` and `;`, on however many lines.
    Statements,
}

/// A form of a literal.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Literal {
    pub(super) open: String,
    /// As `open` unless given.
    #[serde(default)]
    pub(super) close: String,
    /// Whether a backslash takes the meaning of the sign after it.
    #[serde(default)]
    pub(super) escape: bool,
    /// What begins and ends code in it, which may have literals of its own.
    #[serde(default)]
    pub(super) code: Option<(String, String)>,
    /// Whether it may go on over the end of the line.
    #[serde(default)]
    pub(super) lines: bool,
}

/// A literal that no pair of signs describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quirk {
    /// `'x'` is a literal and `'x` is none.
    Chars,
    /// `r#"…"#` with as many signs at both ends.
    RustRaw,
    /// `R"tag(…)tag"`.
    CppRaw,
    /// `<<TAG` up to a line of `TAG`.
    Heredoc,
    /// `/…/` where an operand is expected.
    Regex,
    /// `` `…${…}…` ``.
    Template,
    /// `%w[…]` and its relations.
    Percent,
    /// `?x`.
    Question,
    /// A `#` begins a comment only after a blank.
    LooseHash,
    /// Everything outside of `<?php … ?>` is text.
    Tags,
}

#[derive(Deserialize)]
struct Table {
    language: Vec<LanguageRow>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the table")]
struct LanguageRow {
    name: String,
    #[serde(default)]
    extensions: Vec<String>,
    /// Names of whole files.
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    layout: BodyLayout,
    #[serde(default)]
    line_comments: Vec<String>,
    #[serde(default)]
    block_comments: Vec<(String, String)>,
    /// Whether block comments may stand in block comments.
    #[serde(default)]
    nested: bool,
    #[serde(default)]
    literals: Vec<Literal>,
    #[serde(default)]
    quirks: Vec<Quirk>,
    /// Whether a statement goes on while a parenthesis is open.
    #[serde(default = "yes")]
    parens: bool,
    /// Whether patterns see all lines of an open parenthesis.
    #[serde(default)]
    join: bool,
    /// Whether lines that begin with `#` are for a preprocessor.
    #[serde(default)]
    preprocessor: bool,
    /// Signs that may end a name, besides letters, digits and `_`.
    #[serde(default)]
    name_ends: String,
    /// Pieces of patterns: `<name>` in a rule stands for one.
    #[serde(default)]
    parts: HashMap<String, String>,
    /// What is taken out of a statement before rules see it.
    drop: Option<String>,
    /// Lines that name what other files define.
    imports: Option<String>,
    /// Words that no rule takes for a name.
    #[serde(default)]
    not_names: Vec<String>,
    rules: Vec<RuleRow>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct RuleRow {
    /// None for what only opens a scope.
    kind: Option<SymbolKind>,
    pattern: String,
    /// Where the rule counts; anywhere outside of functions unless given.
    #[serde(default, rename = "in")]
    inside: Vec<SymbolScope>,
    opens: Option<SymbolScope>,
    /// The sign that opens its scope, `{` unless given.
    opener: Option<char>,
    /// What its definition is called in a type.
    in_type: Option<SymbolKind>,
    /// Whether the name has to be that of the type around it.
    #[serde(default)]
    named_after_type: bool,
    /// Whether it is about lines of a preprocessor.
    #[serde(default)]
    directive: bool,
}

/// One way to write a definition.
pub(super) struct SymbolRule {
    pub(super) kind: Option<SymbolKind>,
    pub(super) in_type: Option<SymbolKind>,
    pub(super) pattern: Regex,
    /// Scopes where it counts, as bits.
    pub(super) inside: u16,
    pub(super) opens: SymbolScope,
    pub(super) opener: u8,
    pub(super) directive: bool,
    pub(super) named_after_type: bool,
}

/// What is compiled of a language.
pub(super) struct SymbolRules {
    /// Says which rules are worth a closer look.
    pub(super) set: RegexSet,
    /// Scopes in which any rule counts, as bits.
    pub(super) scopes: u16,
    pub(super) rules: Vec<SymbolRule>,
    pub(super) drop: Option<Regex>,
    pub(super) imports: Option<Regex>,
}

/// One row of the table.
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the table")]
pub(super) struct Language {
    pub(super) name: String,
    pub(super) layout: BodyLayout,
    pub(super) line_comments: Vec<String>,
    pub(super) block_comments: Vec<(String, String)>,
    pub(super) nested: bool,
    pub(super) literals: Vec<Literal>,
    pub(super) quirks: Vec<Quirk>,
    pub(super) parens: bool,
    pub(super) join: bool,
    pub(super) preprocessor: bool,
    pub(super) name_ends: String,
    /// For each sign, what it may begin: a comment, a literal, a quirk, as bits.
    pub(super) signs: [u8; 256],
    row: LanguageRow,
    compiled: OnceLock<SymbolRules>,
}

impl Language {
    fn new(mut row: LanguageRow) -> Self {
        for literal in &mut row.literals {
            if literal.close.is_empty() {
                literal.close.clone_from(&literal.open);
            }
        }
        // The longest form counts where one begins like another.
        row.literals.sort_by_key(|literal| std::cmp::Reverse(literal.open.len()));
        let mut signs = [0; 256];
        let mut mark = |open: &str, bit: u8| {
            if let Some(sign) = open.bytes().next() {
                signs[usize::from(sign)] |= bit;
            }
        };
        row.literals.iter().for_each(|literal| mark(&literal.open, LITERAL));
        row.line_comments.iter().for_each(|open| mark(open, COMMENT));
        row.block_comments.iter().for_each(|(open, _)| mark(open, COMMENT));
        for quirk in &row.quirks {
            for sign in match quirk {
                Quirk::Chars => "'",
                Quirk::RustRaw => "rb",
                Quirk::CppRaw => "R",
                Quirk::Heredoc => "<",
                Quirk::Regex => "/",
                Quirk::Template => "`",
                Quirk::Percent => "%",
                Quirk::Tags | Quirk::Question => "?",
                Quirk::LooseHash => "#",
            }
            .bytes()
            {
                signs[usize::from(sign)] |= QUIRK;
            }
        }
        Self {
            name: row.name.clone(),
            layout: row.layout,
            line_comments: row.line_comments.clone(),
            block_comments: row.block_comments.clone(),
            nested: row.nested,
            literals: row.literals.clone(),
            quirks: row.quirks.clone(),
            parens: row.parens,
            join: row.join,
            preprocessor: row.preprocessor,
            name_ends: row.name_ends.clone(),
            signs,
            row,
            compiled: OnceLock::new(),
        }
    }

    pub(super) fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// Returns `true` for a word that is no name.
    pub(super) fn is_keyword(&self, word: &str) -> bool {
        self.row.not_names.iter().any(|not| not == word)
    }

    pub(super) fn rules(&self) -> &SymbolRules {
        self.compiled.get_or_init(|| compile(&self.row))
    }
}

/// Returns a pattern that takes every sign beyond ASCII for a letter, and none for a blank: the tables of Unicode would
/// make it ten times as large and slow.
fn narrowed(pattern: &str) -> String {
    let mut narrowed = String::with_capacity(2 * pattern.len());
    let mut in_class = false;
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        in_class = match sign {
            '[' => true,
            ']' => false,
            _ => in_class,
        };
        if sign != '\\' {
            narrowed.push(sign);
            continue;
        }
        let class = match signs.next() {
            Some('w') => r"0-9A-Za-z_\u{80}-\u{10FFFF}",
            Some('s') => r" \t\r\n\x0B\x0C",
            Some('d') => "0-9",
            other => {
                narrowed.push(sign);
                narrowed.extend(other);
                continue;
            }
        };
        let (open, close) = if in_class { ("", "") } else { ("[", "]") };
        narrowed.extend([open, class, close]);
    }
    narrowed
}

fn compile(row: &LanguageRow) -> SymbolRules {
    let build = |pattern: &str| {
        let mut pattern = pattern.to_owned();
        // Parts may use other parts.
        for _ in 0..3 {
            for (name, part) in &row.parts {
                pattern = pattern.replace(&format!("<{name}>"), &format!("(?:{part})"));
            }
        }
        let pattern = narrowed(&pattern);
        let regex = RegexBuilder::new(&pattern).size_limit(MAX_COMPILED).build();
        debug_assert!(regex.is_ok(), "{}: {pattern}: {regex:?}", row.name);
        Some((regex.ok()?, pattern))
    };
    let mut patterns = Vec::new();
    let mut rules = Vec::new();
    for rule in &row.rules {
        let Some((pattern, text)) = build(&rule.pattern) else { continue };
        patterns.push(text);
        let usual = [SymbolScope::File, SymbolScope::Type];
        let inside = if rule.inside.is_empty() { &usual[..] } else { &rule.inside };
        let opens = rule.opens.or(rule.kind.map(SymbolKind::opens)).unwrap_or(SymbolScope::Block);
        rules.push(SymbolRule {
            kind: rule.kind,
            in_type: rule.in_type.or(rule.kind.map(|kind| match kind {
                SymbolKind::Function => SymbolKind::Method,
                kind => kind,
            })),
            pattern,
            inside: inside.iter().fold(0, |bits, scope| bits | scope.bit()),
            opens,
            opener: rule.opener.and_then(|sign| u8::try_from(sign).ok()).unwrap_or(b'{'),
            directive: rule.directive,
            named_after_type: rule.named_after_type,
        });
    }
    let set = RegexSetBuilder::new(&patterns).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).build();
    SymbolRules {
        scopes: rules.iter().fold(0, |bits, rule: &SymbolRule| bits | rule.inside),
        set: set.unwrap_or_else(|_| RegexSet::empty()),
        rules,
        drop: row.drop.as_deref().and_then(build).map(|(regex, _)| regex),
        imports: row.imports.as_deref().and_then(build).map(|(regex, _)| regex),
    }
}

/// All languages of the table.
pub(super) struct Languages {
    rows: Vec<Language>,
    by_extension: HashMap<String, usize>,
    by_name: HashMap<String, usize>,
}

impl Languages {
    /// Returns the languages the program knows, from the table it carries.
    pub(super) fn known() -> &'static Self {
        static KNOWN: LazyLock<Languages> = LazyLock::new(Languages::read);
        &KNOWN
    }

    fn read() -> Self {
        let table: Result<Table, _> = toml::from_str(TABLE);
        debug_assert!(table.is_ok(), "{:?}", table.err());
        let rows = table.map(|table| table.language).unwrap_or_default();
        let (mut by_extension, mut by_name) = (HashMap::new(), HashMap::new());
        for (at, row) in rows.iter().enumerate() {
            by_extension.extend(row.extensions.iter().map(|extension| (extension.clone(), at)));
            by_name.extend(row.files.iter().map(|name| (name.clone(), at)));
        }
        Self { rows: rows.into_iter().map(Language::new).collect(), by_extension, by_name }
    }

    /// Returns the language of a file, by its name.
    pub(super) fn of(&self, path: &Path) -> Option<&Language> {
        let name = path.file_name()?.to_str()?;
        let at = self.by_name.get(name).or_else(|| {
            let extension = path.extension()?.to_str()?;
            self.by_extension.get(extension).or_else(|| self.by_extension.get(&extension.to_ascii_lowercase()))
        })?;
        self.rows.get(*at)
    }

    pub(super) fn names(&self) -> String {
        self.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}
