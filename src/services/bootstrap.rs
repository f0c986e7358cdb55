//! What is known before a session starts: what was asked for, the settings, the project, the folders.
//!
//! Leaves what it means to `start`. Invariant: small files only are read, so that the first frame need not wait.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::Value;

use super::keys::KeyedServices;
use super::resume::{Resume, Wanted};
use super::rules::SessionRules;
use super::saved_session::SavedSession;
use super::settings::SessionSettings;
use super::{ConfiguredServers, connection, guards, keys, limits, trust};
use crate::agent::Place;
use crate::config::{self, Config, Overrides, Paths, ProjectRoot, SettingSources, SettingsFile};
use crate::definition::skill::{SkillDirs, SkillLibrary, SkillLimits};
use crate::definition::{
    AgentDefinition, AgentDirs, KnownNames, Library, Parsed, Plugin, PluginLibrary, PluginPlaces, Roots, WatchedFiles,
};
use crate::hook::{HookHandler, HookSource};
use crate::launched::CallingProgram;
use crate::memory::{MemoryReader, MemorySources, MemoryTrust};
use crate::message::{BudgetLimit, Diagnostic, Effort, sanitize_line};
use crate::permission::{FolderTrust, PermissionMode};
use crate::provider::model;
use crate::provider::table::ProviderEnv;
use crate::sandbox::PlaceWatch;
use crate::session::{Secrets, Store, is_taken, log};
use crate::subagent::{AGENT_TOOL, ASK_TOOLS, GivenPrompts, SKILL_TOOL, TASK_TOOLS, UserDirs};
use crate::tool::{BuiltInTools, EditorFiles, SearchEngine, Shell, known_tools};

#[derive(Debug, Clone)]
pub struct Options {
    pub directory: PathBuf,
    /// The model, as `provider/name`.
    pub model: Option<String>,
    /// The models that stand in for it for a turn, with commas between them.
    pub fallback_model: Option<String>,
    /// How hard the models think.
    pub effort: Option<Effort>,
    pub mode: Option<PermissionMode>,
    /// Rules of the command line: what happens without a question, what never happens.
    pub allowed: Vec<String>,
    pub denied: Vec<String>,
    /// Whether what the folder brings is used without a question (`--trust`).
    pub trust: bool,
    /// Most model calls of the main agent for one message.
    pub max_turns: Option<u32>,
    /// What all agents may use together, beyond what the configuration says.
    pub budget: BudgetLimit,
    pub front_end: FrontEnd,
    pub kind: SessionKind,
    /// Folders of plugins (`--plugin-dir`).
    pub plugins: Vec<PathBuf>,
    pub given: GivenSetup,
    /// Agents given on the command line (`--agents`).
    pub agents: Vec<Parsed>,
    /// The agent that the main agent works as (`--agent`).
    pub agent: Option<String>,
    /// The session to go on with; `None` begins a new one.
    pub resume: Option<Resume>,
    /// The file of this program, by which it starts the supervisors of commands.
    pub program: PathBuf,
    /// What is masked in all that is kept, in every session of this process.
    pub secrets: Secrets,
}

/// What a start is given that is otherwise written in files: the user's word, for this start.
#[derive(Debug, Clone, Default)]
pub struct GivenSetup {
    /// Settings (`--settings`).
    pub settings: Option<SettingsFile>,
    /// Folders to work in beside the project (`--add-dir`).
    pub directories: Vec<PathBuf>,
    /// MCP servers (`--mcp-config`), and whether there are to be no others (`--strict-mcp-config`).
    pub servers: Vec<(String, Value)>,
    pub only_these_servers: bool,
    pub prompts: GivenPrompts,
    /// Who may have files open with changes that are not saved.
    pub editor: EditorFiles,
    /// Whose files are read beside (`--setting-sources`).
    pub sources: SettingSources,
    /// The built-in tools there are (`--tools`).
    pub tools: BuiltInTools,
    /// The id of a new session (`--session-id`).
    pub session_id: Option<String>,
    /// Tokens that models think at most that are told their number (`--max-thinking-tokens`).
    pub thinking_tokens: Option<u32>,
    /// The program that drives the session, and its hooks.
    pub program: Option<CallingProgram>,
    pub hooks: Vec<HookHandler>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// A screen, with someone before it.
    Screen,
    /// Lines on standard output, with someone who answers on standard input.
    Plain,
    /// Standard output, with nobody to ask.
    Headless,
    /// Standard output, with a program that answers on standard input: an editor, say, which asks whoever sits before it.
    Program,
}

