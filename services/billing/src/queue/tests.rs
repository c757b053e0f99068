use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;

/// So many of this account's, numbered on from there.
fn push_all(queue: &mut Queue<&'static str, u32>, account: &'static str, numbers: std::ops::Range<u32>) {
    for number in numbers {
        assert_eq!(queue.push(account, number), None);
    }
}

fn take(queue: &mut Queue<&'static str, u32>, at_most: usize) -> Vec<u32> {
    let group = queue.take(at_most, true).unwrap();
    for account in group.accounts {
        queue.finish(account, group.is_apart);
    }
    group.items
}

#[test]
fn who_sends_much_does_not_make_others_wait() {
    let mut queue = Queue::new(2_000);
    push_all(&mut queue, "greedy", 0..1_000);
    push_all(&mut queue, "modest", 1_000..1_001);
    // The one that is alone in its line goes with the next group, whatever is before it.
    let group = take(&mut queue, 100);
    assert_eq!(group.len(), 100);
    assert!(group.contains(&1_000));
    assert_eq!(group[..3], [0, 1, 2], "in the order in which they came");
}

#[test]
fn a_group_is_shared_out_evenly_and_not_left_half_empty() {
    let mut queue = Queue::new(2_000);
    push_all(&mut queue, "a", 0..100);
    push_all(&mut queue, "b", 100..200);
    push_all(&mut queue, "c", 200..205);
    let group = take(&mut queue, 45);
    let of = |numbers: std::ops::Range<u32>| group.iter().filter(|number| numbers.contains(number)).count();
    assert_eq!((of(0..100), of(100..200), of(200..205)), (20, 20, 5));
}

#[test]
fn more_accounts_than_a_group_holds_take_turns() {
    let accounts = ["a", "b", "c", "d", "e"];
    let mut queue = Queue::new(100);
    for (account, number) in accounts.into_iter().zip(0..) {
        push_all(&mut queue, account, number * 10..number * 10 + 2);
    }
    assert_eq!(take(&mut queue, 2), [0, 10]);
    assert_eq!(take(&mut queue, 2), [20, 30]);
    assert_eq!(take(&mut queue, 2), [1, 40]);
    assert_eq!(take(&mut queue, 4), [11, 21, 31, 41]);
    assert!(queue.is_empty());
}

#[test]
fn where_there_is_no_room_the_longest_line_is_cut() {
    let mut queue = Queue::new(4);
    push_all(&mut queue, "greedy", 0..4);
    assert_eq!(queue.push("greedy", 4), Some(4));
    assert_eq!(queue.push("modest", 10), Some(3));
    assert_eq!(queue.push("modest", 11), Some(2));
    assert_eq!(queue.push("modest", 12), Some(12), "both have as many");
    assert_eq!(
        queue.push("third", 20),
        Some(if queue.lines["greedy"].waiting.len() == 1 {
            1
        } else {
            11
        })
    );
    assert_eq!(queue.take(10, true).unwrap().items.len(), 4);
}

#[test]
fn what_is_put_back_comes_first_and_alone_and_only_for_who_can_wait() {
    let mut queue = Queue::new(100);
    push_all(&mut queue, "held", 0..3);
    push_all(&mut queue, "free", 10..13);
    let group = queue.take(4, true).unwrap();
    assert_eq!(group.items, [0, 1, 10, 11]);
    push_all(&mut queue, "held", 3..4);
    queue.put_back(&"held", vec![0, 1]);
    queue.finish("held", true);
    queue.finish("free", false);
    let group = queue.take(100, false).unwrap();
    assert_eq!((group.items, group.is_apart), (vec![12], false));
    assert!(queue.take(100, false).is_none(), "nobody could wait");
    let group = queue.take(100, true).unwrap();
    assert_eq!((group.items, group.is_apart), (vec![0, 1, 2, 3], true));
    assert!(queue.is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Push {
        account: u8,
    },
    Take {
        at_most: usize,
        can_wait: bool,
    },
    /// The oldest group comes back: whether its first account's charges could not be done.
    Finish {
        held: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..5_u8).prop_map(|account| Step::Push { account: account * account / 3 }),
        2 => (1..8_usize, any::<bool>()).prop_map(|(at_most, can_wait)| Step::Take { at_most, can_wait }),
        2 => any::<bool>().prop_map(|held| Step::Finish { held }),
    ];
    proptest::collection::vec(step, 1..200)
}

