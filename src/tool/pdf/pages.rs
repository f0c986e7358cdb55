//! A PDF document in memory: its pages, and what is made of some of them.
//!
//! Owns what a page needs to stand by itself, and what of a document has to stay behind. Leaves bounds on memory and time
//! to the process that this runs in. Invariant: a cut document holds nothing that its pages do not show.

use std::ops::RangeInclusive;

use lopdf::{Dictionary, Document, Error, LoadOptions, Object, ObjectId, dictionary};

use super::PdfPages;

/// Bytes that one compressed stream may become.
const STREAM_BYTES: usize = 64 << 20;
/// Bytes of one page's text.
const TEXT_BYTES: usize = 200_000;
/// Levels of the tree of pages that are looked through for what a page inherits.
const MAX_LEVELS: usize = 64;
/// What a page may have from the groups of pages above it.
const INHERITED: [&[u8]; 4] = [b"Resources", b"MediaBox", b"CropBox", b"Rotate"];
/// What of a page leads to other pages, or says nothing by itself.
const LEADING_OUT: [&[u8]; 6] = [b"B", b"AA", b"StructParents", b"PieceInfo", b"Metadata", b"Thumb"];
/// What of a note on a page is part of its look. The rest may lead to other pages.
const NOTE_LOOK: [&[u8]; 14] = [
    b"Type",
    b"Subtype",
    b"Rect",
    b"AP",
    b"AS",
    b"F",
    b"Contents",
    b"C",
    b"BS",
    b"Border",
    b"QuadPoints",
    b"DA",
    b"V",
    b"MK",
];

pub(super) struct PdfFile {
    document: Document,
    pages: Vec<ObjectId>,
}

impl PdfFile {
    /// Reads a document. One that is encrypted with an empty password is readable, as in any viewer.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, PdfPages> {
        let options = LoadOptions::with_max_decompressed_size(STREAM_BYTES);
        let document = Document::load_mem_with_options(bytes, options).map_err(|error| match error {
            Error::InvalidPassword | Error::Decryption(_) => PdfPages::Locked,
            _ => PdfPages::Damaged,
        })?;
        if document.is_encrypted() {
            return Err(PdfPages::Locked);
        }
        let pages: Vec<ObjectId> = document.page_iter().collect();
        let is_whole = pages.iter().all(|page| document.get_dictionary(*page).is_ok());
        if pages.is_empty() || !is_whole { Err(PdfPages::Damaged) } else { Ok(Self { document, pages }) }
    }

    pub(super) fn was_encrypted(&self) -> bool {
        self.document.was_encrypted()
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.pages.len()).unwrap_or(u32::MAX)
    }

    /// Returns the text of each of these pages, as far as it can be found.
    pub(super) fn texts(&self, pages: RangeInclusive<u32>) -> Vec<String> {
        let text = |page| {
            let chunks = self.document.extract_text_chunks_with_limit(&[page], STREAM_BYTES);
            let mut text: String = chunks.into_iter().flatten().collect();
            text.truncate(text.floor_char_boundary(TEXT_BYTES));
            text
        };
        pages.map(text).collect()
    }

    /// Returns a document of these pages alone.
    ///
    /// # Errors
    /// Returns an error if one of them is no page.
    pub(super) fn cut(mut self, pages: RangeInclusive<u32>) -> lopdf::Result<Vec<u8>> {
        let at = |page: u32| page.saturating_sub(1) as usize;
        let kept: Vec<ObjectId> = self.pages[at(*pages.start())..=at(*pages.end())].to_vec();
        let root = self.document.new_object_id();
        for id in &kept {
            let page = self.standing_alone(*id, root)?;
            self.document.objects.insert(*id, Object::Dictionary(page));
        }
        let kids: Vec<Object> = kept.iter().copied().map(Object::Reference).collect();
        let count = i64::try_from(kids.len()).unwrap_or(i64::MAX);
        self.document.objects.insert(root, dictionary! { "Type" => "Pages", "Count" => count, "Kids" => kids }.into());
        let mut catalog = dictionary! { "Type" => "Catalog", "Pages" => root };
        // Which layers are hidden.
        if let Ok(layers) = self.document.catalog().and_then(|old| old.get(b"OCProperties")) {
            catalog.set("OCProperties", layers.clone());
        }
        let catalog = self.document.add_object(catalog);
        self.document.trailer = dictionary! { "Root" => catalog };
        self.document.prune_objects();
        self.document.renumber_objects();
        let mut bytes = Vec::new();
        self.document.save_to(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns a page with what it inherits, below this root, and without what leads to other pages.
    fn standing_alone(&self, id: ObjectId, root: ObjectId) -> lopdf::Result<Dictionary> {
        let mut page = self.document.get_dictionary(id)?.clone();
        let mut above = self.group_of(self.document.get_dictionary(id)?);
        for _ in 0..MAX_LEVELS {
            let Ok(group) = above else { break };
            for key in INHERITED {
                if !page.has(key)
                    && let Ok(value) = group.get(key)
                {
                    page.set(key, value.clone());
                }
            }
            above = self.group_of(group);
        }
        for key in LEADING_OUT {
            page.remove(key);
        }
        let notes = self.notes(&page);
        page.remove(b"Annots");
        if !notes.is_empty() {
            page.set("Annots", notes);
        }
        page.set("Parent", root);
        Ok(page)
    }

    /// Returns the group that a page or a group belongs to.
    fn group_of<'d>(&'d self, below: &'d Dictionary) -> lopdf::Result<&'d Dictionary> {
        below.get(b"Parent").and_then(|parent| self.document.dereference(parent)).and_then(|(_, group)| group.as_dict())
    }

    /// Returns the notes on a page, for their look.
    fn notes(&self, page: &Dictionary) -> Vec<Object> {
        let resolved = |object| self.document.dereference(object).map(|(_, it)| it);
        let Ok(notes) = page.get(b"Annots").and_then(resolved).and_then(Object::as_array) else { return Vec::new() };
        let look = |note: &Dictionary| {
            let kept = NOTE_LOOK.iter().filter_map(|key| Some((key.to_vec(), note.get(key).ok()?.clone())));
            kept.collect::<Dictionary>()
        };
        let notes = notes.iter().filter_map(|note| resolved(note).and_then(Object::as_dict).ok());
        notes.map(|note| Object::Dictionary(look(note))).collect()
    }
}
