//! The protocol's own tools against ours: its inspector and its conformance runner, at the gateway's `/mcp` and on
//! `dsctl mcp`. Needs both as packages of npm, which `./dev test --mcp` gets; nothing else runs this.
//!
//! (`vite`, which nothing here runs, is held back in `package.json`: a later one asks for a package that npm does not have.)
//!
//! What these tools do not look at (budgets, charges, what a call is refused for) is held by `tests/tests/contract/mcp.rs` and
//! `tests/tests/dsctl/mcp.rs`.

#![expect(clippy::unwrap_used, reason = "what a test needs and does not get fails it")]

mod forwarder;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use devstack::Options;
use forwarder::Forwarder;
use serde_json::{Value, json};
use system_tests::{World, world};

/// The folder with the packages.
#[expect(
    clippy::disallowed_methods,
    reason = "where programs are is told by the command that got them, and is no setting"
)]
fn packages() -> PathBuf {
    let folder = std::env::var("DS_TEST__MCP_PACKAGES");
    PathBuf::from(folder.expect("DS_TEST__MCP_PACKAGES is not set: this is run by ./dev test --mcp"))
}

/// A program of the packages, run by the Node that came with them.
fn program(name: &str) -> Command {
    let programs = packages().join("node_modules/.bin");
    let mut command = Command::new(programs.join("node"));
    command.arg(programs.join(name)).stdin(Stdio::null());
    command
}

/// The inspector, once: what it has printed.
fn inspected(arguments: &[&str]) -> Value {
    let home = tempfile::tempdir().unwrap();
    let ran = program("mcp-inspector")
        .args(["--cli", "--quiet"])
        .args(arguments)
        .env("HOME", home.path())
        .output()
        .unwrap();
    let (printed, said) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(ran.status.success(), "{arguments:?}: {said}{printed}");
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

/// What the inspector makes of a server: the tools are fit for every client, a search answers.
fn inspect(server: &[&str]) {
    // It ends with a status of its own where a schema is of no use to some client.
    let listed = inspected(&[server, &["--method", "tools/list", "--strict"]].concat());
    let names = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    let names: Vec<String> = listed["tools"].as_array().unwrap().iter().map(names).collect();
    assert!(names.iter().any(|name| name == "search_companies"), "{names:?}");
    for era in ["legacy", "modern"] {
        let arguments = json!({"limit": 1, "maxCredits": 1}).to_string();
        let call = [
            "--protocol-era",
            era,
            "--method",
            "tools/call",
            "--tool-name",
            "search_companies",
            "--tool-args-json",
            &arguments,
        ];
        let answer = inspected(&[server, &call].concat());
        assert_eq!(answer["structuredContent"]["success"], true, "{era}: {answer}");
        assert_eq!(
            answer["structuredContent"]["credits"]["cost"], 1,
            "{era}: {answer}"
        );
    }
}

#[test]
#[ignore = "needs programs that ./dev test --mcp gets"]
fn the_inspector_finds_and_calls_the_tools_of_the_gateway() {
    let account = world().account();
    let address = format!("{}/mcp", account.base.trim_end_matches("/api/v1"));
    let key = format!("X-API-Key: {}", account.key);
    inspect(&[&address, "--transport", "http", "--header", &key]);
}

#[test]
#[ignore = "needs programs that ./dev test --mcp gets"]
fn the_inspector_finds_and_calls_the_tools_of_dsctl() {
    let account = world().account();
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    fs::write(&key, &account.key).unwrap();
    let dsctl = world().stack.dsctl().unwrap();
    let config = folder.path().join("hosts.json");
    let server = json!({
        "command": dsctl.get_program().to_str().unwrap(),
        "args": ["mcp", "--budget", "5"],
        "env": {"BASE_URL": account.base, "API_KEY_FILE": key},
    });
    fs::write(&config, json!({"mcpServers": {"ours": server}}).to_string()).unwrap();
    inspect(&["--config", config.to_str().unwrap(), "--server", "ours"]);
}

#[test]
#[ignore = "needs programs that ./dev test --mcp gets"]
fn the_conformance_runner_passes_but_for_what_is_listed() {
    let forwarder = Forwarder::listen();
    // As a browser's user has it, whose pages are these and no others.
    let world = World::start(Options::new().setting("DS_GATEWAY__CORS_ALLOWED_ORIGINS", &forwarder.origin));
    let account = world.account();
    forwarder.forward(account.base.trim_end_matches("/api/v1"), &account.key);
    let results = tempfile::tempdir().unwrap();
    let listed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/not-offered.yml");
    let ran = program("conformance")
        .args(["server", "--suite", "all", "--url"])
        .arg(format!("{}/mcp", forwarder.origin))
        .arg("--expected-failures")
        .arg(listed)
        .arg("--output-dir")
        .arg(results.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout);
    eprintln!("{printed}");
    assert!(
        ran.status.success(),
        "{printed}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
