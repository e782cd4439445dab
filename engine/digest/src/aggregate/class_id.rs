//! Formats class IDs for reports.

/// The ID of a class: its key as 32 hexadecimal digits.
pub fn id(key: u128) -> String {
    format!("{key:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_thirty_two_digits() {
        assert_eq!(id(0), "0".repeat(32));
        assert_eq!(id(0xab << 64), "00000000000000ab0000000000000000");
    }
}
