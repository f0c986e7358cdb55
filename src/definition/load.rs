//! From the text of one file to an agent.
//!
//! Owns what makes a file usable. Leaves where its parts are to `cut`, YAML to `frontmatter` and values to `fields`.
//! Invariant: a field that cannot be used falls back to its default with a diagnostic; a file without a head, a
//! description or a name is given up, and one in which a field that limits the agent cannot be understood.

use std::time::Duration;

use super::fields::Reader;
use super::frontmatter::{self, Fields, FrontmatterRead};
use super::{AgentDefinition, MemoryScope, Parsed, Source, ToolsField, cut, keys, tools};
use crate::message::{loose_name, sanitize, sanitize_line};

pub fn parse(text: &str, source: Source) -> Parsed {
    let text = cut::normalise(text);
    let mut reader = Reader::of_file(source.path.clone());
    let definition = of_text(&mut reader, &text, &source);
    reader.into_parsed(source, definition)
}

/// Makes an agent of fields that were read elsewhere.
pub(super) fn of_fields(fields: Fields, prompt: &str, source: Source) -> Parsed {
    let mut reader = Reader::of_file(source.path.clone());
    reader.take(FrontmatterRead { fields: frontmatter::canonical(fields, keys::AGENT), error: None }, "", 0);
    let definition = definition(&mut reader, prompt, &source);
    reader.into_parsed(source, definition)
}

fn of_text<'a>(reader: &mut Reader<'a>, text: &'a str, source: &Source) -> Option<AgentDefinition> {
    let cut = match cut::cut(text) {
        Ok(cut) => cut,
        Err((line, error)) => {
            reader.report(line, format!("{error}. File skipped."));
            return None;
        }
    };
    if let Some((line, error)) = cut.error {
        reader.report(line, format!("{error}."));
    }
    reader.take(frontmatter::read(cut.block, keys::AGENT), cut.block, cut.lines_before);
    definition(reader, cut.body, source)
}

fn definition(reader: &mut Reader<'_>, body: &str, source: &Source) -> Option<AgentDefinition> {
    reader.doubt_unknown_keys();
    let Some(description) = reader.prose("description") else {
        reader.report_head("no `description`, so nothing says when to use this agent. Add one. File skipped.");
        return None;
    };
    let name = name(reader)?;
    let prompt = body.trim().to_owned();
    if prompt.is_empty() && !reader.has("acp") {
        reader.report_head("no text after the frontmatter, so the agent has no instructions. Write them there.");
    }
    let acp = reader.program().ok()?;
    if let Some(unknown) = reader.unknown_limit() {
        let words =
            "may say which tools the agent has, and is unknown. Write `tools` or `disallowedTools`. File skipped.";
        reader.report_lost(&unknown, format!("`{unknown}` {words}"));
        return None;
    }
    let (disallowed_tools, hooks) = (tools::disallowed(reader)?, reader.hooks(source)?);
    let (max_turns, max_time) = (reader.limit("maxTurns").ok()?, reader.limit("maxExecutionTimeMs").ok()?);
    let isolation = reader.isolation().ok()?;
    let mut idle_fields = reader.idle(&keys::IDLE);
    reader.report_idle(&idle_fields);
    let (permission_mode, foreign_mode) = reader.permission_mode();
    idle_fields.extend(foreign_mode);
    Some(AgentDefinition {
        name,
        // Generators write the line ends of a one-line description as the two characters `\n`.
        description: sanitize(&description).replace("\\n", "\n"),
        tools: allowed(reader),
        bounded_by: None,
        disallowed_tools,
        model: model(reader),
        permission_mode,
        color: color(reader),
        max_turns: max_turns.and_then(|turns| u32::try_from(turns).ok()),
        max_time: max_time.map(Duration::from_millis),
        effort: reader.parsed("effort"),
        memory: memory(reader, source),
        isolation,
        acp,
        background: reader.take_switch("background"),
        mcp_servers: reader.servers("mcpServers"),
        omits_memory: reader.take_switch("omitClaudeMd"),
        skills: tools::list(reader, "skills", "no skill is loaded.").unwrap_or_default(),
        auto_compact_window: reader.number("autoCompactWindow"),
        initial_prompt: reader.prose("initialPrompt").map(|text| sanitize(&text).into_owned()),
        hooks,
        idle_fields,
        prompt,
        source: source.clone(),
    })
}