impl FrontEnd {
    /// Returns `true` if a program reads what is written.
    #[must_use]
    pub fn is_for_programs(self) -> bool {
        matches!(self, Self::Headless | Self::Program)
    }
}

/// Whether the agents work or play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// Real models, real tools.
    Live,
    /// The script of the demonstration.
    Demo,
}

/// What is known before anything starts.
#[derive(Debug)]
pub struct Bootstrap {
    pub options: Options,
    pub config: Config,
    /// Faults the user should see.
    pub diagnostics: Vec<Diagnostic>,
    pub paths: Option<Paths>,
    pub place: Place,
    /// What of that is a project.
    pub ground: ProjectRoot,
    /// What is allowed, asked about and denied in advance.
    pub rules: SessionRules,
    /// What settings files say besides.
    pub settings: SessionSettings,
    /// What the folder brings, and whether the user trusts it.
    pub trust: FolderTrust,
    /// Where memory files are looked for.
    pub memory: MemorySources,
    /// The MCP servers that are configured.
    pub servers: ConfiguredServers,
    /// The plugins in use.
    pub plugins: Arc<PluginLibrary>,
    /// What can be called by name. Until [`super::start`] there is nothing.
    pub skills: Arc<SkillLibrary>,
    /// The kinds of agents there are. Until [`super::start`] only those that need no file.
    pub library: Arc<Library>,
    pub agent: Option<Arc<AgentDefinition>>,
    /// The services that can answer. A key that was fetched is known to all clones.
    pub services: ProviderEnv,
    /// What searches the web where no service does.
    pub engine: Option<SearchEngine>,
    /// What the environment says about subagents.
    pub subagents: Subagents,
    /// Who looks at places where no command may write.
    pub watch: PlaceWatch,
    /// How programs are run, once the session has started.
    pub shell: Arc<OnceLock<Shell>>,
    /// Where the session is kept, if there is such a place. Of a new session nothing lies there yet.
    pub store: Option<Store>,
    /// The session that is continued.
    pub saved: Option<Arc<SavedSession>>,
}

#[derive(Debug, Clone, Default)]
pub struct Subagents {
    /// The model of those for which the call names none.
    pub model: Option<String>,
    pub user_dirs: UserDirs,
}

impl Bootstrap {
    /// Returns the file of the messages sent in this project; the demonstration keeps none.
    pub fn history_file(&self) -> Option<PathBuf> {
        let paths = self.paths.as_ref().filter(|_| self.options.kind == SessionKind::Live)?;
        Some(crate::session::history_file(&paths.state_dir, &self.place.project))
    }

    /// Returns what lists memory files and adds lines to them; `None` where there are none to know of.
    pub fn memory_reader(&self) -> Option<MemoryReader> {
        let Place { cwd, project, .. } = self.place.clone();
        let rules = self.rules.ruleset(&self.trust);
        let sources = self.memory.clone();
        (!sources.is_empty()).then(|| MemoryReader::under(sources, cwd, project, rules))
    }

    /// Returns the files that are watched.
    pub(super) fn files(&self) -> WatchedFiles {
        let Self { library, skills, plugins, .. } = self;
        WatchedFiles { library: library.clone(), skills: skills.clone(), plugins: plugins.clone() }
    }

    pub fn log_file(&self) -> Option<PathBuf> {
        self.paths.as_ref().map(|paths| log::path(&paths.state_dir))
    }
}

/// Returns what the command line says that settings say too.
fn overrides(options: &Options) -> Overrides {
    Overrides {
        model: options.model.clone(),
        fallback_model: options.fallback_model.clone(),
        permission_mode: options.mode,
        max_turns: None,
        budget: options.budget,
    }
}

