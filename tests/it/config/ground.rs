//! What counts as a project.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use belvedere::config::{Environment, ProjectRoot, user};
use belvedere::permission::Owner;
use tempfile::TempDir;

struct World {
    _dir: TempDir,
    top: PathBuf,
}

impl World {
    fn new(folders: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in folders {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        Self { _dir: dir, top }
    }

    fn user(&self) -> u32 {
        fs::metadata(&self.top).unwrap().uid()
    }

    fn around(&self, cwd: &str) -> ProjectRoot {
        self.seen_by(cwd, self.user())
    }

    fn seen_by(&self, cwd: &str, user: u32) -> ProjectRoot {
        let environment: Environment = [("HOME", self.top.join("home/me").to_str().unwrap())].into_iter().collect();
        ProjectRoot::around(&self.top.join(cwd), &environment, Owner::new(user, None))
    }

    fn root(&self, cwd: &str) -> (PathBuf, bool) {
        let ground = self.around(cwd);
        (ground.root.strip_prefix(&self.top).unwrap().to_path_buf(), ground.is_project)
    }
}

#[test]
fn a_project_begins_at_the_nearest_git() {
    let world = World::new(&["home/me/repo/.git", "home/me/repo/worktree/src/deep", "home/me/plain/deep"]);
    assert_eq!(world.root("home/me/repo/worktree/src/deep"), ("home/me/repo".into(), true));
    fs::write(world.top.join("home/me/repo/worktree/.git"), "gitdir: elsewhere").unwrap();
    assert_eq!(world.root("home/me/repo/worktree/src/deep"), ("home/me/repo/worktree".into(), true));
    assert_eq!(world.root("home/me/plain/deep"), ("home/me/plain/deep".into(), true));
    assert!(world.around("home/me/plain/deep").notices().is_empty());
}

#[test]
fn a_home_and_what_holds_it_are_no_project() {
    let world = World::new(&["home/me/.git", "home/me/x/y", "home/.git"]);
    for wide in ["home/me", "home", ""] {
        assert_eq!(world.root(wide), (PathBuf::from(wide), false), "{wide}");
        let notices = world.around(wide).notices();
        assert!(notices.iter().any(|notice| notice.contains("No project here")), "{notices:?}");
    }
    // A repository in the home, as for dotfiles, is not the project of all that lies below.
    assert_eq!(world.root("home/me/x/y"), ("home/me/x/y".into(), true));
    let environment = Environment::default();
    assert!(!ProjectRoot::around(Path::new("/"), &environment, Owner::new(0, None)).is_project);
}

#[test]
fn a_git_of_someone_else_does_not_count() {
    let world = World::new(&["shared/.git", "shared/mine"]);
    let ground = world.seen_by("shared/mine", world.user() + 1);
    assert_eq!((ground.root.as_path(), ground.is_project), (world.top.join("shared/mine").as_path(), true));
    let [notice] = ground.notices().try_into().unwrap();
    assert!(notice.contains("/shared has a .git owned by another user; it is ignored"), "{notice}");
    assert_eq!(world.root("shared/mine"), ("shared".into(), true));
}

#[test]
fn root_that_came_by_sudo_owns_what_its_user_owns() {
    let environment: Environment = [("SUDO_UID", "1234")].into_iter().collect();
    let owner = user(&environment);
    assert!(owner.is(nix::unistd::geteuid().as_raw()));
    assert_eq!(owner.is(1234), nix::unistd::geteuid().is_root());
}
