//! `search --all`: every row once, every page paid once, whatever happens on the way.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use proto::billing::v1::ledger_entry::Cause;
use system_tests::{Account, world};

use crate::relay::{Fate, Relay};
use crate::{companies, dsctl, printed, refused, stderr, stdout};

/// How many charges the ledger of an account has.
fn charges(account: &Account) -> usize {
    let entries = world().operator.ledger(&account.id);
    entries
        .iter()
        .filter(|entry| matches!(entry.cause, Some(Cause::Charge(_))))
        .count()
}

/// `dsctl search companies --all`, five rows a page.
fn walk(account: &Account, word: &str, more: &[&str]) -> Command {
    let mut command = dsctl(account);
    command.args([
        "search",
        "companies",
        "--company-name",
        word,
        "--sort",
        "name",
        "--limit",
        "5",
        "--all",
    ]);
    command.args(more);
    command
}

/// The names in a CSV file of ids and names.
fn names(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.split_terminator("\r\n");
    assert_eq!(lines.next(), Some("id,name"));
    lines
        .map(|line| line.split_once(',').unwrap().1.to_owned())
        .collect()
}

#[test]
fn killed_again_and_again_it_loses_and_doubles_nothing_and_pays_each_page_once() {
    let (word, expected) = companies(48);
    let account = world().account();
    let relay = Relay::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("found.csv");
    let file = path.to_str().unwrap();
    let run = || {
        walk(
            &account,
            &word,
            &["--base-url", &relay.base, "--field", "name", "-o", file],
        )
    };

    let fates = [
        (0, Fate::Unasked),
        (0, Fate::Unanswered),
        (2, Fate::Unanswered),
        (0, Fate::Unanswered),
        (1, Fate::Unasked),
        (2, Fate::Unanswered),
    ];
    for (after, fate) in fates {
        relay.keep_back(after, fate);
        let mut killed = run().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        relay.wait();
        let command_line = fs::read(format!("/proc/{}/cmdline", killed.id()));
        if let Ok(command_line) = command_line {
            assert!(!String::from_utf8_lossy(&command_line).contains(&account.key));
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        // As if it had died while it wrote rows.
        let mut torn = fs::OpenOptions::new().append(true).open(&path).unwrap();
        torn.write_all(b"half of a ro").unwrap();
    }
    let output = run().output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("goes on after"), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("48 rows; cost 10,"),
        "{}",
        stderr(&output)
    );

    assert_eq!(names(&path), expected);
    assert_eq!(charges(&account), 10);
    assert_eq!(world().operator.balance(&account.id), 100_000 - 10);
    let passed = relay.passed();
    let mut keys: Vec<&str> = passed
        .iter()
        .map(|passed| passed.idempotency_key.as_str())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 10, "one key for each page");
    // Each answer that was kept back was asked for again, and told to be a repeat.
    assert_eq!(passed.iter().filter(|passed| passed.replayed).count(), 4);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    // It is done: the same again would overwrite it.
    let (status, told) = refused(&mut run());
    assert_eq!(status, 2);
    assert!(told.contains("--overwrite"), "{told}");
}

#[test]
fn what_is_lost_on_the_way_is_asked_for_again_under_the_same_key() {
    let (word, expected) = companies(12);
    let account = world().account();
    // Two requests at once, then one a second.
    world().operator.set_rate(&account.id, 2, 2);
    let relay = Relay::start();
    let mut command = walk(&account, &word, &["--base-url", &relay.base, "--json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let rows: Vec<serde_json::Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        rows.iter()
            .map(|row| row["name"].as_str().unwrap())
            .collect::<Vec<_>>(),
        expected
    );
    let passed = relay.passed();
    let statuses: Vec<u16> = passed.iter().map(|passed| passed.status).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    // It has waited as long as it was told: nothing is refused twice.
    assert!(
        !statuses.windows(2).any(|pair| pair == [429, 429]),
        "{statuses:?}"
    );
    for pair in passed.windows(2).filter(|pair| pair[0].status == 429) {
        assert_eq!(pair[0].idempotency_key, pair[1].idempotency_key);
    }
    assert!(stderr(&output).contains("waits 1 s"), "{}", stderr(&output));
    assert_eq!(charges(&account), 3);
}

#[test]
fn a_budget_ends_it_and_more_of_it_goes_on() {
    let (word, expected) = companies(23);
    let account = world().account();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("found.csv");
    let file = path.to_str().unwrap();
    let run = |budget: &str| {
        walk(
            &account,
            &word,
            &["--field", "name", "-o", file, "--max-credits", budget],
        )
    };
    let (status, told) = refused(&mut run("2"));
    assert_eq!(status, 3);
    assert!(
        told.contains("--max-credits 2") && told.contains("10 rows are in"),
        "{told}"
    );
    assert_eq!(names(&path), expected[..10]);
    assert_eq!(refused(&mut run("2")).0, 3);
    assert_eq!(charges(&account), 2);

    // Another search, or another size of its pages, does not go into the same file.
    let (status, told) =
        refused(walk(&account, &word, &["-o", file, "--max-credits", "9"]).args(["--website", "x"]));
    assert_eq!(status, 2);
    assert!(told.contains("another search"), "{told}");

    printed(&mut run("5"));
    assert_eq!(names(&path), expected);
    assert_eq!(charges(&account), 5);
}

#[test]
fn without_credits_it_stops_and_goes_on_once_there_are_some() {
    let (word, expected) = companies(11);
    let account = world().poor_account();
    world().operator.grant(&account.id, 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("found.csv");
    let mut run = walk(
        &account,
        &word,
        &["--field", "name", "-o", path.to_str().unwrap()],
    );
    let (status, told) = refused(&mut run);
    assert_eq!(status, 3);
    assert!(
        told.contains("INSUFFICIENT_CREDITS") && told.contains("top up"),
        "{told}"
    );
    world().operator.grant(&account.id, 1);
    printed(&mut run);
    assert_eq!(names(&path), expected);
}

#[test]
fn what_is_refused_before_it_begins_leaves_nothing_behind() {
    let account = world().account();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("found.csv");
    let (status, told) = refused(
        dsctl(&account)
            .args(["search", "people", "--all", "--sort", "nme", "-o"])
            .arg(&path),
    );
    assert_eq!(status, 1);
    assert!(told.contains("sort.field"), "{told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(charges(&account), 0);
}

#[test]
fn nothing_but_words_goes_to_standard_error_without_a_terminal() {
    let (word, _) = companies(6);
    let account = world().account();
    let output = walk(&account, &word, &["--csv"]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(stdout(&output).matches("\r\n").count(), 7);
    assert_eq!(stderr(&output), "6 rows; cost 2, balance 99,998\n");
}
