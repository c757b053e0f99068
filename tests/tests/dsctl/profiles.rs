//! `dsctl login` and what is kept: for its user alone, for its address alone.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use system_tests::world;

use crate::{dsctl, printed, refused, stderr, stdout};

/// `dsctl` of a user whose home is this folder, who has nothing in the environment.
fn dsctl_at(home: &Path) -> Command {
    let mut command = world().stack.dsctl().unwrap();
    command.env("HOME", home);
    for name in [
        "XDG_CONFIG_HOME",
        "BASE_URL",
        "API_KEY",
        "API_KEY_FILE",
        "DSCTL_PROFILE",
        "COLUMNS",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs it with the key on standard input, and looks at its command line meanwhile.
fn login(command: &mut Command, key: &str) -> Output {
    let mut running = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Ok(command_line) = fs::read(format!("/proc/{}/cmdline", running.id())) {
        assert!(!String::from_utf8_lossy(&command_line).contains(key));
    }
    running.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    running.wait_with_output().unwrap()
}

#[test]
fn a_key_is_tried_kept_and_used_and_costs_nothing_until_then() {
    let account = world().account();
    let home = tempfile::tempdir().unwrap();
    let dsctl = || dsctl_at(home.path());
    let base = &account.base;

    let (status, told) = refused(dsctl().args(["search", "people"]));
    assert_eq!(status, 2);
    assert!(told.contains("dsctl login --base-url"), "{told}");

    let refused_login = login(dsctl().args(["login", "--base-url", base]), "dsk_wrong\n");
    assert_eq!(refused_login.status.code(), Some(1), "{}", stderr(&refused_login));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);

    let done = login(
        dsctl().args(["login", "--base-url", base]),
        &format!("{}\n", account.key),
    );
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(!stdout(&done).contains(&account.key));
    assert_eq!(world().operator.balance(&account.id), 100_000);
    let file = home.path().join(".config/dsctl/profiles.toml");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    printed(dsctl().args(["search", "companies", "--limit", "1"]));
    assert_eq!(world().operator.balance(&account.id), 99_999);
    let listed = printed(dsctl().args(["profiles"]));
    assert!(
        listed.contains("default") && !listed.contains(&account.key),
        "{listed}"
    );

    // The key of one address is not shown to another one.
    let (status, told) = refused(
        dsctl()
            .env("BASE_URL", "http://127.0.0.1:1/api/v1")
            .args(["search", "people"]),
    );
    assert_eq!(status, 2);
    assert!(told.contains("is for"), "{told}");

    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let (status, told) = refused(dsctl().args(["search", "people"]));
    assert_eq!(status, 1);
    assert!(told.contains("chmod 600"), "{told}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();

    printed(dsctl().args(["logout"]));
    assert_eq!(refused(dsctl().args(["search", "people"])).0, 2);
}

#[test]
fn a_named_profile_comes_before_the_environment() {
    let (kept, other) = (world().account(), world().account());
    let home = tempfile::tempdir().unwrap();
    let key_file = home.path().join("key");
    fs::write(&key_file, format!("{}\n", kept.key)).unwrap();
    let login = [
        "login",
        "--profile",
        "work",
        "--base-url",
        &kept.base,
        "--api-key-file",
    ];
    printed(dsctl_at(home.path()).args(login).arg(&key_file));

    // The environment has the key of another account, as after `./dev env`.
    let mut search = dsctl(&other);
    search
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("DSCTL_PROFILE");
    search.args(["search", "people", "--limit", "1"]);
    printed(&mut search);
    assert_eq!(world().operator.balance(&other.id), 99_999);
    printed(search.args(["--profile", "work"]));
    assert_eq!(world().operator.balance(&kept.id), 99_999);
    assert_eq!(world().operator.balance(&other.id), 99_999);
    let (status, told) = refused(dsctl_at(home.path()).args(["search", "people", "--profile", "wrok"]));
    assert_eq!(status, 2);
    assert!(told.contains("there are: work"), "{told}");

    // Without a profile: a file, in the environment or as a flag.
    let mut search = dsctl_at(home.path());
    search.env("BASE_URL", &kept.base).env("API_KEY_FILE", &key_file);
    printed(search.args(["search", "people", "--limit", "1"]));
    assert_eq!(world().operator.balance(&kept.id), 99_998);
}
