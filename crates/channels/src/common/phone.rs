//! Phone numbers.

use punctual_core::channel::AddressRule;
use punctual_core::invalid::Invalid;

/// Refuses a text that is no phone number as E.164 writes it: a plus, the country's code, and no more than 15 digits in all.
///
/// There is one way to write a number, so that one number is one address.
pub(crate) fn check(field: &str, number: &str) -> Result<(), Invalid> {
    let digits = number.strip_prefix('+').unwrap_or_default();
    let right = (7..=15).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    if right {
        return Ok(());
    }
    Err(Invalid::new(field, NO_NUMBER))
}

const NO_NUMBER: &str = "is no phone number: write + and the country's code, digits only, such as +4915112345678";

/// The same rule for a database.
pub(crate) fn rule() -> AddressRule {
    AddressRule::matching(r"\+[1-9][0-9]{6,14}", NO_NUMBER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_with_a_country_pass() {
        for good in ["+14155552345", "+4915112345678", "+3851234567", "+123456789012345", "+2901234"] {
            check("address", good).unwrap();
        }
        for bad in [
            "",
            "+",
            "4915112345678",
            "004915112345678",
            "+49 151 12345678",
            "+49-151",
            "+0123456789",
            "+1234567890123456",
            "+123456",
            "+4915a12345678",
            "+٤٩١٥١١٢٣٤٥",
            "tel:+14155552345",
            "+14155552345\n",
        ] {
            let invalid = check("address", bad).unwrap_err();
            assert!(invalid.to_string().starts_with("address: is no phone number: "), "{bad}");
        }
    }
}