proptest! {
    /// Nothing is lost, doubled or out of its account's order; an account is in one group at a time; no group is empty
    /// or too large, none is smaller than it could be, and none leaves an account out that was there before another.
    #[test]
    fn everything_goes_once_and_in_order(steps in steps()) {
        const ROOM: usize = 20;
        let mut queue = Queue::new(ROOM);
        let mut model: BTreeMap<u8, VecDeque<usize>> = BTreeMap::new();
        let mut out: VecDeque<Group<u8, (u8, usize)>> = VecDeque::new();
        let mut busy = HashSet::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push { account } => {
                    let waiting: usize = model.values().map(VecDeque::len).sum();
                    let own = model.get(&account).map_or(0, VecDeque::len);
                    let longest = model.values().map(VecDeque::len).max().unwrap_or(0);
                    let displaced = queue.push(account, (account, number));
                    model.entry(account).or_default().push_back(number);
                    match displaced {
                        None => prop_assert!(waiting < ROOM),
                        Some((whose, latest)) => {
                            prop_assert!(waiting >= ROOM);
                            let line = model.get_mut(&whose).unwrap();
                            prop_assert_eq!(line.pop_back(), Some(latest));
                            if whose == account {
                                prop_assert!(own + 1 >= longest);
                            } else {
                                prop_assert_eq!(line.len() + 1, longest);
                            }
                        }
                    }
                }
                Step::Take { at_most, can_wait } => {
                    let free: usize = model
                        .iter()
                        .filter(|(account, _)| !busy.contains(*account))
                        .map(|(_, line)| line.len())
                        .sum();
                    let Some(group) = queue.take(at_most, can_wait) else {
                        prop_assert!(!can_wait || free == 0);
                        continue;
                    };
                    prop_assert!(!group.items.is_empty() && group.items.len() <= at_most);
                    prop_assert!(!group.is_apart || (can_wait && group.accounts.len() == 1));
                    for account in &group.accounts {
                        prop_assert!(busy.insert(*account), "it was taken already");
                    }
                    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
                    for (account, number) in &group.items {
                        prop_assert!(group.accounts.contains(account));
                        prop_assert_eq!(model.get_mut(account).unwrap().pop_front(), Some(*number));
                        *counts.entry(*account).or_default() += 1;
                    }
                    // Who still waits got no less than anybody else, give or take the rest of the division.
                    for account in &group.accounts {
                        if !model[account].is_empty() {
                            prop_assert_eq!(group.items.len(), at_most, "there was room");
                            let most = counts.values().max().copied().unwrap_or(0);
                            prop_assert!(counts.get(account).copied().unwrap_or(0) + group.accounts.len() >= most);
                        }
                    }
                    out.push_back(group);
                }
                Step::Finish { held } => {
                    let Some(group) = out.pop_front() else { continue };
                    for (place, account) in group.accounts.iter().enumerate() {
                        busy.remove(account);
                        let is_held = held && place == 0 && !group.is_apart;
                        if is_held {
                            let own = |item: &&(u8, usize)| item.0 == *account;
                            let back: Vec<_> = group.items.iter().filter(own).copied().collect();
                            for (_, number) in back.iter().rev() {
                                model.get_mut(account).unwrap().push_front(*number);
                            }
                            queue.put_back(account, back);
                        }
                        queue.finish(*account, is_held);
                    }
                }
            }
            let waiting: usize = model.values().map(VecDeque::len).sum();
            prop_assert_eq!(queue.is_empty(), waiting == 0);
        }
    }
}
