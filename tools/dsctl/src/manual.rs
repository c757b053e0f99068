//! `dsctl completions` and `dsctl man`: made from the command line itself, so that they tell what it understands.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;

/// `dsctl completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dsctl completions bash > ~/.local/share/bash-completion/completions/dsctl
  dsctl completions zsh > ~/.zfunc/_dsctl       # with ~/.zfunc in fpath
  dsctl completions fish > ~/.config/fish/completions/dsctl.fish")]
pub(crate) struct Completions {
    /// For which shell
    shell: Shell,
}

/// `dsctl man`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dsctl man | man -l -
  dsctl man ~/.local/share/man/man1       # a page for each command: man dsctl-search")]
pub(crate) struct Man {
    /// Folder to write a page for each command into; without it, the page of dsctl goes to standard output
    folder: Option<PathBuf>,
}

impl Completions {
    /// Writes the script.
    pub(crate) fn run(&self, mut command: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "dsctl", &mut script);
        print(&script)
    }
}

impl Man {
    /// Writes the pages.
    pub(crate) fn run(&self, command: Command) -> Result<(), Failure> {
        let Some(folder) = &self.folder else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command)
                .render(&mut page)
                .map_err(Failure::Output)?;
            return print(&page);
        };
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .map_err(|error| Failure::File {
                path: folder.display().to_string(),
                error,
                hint: "dsctl man takes a folder that it can write to",
            })
    }
}

fn print(text: &[u8]) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output
        .write_all(text)
        .and_then(|()| output.flush())
        .map_err(Failure::Output)
}
