//! Whether both systems answer the same.

use uuid::Uuid;

use super::classes::Class;
use super::measure::System;
use super::progress::tell;
use super::report::ClassFigures;
use crate::BoxError;

/// Asks both systems each search, and tells where they differ.
pub(super) async fn compared(
    class: &Class,
    ours: &System,
    theirs: &System,
) -> Result<ClassFigures, BoxError> {
    tell(&format!("{}: comparing", class.name));
    let mut totals = Vec::new();
    let mut different = (0, 0);
    for question in &class.questions {
        let (mine, other) = (ours.ask(question).await?, theirs.ask(question).await?);
        if mine.total != other.total {
            different.0 += 1;
            let (mine, other) = (mine.total, other.total);
            tell(&format!(
                "  {mine} by us, {other} by Postgres: {:?} {:?}",
                question.query, question.values
            ));
        } else if mine.ids != other.ids {
            different.1 += 1;
            let first = mine
                .ids
                .iter()
                .zip(&other.ids)
                .position(|(mine, other)| mine != other);
            let at = |ids: &[Uuid]| first.and_then(|first| ids.get(first).copied());
            tell(&format!(
                "  other rows, first {:?} by us, {:?} by Postgres, at {first:?}: {:?} {:?}",
                at(&mine.ids),
                at(&other.ids),
                question.query,
                question.values
            ));
        }
        totals.push(mine.total);
    }
    totals.sort_unstable();
    let largest = totals.last().copied().unwrap_or(0);
    Ok(ClassFigures {
        name: class.name,
        selective: class.selective,
        searches: class.questions.len(),
        totals: (totals.get(totals.len() / 2).copied().unwrap_or(0), largest),
        different,
        ways: Vec::new(),
    })
}
