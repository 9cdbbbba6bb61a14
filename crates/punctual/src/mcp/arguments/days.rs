//! Days of the week, as names or as numbers.

use punctual_core::invalid::Invalid;
use serde_json::Value;

use super::coerce;

const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Days as the API takes them: names. Numbers count from Monday, which is 1, to Sunday, which is 7 or 0.
pub(super) fn read(value: Value) -> Result<Vec<String>, Invalid> {
    let given = coerce::texts("days", value)?;
    let parts: Vec<&str> = given.iter().flat_map(|text| text.split([',', ';', ' ', '/'])).collect();
    let parts: Vec<&str> = parts.into_iter().map(str::trim).filter(|part| !is_filler(part)).collect();
    // Monday to Friday to a program that counts from 0, and Sunday to Thursday to one in which Sunday is 0.
    if parts == ["0", "1", "2", "3", "4"] {
        let problem = "0 to 4 means different days to different programs; write names such as [\"weekdays\"] or [\"sun\",\"mon\"]";
        return Err(Invalid::new("days", problem));
    }
    let mut days: Vec<String> = Vec::new();
    for part in parts {
        for day in one_or_range(part)? {
            if !days.contains(&day) {
                days.push(day);
            }
        }
    }
    Ok(days)
}

fn is_filler(part: &str) -> bool {
    matches!(part.to_lowercase().as_str(), "" | "and" | "und" | "&" | "on" | "every")
}

/// A day, or days from one to another such as `mon-fri`.
fn one_or_range(part: &str) -> Result<Vec<String>, Invalid> {
    let Some((from, to)) = part.split_once(['-', '–']) else { return Ok(vec![one(part)?]) };
    let place = |day: &str| {
        let name = one(day)?;
        let prefix = name.get(..3).unwrap_or(&name).to_lowercase();
        NAMES.iter().position(|known| *known == prefix).ok_or_else(|| wrong(part))
    };
    let (from, to) = (place(from)?, place(to)?);
    let n_days = (to + 7 - from) % 7 + 1;
    Ok((0..n_days).map(|n| NAMES[(from + n) % 7].to_owned()).collect())
}

fn one(part: &str) -> Result<String, Invalid> {
    match part.trim().parse::<u8>() {
        Ok(number @ 1..=7) => Ok(NAMES[usize::from(number) - 1].to_owned()),
        Ok(0) => Ok("sun".to_owned()),
        Ok(_) => Err(wrong(part)),
        // The API knows the names, and says which is wrong.
        Err(_) => Ok(part.trim().to_lowercase()),
    }
}

fn wrong(part: &str) -> Invalid {
    Invalid::new(
        "days",
        format!(
            "`{part}` is no day; write names such as [\"mon\",\"thu\"] or [\"weekdays\"], or 1 (Monday) to 7 (Sunday)"
        ),
    )
}
