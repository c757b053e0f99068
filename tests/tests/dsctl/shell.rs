//! Completions and manual pages, in the programs that they are for.

use std::fs;
use std::process::Command;

use system_tests::world;

use crate::{printed, stdout};

#[test]
fn completions_complete_in_bash() {
    let script = printed(world().stack.dsctl().unwrap().args(["completions", "bash"]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dsctl.bash");
    fs::write(&path, script).unwrap();
    for (words, expected) in [
        ("dsctl sea", "search"),
        ("dsctl search companies --max", "--max-credits"),
        ("dsctl keys re", "revoke"),
        ("dsctl completions z", "zsh"),
    ] {
        let tried = r#"
            set -eu
            source "$1"
            complete -p dsctl > /dev/null
            COMP_WORDS=($2); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); COMPREPLY=()
            cur="${COMP_WORDS[COMP_CWORD]}"; prev="${COMP_WORDS[COMP_CWORD-1]}"
            _dsctl dsctl "$cur" "$prev" || true
            printf '%s\n' "${COMPREPLY[@]}"
        "#;
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", tried, "bash"]).arg(&path).arg(words);
        let completed = printed(&mut bash);
        assert!(
            completed.lines().any(|line| line == expected),
            "{words}: {completed}"
        );
    }
    for (shell, beginning) in [("zsh", "#compdef dsctl"), ("fish", "# Print an optspec")] {
        let script = printed(world().stack.dsctl().unwrap().args(["completions", shell]));
        assert!(script.starts_with(beginning), "{script}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    printed(world().stack.dsctl().unwrap().arg("man").arg(&pages));
    for page in [
        "dsctl.1",
        "dsctl-search.1",
        "dsctl-login.1",
        "dsctl-credits-grant.1",
    ] {
        let text = fs::read_to_string(pages.join(page)).unwrap();
        for part in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"] {
            assert!(text.contains(part), "{page} has no {part}");
        }
    }
    let whole = printed(world().stack.dsctl().unwrap().arg("man"));
    assert!(
        whole.contains("search \\-\\-all stopped before its end"),
        "{whole}"
    );
    // Where there is a man, it understands them all.
    for page in fs::read_dir(&pages).unwrap() {
        let path = page.unwrap().path();
        let rendered = Command::new("man")
            .args(["--warnings", "-l"])
            .arg(&path)
            .env("MANWIDTH", "100")
            .output();
        let Ok(rendered) = rendered else { return };
        assert!(
            rendered.status.success() && stdout(&rendered).contains("SYNOPSIS"),
            "{rendered:?}"
        );
        assert_eq!(
            String::from_utf8_lossy(&rendered.stderr),
            "",
            "{}",
            path.display()
        );
    }
}
