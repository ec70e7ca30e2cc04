// Errors of libraries that Speakeasy generates; their base class has an error response's status and body.

import { parseArguments } from "./normal.mjs";

// Returns the provider's error, or null if `error` is not one. A `Rejected`, or the `rawValue` of an SDKValidationError, means
// that the library rejected the bytes that it received.
export function readSpeakeasyError(error, Base, Rejected) {
  if (error instanceof Rejected || error?.rawValue !== undefined)
    return { type: "protocol", message: error.message.slice(0, 500) };
  if (!(error instanceof Base) || !(error.statusCode >= 400)) return null;
  const body = parseArguments(error.body);
  const details = body?.error && typeof body.error === "object" ? body.error : body;
  const type = details?.type ?? details?.metadata?.error_type ?? details?.code ?? null; // OpenRouter has it in `metadata`
  return {
    type: type === null ? null : String(type),
    message: details?.message ?? error.message,
    status: error.statusCode,
  };
}
