//! The stylesheet, the scripts and the icons. The names of the first hold their version, so a browser keeps each for ever. What a browser asks for
//! by a name that it remembers is looked at again each day, and the service worker every time.

use std::sync::LazyLock;

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::IntoResponse;
use axum::routing::get;
use sha2::{Digest, Sha256};

use crate::Web;

const CSS: &str = include_str!("../assets/page.css");
const JS: &str = include_str!("../assets/page.js");
const PUSH: &str = include_str!("../assets/push.js");

const SCRIPT: &str = "text/javascript; charset=utf-8";
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const A_DAY: &str = "public, max-age=86400";

/// Where the stylesheet is.
pub(crate) static CSS_PATH: LazyLock<String> = LazyLock::new(|| named("page", "css", CSS));
/// Where the script is.
pub(crate) static JS_PATH: LazyLock<String> = LazyLock::new(|| named("page", "js", JS));
/// Where the script is that makes this browser an address.
pub(crate) static PUSH_PATH: LazyLock<String> = LazyLock::new(|| named("push", "js", PUSH));

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route(&CSS_PATH, asset("text/css; charset=utf-8", FOR_EVER, CSS.as_bytes()))
        .route(&JS_PATH, asset(SCRIPT, FOR_EVER, JS.as_bytes()))
        .route(&PUSH_PATH, asset(SCRIPT, FOR_EVER, PUSH.as_bytes()))
        // It speaks for the pages beneath its own path, so it stands at the root.
        .route("/sw.js", asset(SCRIPT, "no-cache", include_bytes!("../assets/sw.js")))
        .route(
            "/manifest.webmanifest",
            asset("application/manifest+json", A_DAY, include_bytes!("../assets/manifest.webmanifest")),
        )
        .route("/icon.svg", asset("image/svg+xml", A_DAY, include_bytes!("../assets/icon.svg")))
        .route("/icon-192.png", asset("image/png", A_DAY, include_bytes!("../assets/icon-192.png")))
        .route("/icon-512.png", asset("image/png", A_DAY, include_bytes!("../assets/icon-512.png")))
}

fn asset(kind: &'static str, kept: &'static str, bytes: &'static [u8]) -> axum::routing::MethodRouter<Web> {
    let headers = [(CONTENT_TYPE, kind), (CACHE_CONTROL, kept), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    get(move || async move { (headers, bytes).into_response() })
}

fn named(name: &str, ending: &str, text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let version: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("/assets/{name}-{version}.{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_are_small() {
        assert!(JS.len() <= 15_000, "{} bytes", JS.len());
        assert!(PUSH.len() <= 3_000, "{} bytes", PUSH.len());
    }

    #[test]
    fn the_manifest_names_icons_that_are_there() {
        let manifest: serde_json::Value = serde_json::from_str(include_str!("../assets/manifest.webmanifest")).unwrap();
        for icon in manifest["icons"].as_array().unwrap() {
            let file = format!("{}/assets{}", env!("CARGO_MANIFEST_DIR"), icon["src"].as_str().unwrap());
            let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
            if icon["type"] == "image/png" {
                // The width stands behind the signature and the name of the first chunk.
                let width = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
                assert_eq!(icon["sizes"], format!("{width}x{width}"), "{file}");
            }
        }
    }
}

#[cfg(test)]
mod contrast {
    use std::collections::HashMap;

    use super::CSS;

    /// The colours of the nth `:root` of the stylesheet: light, then dark.
    fn tokens(nth: usize) -> HashMap<&'static str, [f64; 3]> {
        let root = CSS.split(":root {").nth(nth + 1).expect("the stylesheet has it").split('}').next().unwrap();
        let declarations =
            root.split(';').filter_map(|one| one.rsplit_once("--").map(|(_, one)| one)?.split_once(": #"));
        let channel = |hex: &str, at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        declarations.map(|(name, hex)| (name, [channel(hex, 0), channel(hex, 2), channel(hex, 4)])).collect()
    }

    /// As WCAG 2.2 reckons it.
    fn ratio(a: [f64; 3], b: [f64; 3]) -> f64 {
        let light = |[r, g, b]: [f64; 3]| 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
        let (a, b) = (light(a), light(b));
        a.max(b) / a.min(b)
    }

    #[test]
    fn every_colour_of_text_can_be_read_on_every_ground() {
        for nth in [0, 1] {
            let tokens = tokens(nth);
            for ground in ["paper", "card", "act-soft", "wait-soft", "bad-soft", "good-soft"] {
                for text in ["ink", "soft", "faint", "act", "good", "wait", "bad", "hand"] {
                    let is_used =
                        matches!(ground, "paper" | "card") || matches!(text, "ink" | "soft" | "act" | "wait" | "bad");
                    let ratio = ratio(tokens[ground], tokens[text]);
                    assert!(!is_used || ratio >= 4.5, "{text} on {ground}, {nth}: {ratio:.2}");
                }
            }
            for ground in ["paper", "card"] {
                assert!(ratio(tokens[ground], tokens["edge"]) >= 3.0, "the edge of a field on {ground}, {nth}");
            }
        }
    }
}
