//! Text on the screen: cleaning, wrapping, Markdown, code, changes, keys, and the text being written.

mod columns;
mod composer;
mod drawing;
mod keys;
mod links;
mod markdown;
mod mention;
mod painted;
mod sanitize;
mod terminal;
pub(crate) mod theme;
mod vi;
mod wrap;
