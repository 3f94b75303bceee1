// Errors of etcd as a caller sees them, and those that guarantee that nothing was done.
// Source of the texts: etcd api/v3rpc/rpctypes/error.go

import {
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "@postern/apiserver/storage/storage-errors";
import { GrpcError, grpcStatus } from "./grpc/grpc-error.ts";

const NO_LEADER = "etcdserver: no leader";
const NO_SPACE = "etcdserver: mvcc: database space exceeded";
const COMPACTED = "etcdserver: mvcc: required revision has been compacted";
const FUTURE = "etcdserver: mvcc: required revision is a future revision";

export function isCompacted(error: unknown): boolean {
  return error instanceof GrpcError && error.code === grpcStatus.outOfRange && error.details === COMPACTED;
}

export function isFutureRevision(error: unknown): boolean {
  return error instanceof GrpcError && error.code === grpcStatus.outOfRange && error.details === FUTURE;
}

/** The user is known, but not allowed to do this. */
export function isPermissionDenied(error: unknown): boolean {
  return error instanceof GrpcError && error.code === grpcStatus.permissionDenied;
}

/** Another endpoint, or the same one later, may succeed. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof GrpcError)) return false;
  const { code } = error;
  return code === grpcStatus.unavailable || code === grpcStatus.deadlineExceeded || code === grpcStatus.internal;
}

/**
 * The call was refused before it could have an effect, so that even a write can be retried: there was no connection,
 * or the member has no leader and said so before it proposed anything.
 */
export function hadNoEffect(error: unknown): boolean {
  if (!(error instanceof GrpcError) || error.code !== grpcStatus.unavailable) return false;
  return error.isUnsent || error.details === NO_LEADER;
}

/** The error of the storage port for a failed call. */
export function toStorageError(error: unknown): Error {
  if (!(error instanceof GrpcError)) return error instanceof Error ? error : new StorageUnavailableError(String(error));
  const { code, details } = error;
  switch (code) {
    case grpcStatus.unauthenticated:
    case grpcStatus.permissionDenied:
      return new StorageUnavailableError("etcd refuses the server's credentials", { cause: error });
    case grpcStatus.invalidArgument:
      if (details.includes("too large")) return new ValueTooLargeError("etcd refuses the value: too large");
      break;
    case grpcStatus.resourceExhausted:
      if (details === NO_SPACE) return new StorageFullError("the space quota of etcd is exceeded", { cause: error });
      if (details.includes("larger than max")) return new ValueTooLargeError("etcd refuses the value: too large");
      break;
  }
  return new StorageUnavailableError("etcd cannot serve now", { cause: error });
}

export function closedError(): StorageUnavailableError {
  return new StorageUnavailableError("the store is closed");
}
