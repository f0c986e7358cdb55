//! Which elements of a page nobody sees.
//!
//! Owns what styles say of that: an element's own, and rules of the page's `<style>` for classes and ids. Leaves elements that are
//! hidden by what they are to `markdown`. Reads no style sheet that lies elsewhere, and runs nothing. Invariant: time and room
//! are linear in the page; a rule that is not understood hides nothing.

use std::collections::HashMap;

/// Rules of a page that are kept.
const MAX_RULES: usize = 5_000;
/// Bytes of all styles of a page that are read.
const MAX_STYLES: usize = 1 << 20;
/// Classes of one element that are looked up.
const MAX_CLASSES: usize = 50;
/// How far out of sight something is, in pixels or letters, that is put aside on purpose.
const FAR: f64 = 500.0;
/// Elements that are often given letters without a size, to set what is in them close together.
const CONTAINERS: [&str; 8] = ["ul", "ol", "nav", "table", "tr", "tbody", "dl", "menu"];

/// What is said of how an element looks.
#[derive(Debug, Clone, Default, PartialEq)]
struct Looks {
    is_displayed: Option<bool>,
    is_visible: Option<bool>,
    is_opaque: Option<bool>,
    has_letters: Option<bool>,
    is_clipped: Option<bool>,
    is_placed: Option<bool>,
    is_far: Option<bool>,
    is_tiny: Option<[bool; 2]>,
    cuts_off: Option<bool>,
    color: Option<String>,
    background: Option<String>,
}

impl Looks {
    /// Takes in `name: value; …`.
    fn read(&mut self, declarations: &str) {
        for declaration in declarations.split(';') {
            let Some((name, value)) = declaration.split_once(':') else { continue };
            let value = value.to_ascii_lowercase();
            let value = value.split('!').next().unwrap_or_default().trim();
            self.take(&name.trim().to_ascii_lowercase(), value);
        }
    }

    fn take(&mut self, name: &str, value: &str) {
        let number = || length(value);
        match name {
            "display" => self.is_displayed = Some(value != "none"),
            "visibility" | "content-visibility" => self.is_visible = Some(!matches!(value, "hidden" | "collapse")),
            "opacity" => self.is_opaque = Some(number().is_none_or(|number| number > 0.01)),
            "font-size" => self.has_letters = Some(number().is_none_or(|number| number >= 1.0)),
            "font" => self.has_letters = Some(!value.split([' ', '/']).any(|part| matches!(part, "0" | "0px" | "0pt"))),
            "clip" | "clip-path" => {
                let bare: String = value.chars().filter(|c| !c.is_whitespace()).collect();
                self.is_clipped = Some(
                    [
                        "rect(0,0,0,0)",
                        "rect(0px,0px,0px,0px)",
                        "rect(1px,1px,1px,1px)",
                        "inset(50%)",
                        "inset(100%)",
                        "circle(0",
                    ]
                    .iter()
                    .any(|none| bare.starts_with(none)),
                );
            }
            "position" => self.is_placed = Some(matches!(value, "absolute" | "fixed")),
            "left" | "right" | "top" | "bottom" | "margin-left" | "margin-top" => {
                self.is_far = Some(number().is_some_and(|number| number <= -FAR) || self.is_far == Some(true));
            }
            "text-indent" if number().is_some_and(|number| number <= -FAR) => self.is_clipped = Some(true),
            "transform" => {
                let bare: String = value.chars().filter(|c| !c.is_whitespace()).collect();
                let is_none = ["scale(0)", "scale(0,0)", "scalex(0)", "scaley(0)"].contains(&bare.as_str());
                self.is_clipped = Some(is_none || bare.starts_with("translate") && bare.contains("(-999"));
            }
            "width" | "height" | "max-width" | "max-height" => {
                let [width, height] = self.is_tiny.unwrap_or_default();
                let is_tiny = number().is_some_and(|number| number <= 1.0 && !value.contains('%'));
                let of_width = name.ends_with("width");
                self.is_tiny = Some(if of_width { [is_tiny, height] } else { [width, is_tiny] });
            }
            "overflow" => self.cuts_off = Some(matches!(value, "hidden" | "clip")),
            "color" => self.color = Some(color(value)),
            "background" | "background-color" => self.background = Some(color(value)),
            _ => {}
        }
    }

