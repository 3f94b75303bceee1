// Concurrent writers, watches that begin and end anywhere, lists of the past: all checked against a naive model of one history.

import { describe, expect, test } from "vitest";
import { compareKeys } from "../key-order.ts";
import type { Revision, StorageEvent } from "../storage.ts";
import { KeyExistsError, RevisionConflictError } from "../storage-errors.ts";
import { keyOf, revisionOf } from "../watcher-set.ts";
import { randomNumbers } from "./random-numbers.ts";
import { ROOT, type SuiteContext } from "./storage-suite.ts";
import { WatchRecorder } from "./watch-recorder.ts";

const WRITERS = 8;
const WRITES_EACH = 60;

type Acknowledged = { readonly revision: Revision; readonly key: string; readonly text: string | undefined };
type Watch = { readonly prefix: string; readonly from: Revision; readonly recorder: WatchRecorder };

export function describeRandomHistory(context: SuiteContext): void {
  const seed = Number(process.env["TEST_SEED"]);

  describe("random history", () => {
    test(`concurrent writers make one history that every watch and every list agrees with (TEST_SEED=${seed})`, async () => {
      const { storage, value } = context;
      const next = randomNumbers(seed);
      const keys = Array.from({ length: 12 }, (_, index) => `${ROOT}${["a", "ab", "b"][index % 3]}/${index}`);
      const prefixes = [ROOT, `${ROOT}a/`, `${ROOT}ab/`, `${ROOT}a`];
      const acknowledged: Acknowledged[] = [];
      const watches: Watch[] = [];

      const writeOnce = async (writer: number, round: number) => {
        const key = keys[next(keys.length)]!;
        const text = `${writer}/${round}`;
        const current = next(4) === 0 ? undefined : await storage.get(key);
        if (current === undefined) acknowledged.push({ key, text, revision: await storage.create(key, value(text)) });
        else if (next(3) === 0) {
          acknowledged.push({ key, text: undefined, revision: await storage.delete(key, current.revision) });
        } else acknowledged.push({ key, text, revision: await storage.update(key, value(text), current.revision) });
      };
      const writer = async (id: number) => {
        for (let round = 0; round < WRITES_EACH; round++) {
          await writeOnce(id, round).catch((error: unknown) => {
            if (!(error instanceof KeyExistsError || error instanceof RevisionConflictError)) throw error;
          });
          if (next(6) !== 0) continue;
          const prefix = prefixes[next(prefixes.length)]!;
          const from = context.start + next((await storage.currentRevision()) - context.start + 1);
          watches.push({ prefix, from, recorder: WatchRecorder.start(storage, prefix, from) });
        }
      };
      await Promise.all(Array.from({ length: WRITERS }, (_, id) => writer(id)));

      // All of it, so that a write that was not acknowledged has no effect.
      watches.push({ prefix: ROOT, from: context.start, recorder: WatchRecorder.start(storage, ROOT, context.start) });
      const last = await storage.currentRevision();
      acknowledged.sort((left, right) => left.revision - right.revision);
      expect(new Set(acknowledged.map((write) => write.revision)).size).toBe(acknowledged.length);
      expect(last).toBeGreaterThanOrEqual(acknowledged.at(-1)?.revision ?? 0);
      for (const { prefix, from, recorder } of watches) {
        if (from < last) await recorder.reached(last);
        const expected = acknowledged.filter((write) => write.revision > from && write.key.startsWith(prefix));
        expect(recorder.events.map((event) => summary(event, value))).toEqual(
          expected.map((write) => line(write, value)),
        );
        expect(recorder.revisions).toEqual(recorder.revisions.toSorted((left, right) => left - right));
        recorder[Symbol.dispose]();
      }
      for (let round = 0; round < 20; round++) {
        const revision = context.start + next(last - context.start + 1);
        const prefix = prefixes[next(prefixes.length)]!;
        const { entries } = await storage.list(prefix, { revision });
        const state = modelAt(acknowledged, revision).filter((write) => write.key.startsWith(prefix));
        expect(entries.map((entry) => `put ${entry.key}@${entry.revision} ${Buffer.from(entry.value)}`)).toEqual(
          state.map((write) => line(write, value)),
        );
      }
    });
  });
}

function modelAt(history: readonly Acknowledged[], revision: Revision): Acknowledged[] {
  const newest = new Map(history.filter((write) => write.revision <= revision).map((write) => [write.key, write]));
  return [...newest.values()]
    .filter((write) => write.text !== undefined)
    .sort((left, right) => compareKeys(left.key, right.key));
}

function line({ key, revision, text }: Acknowledged, value: SuiteContext["value"]): string {
  return text === undefined ? `delete ${key}@${revision}` : `put ${key}@${revision} ${Buffer.from(value(text))}`;
}

function summary(event: StorageEvent, value: SuiteContext["value"]): string {
  const text = event.type === "put" ? Buffer.from(event.entry.value).toString() : undefined;
  const write = { key: keyOf(event), revision: revisionOf(event), text };
  return line(write, (written) => Buffer.from(text ?? value(written)));
}
