// What the answers of etcd mean for a caller, and which of them leave no doubt that nothing was done.
// Source of the texts: etcd api/v3rpc/rpctypes/error.go

import { type ServiceError, status } from "@grpc/grpc-js";
import {
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "@postern/apiserver/storage/storage-errors";

const NO_LEADER = "etcdserver: no leader";
const NO_SPACE = "etcdserver: mvcc: database space exceeded";
const COMPACTED = "etcdserver: mvcc: required revision has been compacted";
const FUTURE = "etcdserver: mvcc: required revision is a future revision";

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && typeof error.code === "number" && "details" in error;
}

export function isCompacted(error: unknown): boolean {
  return isServiceError(error) && error.code === status.OUT_OF_RANGE && error.details === COMPACTED;
}

export function isFutureRevision(error: unknown): boolean {
  return isServiceError(error) && error.code === status.OUT_OF_RANGE && error.details === FUTURE;
}

/** The user is known, and may not do this. */
export function isPermissionDenied(error: unknown): boolean {
  return isServiceError(error) && error.code === status.PERMISSION_DENIED;
}

/** Another endpoint, or the same one later, may well answer. */
export function isTransient(error: unknown): boolean {
  if (!isServiceError(error)) return false;
  const { code } = error;
  return code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED || code === status.INTERNAL;
}

/**
 * The call was refused before it could have any effect, so that even a write may be sent again: grpc-js had no connection to send it
 * on, or the member has no leader and says so before it proposes anything.
 */
export function hadNoEffect(error: unknown): boolean {
  if (!isServiceError(error) || error.code !== status.UNAVAILABLE) return false;
  return error.details === NO_LEADER || error.details.startsWith("No connection established");
}

/** What a person is told of a call that failed: grpc-js wraps the one thing that went wrong into its own words. */
export function lastErrorIn({ details }: ServiceError): string {
  const [, last] = details.split("Last error: ", 2);
  const at = last?.indexOf(". Resolution note:") ?? -1;
  return last === undefined || at < 1 ? details : last.slice(0, at).replace(/^Error: /, "");
}

/** The error of the storage port for what a call ended with. */
export function toStorageError(error: unknown): Error {
  if (!isServiceError(error)) return error instanceof Error ? error : new StorageUnavailableError(String(error));
  const { code, details } = error;
  switch (code) {
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
      return new StorageUnavailableError("etcd refuses the server's credentials", { cause: error });
    case status.INVALID_ARGUMENT:
      if (details.includes("too large")) return new ValueTooLargeError("etcd refuses the value: too large");
      break;
    case status.RESOURCE_EXHAUSTED:
      if (details === NO_SPACE) return new StorageFullError("etcd has used up its space quota", { cause: error });
      if (details.includes("larger than max")) return new ValueTooLargeError("etcd refuses the value: too large");
      break;
  }
  return new StorageUnavailableError("etcd cannot serve now", { cause: error });
}

export function closedError(): StorageUnavailableError {
  return new StorageUnavailableError("the store is closed");
}