    /// Takes in what a later rule says.
    fn follow(&mut self, later: &Self) {
        let later = later.clone();
        *self = Self {
            is_displayed: later.is_displayed.or(self.is_displayed),
            is_visible: later.is_visible.or(self.is_visible),
            is_opaque: later.is_opaque.or(self.is_opaque),
            has_letters: later.has_letters.or(self.has_letters),
            is_clipped: later.is_clipped.or(self.is_clipped),
            is_placed: later.is_placed.or(self.is_placed),
            is_far: later.is_far.or(self.is_far),
            is_tiny: later.is_tiny.or(self.is_tiny),
            cuts_off: later.cuts_off.or(self.cuts_off),
            color: later.color.or(self.color.take()),
            background: later.background.or(self.background.take()),
        };
    }

    fn hides(&self, element: &str) -> bool {
        let is_in_its_color =
            self.color.as_deref().is_some_and(|color| color.starts_with('#')) && self.color == self.background;
        let is_cut_away = self.cuts_off == Some(true) && self.is_tiny.is_some_and(|[width, height]| width || height);
        self.is_displayed == Some(false)
            || self.is_visible == Some(false)
            || self.is_opaque == Some(false)
            || (self.has_letters == Some(false) && !CONTAINERS.contains(&element))
            || self.is_clipped == Some(true)
            || (self.is_placed == Some(true) && self.is_far == Some(true))
            || is_cut_away
            || is_in_its_color
            || self.color.as_deref() == Some("transparent")
    }
}

/// Returns the number that a length begins with; of letters, about as many pixels.
fn length(value: &str) -> Option<f64> {
    let end = value.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(value.len());
    let number: f64 = value[..end].parse().ok()?;
    let of_letters = value.ends_with("em") || value.ends_with("vw") || value.ends_with("vh");
    Some(if of_letters { number * 16.0 } else { number })
}

/// Returns a colour in one spelling, as far as that is easy.
fn color(value: &str) -> String {
    let bare: String = value.chars().filter(|c| !c.is_whitespace()).collect();
    let hex = |digits: &str| match digits.len() {
        3 | 4 => format!("#{}", digits.chars().take(3).flat_map(|c| [c, c]).collect::<String>()),
        _ => format!("#{}", digits.chars().take(6).collect::<String>()),
    };
    if let Some(digits) = bare.strip_prefix('#') {
        return hex(digits);
    }
    let inside =
        bare.strip_prefix("rgb(").or_else(|| bare.strip_prefix("rgba(")).and_then(|rest| rest.strip_suffix(')'));
    if let Some(inside) = inside {
        let parts: Vec<&str> = inside.split([',', '/']).collect();
        let whole = |part: &str| part.split('.').next().and_then(|part| part.parse::<u8>().ok());
        return match parts.as_slice() {
            [_, _, _, alpha] if alpha.parse::<f64>().is_ok_and(|alpha| alpha < 0.02) => "transparent".to_owned(),
            [red, green, blue, ..] => match (whole(red), whole(green), whole(blue)) {
                (Some(red), Some(green), Some(blue)) => format!("#{red:02x}{green:02x}{blue:02x}"),
                _ => bare,
            },
            _ => bare,
        };
    }
    match bare.as_str() {
        "white" => "#ffffff".to_owned(),
        "black" => "#000000".to_owned(),
        _ => bare,
    }
}

/// A rule for one class or id, perhaps of one kind of element, and more classes that have to be there.
struct StyleRule {
    element: Option<String>,
    others: Vec<String>,
    looks: Looks,
}

/// The rules of a page.
#[derive(Default)]
pub(super) struct PageStyles {
    rules: Vec<StyleRule>,
    /// The rules by the first class (`.name`) or id (`#name`) that they ask for.
    by_name: HashMap<String, Vec<usize>>,
}

