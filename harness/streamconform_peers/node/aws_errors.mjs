// Errors of the event-stream reader that Amazon's SDKs share.

// Returns the error for bytes that the reader rejected, null if `error` is of another kind: rejected bytes raise a nameless Error or
// a RangeError, and a lost connection raises an error with a code.
export function readRejected(error, message) {
  const isRejected = ["Error", "RangeError"].includes(error?.name) && !error.code;
  return isRejected ? { type: "protocol", message: message.slice(0, 2000) } : null;
}
