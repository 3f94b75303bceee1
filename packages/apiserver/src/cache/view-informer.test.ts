import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { describe, expect, it } from "vitest";
import type { Scheduler } from "../runtime/clock.ts";
import { RevisionCompactedError } from "../storage/storage-errors.ts";
import { CachedObject, encodeStoredValue } from "./cached-object.ts";
import { followView, type ViewFollower } from "./view-informer.ts";
import type { CacheObserver, CacheView } from "./watch-cache.ts";

const object = (name: string, revision: number): CachedObject => {
  const value = encodeStoredValue({ apiVersion: "v1", kind: "Thing", metadata: { name } } as KubeObject);
  return CachedObject.fromEntry({ key: `/things/${name}`, value, revision });
};

/** A view whose subscription the test breaks by hand: the real one does so only when its history is gone. */
function brittleView() {
  const observers: CacheObserver[] = [];
  const disposed: CacheObserver[] = [];
  const content: CachedObject[] = [];
  const view: Pick<CacheView, "revision" | "list" | "subscribe"> = {
    revision: 7,
    list: () => [...content],
    subscribe(_prefix, from, observer) {
      expect(from).toBe(7);
      observers.push(observer);
      return { [Symbol.dispose]: () => void disposed.push(observer) };
    },
  };
  return { view: view as CacheView, observers, disposed, content };
}

function recorder() {
  const log: string[] = [];
  const follower: ViewFollower = {
    replace: (objects) => void log.push(`replace ${objects.map(({ key }) => key).join(" ")}`),
    put: ({ key }) => void log.push(`put ${key}`),
    delete: ({ key }) => void log.push(`delete ${key}`),
    lost: () => void log.push("lost"),
  };
  return { log, follower };
}

describe("followView", () => {
  it("reports the content, every change, and the content again after an interruption", () => {
    const { view, observers, disposed, content } = brittleView();
    const { log, follower } = recorder();
    const tasks: (() => void)[] = [];
    const scheduler: Scheduler = {
      schedule(_delayMs, task) {
        tasks.push(task);
        return { [Symbol.dispose]() {} };
      },
    };
    const [a, b] = [object("a", 1), object("b", 2)];
    content.push(a);
    const following = followView({ view, prefix: "/things/" }, scheduler, follower);
    observers[0]!.events([{ type: "put", object: b, previous: undefined }]);
    observers[0]!.events([{ type: "delete", object: a, previous: a }]);
    content.splice(0, 1, b);
    observers[0]!.error(new Error("history is gone"));
    expect(tasks).toHaveLength(1);
    expect(log.at(-1)).toBe("lost");
    tasks[0]!();
    expect(log).toEqual(["replace /things/a", "put /things/b", "delete /things/a", "lost", "replace /things/b"]);
    following[Symbol.dispose]();
    expect(disposed).toEqual([observers[1]]);
    observers[1]!.error(new Error("late"));
    for (const task of tasks) task();
    expect(log.filter((line) => line.startsWith("replace"))).toHaveLength(2);
  });

  it("reads replaced content again at once", () => {
    const { view, observers, content } = brittleView();
    const { log, follower } = recorder();
    const scheduler: Scheduler = { schedule: () => expect.fail("nothing is to be waited for") };
    using _ = followView({ view, prefix: "/things/" }, scheduler, follower);
    content.push(object("a", 8));
    observers[0]!.error(new RevisionCompactedError(8, 8));
    expect(log).toEqual(["replace ", "lost", "replace /things/a"]);
    expect(observers).toHaveLength(2);
  });
});
