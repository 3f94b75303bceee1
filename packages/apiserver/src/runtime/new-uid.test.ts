import { expect, it } from "vitest";
import { newUid } from "./new-uid.ts";
import { systemRuntime } from "./system-runtime.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it("makes UUIDs of version 4 of the bytes of a random source, whatever they are", () => {
  const of = (byte: number) => newUid({ bytes: (length) => new Uint8Array(length).fill(byte) });
  expect([of(0x00), of(0xff)]).toEqual([
    "00000000-0000-4000-8000-000000000000",
    "ffffffff-ffff-4fff-bfff-ffffffffffff",
  ]);
});

it("asks a source that makes UUIDs itself, which gives another each time", () => {
  const uids = Array.from({ length: 1_000 }, () => newUid(systemRuntime.random));
  expect(uids.filter((uid) => !UUID.test(uid))).toEqual([]);
  expect(new Set(uids).size).toBe(1_000);
});
