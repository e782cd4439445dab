//! The table of a node: a line `PORT RELAY` for each port of another node, in decimal digits.

/// The relay's port for a server's port, if it is in the table.
pub fn relay(table: &[u8], port: u16) -> Option<u16> {
    let (mut first, mut number) = (None, 0_u16);
    for byte in table {
        match byte {
            b' ' => {
                first = Some(number);
                number = 0;
            }
            b'\n' => {
                if first == Some(port) {
                    return Some(number);
                }
                (first, number) = (None, 0);
            }
            digit => {
                let value = u16::from(digit.wrapping_sub(b'0'));
                number = number.wrapping_mul(10).wrapping_add(value);
            }
        }
    }
    None
}
