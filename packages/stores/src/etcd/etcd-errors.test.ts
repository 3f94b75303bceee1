import { Metadata, status } from "@grpc/grpc-js";
import {
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "@postern/apiserver/storage/storage-errors";
import { describe, expect, test } from "vitest";
import { hadNoEffect, isTransient, lastErrorIn, toStorageError } from "./etcd-errors.ts";
import { hasOrderedProgress } from "./etcd-version.ts";

const fault = (code: status, details: string) =>
  Object.assign(new Error(`${code} ${details}`), { code, details, metadata: new Metadata() });

describe("what etcd answers", () => {
  test.each([
    [status.UNAVAILABLE, "etcdserver: request timed out", StorageUnavailableError],
    [status.DEADLINE_EXCEEDED, "Deadline exceeded", StorageUnavailableError],
    [status.PERMISSION_DENIED, "etcdserver: permission denied", StorageUnavailableError],
    [status.UNAUTHENTICATED, "etcdserver: invalid auth token", StorageUnavailableError],
    [status.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", StorageFullError],
    [status.RESOURCE_EXHAUSTED, "etcdserver: too many requests", StorageUnavailableError],
    [status.INVALID_ARGUMENT, "etcdserver: request is too large", ValueTooLargeError],
    [status.RESOURCE_EXHAUSTED, "grpc: received message larger than max (16 vs. 2)", ValueTooLargeError],
  ])("status %s, %s, is told in the words of the port", (code, details, expected) => {
    const error = toStorageError(fault(code, details));
    expect(error.constructor).toBe(expected);
    // What etcd says is for the log.
    expect(error.message).not.toContain(details);
  });

  test.each([
    ["No connection established. Last error: ECONNREFUSED", true],
    ["etcdserver: no leader", true],
    ["etcdserver: leader changed", false],
    ["etcdserver: request timed out", false],
    ["Connection dropped", false],
  ])("unavailable because of %s: that nothing was done is certain: %s", (details, certain) => {
    expect(hadNoEffect(fault(status.UNAVAILABLE, details))).toBe(certain);
    expect(isTransient(fault(status.UNAVAILABLE, details))).toBe(true);
  });

  test.each([
    [
      "No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ",
      "connect ECONNREFUSED 127.0.0.1:1",
    ],
    ["etcdserver: no leader", "etcdserver: no leader"],
  ])("%s is told a person as %s", (details, told) => {
    expect(lastErrorIn(fault(status.UNAVAILABLE, details))).toBe(told);
  });

  test("a write that may have happened is never sent again", () => {
    expect(hadNoEffect(fault(status.DEADLINE_EXCEEDED, "Deadline exceeded"))).toBe(false);
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
