import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { describe, expect, test, vi } from "vitest";
import { createMemoryStorage } from "../storage/memory/memory-storage.ts";
import type { Revision } from "../storage/storage.ts";
import { randomNumbers } from "../storage/testing/random-numbers.ts";
import { Subscriber, start, turn, VIEW, value } from "./testing/watch-cache-fixture.ts";

describe("random history", () => {
  const seed = Number(process.env["TEST_SEED"]);

  test(`subscribers that join at random revisions see exactly the suffix (TEST_SEED=${seed})`, async () => {
    const next = randomNumbers(seed);
    const storage = createMemoryStorage();
    const { view } = await start({ storage, historyLimit: 1 + next(60) });
    const history: { revision: Revision; key: string; line: string }[] = [];
    const model = new Map<string, Revision>();
    const prefixes = [VIEW, `${VIEW}a/`, `${VIEW}ab/`, `${VIEW}a/3`];
    const subscribers: { from: Revision; prefix: string; subscriber: Subscriber }[] = [];
    for (let step = 0; step < 600; step++) {
      const key = `${VIEW}${["a", "ab", "b"][next(3)]}/${next(5)}`;
      const at = model.get(key);
      const name = key.slice(VIEW.length);
      if (at !== undefined && next(3) === 0) {
        const revision = await storage.delete(key, at);
        model.delete(key);
        history.push({ revision, key, line: `delete ${name}@${revision}` });
      } else {
        const revision =
          at === undefined ? await storage.create(key, value(name)) : await storage.update(key, value(name), at);
        model.set(key, revision);
        history.push({ revision, key, line: `put ${name}@${revision}` });
      }
      expect(view.size).toBe(model.size);
      if (next(5) === 0) {
        const from = 1 + next(history.length + 3);
        const prefix = prefixes[next(prefixes.length)]!;
        subscribers.push({ from, prefix, subscriber: new Subscriber(view, prefix, from) });
        if (next(2) === 0) await turn();
      }
    }
    await vi.waitFor(() => expect(view.revision).toBe(history.at(-1)!.revision));
    await turn();
    for (const { from, prefix, subscriber } of subscribers) {
      const expected = history.filter(({ revision, key }) => revision > from && key.startsWith(prefix));
      expect(subscriber.log).toEqual(expected.map(({ line }) => line));
    }
    expect(view.list(VIEW).map((object) => [object.key, object.revision])).toEqual(
      [...model].sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    for (const object of view.list(VIEW)) {
      expect(stringifyJson(object.decode().metadata)).toContain(`"resourceVersion":"${object.revision}"`);
    }
  });
});