/// Reads the configuration and finds the project. Returns an error if the working directory does not exist.
pub fn bootstrap(options: Options) -> anyhow::Result<Bootstrap> {
    let environment = config::Environment::of_process();
    let (mut cwd, mut ground) = working_folder(&options.directory, &environment)?;
    let (paths, homeless) = match Paths::resolve(&environment) {
        Ok(paths) => (Some(paths), None),
        Err(error) => (None, Some(Diagnostic::new(error.to_string()))),
    };
    let wanted = options.resume.as_ref().map(|resume| resume.find(paths.as_ref(), &ground.root)).transpose()?;
    if let Some(wanted) = wanted.as_ref().filter(|wanted| wanted.cwd != cwd) {
        (cwd, ground) = working_folder(&wanted.cwd, &environment)
            .with_context(|| format!("the folder of session {} is gone", wanted.folder.short_id()))?;
    }
    let (settings, unread) = settings_files(&environment, (&ground, &cwd), &options.given);
    guards::check_sideloading(&options, &settings)?;
    let sources = options.given.sources;
    let folders: Vec<&Path> = ground.folders(&cwd).filter(|_| sources.project).collect();
    let loaded = config::load((paths.as_ref(), &folders), &environment, &settings, &overrides(&options));
    let (rules, misread) = SessionRules::gather(&options, &loaded.config, &settings, (&environment, &ground));
    let (plugins, unusable) = plugins(&options, &environment, &ground)?;
    let (mut more, misread_more) = SessionSettings::gather(&settings, &unread, &plugins.all());
    more.hooks.extend(options.given.hooks.iter().cloned());
    let told = ground.notices().into_iter().map(Diagnostic::new);
    let found = unread.into_iter().chain(loaded.diagnostics).chain(misread).chain(misread_more).chain(unusable);
    let mut diagnostics: Vec<Diagnostic> = homeless.into_iter().chain(told).chain(found).collect();
    let untrusted: &[&Path] = if ground.is_project { &[&ground.root, &cwd] } else { &[] };
    let said = (&loaded.config, &more, paths.as_ref());
    let KeyedServices { services, environment: set_up, engine, diagnostics: errors } =
        keys::environment(said, &environment, untrusted, &options.secrets.clone());
    diagnostics.extend(errors);
    let project = Arc::new(ground.root.clone());
    let place = Place { cwd: Arc::new(cwd), project: project.clone(), origin: project };
    let (mut config, among) = (loaded.config, (&environment, sources));
    let (dirs, names) = (agent_dirs(among, &place, &ground), known_names(&config, &services));
    check_tools(&options.given.tools, &names)?;
    guards::begin_carefully(&options, &mut config, &mut diagnostics);
    let library = Arc::new(Library::new(dirs, options.agents.clone(), names).with_plugins(&plugins.all()));
    let skills =
        Arc::new(skills(options.kind, (&library, &plugins.all(), more.skill_limits()), among, (&place, &ground)));
    let watch = PlaceWatch::default();
    let trust = MemoryTrust::over(watch.traces().clone(), library.trust().clone());
    let memory = memory_sources(options.kind, among, paths.as_ref(), &ground, trust);
    let known = (&environment, paths.as_ref(), &config);
    let servers =
        ConfiguredServers::find(known, (&place.cwd, &ground), (&settings, &plugins.all(), sources), &services)
            .started_with(&options, paths.as_ref());
    let files = (&*library, &*skills);
    let trust = trust::look(&options, (&rules, &more), files, (paths.as_ref(), &place), (&memory, &servers));
    let agent = match (options.agent.as_deref(), wanted.as_ref().and_then(|wanted| wanted.agent.as_deref())) {
        (Some(name), _) => Some(lead_definition(&library, name)?),
        (None, Some(earlier)) => lead_definition(&library, earlier)
            .inspect_err(|error| diagnostics.push(Diagnostic::new(format!("The main agent works as none: {error}."))))
            .ok(),
        (None, None) => None,
    };
    let (store, saved) = stored(wanted, (paths.as_ref(), &place), (&options, &config))?;
    Ok(Bootstrap {
        options,
        config,
        diagnostics,
        paths,
        place,
        ground,
        rules,
        settings: more,
        trust,
        memory,
        servers: servers.with_main_agent(agent.as_deref()),
        plugins: Arc::new(plugins),
        skills,
        library,
        agent,
        services,
        engine,
        subagents: subagents(&set_up),
        watch,
        shell: Arc::default(),
        store,
        saved,
    })
}

