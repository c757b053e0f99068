use std::net::SocketAddr;

use super::*;

fn settings(arguments: &[&str], environment: &[(&str, &str)]) -> (Settings, Command) {
    Settings::read(
        "keys",
        arguments.iter().map(|text| (*text).to_owned()),
        environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    )
}

#[test]
fn flags_go_before_the_environment_and_that_before_the_file() {
    let file = std::env::temp_dir().join(format!("settings-{}.toml", std::process::id()));
    std::fs::write(&file, "one = 1\ntwo = 1\nthree = 1\n").unwrap();
    let path = file.display().to_string();
    let (mut settings, command) = settings(
        &["migrate", "--config", &path, "--three=3"],
        &[
            ("DS_KEYS__TWO", "2"),
            ("DS_KEYS__THREE", "2"),
            ("DS_OTHER__X", "1"),
            ("KEYS_PORT", "tcp://x"),
        ],
    );
    assert_eq!(command, Command::Migrate);
    assert_eq!(settings.value("one", 0_u32, ""), 1);
    assert_eq!(settings.value("two", 0_u32, ""), 2);
    assert_eq!(settings.value("three", 0_u32, ""), 3);
    assert_eq!(settings.value("four", 4_u32, ""), 4);
    std::fs::remove_file(&file).unwrap();
    assert!(settings.finish().is_ok());
}

#[test]
fn every_problem_is_told_at_once() {
    let (mut settings, _) = settings(
        &["dance", "--colour", "red", "--last"],
        &[
            ("DS_KEYS__PORT", "many"),
            ("DS_KEYS__SISE", "1"),
            ("DS_KEYS__RATE", "0"),
        ],
    );
    settings.value("port", 1_u16, "");
    settings.bounded("rate", 5_u32, 1..=10, "");
    settings.required::<SocketAddr>("listen", "127.0.0.1:1", "");
    settings.secret("pepper", 32, "");
    settings.contradiction("port and listen are at odds");
    let problems = settings.finish().unwrap_err();
    let expected = [
        "\"dance\" is no command",
        "--last has no value",
        "port: \"many\"",
        "rate: 0 is not within 1 and 10",
        "listen: is missing",
        "pepper: is missing",
        "at odds",
        "--colour is not known",
        "DS_KEYS__SISE is not known",
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem} should tell {expected}");
    }
}

#[test]
fn to_migrate_asks_for_the_database_alone() {
    let read = |settings: &mut Settings| {
        settings.secret("database_url", 1, "");
        settings.secret("pepper", 32, "");
        settings.required::<SocketAddr>("address", "127.0.0.1:1", "");
        settings.service_tokens();
    };
    let (mut settings, command) = settings(&["migrate"], &[("DS_KEYS__PEPPER", "short")]);
    read(&mut settings);
    let problems = settings.finish().unwrap_err();
    assert_eq!(command, Command::Migrate);
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(problems[0].contains("database_url: is missing"));
    assert!(problems[1].contains("pepper: is shorter"));
}

#[test]
fn secrets_come_from_the_environment_or_a_file_and_are_never_shown() {
    let file = std::env::temp_dir().join(format!("secret-{}", std::process::id()));
    std::fs::write(&file, "from-a-file-from-a-file-from-a-file\n").unwrap();
    let path = file.display().to_string();
    let (mut settings, _) = settings(
        &[],
        &[
            ("DS_KEYS__PEPPER_FILE", &path),
            ("DS_KEYS__CURSOR", "short-secret"),
        ],
    );
    assert_eq!(
        settings.secret("pepper", 32, "").expose(),
        "from-a-file-from-a-file-from-a-file"
    );
    assert_eq!(
        settings.optional_secret("cursor", 4, "").unwrap().expose(),
        "short-secret"
    );
    std::fs::remove_file(&file).unwrap();
    let knobs = settings.finish().unwrap();
    let shown = print_config(&knobs) + &help("keys", "Keys.", &knobs);
    assert!(
        !shown.contains("from-a-file") && !shown.contains("short-secret"),
        "{shown}"
    );
}

#[test]
fn a_secret_has_no_flag() {
    let (mut settings, _) = settings(&["--pepper", "12345678901234567890123456789012"], &[]);
    settings.secret("pepper", 32, "");
    let problems = settings.finish().unwrap_err();
    assert!(problems.iter().any(|problem| problem.contains("has no flag")));
    assert!(!problems.iter().any(|problem| problem.contains("1234567890")));
}
