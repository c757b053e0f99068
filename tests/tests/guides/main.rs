//! What the guides say is so.
//!
//! - What `docs/grpc.md` says to type works, and answers what it says. Needs a grpcurl and Python's gRPC, which
//!   `./dev test --grpc` gets; nothing else runs this.
//! - The tables of matches in `gateway/docs/guides/` ([`matches`]), and what these guides say to type and the page that
//!   shows them ([`docs`]), which `./dev test --docs` runs with a browser.

#![expect(clippy::unwrap_used, reason = "what a test needs and does not get fails it")]

mod docs;
mod guide;
mod matches;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use devstack::Options;
use guide::{Step, steps};
use regex::Regex;
use system_tests::World;

/// Ends the output of a step.
const END: &str = "=== end of a step ===";

/// Where programs are, by the word of who has got them.
#[expect(
    clippy::disallowed_methods,
    reason = "where programs are is told by the command that got them, and is no setting"
)]
pub(crate) fn programs(name: &str) -> String {
    let variable = format!("DS_TEST__{name}");
    std::env::var(&variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: this is run by ./dev test --grpc or --docs"))
}

#[test]
#[ignore = "needs programs that ./dev test --grpc gets"]
fn what_the_grpc_guide_says_to_type_works() {
    let world = World::start(Options::new());
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let steps = steps(&std::fs::read_to_string(root.join("docs/grpc.md")).unwrap());
    assert!(steps.len() > 5, "the guide has steps");
    let example = std::env::current_exe().unwrap();
    let example = example
        .parent()
        .unwrap()
        .with_file_name("examples")
        .join("search_companies");
    // The system is there, and so is the example: a cargo within a test would build everything once more.
    let mut script = "function ./dev { :; }\n".to_owned();
    for step in &steps {
        let commands = step.commands.replace(
            "cargo run --quiet --package proto --example search_companies",
            example.to_str().unwrap(),
        );
        script.extend(["{\n", &commands, "\n} 2>&1 || true\necho '", END, "'\n"]);
    }
    let here = programs("GRPCURL");
    let python = programs("GRPC_PYTHON");
    let ran = Command::new("bash")
        .args(["-uc", &script])
        .current_dir(&root)
        .env("PATH", format!("{here}:{python}:/usr/local/bin:/usr/bin:/bin"))
        .envs(world.environment.variables())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8(ran.stdout).unwrap();
    let told = told.split(&format!("{END}\n")).collect::<Vec<_>>();
    assert_eq!(told.len(), steps.len() + 1, "{told:#?}");
    let mut wrong = String::new();
    for (Step { commands, answer }, told) in steps.iter().zip(told) {
        let (expected, got) = (general(answer), general(told));
        if expected != got {
            wrong.extend([
                "--- typed\n",
                commands,
                "\n--- expected\n",
                answer,
                "\n--- got\n",
                told,
                "\n",
            ]);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What differs between two runs, by the name of its kind.
fn general(text: &str) -> String {
    let kinds = [
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
    ];
    let mut text = text.trim().to_owned();
    for (pattern, kind) in kinds {
        text = Regex::new(pattern).unwrap().replace_all(&text, kind).into_owned();
    }
    text
}
