//! Carries out what the app asks of the world.
//!
//! Owns effects that take time, each on a thread or task of its own, and what comes back as events. Leaves programs
//! that take over the terminal to `run`. Invariant: nothing here makes the screen wait.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::sync::mpsc;

use super::notifier::Notifier;
use super::read_log::read_log;
use super::remembered::{Persister, RememberedChoices};
use super::status_line::told;
use super::terminal::Terminal;
use super::{files, outside::Program, pictures};
use crate::app::agent_files::{AgentPlaces, FileNews, FileRequest};
use crate::app::composer::pictures::PictureSource;
use crate::app::timeline::PlaybackRequest;
use crate::app::{Effect, Event, StatusLineFacts, UserChoice};
use crate::config::{Environment, ProjectRoot, git_branch, user};
use crate::definition::skill::SkillLibrary;
use crate::definition::{Library, duplicate};
use crate::export::{ExportError, export, place_of};
use crate::memory::{MemoryAnswer, MemoryReader, MemoryRequest};
use crate::message::{sanitize_line, without_picture_marks};
use crate::sandbox::PlaceWatch;
use crate::services::{ModelOffers, StatusLineRunner, plan_rewind, summaries};
use crate::session::Store;
use crate::subagent::Command;
use crate::whole_file::WrittenFile;

pub(super) struct EffectRunner {
    back: mpsc::UnboundedSender<Event>,
    /// Requests to the engine. A person makes few, so that nothing bounds them, and the screen never waits.
    commands: mpsc::UnboundedSender<Command>,
    history: Option<Arc<PathBuf>>,
    store: Option<Arc<Store>>,
    persister: Option<Persister>,
    state_dir: Option<PathBuf>,
    memory_files: Option<MemoryReader>,
    cwd: Arc<PathBuf>,
    library: Arc<Library>,
    skills: Arc<SkillLibrary>,
    models: ModelOffers,
    notifier: Notifier,
    status_line: Option<StatusLineRunner>,
    watch: PlaceWatch,
}

/// Where things are kept; `None` keeps none.
#[derive(Default)]
pub(super) struct Storage {
    pub history: Option<PathBuf>,
    pub memory: Option<RememberedChoices>,
    pub store: Option<Store>,
    pub state_dir: Option<PathBuf>,
    pub memory_files: Option<MemoryReader>,
    pub status_line: Option<StatusLineRunner>,
    /// Who takes nothing that the user writes here for the work of a command.
    pub watch: PlaceWatch,
}

#[derive(Debug)]
pub(super) enum AfterEffect {
    Done,
    Outside(Program),
    Theme(String),
    /// Leave for another session.
    Open(String),
    Playback(PlaybackRequest),
    Quit,
}

impl EffectRunner {
    pub(super) fn new(
        back: mpsc::UnboundedSender<Event>,
        commands: mpsc::UnboundedSender<Command>,
        kept: Storage,
        cwd: PathBuf,
        (library, skills, models): (Arc<Library>, Arc<SkillLibrary>, ModelOffers),
        notifier: Notifier,
    ) -> Self {
        let Storage { history, memory, store, state_dir, memory_files, status_line, watch } = kept;
        let store = store.map(Arc::new);
        let persister = memory.map(|memory| persister(Arc::new(memory), store.clone(), back.clone()));
        Self {
            back,
            commands,
            persister,
            state_dir,
            memory_files,
            history: history.map(Arc::new),
            store,
            cwd: Arc::new(cwd),
            library,
            skills,
            models,
            notifier,
            status_line,
            watch,
        }
    }

    /// Waits, within bounds, for what must not be lost.
    pub(super) async fn finish(self) {
        if let Some(persister) = self.persister {
            persister.finish().await;
        }
    }