/// Chooses the folder of a new session, or opens that of the one that goes on. Blocks.
fn stored(
    wanted: Option<Wanted>,
    (paths, place): (Option<&Paths>, &Place),
    (options, config): (&Options, &Config),
) -> anyhow::Result<(Option<Store>, Option<Arc<SavedSession>>)> {
    let Some(paths) = paths else { return Ok((None, None)) };
    let Some(wanted) = wanted else { return Ok((Some(new_store(paths, place, options)?), None)) };
    let is_fork = options.resume.as_ref().is_some_and(|resume| resume.fork);
    let fresh = is_fork.then(|| new_store(paths, place, options)).transpose()?;
    let (secrets, review) = (options.secrets.clone(), limits::review(config));
    let (store, saved) = wanted.open(fresh, &paths.state_dir, secrets, (&place.project, &review))?;
    Ok((Some(store), Some(Arc::new(saved))))
}

/// Chooses the folder of a new session. Blocks.
fn new_store(paths: &Paths, place: &Place, options: &Options) -> anyhow::Result<Store> {
    let secrets = options.secrets.clone();
    let Some(id) = &options.given.session_id else {
        return Ok(Store::new(&paths.state_dir, &place.project, Timestamp::now(), secrets));
    };
    anyhow::ensure!(
        !is_taken(&paths.state_dir, id),
        "there is a session {id} already; go on with it by --resume {id}, or choose another --session-id"
    );
    Ok(Store::called(id, &paths.state_dir, &place.project, secrets))
}

/// Checks that there are the tools of `--tools`.
fn check_tools(tools: &BuiltInTools, known: &KnownNames) -> anyhow::Result<()> {
    let is_known = |name: &str| {
        let mut all = known.tools.iter().map(String::as_str).chain(ASK_TOOLS);
        all.any(|tool| tool.eq_ignore_ascii_case(name))
    };
    let unknown: Vec<String> =
        tools.names().filter(|name| !is_known(name)).map(|name| sanitize_line(name).into_owned()).collect();
    let known: Vec<&str> = known.tools.iter().map(String::as_str).chain(ASK_TOOLS).collect();
    anyhow::ensure!(
        unknown.is_empty(),
        "--tools: there is no tool {}; there are {}",
        unknown.join(", "),
        known.join(", ")
    );
    Ok(())
}

/// Reads the settings files, and those that this start was given.
fn settings_files(
    environment: &config::Environment,
    place: (&ProjectRoot, &Path),
    given: &GivenSetup,
) -> (Vec<SettingsFile>, Vec<Diagnostic>) {
    config::settings_files(Path::new(config::MANAGED), environment, place, (given.settings.clone(), given.sources))
}

/// Resolves the folder to work in, and finds the project around it.
fn working_folder(directory: &Path, environment: &config::Environment) -> anyhow::Result<(PathBuf, ProjectRoot)> {
    let cwd = std::fs::canonicalize(directory).with_context(|| format!("cannot enter {}", directory.display()))?;
    anyhow::ensure!(cwd.is_dir(), "{} is not a folder", cwd.display());
    let ground = ProjectRoot::around(&cwd, environment, config::user(environment));
    Ok((cwd, ground))
}

/// Finds the definition that the main agent shall work as, before anything is on the screen.
fn lead_definition(library: &Library, name: &str) -> anyhow::Result<Arc<AgentDefinition>> {
    library.reload();
    let catalog = library.catalog();
    let found = catalog.get(name).with_context(|| {
        let names: Vec<String> = catalog.names().iter().map(|name| sanitize_line(name).into_owned()).collect();
        format!("no agent `{name}`; available: {}", names.join(", "))
    })?;
    let is_program = found.acp.is_some();
    anyhow::ensure!(!is_program, "`{name}` is another program (`acp`), which works as a subagent only");
    Ok(found)
}

fn subagents(environment: &config::Environment) -> Subagents {
    let model = environment.get("CLAUDE_CODE_SUBAGENT_MODEL").map(str::to_owned);
    Subagents { model, user_dirs: user_dirs(environment) }
}

fn user_dirs(environment: &config::Environment) -> UserDirs {
    let home = environment.home();
    let claude = environment.directory("CLAUDE_CONFIG_DIR").or_else(|| Some(home.as_ref()?.join(".claude")));
    UserDirs { home, claude }
}

/// Says where memory files are looked for. The demonstration knows of none.
fn memory_sources(
    kind: SessionKind,
    (environment, sources): (&config::Environment, SettingSources),
    paths: Option<&Paths>,
    ground: &ProjectRoot,
    trust: MemoryTrust,
) -> MemorySources {
    if kind == SessionKind::Demo {
        return MemorySources::default();
    }
    let UserDirs { home, claude } = user_dirs(environment);
    MemorySources {
        managed: Some(PathBuf::from(config::MANAGED)),
        claude: claude.filter(|_| sources.user),
        own: paths.filter(|_| sources.user).map(|paths| paths.config_dir.clone()),
        home: home.map(|home| std::fs::canonicalize(&home).unwrap_or(home)),
        user: Some(config::user(environment)),
        is_project: ground.is_project,
        skips_project: !sources.project,
        skips_local: !sources.local,
        trust,
    }
}

