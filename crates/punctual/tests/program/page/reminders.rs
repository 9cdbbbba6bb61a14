//! Reminders and people, as somebody who looks after many uses their pages.

use serde_json::json;

use super::tell;
use super::world::World;

#[tokio::test]
async fn a_reminder_is_edited_in_its_list_and_a_refused_edit_keeps_what_was_typed() {
    let (_home, server) = World::empty();
    tell("reminders/editInPlace", &server, json!({})).await;
}

#[tokio::test]
async fn what_was_cancelled_or_paused_comes_back_with_undo() {
    let (_home, server) = World::empty();
    tell("reminders/cancelAndUndo", &server, json!({})).await;
}

#[tokio::test]
async fn a_list_is_searched_while_somebody_types_and_its_address_can_be_shared() {
    let (_home, server) = World::empty();
    tell("reminders/search", &server, json!({})).await;
}

#[tokio::test]
async fn the_same_is_done_to_many_at_once() {
    let (_home, server) = World::empty();
    tell("reminders/many", &server, json!({})).await;
}

#[tokio::test]
async fn a_late_answer_to_a_search_changes_nothing() {
    let (_home, server) = World::empty();
    tell("reminders/slowSearch", &server, json!({})).await;
}

#[tokio::test]
async fn what_is_over_is_sent_again_instead_of_edited_and_what_waits_has_its_chip() {
    let (_home, server) = World::empty();
    tell("reminders/over", &server, json!({})).await;
}

#[tokio::test]
async fn a_list_of_ones_own_says_how_many_there_are_in_all() {
    let (_home, server) = World::empty();
    tell("reminders/counted", &server, json!({})).await;
}

#[tokio::test]
async fn two_who_edit_one_reminder_do_not_overwrite_each_other() {
    let (_home, server) = World::empty();
    tell("reminders/race", &server, json!({})).await;
}

#[tokio::test]
async fn addresses_are_sorted_with_the_mouse_and_with_keys() {
    let (_home, server) = World::empty();
    tell("people/sortAddresses", &server, json!({})).await;
}

#[tokio::test]
async fn two_who_change_one_person_do_not_overwrite_each_other() {
    let (_home, server) = World::empty();
    tell("people/race", &server, json!({})).await;
}
