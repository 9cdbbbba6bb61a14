//! Today, as a person uses it.

use serde_json::json;

use super::tell;
use super::world::World;

#[tokio::test]
async fn a_sentence_becomes_a_reminder_that_fires_on_the_open_page() {
    let (_home, server) = World::empty();
    tell("today/createAndFire", &server, json!({})).await;
}

#[tokio::test]
async fn a_sentence_that_says_no_time_is_refused_in_words_and_stays_to_be_mended() {
    let (_home, server) = World::empty();
    tell("today/notUnderstood", &server, json!({})).await;
}

#[tokio::test]
async fn while_somebody_types_the_time_is_marked_and_said_back_once() {
    let (_home, server) = World::empty();
    tell("today/understoodWhileTyping", &server, json!({})).await;
}

#[tokio::test]
async fn a_question_is_answered_on_the_page_in_every_way() {
    let (_home, server) = World::empty();
    tell("answer/everyWay", &server, json!({})).await;
}

#[tokio::test]
async fn raw_detail_of_a_run_is_one_click_away_also_without_a_script() {
    let (_home, server) = World::empty();
    tell("answer/raw", &server, json!({})).await;
}

#[tokio::test]
async fn a_question_that_was_answered_elsewhere_goes_away_by_itself() {
    let (_home, server) = World::empty();
    tell("answer/elsewhere", &server, json!({})).await;
}

#[tokio::test]
async fn what_happened_earlier_today_is_unfolded_where_it_stands() {
    let (_home, server) = World::empty();
    tell("answer/earlier", &server, json!({})).await;
}

#[tokio::test]
async fn every_run_of_a_full_day_is_reached() {
    let (_home, server) = World::empty();
    tell("answer/full", &server, json!({})).await;
}

#[tokio::test]
async fn the_whole_day_can_be_done_without_a_mouse() {
    let (_home, server) = World::empty();
    tell("keys/journey", &server, json!({})).await;
}

#[tokio::test]
async fn keys_add_a_reminder_lead_to_pages_and_list_themselves() {
    let (_home, server) = World::empty();
    tell("keys/alone", &server, json!({})).await;
}

#[tokio::test]
async fn the_palette_leads_to_pages() {
    let (_home, server) = World::empty();
    tell("keys/palette", &server, json!({})).await;
}

#[tokio::test]
async fn the_palette_finds_reminders_while_a_sentence_is_read() {
    let (_home, server) = World::empty();
    tell("keys/search", &server, json!({})).await;
}

#[tokio::test]
async fn the_palette_names_what_can_be_done_and_finds_people() {
    let (_home, server) = World::empty();
    tell("keys/paletteActs", &server, json!({})).await;
}

#[tokio::test]
async fn the_week_has_every_run_and_what_is_far_away_is_seen() {
    let (_home, server) = World::empty();
    tell("today/week", &server, json!({})).await;
}

#[tokio::test]
async fn focus_is_always_seen_and_goes_in_order() {
    let world = World::with(3).await;
    tell("keys/focus", &world.server, json!({})).await;
}

#[tokio::test]
async fn without_a_script_somebody_signs_in_adds_a_reminder_and_signs_out() {
    let (_home, server) = World::empty();
    tell("plain/all", &server, json!({})).await;
}