/// Finds the folders of agent files.
fn agent_dirs(among: (&config::Environment, SettingSources), place: &Place, ground: &ProjectRoot) -> AgentDirs {
    with_roots(among, place, ground, AgentDirs::new)
}

/// Finds the plugins in use, and says what is wrong with others. The demonstration knows of none.
fn plugins(
    options: &Options,
    environment: &config::Environment,
    ground: &ProjectRoot,
) -> anyhow::Result<(PluginLibrary, Vec<Diagnostic>)> {
    if options.kind == SessionKind::Demo {
        return Ok(Default::default());
    }
    let given: Vec<PathBuf> = options.plugins.iter().map(|path| options.directory.join(path)).collect();
    for path in &given {
        anyhow::ensure!(path.is_dir(), "--plugin-dir: {} is not a folder; name that of a plugin", path.display());
    }
    let claude = user_dirs(environment).claude.filter(|_| options.given.sources.user);
    let project = ground.is_project.then(|| ground.root.clone());
    Ok(PluginLibrary::find(PluginPlaces { claude, project, owner: config::user(environment), given }))
}

/// Returns where skills are looked for. The demonstration knows of none.
fn skills(
    kind: SessionKind,
    (library, plugins, limits): (&Library, &[Plugin], SkillLimits),
    among: (&config::Environment, SettingSources),
    (place, ground): (&Place, &ProjectRoot),
) -> SkillLibrary {
    match kind {
        SessionKind::Live => {
            let dirs = with_roots(among, place, ground, SkillDirs::new).with_plugins(plugins);
            SkillLibrary::new(dirs, library.trust().clone()).checking_hooks(check_skill_hooks).limited(limits)
        }
        SessionKind::Demo => SkillLibrary::default(),
    }
}

/// Finds folders from where the user and the project keep theirs, as far as these are among the sources.
fn with_roots<T>(
    (environment, sources): (&config::Environment, SettingSources),
    place: &Place,
    ground: &ProjectRoot,
    find: impl FnOnce(&Roots<'_>) -> T,
) -> T {
    let (home, claude, kode) =
        (environment.home(), environment.directory("CLAUDE_CONFIG_DIR"), environment.directory("KODE_CONFIG_DIR"));
    let of_user = |folder: Option<PathBuf>| folder.filter(|_| sources.user);
    find(&Roots {
        home: of_user(home).as_deref(),
        claude: of_user(claude).as_deref(),
        kode: of_user(kode).as_deref(),
        cwd: &place.cwd,
        project: (ground.is_project && sources.project).then_some(ground.root.as_path()),
        owner: config::user(environment),
    })
}

/// Says what is wrong with the hooks of an agent file.
fn check_hooks(hooks: &serde_json::Value) -> Vec<String> {
    HookHandler::read(hooks, &nowhere()).1
}

/// Says what is wrong with the hooks of a skill.
fn check_skill_hooks(hooks: &serde_json::Value) -> Vec<String> {
    HookHandler::read_of_skill(hooks, &nowhere()).1
}

/// Returns where hooks are from that are only looked at.
fn nowhere() -> HookSource {
    HookSource { place: "".into(), is_projects: true, is_managed: false, plugin: None }
}

/// Returns the names that agent files may use: the tools there are, and the models that a service may have.
pub fn known_names(config: &Config, services: &ProviderEnv) -> KnownNames {
    let tools = known_tools();
    let tools = tools.names().chain([AGENT_TOOL, SKILL_TOOL]).chain(TASK_TOOLS).map(str::to_owned).collect();
    let (aliases, is_open) = (config.aliases.clone(), connection::serves_any_model(config, services));
    let is_model = move |name: &str| is_open || aliases.contains_key(&name.to_lowercase()) || model::is_known(name);
    let launchers = config.launchers.iter().map(|launcher| launcher.name.clone()).collect();
    KnownNames { tools, launchers, is_model: Arc::new(is_model), check_hooks }
}
