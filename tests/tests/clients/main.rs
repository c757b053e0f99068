//! Clients that others' programs make of the OpenAPI document, used against a running system: what they stumble over is to be
//! changed in the document. The programs are those that `./dev test --clients` gets; nothing else runs this.

#![expect(clippy::unwrap_used, reason = "what a test needs and does not get fails it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proto::search::v1::CompanyRecord;
use serde_json::json;
use system_tests::{Account, Set, company, world};
use tempfile::TempDir;

/// Where the programs are.
#[expect(
    clippy::disallowed_methods,
    reason = "where programs are is told by the command that got them, and is no setting"
)]
fn programs(language: &str) -> PathBuf {
    let variable = format!("DS_TEST__CLIENTS_{language}");
    let folder = std::env::var_os(&variable);
    PathBuf::from(folder.unwrap_or_else(|| panic!("{variable} is not set: run ./dev test --clients")))
}

/// A folder with the tests in this language and the document, and what the tests are told.
struct Bench {
    folder: TempDir,
    settings: [(&'static str, String); 6],
}

impl Bench {
    /// Below `parent`, so that packages are found that are there.
    fn new(language: &str, parent: &Path) -> Self {
        let folder = tempfile::tempdir_in(parent).unwrap();
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/clients")
            .join(language);
        for entry in fs::read_dir(tests).unwrap() {
            let file = entry.unwrap();
            fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
        let set = Set::of((1..=7).map(numbered), []);
        let document = reqwest::blocking::get(format!("{}/openapi.json", set.account.base));
        fs::write(
            folder.path().join("openapi.json"),
            document.unwrap().bytes().unwrap(),
        )
        .unwrap();
        let slow = world().account();
        world().operator.set_rate(&slow.id, 1, 86_400);
        let _ = slow.companies(&json!({"limit": 1})).expect(200);
        let Account { jwt, key, base, .. } = set.account;
        let settings = [
            ("BASE_URL", base),
            ("API_KEY", key),
            ("JWT", jwt),
            ("POOR_KEY", world().poor_account().key),
            ("SLOW_KEY", slow.key),
            ("TAG", set.tag),
        ];
        Self { folder, settings }
    }

    /// Runs a program of that folder, which has to succeed.
    fn run(&self, programs: &Path, program: &str, arguments: &[&str]) {
        let ran = Command::new(programs.join(program))
            .args(arguments)
            .current_dir(self.folder.path())
            .envs(self.settings.iter().map(|(name, value)| (*name, value)))
            .env(
                "PATH",
                format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()),
            )
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = [ran.stdout, ran.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert!(ran.status.success(), "{program} {arguments:?}:\n{told}");
    }
}

fn numbered(number: u32) -> CompanyRecord {
    CompanyRecord {
        city: Some("Berlin".to_owned()),
        country: Some("DE".to_owned()),
        ..company(&number.to_string(), &format!("Company {number}"))
    }
}

#[test]
#[ignore = "needs programs that ./dev test --clients gets"]
fn clients_in_typescript_work() {
    let packages = programs("NODE");
    let bench = Bench::new("typescript", &packages);
    let run = |program: &str, arguments: &[&str]| {
        bench.run(&packages.join("node_modules/.bin"), program, arguments);
    };
    run("openapi-typescript", &["openapi.json", "--output", "schema.d.ts"]);
    run("openapi-ts", &[]);
    run("tsc", &["--project", "."]);
    run(
        "node",
        &["--test", "js/openapi-fetch.test.js", "js/hey-api.test.js"],
    );
}

#[test]
#[ignore = "needs programs that ./dev test --clients gets"]
fn a_client_in_python_works() {
    let programs = programs("PYTHON");
    let bench = Bench::new("python", &std::env::temp_dir());
    let run = |program: &str, arguments: &[&str]| bench.run(&programs, program, arguments);
    let files = ["--path", "openapi.json", "--output-path", "generated"];
    let generate = ["generate", "--meta", "none", "--fail-on-warning"];
    run("openapi-python-client", &[&generate[..], &files].concat());
    run("python", &["client_test.py"]);
}
