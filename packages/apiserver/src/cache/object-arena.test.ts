import { expect, it } from "vitest";
import { randomNumbers } from "../storage/testing/random-numbers.ts";
import { CachedObject } from "./cached-object.ts";
import { ObjectArena } from "./object-arena.ts";

const entryOf = (number: number, revision: number, length = 1_000) => {
  const json = { apiVersion: "v1", kind: "Thing", metadata: { name: `thing-${number}` }, text: "x".repeat(length) };
  const value = Buffer.from(`${JSON.stringify(json)}\n{"secret":"s${number}-${revision}"}`);
  return { key: `/registry/a/b/things/${number}`, value, revision };
};

it("holds no more than twice what is present while most objects come and go and some stay", () => {
  const memory = new ObjectArena();
  const stay: CachedObject[] = [];
  const present: CachedObject[] = [];
  let [bytes, packedTo] = [0, 0];
  for (let number = 0; number < 10_000; number++) {
    const object = memory.add(entryOf(number, number + 1));
    if (number % 50 === 0) stay.push(object);
    else present.push(object);
    if (present.length > 200) memory.remove(present.shift() as CachedObject);
    if (!memory.isSparse) continue;
    memory.pack(stay.slice(packedTo, packedTo + 16));
    packedTo = packedTo + 16 < stay.length ? packedTo + 16 : 0;
  }
  for (const { storedBytes } of [...stay, ...present]) bytes += storedBytes;
  expect(stay).toHaveLength(200);
  expect(memory.heldBytes).toBeLessThan(2.2 * bytes);
  for (const [index, object] of stay.entries()) {
    expect(object.decode()).toMatchObject({ metadata: { name: `thing-${index * 50}` } });
    expect(object.decodeSealed()).toEqual({ secret: `s${index * 50}-${index * 50 + 1}` });
  }
});

it("shows the old object to readers who got it before it was moved or replaced", () => {
  const memory = new ObjectArena();
  const next = randomNumbers(7);
  const others = Array.from({ length: 2_000 }, (_, number) => memory.add(entryOf(number, 1, next(400))));
  const [first] = others;
  const before = first?.atRevision(9);
  const text = JSON.stringify(first?.decode());
  for (const object of others.slice(1)) memory.remove(object);
  memory.pack(others.slice(0, 1));
  const packed = first?.memory;
  for (let number = 0; number < 2_000; number++) memory.add(entryOf(number, 2));
  expect(before?.memory).not.toBe(packed);
  expect(JSON.stringify(first?.decode())).toBe(text);
  expect(JSON.stringify(before?.decode())).toBe(text.replace('"resourceVersion":"1"', '"resourceVersion":"9"'));
  expect(before?.decodeSealed()).toEqual(first?.decodeSealed());
});

it("lets objects of a page be moved out of it when few are left", () => {
  const memory = new ObjectArena();
  const entries = Array.from({ length: 400 }, (_, number) => entryOf(number, 1));
  const page = Buffer.concat(entries.map(({ value }) => value));
  const buffer = new Uint8Array(page).buffer;
  const read = CachedObject.entryReader();
  let start = 0;
  const objects = entries.map(({ key, value, revision }) => {
    start += value.length;
    return read({ key, value: Buffer.from(buffer, start - value.length, value.length), revision });
  });
  for (const object of objects) memory.keep(object);
  expect(memory.heldBytes).toBe(page.length);
  for (const object of objects.slice(10)) memory.remove(object);
  expect(memory.isSparse).toBe(true);
  memory.pack(objects.slice(0, 10));
  expect(memory.isSparse).toBe(false);
  expect(memory.heldBytes).toBeLessThan(page.length / 10);
  expect(objects[9]?.decode()).toMatchObject({ metadata: { name: "thing-9", resourceVersion: "1" } });
});

it("takes little where there is little", () => {
  const memory = new ObjectArena();
  memory.add(entryOf(1, 1));
  memory.add(entryOf(2, 2, 50));
  expect(memory.heldBytes).toBeLessThan(6_000);
});

it("keeps what is large by itself, and counts it", () => {
  const memory = new ObjectArena();
  const large = memory.add(entryOf(1, 1, 1 << 20));
  expect(large.memory.length).toBe(large.storedBytes);
  expect(memory.heldBytes).toBe(large.storedBytes);
  memory.remove(large);
  expect(memory.heldBytes).toBe(0);
});