const MAX_NAME_CHARS: usize = 100;

fn name(reader: &mut Reader<'_>) -> Option<String> {
    let Some(written) = reader.prose("name") else {
        let stem = reader.path().and_then(|path| path.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
        let such_as = stem.map(|stem| format!(", such as `name: {}`", sanitize_line(&stem))).unwrap_or_default();
        reader.report_head(format!(
            "no `name`, so this is not an agent. To make it one, add a name{such_as}. File skipped."
        ));
        return None;
    };
    let mut name = sanitize_line(&written).trim().to_owned();
    if let Some((cut, _)) = name.char_indices().nth(MAX_NAME_CHARS) {
        name.truncate(cut);
        name.truncate(name.trim_end().len());
        reader.report_at(
            "name",
            format!(
                "the name is longer than {MAX_NAME_CHARS} characters and was cut. Shorten \
                          it."
            ),
        );
    }
    if loose_name(&name).is_empty() {
        reader.report_at(
            "name",
            format!("`{name}` is not usable as a name. Write one such as `test-runner`. File skipped."),
        );
        return None;
    }
    if is_of_plugin(&name) {
        let message = format!(
            "`{name}` has the form `plugin:agent`, which is reserved for plugins. Write `-` instead of `:`. File \
             skipped."
        );
        reader.report_at("name", message);
        return None;
    }
    Some(name)
}

/// Returns `true` for a name of the form `plugin:agent`. Other colons come from heads that are no YAML.
fn is_of_plugin(name: &str) -> bool {
    name.contains(':') && name.split(':').all(|part| !part.is_empty()) && !name.contains(char::is_whitespace)
}

/// Characters of the longest name of a model.
const LONGEST_MODEL: usize = 120;

pub(super) fn model(reader: &mut Reader<'_>) -> Option<String> {
    let key = if reader.has("model") { "model" } else { "model_name" };
    let model =
        reader.text(key).filter(|model| !["inherit", "default"].iter().any(|own| model.eq_ignore_ascii_case(own)))?;
    let is_id = model.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:/@[]".contains(c));
    if is_id && model.len() <= LONGEST_MODEL {
        return Some(model);
    }
    let shown: String = sanitize_line(&model).chars().take(60).collect();
    reader.report_at(
        key,
        format!(
            "`{shown}` is not a model name; using the parent's model. Write an alias such as \
                                   `haiku`, a full name, or `inherit`."
        ),
    );
    None
}

fn color(reader: &mut Reader<'_>) -> Option<String> {
    // `color: #ff0000` without quotes is a comment to YAML.
    let color = sanitize_line(&reader.text("color").or_else(|| reader.raw("color"))?).trim().to_lowercase();
    let Some(digits) = color.strip_prefix('#') else { return Some(color) };
    let is_hex = digits.bytes().all(|c| c.is_ascii_hexdigit());
    match digits.len() {
        6 if is_hex => Some(color),
        3 if is_hex => Some(digits.chars().fold(String::from("#"), |out, c| format!("{out}{c}{c}"))),
        _ => {
            reader.report_at(
                "color",
                format!("`{color}` is not a color; picked another. Write a name, or a hex code such as `#ff8800`."),
            );
            None
        }
    }
}

fn memory(reader: &mut Reader<'_>, source: &Source) -> Option<MemoryScope> {
    let text = reader.text("memory")?;
    match text.to_lowercase().as_str() {
        "user" if source.tier.is_of_project() => {
            let words = "a project agent cannot read your notes from other projects; using `project`. Write `memory: \
                         project`.";
            reader.report_at("memory", words.to_owned());
            Some(MemoryScope::Project)
        }
        "user" => Some(MemoryScope::User),
        "project" => Some(MemoryScope::Project),
        "local" => Some(MemoryScope::Local),
        "none" | "false" => None,
        _ => {
            let text = sanitize_line(&text);
            reader.report_at(
                "memory",
                format!("`memory: {text}` is not supported; the agent keeps no notes. Write user, project or local."),
            );
            None
        }
    }
}

fn allowed(reader: &mut Reader<'_>) -> ToolsField {
    match tools::allowed(reader) {
        Some(names) if names.iter().all(|name| name != "*") => ToolsField::List(names),
        _ => ToolsField::All,
    }
}
