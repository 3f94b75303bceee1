// Errors as messages between threads: those that callers tell apart arrive as what they are.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { CredentialRefusedError } from "@postern/apiserver/authentication/authenticator";
import type { StoredEntry } from "@postern/apiserver/storage/storage";
import {
  FutureRevisionError,
  KeyExistsError,
  RevisionCompactedError,
  RevisionConflictError,
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "@postern/apiserver/storage/storage-errors";
import { PeerFault, StreamFault } from "@postern/apiserver/transport/api-response";
import { ObjectsError } from "../../apply-objects.ts";

type Common = { readonly message: string; readonly stack?: string | undefined; readonly cause?: WireError | undefined };

export type WireError = Common &
  (
    | ({ readonly type: "api" } & Pick<ApiError, "code" | "reason" | "details" | "metadata">)
    | ({ readonly type: "refused" } & Pick<CredentialRefusedError, "credentialId" | "annotations">)
    | { readonly type: "exists" | "conflict"; readonly key: string; readonly current: StoredEntry | undefined }
    | { readonly type: "compacted"; readonly oldest: number }
    | { readonly type: "future"; readonly current: number }
    | { readonly type: "too-large" | "unavailable" | "full" | "objects" | "peer" | "stream" }
    | { readonly type: "other"; readonly name: string }
  );

const LANGUAGE_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError];

/** Causes of causes say nothing more. */
const MAX_DEPTH = 3;

export function encodeError(error: unknown, depth = 0): WireError {
  if (!(error instanceof Error)) return { type: "other", name: "Error", message: String(error) };
  const { message, stack } = error;
  const cause = error.cause === undefined || depth >= MAX_DEPTH ? undefined : encodeError(error.cause, depth + 1);
  const common = { message, stack, cause };
  if (error instanceof ApiError) {
    const { code, reason, details, metadata } = error;
    return { type: "api", ...common, code, reason, details, metadata };
  }
  if (error instanceof CredentialRefusedError) {
    return { type: "refused", ...common, credentialId: error.credentialId, annotations: error.annotations };
  }
  if (error instanceof KeyExistsError) return { type: "exists", ...common, key: error.key, current: error.current };
  if (error instanceof RevisionConflictError) {
    return { type: "conflict", ...common, key: error.key, current: error.current };
  }
  if (error instanceof RevisionCompactedError) return { type: "compacted", ...common, oldest: error.oldest };
  if (error instanceof FutureRevisionError) return { type: "future", ...common, current: error.current };
  if (error instanceof ValueTooLargeError) return { type: "too-large", ...common };
  if (error instanceof StorageFullError) return { type: "full", ...common };
  if (error instanceof StorageUnavailableError) return { type: "unavailable", ...common };
  if (error instanceof ObjectsError) return { type: "objects", ...common };
  if (error instanceof PeerFault) return { type: "peer", ...common };
  if (error instanceof StreamFault) return { type: "stream", ...common };
  return { type: "other", ...common, name: error.name };
}

export function decodeError(wire: WireError): Error {
  const error = made(wire);
  // Messages are made by the constructors of some.
  error.message = wire.message;
  if (wire.stack !== undefined) error.stack = wire.stack;
  return error;
}

function made(wire: WireError): Error {
  const { message } = wire;
  const cause = wire.cause === undefined ? undefined : decodeError(wire.cause);
  const options = cause && { cause };
  switch (wire.type) {
    case "api": {
      const { code, reason, details, metadata } = wire;
      return new ApiError({ code, reason, message, metadata, ...(details && { details }), ...options });
    }
    case "refused":
      return new CredentialRefusedError(message, wire.credentialId, wire.annotations);
    case "exists":
      return new KeyExistsError(wire.key, wire.current);
    case "conflict":
      return new RevisionConflictError(wire.key, 0, wire.current);
    case "compacted":
      return new RevisionCompactedError(0, wire.oldest);
    case "future":
      return new FutureRevisionError(0, wire.current);
    case "too-large":
      return new ValueTooLargeError(message, options);
    case "unavailable":
      return new StorageUnavailableError(message, options);
    case "full":
      return new StorageFullError(message, options);
    case "objects":
      return new ObjectsError(message, options);
    case "peer":
      return new PeerFault(message, options);
    case "stream":
      return new StreamFault(message, options);
    case "other": {
      const { name } = wire;
      // The log of the front has those of the language, also where the client has gone.
      const error = new (LANGUAGE_ERRORS.find((each) => each.name === name) ?? Error)(message, options);
      error.name = name;
      return error;
    }
  }
}
