/** Exact JSON: reads, compares and writes values whose integers may be larger than a number can hold. */

/** A JSON value; an integer from 2^53 on is a bigint. */
export type Json = null | boolean | number | bigint | string | Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };

const SAFE_INTEGER = 2n ** 53n;
const TAG = "$integer";
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/gs;
const PAIRS = /[\uD800-\uDBFF][\uDC00-\uDFFF]/g;
const LONG_INTEGER = /^-?\d{16,}$/;

/** Returns the value of a JSON text. The suite writes large integers as `{"$integer": "…"}`. */
export function parseTagged(text: string): Json {
  // Reviving every value takes longer than parsing, and few texts need it.
  return text.includes(`"${TAG}"`) ? JSON.parse(text, untag) : JSON.parse(text);
}

/** Returns the value of a JSON text in which large integers are plain digits, without rounding them. */
export function parseExactly(text: string): Json {
  return parseTagged(text.replace(TOKEN, (token) => (LONG_INTEGER.test(token) ? `{"${TAG}":"${token}"}` : token)));
}

function untag(_: string, value: Json): Json {
  if (!isObject(value) || typeof value[TAG] !== "string") return value;
  const integer = BigInt(value[TAG]);
  return isUnsafe(integer) || integer === SAFE_INTEGER ? integer : Number(integer);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** Returns whether two values are equal; 1 equals 1.0, and the order of keys does not matter. */
export function isEqual(one: Json, other: Json): boolean {
  if (isNumber(one) && isNumber(other)) return isSameNumber(one, other);
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, i) => isEqual(value, other[i] as Json));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(one[name] as Json, other[name] as Json))
  );
}

function isSameNumber(one: number | bigint, other: number | bigint): boolean {
  if (typeof one === typeof other) return one === other;
  return !(one < other) && !(one > other); // the operators compare a number with a bigint exactly
}

/** Returns whether a value contains an integer that some languages cannot represent exactly. */
export function hasUnsafeInteger(value: Json): boolean {
  if (Array.isArray(value)) return value.some(hasUnsafeInteger);
  if (isObject(value)) return Object.values(value).some(hasUnsafeInteger);
  return typeof value === "bigint" && isUnsafe(value);
}

function isUnsafe(integer: bigint): boolean {
  return integer > SAFE_INTEGER || integer < -SAFE_INTEGER;
}

/** Returns a value on one line, for messages. */
export function formatJson(value: Json): string {
  return format(value, ", ", ": ", Object.entries);
}

/** Returns the JSON of which a digest is made: with sorted keys and without spaces. */
export function formatCanonically(value: Json): string {
  return format(value, ",", ":", (object) => Object.entries(object).sort(byCodePoints));
}

function byCodePoints([one]: [string, Json], [other]: [string, Json]): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)); // the order of UTF-8 is that of code points
}

function format(value: Json, comma: string, colon: string, list: (object: JsonObject) => [string, Json][]): string {
  if (isNumber(value)) return formatNumber(value);
  const inner = (item: Json) => format(item, comma, colon, list);
  if (Array.isArray(value)) return `[${value.map(inner).join(comma)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${list(value)
    .map(([name, item]) => JSON.stringify(name) + colon + inner(item))
    .join(comma)}}`;
}

function formatNumber(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isInteger(value)) return BigInt(value).toString();
  // As in Python, small numbers have an exponent with two digits.
  return Math.abs(value) < 1e-4 ? value.toExponential().replace(/-(\d)$/, "-0$1") : String(value);
}

/** Returns the number of characters; one outside the basic plane counts once. */
export function countCharacters(text: string): number {
  return text.length - (text.match(PAIRS)?.length ?? 0);
}
