//! A checker that never complains proves nothing. Here guarantees are broken on purpose: each break must be noticed, by the checker
//! whose business it is, within a few seeds; and the same worlds without the sabotage must pass.
//!
//! `cargo test -p punctual-testkit --test broken -- --nocapture` prints the table of breaks and of all checkers that notice each.

use std::collections::BTreeSet;
use std::sync::Mutex;

use punctual_testkit::broken::{Break, all};
use punctual_testkit::sim::check::CHECKERS;
use punctual_testkit::sim::{self, Options};

/// No break takes more worlds to be seen.
const SEEDS_MAX: u64 = 60;
/// So many are run in any case, for what the other checkers see.
const SEEDS_MIN: u64 = 4;

/// Breaks the world until the right checker complains; then says who did. The same seeds must pass unbroken.
fn noticed(broken: &Break) -> Result<String, String> {
    let Break { name, sabotage, world, noticed_by } = broken;
    let sabotaged = Options { sabotage: Some(sabotage.clone()), ..world.clone() };
    let (mut seen, mut noticed_at, mut others) = (BTreeSet::new(), None, Vec::new());
    for seed in 1..=SEEDS_MAX {
        if noticed_at.is_some() && seed > SEEDS_MIN {
            break;
        }
        // The same seed passes without the sabotage, so it is the sabotage that was noticed.
        sim::run(seed, world).map_err(|failure| format!("{name}: not even broken: {failure}"))?;
        if let Err(failure) = sim::run(seed, &sabotaged) {
            if failure.is_by(noticed_by) {
                noticed_at.get_or_insert(seed);
            }
            seen.extend(failure.violations.iter().map(|violation| violation.checker));
            others.push(failure.to_string());
        }
    }
    let Some(seed) = noticed_at else {
        let others = others.join("\n");
        return Err(format!("{name}: not noticed by `{noticed_by}` within {SEEDS_MAX} seeds; others said:\n{others}"));
    };
    seen.remove(noticed_by);
    let also: Vec<&str> = seen.into_iter().collect();
    Ok(format!("{name} | {} | {noticed_by} | {seed} | {}", world.n_nodes, also.join(", ")))
}

#[test]
fn every_break_is_noticed_by_the_checker_whose_business_it_is() {
    let breaks = Mutex::new(all().into_iter().enumerate().collect::<Vec<_>>());
    let told = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((index, broken)) = { breaks.lock().unwrap().pop() } {
                    let said = noticed(&broken);
                    told.lock().unwrap().push((index, said));
                }
            });
        }
    });
    let mut told = told.into_inner().unwrap();
    told.sort_by_key(|(index, _)| *index);
    println!("what is broken | nodes | noticed by | at seed | also by");
    told.iter().filter_map(|(_, said)| said.as_ref().ok()).for_each(|line| println!("{line}"));
    let missed: Vec<_> = told.into_iter().filter_map(|(_, said)| said.err()).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[test]
fn every_checker_has_a_break_that_it_must_notice() {
    let noticing: BTreeSet<&str> = all().iter().map(|broken| broken.noticed_by).collect();
    let every: BTreeSet<&str> = CHECKERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(noticing, every);
}
