//! Where agent files lie, and where the view of them stands on the screen.
//!
//! Owns how paths are shown and the rectangles of the view. Leaves drawing to `tui`. Invariant: an open question of an
//! agent and the status line are never covered.

use std::path::{Path, PathBuf};

use ratatui::layout::Rect;

use super::AgentFilesView;
use crate::definition::{AgentDirs, Tier};
use crate::message::columns::width;
use crate::message::sanitize_line;

/// Most rows that a fault takes from the list.
const FAULT_ROWS: usize = 4;

/// Where agent files lie, and what they may name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentPlaces {
    pub home: Option<PathBuf>,
    pub dirs: AgentDirs,
    pub tools: Vec<String>,
}

impl AgentPlaces {
    /// Returns a path as people write it, safe to show.
    pub fn shown(&self, path: &Path) -> String {
        let below = self.home.as_deref().and_then(|home| path.strip_prefix(home).ok());
        let text = below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()));
        sanitize_line(&text).into_owned()
    }

    /// Returns the tiers into which a file can be written, with the folder of each, strongest first.
    pub fn homes(&self) -> Vec<(Tier, &Path)> {
        Tier::ALL.into_iter().rev().filter_map(|tier| Some((tier, self.dirs.home_of(tier)?))).collect()
    }
}

/// Where the parts of the view stand. Parts without room are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesLayout {
    pub area: Rect,
    pub query: Rect,
    pub body: Rect,
    pub error: Rect,
}

impl FilesLayout {
    pub(in crate::app) fn new(area: Rect, view: &AgentFilesView) -> Self {
        let inner = Rect {
            x: area.x + 2.min(area.width),
            y: area.y + 1.min(area.height),
            width: area.width.saturating_sub(4),
            height: area.height.saturating_sub(2),
        };
        let columns = usize::from(inner.width).max(1);
        let wanted = view.error().map_or(0, |error| (width(error) + 2).div_ceil(columns));
        // Words are not cut, so that a text of several rows may need one more.
        let wanted = (wanted + usize::from(wanted > 1)).min(FAULT_ROWS);
        let error = u16::try_from(wanted).unwrap_or(0).min(inner.height.saturating_sub(1));
        let seeking =
            view.page() == super::AgentFilesPage::List && (view.is_typing() || !view.query().text().is_empty());
        let query = u16::from(seeking).min(inner.height - error);
        let body = inner.height - error - query;
        Self {
            area,
            query: Rect { height: query, ..inner },
            body: Rect { y: inner.y + query, height: body, ..inner },
            error: Rect { y: inner.y + query + body, height: error, ..inner },
        }
    }
}
