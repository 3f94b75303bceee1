import { expect, test } from "vitest";
import { createCoalescedRead } from "./coalesced-read.ts";

/** A read that is answered by hand. */
function manualRead() {
  const pending: { resolve: (value: number) => void; reject: (error: Error) => void }[] = [];
  let begun = 0;
  const read = createCoalescedRead(() => {
    begun++;
    return new Promise<number>((resolve, reject) => {
      pending.push({ resolve, reject });
    });
  });
  return { read, pending, begun: () => begun };
}

test("calls during a read wait for one that started later", async () => {
  const { read, pending, begun } = manualRead();
  const first = read();
  const later = [read(), read(), read()];
  expect(begun()).toBe(1);
  pending[0]!.resolve(1);
  expect(await first).toBe(1);
  await Promise.resolve();
  expect(begun()).toBe(2);
  const latest = read();
  pending[1]!.resolve(2);
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
  await Promise.resolve();
  pending[2]!.resolve(3);
  expect(await latest).toBe(3);
});

test("a failure reaches only the calls that waited for it", async () => {
  const { read, pending } = manualRead();
  const first = read();
  const second = read();
  pending[0]!.reject(new Error("lost"));
  await expect(first).rejects.toThrow("lost");
  pending[1]!.resolve(2);
  expect(await second).toBe(2);
});
