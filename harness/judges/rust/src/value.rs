//! JSON values: compared as the Python judge compares them, and written as it writes them.

use serde_json::{Map, Value};

/// The only key of an object that stands for an integer that a 64-bit number cannot hold, as decimal text.
pub(crate) const INTEGER: &str = "$integer";
/// The limit up to which every language represents integers exactly.
const MAX_SAFE_INTEGER: u64 = 1 << 53;
/// Two costs that differ by at most 1e-9 USD are equal; amounts are counted in units of 1e-22 USD.
const COST_TOLERANCE: i128 = 10_i128.pow(13);
const COST_DIGITS: usize = 22;

/// Returned for members that are absent.
pub(crate) static NULL: Value = Value::Null;

/// Returns whether two values are equal: numbers by value, booleans not as numbers, objects in any order.
pub(crate) fn is_equal(one: &Value, other: &Value) -> bool {
    if let (Some(one), Some(other)) = (number_text(one), number_text(other)) {
        return one == other;
    }
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).map_or(false, |other| is_equal(value, other)))
        }
        _ => one == other,
    }
}

/// Returns a number's exact decimal text, which is the same for 1 and 1.0, or None if it is no number.
pub(crate) fn number_text(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            // All digits, because an integer may be as large; adding 0 turns -0 into 0.
            Some(float) if float.fract() == 0.0 => Some(format!("{:.0}", float + 0.0)),
            Some(float) => Some(float.to_string()),
            None => Some(number.to_string()),
        },
        Value::Object(object) if object.len() == 1 => object.get(INTEGER)?.as_str().map(str::to_owned),
        _ => None,
    }
}

/// Returns an integer, or None if the value is none.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    number_text(value)?.parse().ok()
}

/// Returns the value for an integer.
pub(crate) fn from_integer(text: &str) -> Value {
    match text.parse::<u64>() {
        Ok(number) => number.into(),
        Err(_) => Value::Object(Map::from_iter([(INTEGER.to_owned(), text.into())])),
    }
}

/// Returns whether a value contains an integer that some languages cannot represent.
pub(crate) fn has_unsafe_integer(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_unsafe_integer),
        Value::Number(number) if number.is_f64() => false,
        Value::Object(object) if !object.contains_key(INTEGER) => object.values().any(has_unsafe_integer),
        _ => number_text(value).map_or(false, |text| {
            text.parse::<i128>().map_or(true, |number| number.unsigned_abs() > MAX_SAFE_INTEGER.into())
        }),
    }
}

/// Returns whether two values are the same amount of money, as decimal text, or both null.
pub(crate) fn is_equal_amount(one: &Value, other: &Value) -> bool {
    if one.is_null() || other.is_null() {
        return one.is_null() && other.is_null();
    }
    match (one.as_str().and_then(parse_amount), other.as_str().and_then(parse_amount)) {
        (Some(one), Some(other)) => (one - other).abs() <= COST_TOLERANCE,
        _ => false,
    }
}

/// Returns an amount in units of 1e-22 USD. It has at most 15 digits before the point and 30 after it.
pub(crate) fn parse_amount(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits =
        |part: &str, most| (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole, 15) || !is_digits(fraction, 30) {
        return None;
    }
    let fraction: String = fraction.chars().chain(std::iter::repeat('0')).take(COST_DIGITS).collect();
    Some(sign * format!("{whole}{fraction}").parse::<i128>().ok()?)
}

/// Returns JSON with spaces after `,` and `:`, as messages show values.
pub(crate) fn to_json(value: &Value) -> String {
    write_json(value, ", ", ": ")
}

/// Returns JSON with sorted keys, no spaces, and `1` for `1.0`, of which digests are made.
pub(crate) fn to_canonical_json(value: &Value) -> String {
    write_json(value, ",", ":")
}

fn write_json(value: &Value, comma: &str, colon: &str) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| write_json(item, comma, colon)).collect();
            format!("[{}]", items.join(comma))
        }
        Value::Object(object) if number_text(value).is_none() => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by_key(|(key, _)| key.as_str());
            let members: Vec<_> = members
                .into_iter()
                .map(|(key, value)| format!("{}{colon}{}", write_text(key), write_json(value, comma, colon)))
                .collect();
            format!("{{{}}}", members.join(comma))
        }
        Value::String(text) => write_text(text),
        _ => number_text(value).unwrap_or_else(|| value.to_string()),
    }
}

fn write_text(text: &str) -> String {
    Value::from(text).to_string()
}
