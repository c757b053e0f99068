//! Whether a process can do its job now.

use std::sync::Arc;

use tokio::sync::watch;

/// The conditions that a process's readiness hangs on. Ready when all of them hold and it has not been told to stop.
#[derive(Clone, Debug)]
pub struct Readiness {
    state: Arc<watch::Sender<State>>,
}

#[derive(Clone, Debug, Default)]
struct State {
    conditions: Vec<(&'static str, bool)>,
    draining: bool,
}

impl State {
    fn is_ready(&self) -> bool {
        !self.draining && self.conditions.iter().all(|(_, holds)| *holds)
    }
}

/// One condition. Dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct Condition {
    state: Arc<watch::Sender<State>>,
    index: usize,
}

impl Default for Readiness {
    fn default() -> Self {
        Self {
            state: Arc::new(watch::Sender::new(State::default())),
        }
    }
}

impl Readiness {
    /// A further condition, which does not hold yet. The name is shown by `/readyz`.
    #[must_use]
    pub fn condition(&self, name: &'static str) -> Condition {
        let mut index = 0;
        self.state.send_modify(|state| {
            index = state.conditions.len();
            state.conditions.push((name, false));
        });
        Condition {
            state: Arc::clone(&self.state),
            index,
        }
    }

    /// Whether the process can do its job now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.state.borrow().is_ready()
    }

    /// What stands in the way, in words; empty when ready.
    #[must_use]
    pub fn obstacles(&self) -> Vec<&'static str> {
        let state = self.state.borrow();
        let missing = state
            .conditions
            .iter()
            .filter(|(_, holds)| !holds)
            .map(|(name, _)| *name);
        missing.chain(state.draining.then_some("told to stop")).collect()
    }

    /// Not ready for good: the process was told to stop.
    pub(crate) fn drain(&self) {
        self.state.send_modify(|state| state.draining = true);
    }

    /// The readiness now, then each change of it.
    pub(crate) fn changes(&self) -> Changes {
        Changes {
            states: self.state.subscribe(),
            last: None,
        }
    }
}

/// The readiness now, then each change of it.
pub(crate) struct Changes {
    states: watch::Receiver<State>,
    last: Option<bool>,
}

impl Changes {
    /// Waits for a readiness other than the last one told.
    pub(crate) async fn next(&mut self) -> bool {
        loop {
            let ready = self.states.borrow_and_update().is_ready();
            if self.last.replace(ready) != Some(ready) {
                return ready;
            }
            if self.states.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Condition {
    /// Whether it holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.state.borrow().conditions[self.index].1
    }

    /// Waits until it holds.
    pub async fn held(&self) {
        let mut states = self.state.subscribe();
        // This condition keeps the other end.
        let _ = states.wait_for(|state| state.conditions[self.index].1).await;
    }

    /// Says whether it holds.
    pub fn set(&self, holds: bool) {
        self.state.send_if_modified(|state| {
            let changed = state.conditions[self.index].1 != holds;
            state.conditions[self.index].1 = holds;
            changed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_when_all_conditions_hold_and_never_after_the_end_has_begun() {
        let readiness = Readiness::default();
        assert!(readiness.is_ready());
        let (one, two) = (readiness.condition("one"), readiness.condition("two"));
        one.set(true);
        assert_eq!(readiness.obstacles(), ["two"]);
        two.set(true);
        assert!(readiness.is_ready());
        readiness.drain();
        assert!(!readiness.is_ready());
        assert_eq!(readiness.obstacles(), ["told to stop"]);
    }

    #[tokio::test]
    async fn whoever_waits_for_a_condition_goes_on_once_it_holds() {
        let readiness = Readiness::default();
        let (one, two) = (readiness.condition("one"), readiness.condition("two"));
        let holds = std::pin::pin!(one.held());
        assert_eq!(futures::poll!(holds), std::task::Poll::Pending);
        let holds = one.held();
        two.set(true);
        let later = async { one.set(true) };
        tokio::join!(holds, later);
        one.held().await;
    }
}
