import {
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "@postern/apiserver/storage/storage-errors";
import { describe, expect, test } from "vitest";
import { hadNoEffect, isTransient, toStorageError } from "./etcd-errors.ts";
import { GrpcError, grpcStatus } from "./grpc/grpc-error.ts";
import { hasOrderedProgress } from "./watch/etcd-version.ts";

describe("errors of etcd", () => {
  test.each([
    [grpcStatus.unavailable, "etcdserver: request timed out", StorageUnavailableError],
    [grpcStatus.deadlineExceeded, "Deadline exceeded", StorageUnavailableError],
    [grpcStatus.permissionDenied, "etcdserver: permission denied", StorageUnavailableError],
    [grpcStatus.unauthenticated, "etcdserver: invalid auth token", StorageUnavailableError],
    [grpcStatus.resourceExhausted, "etcdserver: mvcc: database space exceeded", StorageFullError],
    [grpcStatus.resourceExhausted, "etcdserver: too many requests", StorageUnavailableError],
    [grpcStatus.invalidArgument, "etcdserver: request is too large", ValueTooLargeError],
    [grpcStatus.resourceExhausted, "grpc: received message larger than max (16 vs. 2)", ValueTooLargeError],
  ])("status %s, %s, becomes an error of the port", (code, details, expected) => {
    const error = toStorageError(new GrpcError(code, details));
    expect(error.constructor).toBe(expected);
    // The message of etcd belongs in the log.
    expect(error.message).not.toContain(details);
  });

  test.each([
    [new GrpcError(grpcStatus.unavailable, "connect ECONNREFUSED 127.0.0.1:1", { isUnsent: true }), true],
    [new GrpcError(grpcStatus.unavailable, "etcdserver: no leader"), true],
    [new GrpcError(grpcStatus.unavailable, "etcdserver: leader changed"), false],
    [new GrpcError(grpcStatus.unavailable, "etcdserver: request timed out"), false],
    [new GrpcError(grpcStatus.unavailable, "the connection was lost"), false],
  ])("unavailable because of %s: that nothing was done is certain: %s", (error, certain) => {
    expect(hadNoEffect(error)).toBe(certain);
    expect(isTransient(error)).toBe(true);
  });

  test("a write that may have happened is never sent again", () => {
    expect(hadNoEffect(new GrpcError(grpcStatus.deadlineExceeded, "Deadline exceeded"))).toBe(false);
  });
});

test.each([
  ["3.4.23", false],
  ["3.4.31", true],
  ["3.5.12", false],
  ["3.5.13", true],
  ["3.6.0", true],
  ["4.0.0", true],
  ["", false],
])("etcd %s answers progress requests in order: %s", (version, expected) => {
  expect(hasOrderedProgress(version)).toBe(expected);
});