impl PageStyles {
    /// Reads the styles that a page holds.
    pub(super) fn of(html: &str) -> Self {
        let mut styles = Self::default();
        let (lower, mut at, mut room) = (html.to_ascii_lowercase(), 0, MAX_STYLES);
        while let Some(found) = lower[at..].find("<style") {
            let Some(open) = lower[at + found..].find('>') else { break };
            let from = at + found + open + 1;
            let to = lower[from..].find("</style").map_or(lower.len(), |end| from + end);
            let is_of_print = lower[at + found..from].contains("print");
            room = room.saturating_sub(to - from);
            if room == 0 {
                break;
            }
            if !is_of_print {
                styles.read(&without_comments(&html[from..to]));
            }
            at = to;
        }
        styles
    }

    fn read(&mut self, css: &str) {
        let mut rest = css;
        // How many blocks are open that hold rules.
        while let Some(open) = rest.find('{') {
            let head = rest[..open].rsplit(['}', ';']).next().unwrap_or_default().trim();
            rest = &rest[open + 1..];
            if let Some(condition) = head.strip_prefix('@') {
                let holds =
                    ["media screen", "media all", "supports", "layer"].iter().any(|known| condition.starts_with(known));
                let is_simple = !condition.contains("width") && !condition.contains("prefers");
                if !(holds && is_simple) {
                    rest = &rest[end_of_block(rest)..];
                }
                continue;
            }
            let close = rest.find('}').unwrap_or(rest.len());
            let mut looks = Looks::default();
            looks.read(&rest[..close]);
            rest = rest.get(close + 1..).unwrap_or_default();
            if looks != Looks::default() {
                head.split(',').for_each(|selector| self.add(selector.trim(), &looks));
            }
        }
    }

    fn add(&mut self, selector: &str, looks: &Looks) {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '#' | '*');
        if self.rules.len() >= MAX_RULES || !selector.chars().all(is_plain) {
            return;
        }
        let end = selector.find(['.', '#']).unwrap_or(selector.len());
        let element = Some(selector[..end].to_ascii_lowercase()).filter(|name| !name.is_empty() && name != "*");
        let mut names: Vec<String> = Vec::new();
        for c in selector[end..].chars() {
            match c {
                '.' | '#' => names.push(c.to_string()),
                c => names.iter_mut().last().into_iter().for_each(|name| name.push(c)),
            }
        }
        let Some((first, others)) = names.split_first() else { return };
        self.by_name.entry(first.clone()).or_default().push(self.rules.len());
        self.rules.push(StyleRule { element, others: others.to_vec(), looks: looks.clone() });
    }

    /// Returns `true` if nobody sees an element with these attributes.
    pub(super) fn hide(&self, element: &str, [class, id, style]: [Option<&str>; 3]) -> bool {
        let mut looks = Looks::default();
        if !self.rules.is_empty() {
            let classes =
                class.unwrap_or_default().split_ascii_whitespace().take(MAX_CLASSES).map(|name| format!(".{name}"));
            let names: Vec<String> = classes.chain(id.map(|id| format!("#{id}"))).collect();
            let mut found: Vec<usize> =
                names.iter().filter_map(|name| self.by_name.get(name)).flatten().copied().take(MAX_RULES).collect();
            found.sort_unstable();
            for rule in found.into_iter().filter_map(|at| self.rules.get(at)) {
                let is_for = rule.element.as_deref().is_none_or(|wanted| wanted == element);
                if is_for && rule.others.iter().all(|other| names.contains(other)) {
                    looks.follow(&rule.looks);
                }
            }
        }
        looks.read(style.unwrap_or_default());
        looks.hides(element)
    }
}

/// Returns where a block ends that is open, with the blocks in it.
fn end_of_block(css: &str) -> usize {
    let mut open = 1_usize;
    for (at, byte) in css.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at + 1;
        }
    }
    css.len()
}

fn without_comments(css: &str) -> String {
    let mut text = String::with_capacity(css.len());
    let mut rest = css;
    while let Some((before, comment)) = rest.split_once("/*") {
        text.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}