    /// Reads what the screen shows but does not wait for: the branch and the history.
    pub(super) fn load_initial_state(&self) {
        let cwd = Arc::clone(&self.cwd);
        self.in_background(move || {
            let environment = Environment::of_process();
            let ground = ProjectRoot::around(&cwd, &environment, user(&environment));
            let branch = git_branch(&ground.root);
            Ok(Some(Event::BranchKnown(branch.map(|name| sanitize_line(&name).into_owned()))))
        });
        let places = AgentPlaces {
            home: Environment::of_process().home(),
            dirs: self.library.dirs().clone(),
            tools: self.library.tools().to_vec(),
        };
        let _ = self.back.send(Event::AgentFiles(FileNews::Places(places)));
        self.agent_files(FileRequest::List);
        self.agent_files(FileRequest::Homes);
        self.list_skills();
        if let Some(path) = self.history.clone() {
            self.in_background(move || Ok(Some(Event::HistoryLoaded(files::load_history(&path)?))));
        }
    }

    pub(super) fn perform(&self, effect: Effect, terminal: &mut Terminal) -> Result<AfterEffect> {
        match effect {
            Effect::Command(command) => {
                let _ = self.commands.send(command);
            }
            Effect::AgentFiles(FileRequest::Edit(path)) => match known(&self.library, &path) {
                Ok(()) => return Ok(AfterEffect::Outside(Program::File(path))),
                Err(error) => {
                    let _ = self.back.send(Event::AgentFiles(FileNews::Failed(format!("{error:#}"))));
                }
            },
            Effect::AgentFiles(request) => self.agent_files(request),
            Effect::ReadLog(request) => {
                let store = self.store.clone();
                self.in_background(move || Ok(Some(Event::LogRead(read_log(store.as_deref(), &request)))));
            }
            Effect::Memory(request) => match self.memory(request) {
                Ok(program) => return Ok(program.map_or(AfterEffect::Done, AfterEffect::Outside)),
                Err(why) => drop(self.back.send(Event::Memory(MemoryAnswer::Failed(why)))),
            },
            Effect::AttachPicture { source, place } => self.attach(source, place),
            Effect::ListSkills => self.list_skills(),
            Effect::EditSkill(path) => return Ok(self.edit_skill(path)),
            Effect::ListModels => self.list_models(),
            Effect::RunStatusLine(facts) => self.run_status_line(facts),
            Effect::ListSessions => {
                let (state_dir, store) = (self.state_dir.clone(), self.store.clone());
                self.in_background(move || {
                    let sessions = state_dir.map(|dir| summaries(&dir, None)).unwrap_or_default();
                    let is_own = |id: &str| store.as_ref().is_some_and(|store| store.dir().ends_with(id));
                    let others = sessions.into_iter().filter(|session| !is_own(&session.id)).collect();
                    Ok(Some(Event::SessionsListed(others)))
                });
            }
            Effect::PlanRewind { messages } => {
                let (store, cwd) = (self.store.clone(), Arc::clone(&self.cwd));
                self.in_background(move || {
                    let store = store.context("this session is not saved: nothing can be rewound")?;
                    Ok(Some(Event::RewindPlanned { messages, plan: plan_rewind(&store, &cwd, messages)? }))
                });
            }
            Effect::OpenSession(id) => return Ok(AfterEffect::Open(id)),
            Effect::Copy(text) => terminal.copy(&text)?,
            Effect::EditText(text) => return Ok(AfterEffect::Outside(Program::Editor(text))),
            Effect::Page(text) => return Ok(AfterEffect::Outside(Program::Pager(text))),
            Effect::Suspend => return Ok(AfterEffect::Outside(Program::Shell)),
            Effect::SaveHistory(text) => {
                if let (Some(path), Some(store)) = (self.history.clone(), self.store.clone()) {
                    // In another session the same number is another picture.
                    let masked = move |text: &str| store.mask(&without_picture_marks(text)).into_owned();
                    self.in_background(move || files::append_history(&path, &text, masked).map(|()| None));
                }
            }
            Effect::ListFiles => {
                let cwd = Arc::clone(&self.cwd);
                self.in_background(move || Ok(Some(Event::FilesListed(files::list_files(&cwd)))));
            }
            Effect::TellStatus(status) => terminal.tell(&status)?,
            Effect::Notify(text) => terminal.notify(&self.notifier.bytes(&text))?,
            Effect::CaptureMouse(mouse) => terminal.set_mouse(mouse)?,
            Effect::Export { format, place } => {
                let (store, cwd) = (self.store.clone(), Arc::clone(&self.cwd));
                self.in_background(move || {
                    let store = store.ok_or(ExportError::Unkept)?;
                    let place = place.map(|place| place_of(&cwd, &place));
                    let path = export(&store, store.dir(), format, place.as_deref())?;
                    Ok(Some(Event::Exported(path.to_string_lossy().into_owned())))
                });
            }
            Effect::SetTheme(name) => return Ok(AfterEffect::Theme(name)),
            Effect::Remember(choice) => {
                if let Some(persister) = &self.persister {
                    persister.keep(choice);
                }
            }
            Effect::Playback(request) => return Ok(AfterEffect::Playback(request)),
            Effect::Quit => return Ok(AfterEffect::Quit),
        }
        Ok(AfterEffect::Done)
    }

