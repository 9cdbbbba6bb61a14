//! Where a reminder goes, and whether anybody can receive it.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use common::{at, once, reminder};
use punctual_core::alert::VIA;
use punctual_core::reach::{DefaultChannel, ME, check, depends_on_user, route, warnings};
use punctual_core::reminder::{Address, Reminder};
use punctual_core::store::DeadAddress;

fn addresses(names: &[&str]) -> Vec<Address> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn to(names: &[&str]) -> Reminder {
    Reminder { to: addresses(names), ..reminder(once()) }
}

/// Calls these addresses dead.
fn dead(names: &[&str]) -> impl Fn(&Address) -> Option<DeadAddress> {
    let known = addresses(names);
    move |address| {
        let is_dead = known.contains(address);
        is_dead.then(|| DeadAddress { address: address.clone(), since: at(0), reason: "no such chat".into() })
    }
}

#[test]
fn a_reminders_own_addresses_come_first_then_the_users_each_once() {
    let chosen = DefaultChannel::chosen(Address::new("mail", "all"));
    let users = addresses(&["telegram:1", "sms:+1", "mail:ann"]);
    for (own, only, expect) in [
        (&[][..], false, &["telegram:1", "sms:+1", "mail:ann"][..]),
        (&["webhook:https://a"], false, &["webhook:https://a", "telegram:1", "sms:+1", "mail:ann"]),
        (&["sms:+1", "webhook:https://a"], false, &["sms:+1", "webhook:https://a", "telegram:1", "mail:ann"]),
        (&["sms:+1", "sms:+1"], true, &["sms:+1"]),
        (&["sms:+2", "telegram:1"], true, &["sms:+2", "telegram:1"]),
    ] {
        let asked = Reminder { only, ..to(own) };
        assert_eq!(route(&asked, &users, &chosen), addresses(expect), "{own:?}, only: {only}");
    }
    assert_eq!(route(&to(&["sms:+1"]), &[], &chosen), addresses(&["sms:+1"]), "an unknown user has no others");
    assert_eq!(route(&to(&[]), &[], &chosen), addresses(&["mail:all"]), "what was chosen is for everybody");
}

#[test]
fn the_console_that_nobody_chose_is_for_me_and_for_alerts() {
    let console = DefaultChannel::default();
    let of = |user: &str, via: &str| Reminder { user: user.into(), created_via: via.into(), ..to(&[]) };
    assert_eq!(route(&of("alice", "api"), &[], &console), []);
    assert_eq!(route(&of(ME, "cli"), &[], &console), addresses(&["console"]));
    assert_eq!(route(&of("admin", VIA), &[], &console), addresses(&["console"]));
    assert_eq!(route(&of(ME, "cli"), &addresses(&["sms:+1"]), &console), addresses(&["sms:+1"]));
}

#[test]
fn a_reminder_that_nobody_can_receive_is_refused() {
    let (console, chosen) = (DefaultChannel::default(), DefaultChannel::chosen(Address::new("console", "")));
    let nobody = |_: &Address| None;
    let invalid = check(&to(&[]), &[], &console, nobody).unwrap_err();
    assert_eq!(invalid.field, "to");
    for part in ["nobody can receive it", "`alice` has no addresses", "write `to`", "`addresses`", "`default_channel`"]
    {
        assert!(invalid.problem.contains(part), "{}", invalid.problem);
    }
    assert_eq!(check(&to(&[]), &[], &chosen, nobody), Ok(()));
    assert_eq!(check(&Reminder { user: ME.into(), ..to(&[]) }, &[], &console, nobody), Ok(()));
    assert_eq!(check(&to(&[]), &addresses(&["sms:+1"]), &console, nobody), Ok(()));
    assert_eq!(check(&to(&["sms:+1"]), &[], &console, nobody), Ok(()));
    let empty = Reminder { only: true, ..to(&[]) }.validate().unwrap_err();
    assert!(empty.field == "only" && empty.problem.contains("`to` is empty"), "{empty:?}");
}

#[test]
fn a_dead_address_is_a_warning_while_another_lives() {
    let console = DefaultChannel::default();
    let (both, users) = (to(&["sms:+1", "mail:ann"]), addresses(&["telegram:1"]));
    let is_taken = |reminder: &Reminder, users: &[Address], dead_ones: &[&str]| {
        check(reminder, users, &console, dead(dead_ones)).map_err(|invalid| (invalid.field, invalid.problem))
    };
    assert_eq!(is_taken(&both, &[], &["sms:+1"]), Ok(()));
    let said = warnings(&both, dead(&["sms:+1"]));
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].field, "to[0].address");
    assert!(said[0].problem.contains("no such chat"), "{said:?}");
    let all = ["sms:+1", "mail:ann"];
    assert_eq!(is_taken(&both, &[], &all).unwrap_err().0, "to[0].address");
    assert_eq!(is_taken(&both, &users, &all), Ok(()), "the user's come after");
    assert_eq!(is_taken(&Reminder { only: true, ..both.clone() }, &users, &all).unwrap_err().0, "to[0].address");
    let (field, problem) = is_taken(&to(&[]), &users, &["telegram:1"]).unwrap_err();
    assert!(field == "to" && problem.contains("every address of `alice` is dead"), "{problem}");

    assert!(depends_on_user(&to(&[]), dead(&[])) && depends_on_user(&both, dead(&all)));
    assert!(!depends_on_user(&both, dead(&["sms:+1"])), "one lives, whoever the user is");
    assert!(!depends_on_user(&Reminder { only: true, ..both }, dead(&all)));
}
