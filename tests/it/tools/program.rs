//! Which folders of `PATH` programs are started from.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use belvedere::program::SearchPath;

fn program(folder: &Path, name: &str) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn no_program_of_the_project_is_found() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap();
    let project = top.join("project");
    let inside = program(&project.join("node_modules/.bin"), "tool");
    let system = program(&top.join("bin"), "tool");
    let everybodys = program(&top.join("shared"), "tool");
    std::fs::set_permissions(everybodys.parent().unwrap(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let link = top.join("linked");
    std::os::unix::fs::symlink(inside.parent().unwrap(), &link).unwrap();
    let links = top.join("links");
    std::fs::create_dir(&links).unwrap();
    std::os::unix::fs::symlink(&inside, links.join("tool")).unwrap();
    let plain = top.join("plain");
    std::fs::create_dir(&plain).unwrap();
    std::fs::write(plain.join("tool"), "no program").unwrap();

    let inside = inside.parent().unwrap();
    let folders =
        [inside, everybodys.parent().unwrap(), &link, &links, &plain, Path::new(""), Path::new("."), Path::new("bin")];
    let with = |last: Option<&Path>| {
        let path: OsString = std::env::join_paths(folders.into_iter().chain(last)).unwrap();
        SearchPath::new(&path, &[&project])
    };
    assert_eq!(with(None).find("tool"), None);
    let search = with(system.parent());
    assert_eq!(search.find("tool"), Some(system.clone()));
    assert_eq!(search.value(), std::env::join_paths([&links, &plain, &top.join("bin")]).unwrap());
    assert_eq!(search.find("other"), None);
    assert_eq!(SearchPath::new(system.parent().unwrap().as_os_str(), &[Path::new("/")]).find("tool"), Some(system));
}