    /// Carries out a request for agent files. A change is in force before its event arrives.
    fn agent_files(&self, request: FileRequest) {
        let (library, skills, back) = (Arc::clone(&self.library), Arc::clone(&self.skills), self.back.clone());
        let watch = self.watch.clone();
        tokio::task::spawn_blocking(move || {
            // What the user has written is their own word.
            if let FileRequest::Edited(path) = &request {
                library.vouch(path);
                skills.vouch(path);
                skills.reload();
            }
            let outcome = agent_files(&library, &watch, request);
            if let Ok(FileNews::Created(path)) = &outcome {
                library.vouch(path);
            }
            if !matches!(outcome, Ok(FileNews::Listed(_))) {
                library.reload();
                let _ = back.send(Event::AgentFiles(FileNews::Listed(library.catalog().listing())));
            }
            let news = outcome.unwrap_or_else(|error| FileNews::Failed(format!("{error:#}")));
            let _ = back.send(Event::AgentFiles(news));
        });
    }

    /// Opens a skill in the editor, if it still is one.
    fn edit_skill(&self, path: PathBuf) -> AfterEffect {
        let is_known = self.skills.catalog().listing().iter().any(|listed| listed.path == path);
        if is_known { AfterEffect::Outside(Program::File(path)) } else { AfterEffect::Done }
    }

    /// Carries out a request for memory files, or returns the program that does.
    fn memory(&self, request: MemoryRequest) -> Result<Option<Program>, String> {
        let reader = self.memory_files.clone().ok_or_else(|| "there are no memory files here".to_owned())?;
        let watch = self.watch.clone();
        match request {
            MemoryRequest::Edit(path) => {
                reader.prepare_edit(&path)?;
                return Ok(Some(Program::MemoryFile(path)));
            }
            MemoryRequest::List => {
                self.in_background(move || Ok(Some(Event::Memory(MemoryAnswer::Listed(reader.list())))));
            }
            MemoryRequest::Add { path, line } => self.in_background(move || {
                let writing = watch.writing(&path);
                let added = reader.add_line(&path, &line);
                let added = added.map(|(shown, written)| {
                    writing.done(&written.path, written.text.as_bytes());
                    shown
                });
                Ok(Some(Event::Memory(added.map_or_else(MemoryAnswer::Failed, MemoryAnswer::Changed))))
            }),
        }
        Ok(None)
    }

    /// Keeps a picture with those of the session.
    fn attach(&self, source: PictureSource, place: u32) {
        let (store, cwd) = (self.store.as_ref().map(|store| store.pictures()), Arc::clone(&self.cwd));
        self.in_background(move || {
            let news = pictures::attach(source, store.as_ref(), &cwd);
            Ok(Some(Event::Picture { place, news }))
        });
    }

