import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCanonically, isEqual, parseExactly } from "../dist/json.js";
import { escapeLine } from "../dist/printable.js";

test("large integers are read exactly, and only they", () => {
  const text = '{"n": 18446744073709551615, "s": "9007199254740993", "f": 0.1234567890123451, "i": 9007199254740991}';
  assert.deepEqual(parseExactly(text), {
    n: 18446744073709551615n,
    s: "9007199254740993",
    f: 0.1234567890123451,
    i: 9007199254740991,
  });
});

test("numbers are equal by value", () => {
  assert.ok(isEqual(1e22, 10n ** 22n));
  assert.ok(!isEqual(9007199254740992, 9007199254740993n));
  assert.ok(!isEqual(1, true));
  assert.ok(isEqual({ a: 1, b: [null] }, { b: [null], a: 1 }));
});

test("canonical JSON has sorted keys and one form of each number", () => {
  const value = parseExactly('{"\uffff": 1e22, "\u{1f600}": 1e-7, "a": [1.0, -0.0, 18446744073709551615, "é\\n"]}');
  const expected = '{"a":[1,0,18446744073709551615,"é\\n"],"\uffff":10000000000000000000000,"\u{1f600}":1e-07}';
  assert.equal(formatCanonically(value), expected);
});

test("text from elsewhere stays on one line, and is shortened in the middle", () => {
  assert.equal(escapeLine("a\n\u202e\u{e0001}b\x07"), "a\\n\\u202e\\U000e0001b\\x07");
  assert.equal(escapeLine("x".repeat(100), 20), `${"x".repeat(8)}…${"x".repeat(10)}`);
});
