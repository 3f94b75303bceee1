// Name generation when random names are taken.

import { afterEach, beforeEach, expect, it } from "vitest";
import { type Gadgets, gadget, serveGadgets } from "../../testing/gadgets.ts";

/** The same bytes again and again, and others once it was asked for them more than `changesAfter` times. */
let changesAfter: number;
let calls: number;
const random = {
  bytes(length: number): Uint8Array {
    calls++;
    return new Uint8Array(length).fill(calls > changesAfter ? 7 : 0);
  },
};

let gadgets: Gadgets;
beforeEach(async () => {
  changesAfter = Number.POSITIVE_INFINITY;
  calls = 0;
  gadgets = await serveGadgets({ random });
});
afterEach(() => gadgets[Symbol.asyncDispose]());

const create = () => gadgets.client.send("POST", "", gadget({ generateName: "g-" }));

it("tries again with another name, and gives up with 409 that says when to come back (C-12)", async () => {
  const first = await create();
  expect(first.status).toBe(201);
  const callsOfOne = calls;
  calls = 0;
  expect(await create()).toMatchObject({
    status: 409,
    json: {
      reason: "AlreadyExists",
      message: `gadgets.example.com "${first.json.metadata.name}" already exists, the server was not able to generate a unique name for the object`,
      details: { name: first.json.metadata.name, retryAfterSeconds: 1 },
    },
  });
  // The first name and those after it; a uid is made for each object, too.
  expect(calls).toBeGreaterThanOrEqual(8);
  changesAfter = calls + callsOfOne;
  const third = await create();
  expect(third.status).toBe(201);
  expect(third.json.metadata.name).not.toBe(first.json.metadata.name);
});