    /// Reads the skills and commands that have changed, and lists all.
    fn list_skills(&self) {
        let skills = Arc::clone(&self.skills);
        self.in_background(move || {
            skills.reload();
            Ok(Some(Event::SkillsListed(skills.catalog().listing())))
        });
    }

    /// Lists the models to choose from: at once those that are known, then what the services say.
    fn list_models(&self) {
        let (models, back) = (self.models.clone(), self.back.clone());
        let _ = back.send(Event::ModelsListed { models: models.known(), is_whole: false });
        tokio::spawn(async move {
            let _ = back.send(Event::ModelsListed { models: models.listed().await, is_whole: true });
        });
    }

    /// Runs the command of the user's own status line.
    fn run_status_line(&self, facts: StatusLineFacts) {
        let (runner, back) = (self.status_line.clone(), self.back.clone());
        tokio::spawn(async move {
            let rows = match runner {
                Some(runner) => runner.run(told(&facts)).await,
                None => Vec::new(),
            };
            let _ = back.send(Event::StatusLineWritten(rows));
        });
    }

    /// Runs work that may take long on a thread of its own.
    fn in_background(&self, work: impl FnOnce() -> Result<Option<Event>> + Send + 'static) {
        let back = self.back.clone();
        tokio::task::spawn_blocking(move || {
            let event = work().unwrap_or_else(|error| Some(Event::Error(format!("{error:#}"))));
            if let Some(event) = event {
                let _ = back.send(event);
            }
        });
    }
}

fn persister(
    memory: Arc<RememberedChoices>,
    store: Option<Arc<Store>>,
    back: mpsc::UnboundedSender<Event>,
) -> Persister {
    Persister::start(move |choice| {
        let written = match (&choice, &store) {
            (UserChoice::Unsent(unsent), Some(store)) => store.keep_unsent(unsent).map_err(anyhow::Error::from),
            _ => memory.write(&choice),
        };
        if let Err(error) = written {
            let _ = back.send(Event::Error(format!("Not saved: {error:#}.")));
        }
    })
}

fn agent_files(library: &Library, watch: &PlaceWatch, request: FileRequest) -> Result<FileNews> {
    let create = |folder: &Path, write: &dyn Fn() -> Result<WrittenFile>| {
        let writing = watch.writing(folder);
        let written = write()?;
        writing.done(&written.path, written.text.as_bytes());
        anyhow::Ok(written.path)
    };
    Ok(match request {
        FileRequest::List => FileNews::Listed(library.catalog().listing()),
        FileRequest::Homes => FileNews::Homes(library.dirs().homes()),
        FileRequest::Reload | FileRequest::Edited(_) => {
            library.reload();
            FileNews::Listed(library.catalog().listing())
        }
        FileRequest::Create { tier, draft } => {
            let folder = library.dirs().home_of(tier).context("there is no folder for agents of this kind")?;
            FileNews::Created(create(folder, &|| Ok(draft.create_in(folder)?))?)
        }
        FileRequest::Duplicate { source, name, tier } => {
            let listing = library.catalog().listing();
            let original = listing.iter().find(|listed| listed.source == source && listed.name() == name);
            let original = original.with_context(|| format!("agent {name} no longer exists"))?;
            let folder = library.dirs().home_of(tier).context("there is no folder for agents of this kind")?;
            FileNews::Created(create(folder, &|| Ok(duplicate(original, tier, folder)?))?)
        }
        FileRequest::Edit(path) => FileNews::Edited(path),
        FileRequest::Delete(path) => {
            known(library, &path)?;
            std::fs::remove_file(&path).with_context(|| format!("cannot delete {}", path.display()))?;
            FileNews::Deleted(path)
        }
    })
}

/// Checks that a path is the file of an agent that was read: no other file is touched, whatever asks for it.
fn known(library: &Library, path: &Path) -> Result<()> {
    let known = library.catalog().listing().iter().any(|listed| listed.source.path.as_deref() == Some(path));
    anyhow::ensure!(known, "{} is no longer an agent file", path.display());
    Ok(())
}
