import { describe, expect, it } from "vitest";
import type { ClusterSecrets } from "./cluster-secrets.ts";
import type { EmbeddedCluster } from "./embedded-cluster.ts";
import { createRotatedClusters } from "./rotated-clusters.ts";

/** Secrets and clusters are only passed on. */
const secretsOf = (name: string) => ({ name }) as unknown as ClusterSecrets;

function world() {
  let change: (uid: string) => void = () => undefined;
  const taken: unknown[] = [];
  const cluster = { setSecrets: (secrets: ClusterSecrets) => void taken.push(secrets) } as unknown as EmbeddedCluster;
  const started = Promise.resolve(cluster);
  const running = new Map([["one", started]]);
  const loads: PromiseWithResolvers<ClusterSecrets | undefined>[] = [];
  const rotated = createRotatedClusters({
    rotations: {
      onChange(listener) {
        change = listener;
        return { [Symbol.dispose]: () => undefined };
      },
    },
    running: (uid) => running.get(uid),
    load() {
      const load = withResolvers<ClusterSecrets | undefined>();
      loads.push(load);
      return load.promise;
    },
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { rotated, taken, cluster, started, running, loads, settled, change: (uid: string) => change(uid) };
}

type PromiseWithResolvers<T> = {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
};

function withResolvers<T>(): PromiseWithResolvers<T> {
  let settle: Omit<PromiseWithResolvers<T>, "promise"> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  if (settle === undefined) throw new Error("an executor runs at once");
  return { promise, ...settle };
}

describe("a running cluster after a step of a rotation", () => {
  it("is handed out once it has the secrets of the step", async () => {
    const { rotated, taken, cluster, started, loads, settled, change } = world();
    expect(rotated.upToDate("one", started)).toBe(started);
    change("one");
    let isOpen = false;
    const opened = rotated.upToDate("one", started).then((found) => {
      isOpen = true;
      return found;
    });
    await settled();
    expect([isOpen, taken]).toEqual([false, []]);
    loads[0]?.resolve(secretsOf("next"));
    expect(await opened).toBe(cluster);
    expect(taken).toEqual([{ name: "next" }]);
    await settled();
    expect(rotated.upToDate("one", started)).toBe(started);
  });

  it("takes the secrets of two steps in their order, and waits for both", async () => {
    const { rotated, taken, started, loads, settled, change } = world();
    change("one");
    change("one");
    const opened = rotated.upToDate("one", started);
    await settled();
    expect(loads).toHaveLength(1);
    loads[0]?.resolve(secretsOf("first"));
    await settled();
    loads[1]?.resolve(secretsOf("second"));
    await opened;
    expect(taken).toEqual([{ name: "first" }, { name: "second" }]);
  });

  it("is not handed out while its secrets cannot be read, and each request tries again", async () => {
    const { rotated, taken, started, loads, settled, change } = world();
    change("one");
    await settled();
    const refused = expect(rotated.upToDate("one", started)).rejects.toThrow("no store");
    loads[0]?.reject(new Error("no store"));
    await refused;
    const opened = rotated.upToDate("one", started);
    await settled();
    loads[1]?.resolve(secretsOf("next"));
    await opened;
    expect(taken).toEqual([{ name: "next" }]);
  });

  it("gets nothing where it was stopped meanwhile, and one that does not run waits for nothing", async () => {
    const { rotated, taken, started, running, loads, settled, change } = world();
    change("other");
    expect(loads).toEqual([]);
    change("one");
    await settled();
    running.delete("one");
    loads[0]?.resolve(secretsOf("next"));
    await rotated.upToDate("one", started);
    expect(taken).toEqual([]);
  });
});
