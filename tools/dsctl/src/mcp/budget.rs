//! What a session may spend, and has.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::told;

/// The credits of a session. A call is known by its idempotency key: it is charged once, however often it is repeated (as long
/// as the service keeps such keys: 24 h), so it counts once.
pub(super) struct Budget {
    /// Most credits in all.
    most: Option<u64>,
    /// What each call has cost, or may have.
    counted: HashMap<String, u64>,
}

impl Budget {
    /// Nothing is spent yet.
    pub(super) fn new(most: Option<u64>) -> Self {
        Self {
            most,
            counted: HashMap::new(),
        }
    }

    /// What a model is told of it before it calls.
    pub(super) fn rule(&self) -> String {
        match self.most {
            Some(most) => format!(
                "This session may spend {most} credits in all; each answer's `session` tells what is left. Let `maxCredits` be \
                 what the call costs: a call whose answer is lost counts with all of it."
            ),
            None => String::new(),
        }
    }

    fn spent(&self) -> u64 {
        self.counted.values().sum()
    }

    fn left(&self) -> Option<u64> {
        Some(self.most?.saturating_sub(self.spent()))
    }

    /// What a call that asks for this much may cost; none if it asks for something and nothing is left.
    pub(super) fn allow(&self, key: &str, asked: u64) -> Option<u64> {
        let Some(left) = self.left() else {
            return Some(asked);
        };
        // What it counts with already is not charged once more.
        let own = self.counted.get(key).copied().unwrap_or_default();
        let allowed = asked.min(left.saturating_add(own));
        (allowed > 0 || asked == 0).then_some(allowed)
    }

    /// Counts what a call has cost, or may have.
    pub(super) fn count(&mut self, key: &str, credits: u64) {
        self.counted.insert(key.to_owned(), credits);
    }

    /// The answer to a call that nothing is left for.
    pub(super) fn refusal(&self) -> Value {
        let most = self.most.unwrap_or_default();
        told(
            "BUDGET_EXHAUSTED",
            &format!(
                "this session may spend {most} credits, and has: nothing was asked. Only its user can give it more, by starting \
                 `dsctl mcp` with another --budget"
            ),
        )
    }

    /// What is spent and what is left.
    pub(super) fn told(&self) -> Value {
        match (self.most, self.left()) {
            (Some(most), Some(left)) => json!({"budget": most, "spent": self.spent(), "left": left}),
            _ => json!({"spent": self.spent()}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_may_cost_what_is_left_at_most() {
        let mut budget = Budget::new(Some(5));
        assert_eq!(budget.allow("a", 3), Some(3));
        budget.count("a", 3);
        assert_eq!(budget.allow("b", 9), Some(2));
        budget.count("b", 2);
        assert_eq!(budget.allow("c", 1), None);
        assert_eq!(budget.allow("c", 0), Some(0));
        assert_eq!(budget.told(), json!({"budget": 5, "spent": 5, "left": 0}));
        assert!(budget.refusal()["message"].as_str().unwrap().contains("--budget"));
    }

    #[test]
    fn a_repeat_counts_once() {
        let mut budget = Budget::new(Some(10));
        // Its answer was lost, so it may have cost all that it was allowed.
        budget.count("a", 10);
        assert_eq!(budget.allow("b", 1), None);
        assert_eq!(budget.allow("a", 10), Some(10));
        budget.count("a", 1);
        assert_eq!(budget.told(), json!({"budget": 10, "spent": 1, "left": 9}));
    }

    #[test]
    fn without_a_budget_it_is_told_what_was_spent() {
        let mut budget = Budget::new(None);
        assert_eq!(budget.allow("a", u64::MAX), Some(u64::MAX));
        budget.count("a", 2);
        assert_eq!(budget.told(), json!({"spent": 2}));
        assert_eq!(budget.rule(), "");
    }
}
