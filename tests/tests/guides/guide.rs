//! The steps of a guide: what is typed, and what is answered.

/// A block of shell commands and the block of text that it answers.
pub(crate) struct Step {
    pub(crate) commands: String,
    /// Empty if nothing is answered.
    pub(crate) answer: String,
}

/// Reads the fenced blocks of a document: each `sh` is a step, and a `text` or `json` that follows is its answer. What is
/// meant to be read and not typed is in blocks of other names.
pub(crate) fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("```") else {
            continue;
        };
        let block = lines.by_ref().take_while(|line| *line != "```");
        let block = block.collect::<Vec<_>>().join("\n");
        match (name, steps.last_mut()) {
            ("sh", _) => steps.push(Step {
                commands: block,
                answer: String::new(),
            }),
            ("text" | "json", Some(step)) => {
                assert!(step.answer.is_empty(), "two answers to\n{}", step.commands);
                step.answer = block;
            }
            _ => {}
        }
    }
    steps
}

#[test]
fn blocks_are_steps_with_their_answers() {
    let document = "a\n```sh\none\ntwo\n```\nb\n```text\n1\n```\n```sh\nthree\n```\n```rust\nx\n```\n";
    let steps = steps(document);
    let read = steps
        .iter()
        .map(|step| (step.commands.as_str(), step.answer.as_str()));
    assert_eq!(read.collect::<Vec<_>>(), [("one\ntwo", "1"), ("three", "")]);
}
