// Lists by label, which are found by an index where labels are asked for again and again, beside lists that look at every object.

import fc from "fast-check";
import { expect, it } from "vitest";
import { gadget, serveGadgets } from "../../testing/gadgets.ts";

const SEED = Number(process.env["TEST_SEED"]);
const COUNT = 260;
/** One value of one label, and beside it what selects the same and has no index, since it names two values. */
const SELECTORS: readonly (readonly [string, string])[] = [
  ["app=a", "app in (a,none)"],
  ["app==b", "app in (b,none)"],
  ["app in (c)", "app in (c,none)"],
  ["app=a,tier=x", "app in (a,none),tier in (none,x)"],
  ["app=a,tier!=x", "app in (a,none),tier!=x"],
  ["app=none", "app in (none,nothing)"],
  ["constructor=x", "constructor in (none,x)"],
  ["toString=x", "toString in (none,x)"],
];

const labels = fc.record(
  {
    app: fc.constantFrom("a", "b", "c"),
    tier: fc.constantFrom("x", "y"),
    constructor: fc.constantFrom("x", "y"),
  },
  { requiredKeys: [] },
);
const change = fc.tuple(fc.nat(COUNT - 1), fc.option(labels));

it(`shows the same pages, whatever is written meanwhile (seed ${SEED})`, { timeout: 60_000 }, async () => {
  await using served = await serveGadgets();
  const { client } = served;
  const nameOf = (at: number): string => `g${String(at).padStart(3, "0")}`;
  const create = (at: number, given: object) =>
    client.send("POST", "", gadget({ name: nameOf(at), labels: { ...given } }));
  const [first] = fc.sample(fc.array(labels, { minLength: COUNT, maxLength: COUNT }), { seed: SEED, numRuns: 1 });
  for (const [at, given] of (first ?? []).entries()) expect((await create(at, given)).status).toBe(201);

  const pagesOf = async (selector: string, limit: number): Promise<readonly (readonly string[])[]> => {
    const pages: string[][] = [];
    for (let token = ""; ; ) {
      const query = new URLSearchParams({ labelSelector: selector, limit: String(limit), continue: token });
      const { status, json } = await client.send("GET", `?${query}`);
      expect(status).toBe(200);
      pages.push(json.items.map(({ metadata }: any) => `${metadata.name}@${metadata.resourceVersion}`));
      token = json.metadata.continue ?? "";
      if (token === "") return pages;
    }
  };
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 12 }), fc.constantFrom(0, 1, 7, 50), async (changes, limit) => {
      for (const [at, given] of changes) {
        const path = `/${nameOf(at)}`;
        const current = (await client.send("GET", path)).json;
        if (current.kind === "Status") await create(at, given ?? {});
        else if (given === null) expect((await client.send("DELETE", path)).status).toBe(200);
        else {
          const metadata = { ...current.metadata, labels: { ...given } };
          expect((await client.send("PUT", path, { ...current, metadata })).status).toBe(200);
        }
      }
      for (const [indexed, looked] of SELECTORS) {
        expect([indexed, await pagesOf(indexed, limit)]).toEqual([indexed, await pagesOf(looked, limit)]);
      }
    }),
    { seed: SEED, numRuns: 12 },
  );
});
