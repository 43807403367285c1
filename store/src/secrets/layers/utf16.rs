//! UTF-16, with and without a mark of its byte order.

/// Bytes that are looked at to tell the order without a mark.
const SAMPLE: usize = 512;

/// Which byte of a unit comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Order {
    Little,
    Big,
}

/// Tells whether bytes are UTF-16, and in which order.
pub(in super::super) fn order(bytes: &[u8]) -> Option<Order> {
    match bytes {
        [0xff, 0xfe, ..] => return Some(Order::Little),
        [0xfe, 0xff, ..] => return Some(Order::Big),
        _ => {}
    }
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    if sample.len() < 8 {
        return None;
    }
    let zeros = |first: usize| {
        sample
            .iter()
            .skip(first)
            .step_by(2)
            .filter(|b| **b == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    let half = sample.len() / 2;
    if odd * 10 >= half * 8 && even * 10 <= half {
        Some(Order::Little)
    } else if even * 10 >= half * 8 && odd * 10 <= half {
        Some(Order::Big)
    } else {
        None
    }
}

/// Returns the text in UTF-8; what is no character becomes a replacement.
pub(in super::super) fn decode(bytes: &[u8], order: Order) -> Vec<u8> {
    let units = bytes.chunks_exact(2).map(|pair| match order {
        Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
        Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
    });
    let mut text = Vec::with_capacity(bytes.len() / 2);
    let mut utf8 = [0; 4];
    for character in char::decode_utf16(units) {
        let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
        if character != '\u{feff}' {
            text.extend(character.encode_utf8(&mut utf8).as_bytes());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_are_told_with_and_without_a_mark() {
        let text = "name = value, ä\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(
            (order(&little), order(&big)),
            (Some(Order::Little), Some(Order::Big))
        );
        assert_eq!(decode(&little, Order::Little), text.as_bytes());
        assert_eq!(
            decode(&[&b"\xfe\xff"[..], &big].concat(), Order::Big),
            text.as_bytes()
        );
        assert_eq!(order(text.as_bytes()), None);
        assert_eq!(order(&[0; 64]), None);
    }
}
